"""`planarena doctor`: findings match the machine, and absent parts are named with their remedy."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from planarena import cli
from planarena.cli import doctor
from planarena.environments import sandbox


@pytest.fixture(autouse=True)
def _look_again() -> Iterator[None]:
    """The sandbox is asked once a process; here each test has a machine of its own."""
    sandbox.missing.cache_clear()
    yield
    sandbox.missing.cache_clear()


def _findings(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, str]]]:
    code = cli.main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] == (code == 0)
    return code, {check["name"]: check for check in report["checks"]}


def test_names_every_extra_and_gives_every_gap_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = _findings(capsys)
    assert code == 0
    extras = {f"extra {name}" for name in metadata.metadata("planarena").get_all("Provides-Extra") or []}
    assert {"python", "cores", "memory", "shared memory", "cache folder", "sandbox", "browser", "gpu"} <= set(
        found
    )
    assert {name for name in found if name.startswith("extra ")} == extras
    assert {check["status"] for check in found.values()} <= {"ok", "missing", "failed"}
    assert all(bool(check["remedy"]) == (check["status"] != "ok") for check in found.values())


def test_cores_are_those_that_this_process_may_use(capsys: pytest.CaptureFixture[str]) -> None:
    _, found = _findings(capsys)
    assert found["cores"]["detail"].split(",")[0] == str(len(os.sched_getaffinity(0)))


def test_an_unusable_cache_folder_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "file" / "cache"))
    code, found = _findings(capsys)
    assert code == 1
    assert found["cache folder"]["status"] == "failed"
    assert "PLANARENA_CACHE" in found["cache folder"]["remedy"]


def test_a_bare_path_finds_no_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, found = _findings(capsys)
    assert code == 0
    assert {found[name]["status"] for name in ("sandbox", "browser", "gpu")} == {"missing"}
    assert "apt-get install bubblewrap" in found["sandbox"]["remedy"]


def test_a_sandbox_that_cannot_start_is_not_called_good(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    _, found = _findings(capsys)
    assert found["sandbox"]["status"] == "missing"
    assert "Permission denied" in found["sandbox"]["detail"]


def test_package_faults_are_named() -> None:
    check = doctor._package_check("train", ["torch is absent"])
    assert (check.status, check.detail) == ("missing", "torch is absent")
    assert "planarena[train]" in check.remedy
    assert doctor._package_check("", ["msgspec is absent"]).status == "failed"


def test_text_ends_with_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("planarena works here")
