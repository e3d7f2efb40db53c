"""Random command lines over all commands and options: each ends in a result, one clear message, or an interrupt."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from asking import Materials
from seeds import seeded
from zygote import Ended, Zygote

# Of each of 60 batches, and of the one in `make test`, which every version draws anew.
BATCH, BATCHES, SHORT = 50, 60, 30
# Starts a server that is meant to outlive the command.
LEFT_OUT = {("audit", "up")}
ODD = (
    *("", " ", "-", "--", "0", "-1", "1", "3", "1e308", "nan", "inf", "99999999999999999999", "0.5", "true", "null", "[]", "{"),
    *("a=b", "=", "a=", "composition.budget=x", "seed=-1", "execution.workers=1", "../..", "/", "/dev/null", "/etc/passwd"),
    *("\udcff", "\x1b[31m", "ü" * 300, "\u202e", "file:///etc/passwd", "http://127.0.0.1:1/v1", "m@http://127.0.0.1:1/v1"),
    *("builtin", "builtin:email", "builtin:nothing", "mcp:x", "python:os", "openapi:nothing.yaml", "json:x", "env:.", "demo"),
    *("math", "bfcl-v3", "planarena", "suite:.", "gold", "all", "hf", "verl", "openai", "sharegpt", "sft", "grpo", "tiny", "%s", "{0}"),
)  # fmt: skip


def _commands() -> list[tuple[tuple[str, ...], list[Any]]]:
    """Every command with its parameters, as the command line itself knows them."""
    from planarena.cli import COMMANDS, _load

    found = []
    for name in COMMANDS:
        command = _load(name)
        inner = getattr(command, "commands", None)
        if inner:
            found += [
                ((name, one), sub.params) for one, sub in sorted(inner.items()) if (name, one) not in LEFT_OUT
            ]
        else:
            found.append(((name,), command.params))
    return found


def _draw(rng: Random, commands: list[tuple[tuple[str, ...], list[Any]]], places: list[str]) -> list[str]:
    path, params = rng.choice(commands)
    words: list[str] = []

    def value(param: Any) -> str:
        if rng.random() < 0.6:
            kind = param.type_descriptor.annotation
            if kind is int:
                return rng.choice(("1", "2", "3", "5"))
            return rng.choice(("0.5", "1")) if kind is float else rng.choice(places)
        return rng.choice(ODD)

    for param in params:
        options = getattr(param, "opts", [])
        if not options or not options[0].startswith("-"):
            for _ in range(rng.choice((0, 1, 1, 1, 2))):
                words.insert(rng.randint(0, len(words)), value(param))
            continue
        if rng.random() > 0.3 and "--out" not in options:
            continue
        option = rng.choice([*options, *getattr(param, "secondary_opts", [])])
        if option in {"--open", "--push-to-hub"}:
            continue  # they reach what is not this machine's test
        words.append(option)
        if not getattr(param, "is_flag", False) and rng.random() < 0.95:
            words.append(value(param) if option != "--out" or rng.random() < 0.5 else f"new-{rng.random()}")
    if rng.random() < 0.1:
        words.insert(rng.randint(0, len(words)), rng.choice(("--no-such", "--jsn", "-x", "--help", "--json")))
    if rng.random() < 0.05:
        rng.shuffle(words)
    return [*path, *words]


@pytest.mark.parametrize(
    "batch", ["few", *(pytest.param(number, marks=pytest.mark.full) for number in range(BATCHES))]
)
def test_random_command_lines(
    batch: int | str,
    training_zygote: Zygote,
    materials: Materials,
    tmp_path: Path,
    figures: Callable[..., None],
) -> None:
    commands = _commands()
    rng = Random(f"command lines/{batch}" + (seeded("few") if batch == "few" else ""))
    work = tmp_path / "work"
    work.mkdir()
    shutil.copytree(materials.run, work / "run")
    (work / "rows.jsonl").write_text(json.dumps({"messages": [{"role": "user", "content": "x"}]}) + "\n")
    (work / "bad.json").write_text("[" * 5000)
    (work / "some.yaml").write_text("seed: 1\n")
    (work / "tool.py").write_text(
        'def get(key: str) -> str:\n    """Get.\n\n    Args:\n        key: A key.\n    """\n    return key\n'
    )
    places = [path.name for path in sorted(work.iterdir())] + [
        "python:tool.py",
        "new",
        "run/tables",
        "run/run.json",
        "nowhere/x",
    ]
    wrong: list[str] = []
    for _ in range(SHORT if batch == "few" else BATCH):
        words = _draw(rng, commands, places)
        try:
            json.dumps(words).encode()
        except UnicodeEncodeError:
            continue
        # What takes long is interrupted as Ctrl-C does, and is to end soon after.
        ended = training_zygote.run(
            words,
            cwd=work,
            env={"PLANARENA_CACHE": str(tmp_path / "cache")},
            timeout=60,
            signal_after=3.0,
            number=signal.SIGINT,
        )
        figures(
            "command line",
            case=" ".join(words),
            ended=not ended.timed_out,
            lost=False,
            contained=not ended.left,
            traceback=ended.traceback,
            seconds=ended.seconds,
        )
        if what := _wrong(ended):
            wrong.append(f"{what}: {words}\n{ended}")
    logs = [path.read_text()[-1500:] for path in (tmp_path / "cache").glob("faults/*")]
    assert not wrong, "\n\n".join([*wrong, *logs])


def _wrong(ended: Ended) -> str:
    if ended.timed_out:
        return "it does not end"
    if ended.traceback:
        return "a fault of the program"
    if ended.code not in (0, 1, 2, 130):
        return f"exit code {ended.code}"
    if set("\x1b\x9b\x07\u202e") & set(ended.out + ended.err):
        return "it prints control characters"
    if ended.left:
        return f"it leaves {ended.left}"
    return "" if ended.code in (0, 130) or (ended.out + ended.err).strip() else "it failed without a word"
