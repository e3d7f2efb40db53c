"""A headless Chromium, driven through chromedriver's WebDriver protocol."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from planarena import Run

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip


class Browser:
    """One window.

    Args:
        port: Where chromedriver listens on loopback.
        profile: An empty folder.
    """

    def __init__(self, port: int, profile: Path) -> None:
        self._root = f"http://127.0.0.1:{port}"
        options = {"args": [*_FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._root += f"/session/{answer['sessionId']}"

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self._root + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            said = error.read().decode()
            error.close()
            raise AssertionError(said) from None

    def open(self, path: Path, width: int = 1280, height: int = 900) -> None:
        """Open a file from disk in a page of that size in pixels."""
        # A window cannot be as narrow as a telephone; the emulated screen can.
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", metrics)
        self._call("POST", "/url", {"url": path.as_uri()})

    def visit(self, url: str, width: int = 1400) -> None:
        """Open an address in a page of that width in pixels."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", metrics)
        self._call("POST", "/url", {"url": url})

    def command(self, name: str, parameters: dict[str, Any]) -> Any:
        """Send a DevTools command."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def run(self, script: str) -> Any:
        """Run JavaScript in the page and return its result; the page's own policy does not bind it."""
        return self._call("POST", "/execute/sync", {"script": script, "args": []})

    def complaints(self) -> list[str]:
        """Return what the console said since the last call."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def close(self) -> None:
        """End the browser."""
        self._call("DELETE", "")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium; tests skip where it or its driver is not installed."""
    driver = shutil.which("chromedriver")
    if driver is None or shutil.which("chromium") is None:
        pytest.skip("no chromium and chromedriver on this machine")
    process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = next(line for line in process.stdout if "started successfully on port" in line)
        window = Browser(int(said.rsplit(" ", 1)[1].strip(" .\n")), tmp_path_factory.mktemp("profile"))
        yield window
        window.close()
    finally:
        process.terminate()
        process.wait(timeout=20)
        assert process.stdout is not None
        process.stdout.close()


class Site(NamedTuple):
    """A viewer: where it listens, its token, the folder of a training that it shows."""

    address: str
    token: str
    training: Path


@pytest.fixture(scope="module")
def site(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A viewer on loopback over a run and a training that can be written to; it ends with the tests."""
    token = "token-of-a-test"
    folder = tmp_path_factory.mktemp("view")
    (folder / "run").symlink_to(built_run.path)
    training = folder / "training"
    training.mkdir()
    (training / "run.json").write_text('{"kind": "training", "status": "running", "steps": 9}')
    (training / "metrics.jsonl").write_text(
        '{"step": 1, "reward/mean": 0.25}\n{"step": 2, "reward/mean": 0.5}\n'
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "planarena",
        "view",
        str(folder),
        str(built_run.path),
        "--port",
        str(port),
    ]
    environment = {
        "PLANARENA_VIEW_TOKEN": token,
        "PATH": "/usr/bin:/bin",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": ":".join(sys.path),
    }
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert f"?token={token}" in said, said
        yield Site(f"http://127.0.0.1:{port}", token, training)
        process.terminate()
