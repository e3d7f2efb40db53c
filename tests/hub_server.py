"""A server on loopback that speaks the endpoints of the Hugging Face Hub which an upload uses."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hf_loopback"


class Hub:
    """The repositories by name: files as bytes, whether private, the messages of commits."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.commits: list[str] = []
        self.stored: dict[str, bytes] = {}  # large files by their hash
        self.status = 0  # answer everything with this status
        self.url = ""


@contextmanager
def serve_hub() -> Iterator[Hub]:
    """Serve an empty hub as long as the block runs."""
    hub = Hub()

    class Handler(_Handler):
        served = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    served: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""

    def _answer(self, status: int, value: Any = None, **headers: str) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(body)

    def _refused(self) -> bool:
        if self.served.status:
            self._answer(self.served.status, {"error": "as told"})
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(401, {"error": "Invalid username or password."})
        else:
            return False
        return True

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _repository(self) -> str:
        return "/".join(self.path.split("?")[0].split("/")[3:5])

    def do_GET(self) -> None:
        if self._refused():
            return
        name = self._repository()
        if name not in self.served.files:
            self._answer(404, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
        elif "/tree/" in self.path:
            self._answer(
                200,
                [
                    {"type": "file", "path": path, "size": len(data), "oid": "0" * 40}
                    for path, data in self.served.files[name].items()
                ],
            )
        else:
            siblings = [{"rfilename": path} for path in self.served.files[name]]
            self._answer(200, {"id": name, "sha": "0" * 40, "siblings": siblings})

    def do_PUT(self) -> None:
        self.served.stored[self.path.rpartition("/")[2]] = self._body()
        self._answer(200)

    def do_POST(self) -> None:
        body = self._body()
        if self._refused():
            return
        hub, name = self.served, self._repository()
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}" if asked.get("organization") else asked["name"]
            assert asked["type"] == "dataset"
            if name in hub.files:
                self._answer(409, {"url": f"{hub.url}/datasets/{name}"})
                return
            hub.files[name] = {".gitattributes": b""}
            hub.private[name] = asked.get("visibility") == "private" or asked.get("private") is True
            self._answer(200, {"url": f"{hub.url}/datasets/{name}"})
        elif self.path == "/api/validate-yaml":
            assert "configs:" in json.loads(body)["content"]
            self._answer(200, {"errors": [], "warnings": []})
        elif self.path.endswith("/preupload/main"):
            files = json.loads(body)["files"]
            modes = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(".parquet") else "regular",
                }
                for file in files
            ]
            self._answer(200, {"files": [{**mode, "shouldIgnore": False} for mode in modes]})
        elif self.path.endswith("/info/lfs/objects/batch"):
            objects = [
                {
                    "oid": wanted["oid"],
                    "size": wanted["size"],
                    "actions": {"upload": {"href": f"{hub.url}/stored/{wanted['oid']}"}},
                }
                for wanted in json.loads(body)["objects"]
            ]
            self._answer(200, {"transfer": "basic", "objects": objects})
        elif self.path.endswith("/commit/main"):
            self._commit([json.loads(line) for line in body.splitlines()])
            self._answer(
                200,
                {
                    "commitOid": "1" * 40,
                    "commitUrl": f"{hub.url}/datasets/{name}/commit/{'1' * 40}",
                    "success": True,
                },
            )
        else:
            self._answer(404, {"error": self.path})

    def _commit(self, lines: list[dict[str, Any]]) -> None:
        files = self.served.files[self._repository()]
        for line in lines:
            value = line["value"]
            if line["key"] == "header":
                self.served.commits.append(value["summary"])
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.served.stored[value["oid"]]
            else:
                assert line["key"] == "deletedFile"
                del files[value["path"]]
