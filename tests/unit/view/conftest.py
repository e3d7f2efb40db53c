"""The viewer over folders of tests, asked without a socket."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from planarena import Run
from planarena.serving import Limits
from planarena.view.app import view_app
from planarena.view.guard import BrowserGuard

TOKEN = "a-token-of-tests"


class Client:
    """A browser that has the token, unless told otherwise."""

    def __init__(self, *roots: Path, token: bool = True, models: Sequence[str] = ()) -> None:
        self.guard = BrowserGuard(view_app(roots, models), Limits(), TOKEN)
        self.cookies: dict[str, str] = {}
        if token:
            answer = self.get(f"/?token={TOKEN}")
            assert answer.status_code == 303, answer.text
            name, _, rest = answer.headers["set-cookie"].partition("=")
            assert "HttpOnly" in rest and "SameSite=Strict" in rest
            self.cookies[name] = rest.partition(";")[0]

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.guard)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1:8940", cookies=self.cookies, timeout=60
            ) as client:
                return await client.request(method, path, **given)

        return asyncio.run(send())

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.ask("GET", path, **given)

    def page(self, path: str) -> str:
        """Return the text of a page that is there."""
        answer = self.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:2000])
        return answer.text

    def key(self, path: Path) -> str:
        """Return the key of a folder."""
        from planarena.view import Library

        return next(one.key for one in Library([path]).folders() if one.path == path.resolve())


@pytest.fixture
def run_copy(built_run: Run, tmp_path: Path) -> Path:
    """A run that a test may write into."""
    shutil.copytree(built_run.path, tmp_path / "run", ignore=shutil.ignore_patterns("work"))
    return tmp_path / "run"


@pytest.fixture
def client_of() -> Callable[..., Client]:
    """Makes a client over folders."""
    return Client
