"""The command line's frame: exit codes, one clear message, nearest names, JSON errors, hostile text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import typer

from planarena import cli
from planarena.errors import Interrupted, RunError, SandboxError

Register = Callable[..., None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Add a command for the time of a test: a real module behind a real row of the table."""

    def add(name: str, target: object) -> None:
        module = ModuleType(f"planarena.cli.probe_{name}")
        module.target = target  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(cli.COMMANDS, name, cli._Entry(module.__name__, "target", f"Probe {name}."))

    return add


def _fail_with(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        """Raise what the test asks for."""
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RunError("not a run", where="out", fix="name another folder"), 2),
        (SandboxError("the sandbox broke"), 1),
        (Interrupted("stopped after 3 chunks; run the same command to go on"), 130),
        (PermissionError(13, "Permission denied", "/locked/run.json"), 1),
        (OSError(28, "No space left on device"), 1),
    ],
)
def test_errors_become_one_message_and_a_code(
    register: Register, capsys: pytest.CaptureFixture[str], error: Exception, code: int
) -> None:
    register("probe", _fail_with(error))
    assert cli.main(["probe"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err


def test_user_error_says_where_and_what_to_do(register: Register, capsys: pytest.CaptureFixture[str]) -> None:
    register("probe", _fail_with(RunError("not a run", where="out", fix="name another folder")))
    cli.main(["probe"])
    assert capsys.readouterr().err == "error: out: not a run\n  fix: name another folder\n"


def test_ctrl_c_exits_130(register: Register, capsys: pytest.CaptureFixture[str]) -> None:
    register("probe", _fail_with(KeyboardInterrupt()))
    assert cli.main(["probe"]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_a_fault_of_the_program_is_one_line_and_a_log(
    register: Register, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path))
    monkeypatch.setenv("SOME_API_KEY", "a-secret-of-many-letters")
    register("probe", _fail_with(ZeroDivisionError("a fault with a-secret-of-many-letters")))
    assert cli.main(["probe"]) == 1
    (log,) = (tmp_path / "faults").iterdir()
    err = capsys.readouterr().err
    assert err.startswith("error: a fault of planarena: ZeroDivisionError: a fault")
    assert str(log) in err
    assert "Traceback" not in err
    assert "a-secret-of-many-letters" not in err
    text = log.read_text()
    assert "ZeroDivisionError" in text
    assert "in command" in text
    assert "a-secret-of-many-letters" not in text
    # Nowhere to write: the traceback is printed rather than lost.
    monkeypatch.setenv("PLANARENA_CACHE", "/dev/null/none")
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/dev/null/none")
    assert cli.main(["probe"]) == 1
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("PLANARENA_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        cli.main(["probe"])


def test_too_little_memory_is_one_message(register: Register, capsys: pytest.CaptureFixture[str]) -> None:
    register("probe", _fail_with(MemoryError()))
    assert cli.main(["probe"]) == 1
    assert capsys.readouterr().err == "error: there is not enough memory; what was done so far is kept\n"


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (1, 1), ("text", 0)])
def test_a_command_returns_its_code(register: Register, returned: object, code: int) -> None:
    register("probe", lambda: returned)
    assert cli.main(["probe"]) == code


def test_a_typer_becomes_a_group(register: Register, capsys: pytest.CaptureFixture[str]) -> None:
    group = typer.Typer()
    group.command("up")(lambda: typer.echo("it is up"))
    group.command("down")(lambda: None)
    register("probe", group)
    assert cli.main(["probe", "up"]) == 0
    assert capsys.readouterr().out == "it is up\n"
    assert cli.main(["probe", "upp"]) == 2
    assert "'up'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["doctr"], "did you mean `planarena doctor`?"),
        (["doctor", "--jsn"], "did you mean --json?"),
        (["--versoin"], "did you mean --version?"),
        (["zzz"], "write one of:"),
    ],
)
def test_unknown_words_name_the_nearest(
    capsys: pytest.CaptureFixture[str], words: list[str], nearest: str
) -> None:
    assert cli.main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert nearest in err


@pytest.mark.parametrize(
    ("words", "code"),
    [(["doctor", "--json", "--bad"], 2), (["probe", "--json"], 2), (["doctr", "--json"], 2)],
)
def test_errors_are_json_with_json(
    register: Register, capsys: pytest.CaptureFixture[str], words: list[str], code: int
) -> None:
    def probe(as_json: bool = typer.Option(False, "--json")) -> None:
        raise RunError("not a run", where="out", fix="name another folder")

    register("probe", probe)
    assert cli.main(words) == code
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["exit_code"] == code
    assert error["what"]
    assert error["fix"]


def test_json_behind_two_dashes_is_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--", "--json"]) == 2
    assert capsys.readouterr().err.startswith("error: ")


HOSTILE = "\x1b]0;owned\x07 [red]markup[/red] \x9b31m \u202egnihton \r<script>"


def test_hostile_text_is_only_printed(register: Register, capsys: pytest.CaptureFixture[str]) -> None:
    register("probe", _fail_with(RunError(HOSTILE, where=HOSTILE)))
    for words in (["probe"], [HOSTILE], ["doctor", HOSTILE], ["doctor", f"--{HOSTILE}"]):
        cli.main(words)
        err = capsys.readouterr().err
        assert not set("\x1b\x07\x9b\u202e\r") & set(err)
        assert "[red]markup[/red]" in err


def test_plain_keeps_what_is_harmless() -> None:
    assert cli.plain("Zürich\n\t東京 [bold] é") == "Zürich\n\t東京 [bold] é"
    assert cli.plain("\x1b[2J\u2066") == "\\x1b[2J\\u2066"


def test_every_shown_command_loads_and_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--help"])
    listed = capsys.readouterr().out
    shown = [name for name, entry in cli.COMMANDS.items() if cli._is_installed(entry.module)]
    assert "doctor" in shown
    for name in shown:
        assert f"  {name} " in listed
        assert cli.main([name, "--help"]) == 0
        assert f"Usage: planarena {name}" in capsys.readouterr().out


def test_no_words_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert "Commands:" in capsys.readouterr().out
