"""What the tests of the audit share: one real server per process, small runs, and a driver of a headless browser.

The server needs the managed environment `argilla`, which is built on first use (minutes, with a package index).
"""

from __future__ import annotations

import atexit
import base64
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from planarena import managed
from planarena.annotation import Place, start_server, stop_server
from planarena.annotation.embedded import read_credentials
from planarena.errors import EnvironmentUnavailableError

PEOPLE = ("ann", "bob", "eve")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def need_environment() -> None:
    """Build the managed environment, or skip where it cannot be had."""
    try:
        managed.environment("argilla", progress=lambda *_: None)
    except EnvironmentUnavailableError as error:
        pytest.skip(f"the audit server cannot be installed here: {error.what}")


@cache
def shared_server() -> Path:
    """Return the data directory of a running server with the accounts of PEOPLE; it ends with the process."""
    need_environment()
    folder = Path(tempfile.mkdtemp(prefix="audit-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _, process = start_server(folder / "data", port=free_port(), annotators=PEOPLE)
    atexit.register(process.wait)
    atexit.register(stop_server, folder / "data")
    return folder / "data"


def place_of(data: Path) -> Place:
    from planarena.annotation import find_place

    return find_place(data)


@cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()  # reading the certificates takes longer than a request


def client(data: Path, person: str = "owner") -> httpx.Client:
    """Return a client of the server's API under somebody's key."""
    held = read_credentials(data)
    key = held.owner.api_key if person == "owner" else held.annotators[person].api_key
    return httpx.Client(
        base_url=place_of(data).url,
        headers={"X-Argilla-Api-Key": key},
        timeout=60,
        trust_env=False,
        verify=_trust(),
    )


def dataset_id(data: Path, name: str) -> str:
    with client(data) as http:
        items = http.get("/api/v1/me/datasets").json()["items"]
    return next(one["id"] for one in items if one["name"] == name)


def records_of(data: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with client(data) as http:
        base = f"/api/v1/datasets/{dataset_id(data, name)}/records?include=responses,suggestions&limit=500"
        while True:
            page = http.get(f"{base}&offset={len(found)}").json()["items"]
            found += page
            if len(page) < 500:
                return found


def answer(data: Path, person: str, record_id: str, values: dict[str, Any]) -> None:
    """Submit an answer as the page does."""
    answer_all(data, person, {record_id: values})


def answer_all(data: Path, person: str, answers: dict[str, dict[str, Any]]) -> None:
    """Submit answers by record id, as the page's bulk view does."""
    items = [
        {
            "record_id": record_id,
            "status": "submitted",
            "values": {name: {"value": value} for name, value in values.items()},
        }
        for record_id, values in answers.items()
    ]
    with client(data, person) as http:
        for start in range(0, len(items), 100):
            reply = http.post("/api/v1/me/responses/bulk", json={"items": items[start : start + 100]})
            assert reply.status_code == 200, reply.text
            assert all(one["error"] is None for one in reply.json()["items"]), reply.text


@cache
def _built(trajectories: int) -> Path:
    import planarena
    from planarena.config import BuildConfig, load_config

    folder = Path(tempfile.mkdtemp(prefix="audit-run-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    values = {"out": str(folder / "run"), "trajectories": trajectories, "execution": {"workers": 1}}
    planarena.build(load_config(BuildConfig, values=values))
    return folder / "run"


def small_run(place: Path, trajectories: int = 12) -> Path:
    """Return a finished run of our own domains, a copy of its own at `place`."""
    shutil.copytree(_built(trajectories), place)
    return place


class Browser:
    """A headless Chromium, driven through chromedriver's own protocol."""

    def __init__(self, width: int = 1440, height: int = 1000) -> None:
        chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
        if not chromium or not driver:
            pytest.skip(
                "no chromium and chromedriver here (Debian: apt-get install chromium chromium-driver)"
            )
        port = free_port()
        self._profile = tempfile.mkdtemp(prefix="audit-browser-")
        self.downloads = Path(self._profile) / "downloads"
        self._process = subprocess.Popen(
            [driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)
        options = {
            "binary": chromium,
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage", f"--window-size={width},{height}", f"--user-data-dir={self._profile}",
            ],
            "prefs": {"download.default_directory": str(self.downloads)},
        }  # fmt: skip
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        for _ in range(100):
            try:
                self._http.get("/status")
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        made = self._http.post("/session", json={"capabilities": {"alwaysMatch": wanted}}).json()["value"]
        assert "sessionId" in made, made
        self._base = f"/session/{made['sessionId']}"

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.delete(self._base)
        self._process.terminate()
        self._process.wait()
        self._http.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        reply = self._http.post(self._base + path, json=body).json()["value"]
        assert not (isinstance(reply, dict) and "error" in reply), reply
        return reply

    def open(self, url: str) -> None:
        self._post("/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page and return its result; `TEXT()` is what the page shows, in one line."""
        whole = f"const TEXT = () => (document.body?.innerText ?? '').replace(/\\s+/g, ' ');\n{script}"
        return self._post("/execute/sync", {"script": whole, "args": list(arguments)})

    def until(self, script: str, *arguments: Any, seconds: float = 30.0) -> Any:
        """Return a script's result as soon as it is true."""
        end = time.monotonic() + seconds
        while True:
            found = self.run(script, *arguments)
            if found:
                return found
            assert time.monotonic() < end, f"never true: {script}\n{self.text()[:2000]}"
            time.sleep(0.15)

    def text(self) -> str:
        return str(self.run("return TEXT()"))

    def element(self, css: str, seconds: float = 30.0) -> str:
        self.until("return document.querySelector(arguments[0]) !== null", css, seconds=seconds)
        return str(next(iter(self._post("/element", {"using": "css selector", "value": css}).values())))

    def type(self, css: str, text: str) -> None:
        """Type into the first element that can be seen."""
        self.until(
            "const one = [...document.querySelectorAll(arguments[0])].find((each) => each.offsetParent !== null); "
            "if (!one) return false; one.focus(); return document.activeElement === one",
            css,
        )
        self.keys(*text)

    def keys(self, *keys: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def picture(self, path: Path) -> None:
        shown = self._http.get(self._base + "/screenshot").json()["value"]
        path.write_bytes(base64.b64decode(shown))

    def log_in(self, url: str, person: str, password: str) -> None:
        """Log in as somebody, whoever was logged in before."""
        self.open(
            url + "/api/v1/version"
        )  # of the same origin, but without a script that would write it back
        self.run("localStorage.clear(); sessionStorage.clear()")
        self._http.delete(self._base + "/cookie")
        self.open(url + "/sign-in")
        self.type("input[type=text], input:not([type=password])", person)
        self.type("input[type=password]", password + "\ue006")
        self.until("return !location.pathname.includes('sign-in')")
