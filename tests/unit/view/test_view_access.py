"""Without the token nothing is shown; what is shown allows nothing beyond this server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planarena import Run
from planarena.cli import main
from planarena.errors import UserError
from planarena.view.app import view_app


def test_without_the_token_nothing_is_shown(built_run: Run, client_of: Callable[..., Any]) -> None:
    client = client_of(built_run.path.parent, token=False)
    key = client.key(built_run.path)
    for path in (
        "/",
        f"/run/{key}",
        "/static/view.js",
        "/nothing",
        "/?token=wrong",
        "/?token=",
        f"/run/{key}?token=a",
    ):
        answer = client.get(path)
        assert answer.status_code == 401, path
        assert built_run.path.name not in answer.text and "set-cookie" not in answer.headers
    wrong = dict.fromkeys(client_of(built_run.path.parent).cookies, "x")
    client.cookies = wrong
    assert client.get("/").status_code == 401
    assert client.ask("POST", f"/run/{key}/t/x/mark", content=b"verdict=pass").status_code == 401


def test_the_token_leaves_the_address_and_no_other_server_is_named(
    built_run: Run, client_of: Callable[..., Any]
) -> None:
    guard = client_of(built_run.path.parent).guard
    for path, place in (
        ("/run/x", b"/run/x?q=a+b"),
        ("//evil.example/", b"/evil.example/?q=a+b"),
        ("/\\evil.example", b"/evil.example?q=a+b"),
        ("/%0d%0aset-cookie:x", b"/%0d%0aset-cookie:x?q=a+b"),
    ):
        sent: list[Any] = []

        async def send(message: Any, sent: list[Any] = sent) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "headers": [],
            "raw_path": path.encode(),
            "query_string": b"token=a-token-of-tests&q=a%20b",
        }
        asyncio.run(guard(scope, None, send))
        assert sent[0]["status"] == 303
        assert dict(sent[0]["headers"])[b"location"] == place


@pytest.mark.parametrize("header", ["origin", "host"])
def test_a_page_of_another_site_is_refused_with_the_cookie(
    built_run: Run, client_of: Callable[..., Any], header: str
) -> None:
    client = client_of(built_run.path.parent)
    assert (
        client.get(
            "/", headers={header: "http://evil.example" if header == "origin" else "evil.example"}
        ).status_code
        == 403
    )
    assert client.ask("POST", "/", headers={"origin": "null"}).status_code == 403


def test_pages_forbid_every_other_source(built_run: Run, client_of: Callable[..., Any]) -> None:
    client = client_of(built_run.path.parent)
    for path in ("/", "/nothing", f"/run/{client.key(built_run.path)}"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        view_app([tmp_path / "absent"])


_VALUES = [
    "",
    "0",
    "-1",
    "9" * 30,
    "x",
    "\0",
    "é" * 30,
    "%00",
    "..",
    "../../etc/passwd",
    "a:b",
    "A" * 3000,
    "[",
    "{}",
    '{"a":1}',
    "gold",
    "find",
    "W10",
    "W1tdXQ",
    "%ff",
]


def fuzzed(rng: Random, paths: list[str], names: list[str]) -> tuple[str, str, bytes]:
    """Draw a request around valid ones."""
    path = rng.choice(paths)
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        parts = path.split("/")
        parts[rng.randrange(len(parts))] = rng.choice(_VALUES).replace("\0", "%00")
        path = "/".join(parts)
    query = "&".join(
        f"{rng.choice(names)}={rng.choice(_VALUES)}".replace("\0", "%00") for _ in range(rng.randrange(4))
    )
    body = "&".join(f"{rng.choice(names)}={rng.choice(_VALUES)}" for _ in range(rng.randrange(3))).encode()
    return (
        rng.choice(["GET"] * 6 + ["POST", "POST", "PUT", "DELETE", "HEAD"]),
        f"/{path.lstrip('/')}?{query}",
        body,
    )


def test_fuzzed_requests_meet_no_unhandled_error(run_copy: Path, client_of: Callable[..., Any]) -> None:
    client = client_of(run_copy.parent)
    key = client.key(run_copy)
    name = Run.open(run_copy).table("trajectories").select("trajectory_id").collect()["trajectory_id"][0]
    paths = [
        "/",
        "/compare",
        "/training",
        "/training/live",
        "/training/tokens",
        "/items",
        f"/play/{key}",
        "/static/view.css",
    ]
    paths += [
        f"/run/{key}",
        f"/run/{key}/scorecard",
        f"/run/{key}/t/{name}",
        f"/run/{key}/t/{name}/field/plan",
        f"/run/{key}/t/{name}/mark",
    ]
    names = [
        "q",
        "kind",
        "domain",
        "n_actions",
        "page",
        "sort",
        "mark",
        "reader",
        "beside",
        "a",
        "b",
        "t",
        "e",
        "key",
        "verdict",
        "reason",
        "note",
        "task",
        "events",
        "tool",
        "step",
        "row",
        "item",
        "algorithm",
        "after",
        "go",
    ]
    rng, end = Random(5), time.monotonic() + 8
    done = 0
    for _ in range(400):
        if time.monotonic() > end:
            break
        method, path, body = fuzzed(rng, paths, names)
        try:
            answer = client.ask(method, path, content=body if method == "POST" else None)
        except ValueError:  # the client itself refuses the address
            continue
        assert answer.status_code < 500, (method, path, answer.text)
        done += 1
    assert not client.guard.faults
    assert done > 40


def test_what_is_missing_is_one_line_with_the_command_that_helps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import importlib.util

    known = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *more: None if name == "jinja2" else known(name, *more)
    )
    assert main(["view", str(tmp_path)]) != 0
    said = capsys.readouterr().err
    assert "jinja2" in said and "pip install 'planarena[view]'" in said and "Traceback" not in said


def test_a_token_that_no_address_holds_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PLANARENA_VIEW_TOKEN", "a b;c")
    assert main(["view", str(tmp_path)]) == 2
    assert "PLANARENA_VIEW_TOKEN" in capsys.readouterr().err
