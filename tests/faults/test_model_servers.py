"""Model servers that misbehave, by every command that asks a model: it ends, loses nothing, keeps its budget and the key."""

from __future__ import annotations

import base64
import html
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from asking import ASKING, HURRY, Materials, settings
from model_server import BEHAVIOURS, KEY, FaultyServer
from seeds import drawn
from zygote import Ended, Zygote

# Of these commands so many cases run in `make test`, others with every version; the whole table in `make test-faults`.
DRAWN = {"build": 2, "eval math": 3, "eval suite:PATH": 2, "eval api-bank": 1}
SHORT = {
    command: drawn(command, (one for one in BEHAVIOURS if one != "good"), number)
    for command, number in DRAWN.items()
}
# Longer than any case takes on a loaded machine; what hangs takes for ever.
PATIENCE = float(os.environ.get("FAULTS_PATIENCE", "150"))


def _cases() -> list[Any]:
    return [
        pytest.param(
            command,
            behaviour,
            id=f"{command}-{behaviour}",
            marks=() if behaviour in SHORT.get(command, ()) else (pytest.mark.full,),
        )
        for command in ASKING
        for behaviour in BEHAVIOURS
        if behaviour != "good"
    ]


# The score can be read all the same: the wrong part of the answer is another one.
JUDGED_ALL_THE_SAME = frozenset(
    {
        *("several_choices", "no_usage", "negative_usage", "huge_usage", "other_model", "odd_model"),
        *("unasked_calls", "many_calls", "markup", "injection"),
    }
)


class JudgeSeen:
    """What a training says of its judge, read before the same command goes on.

    Args:
        out: The training's folder.
        ended: How it ended.
    """

    def __init__(self, out: Path, ended: Ended) -> None:
        metrics, page = out / "metrics.jsonl", out / "report.html"
        lines = [json.loads(line) for line in metrics.read_text().splitlines()] if metrics.is_file() else []
        self.offline = any(line.get("judge/offline") for line in lines)
        self.page = page.read_text() if page.is_file() else ""
        self.ended = ended

    def check(self, behaviour: str) -> None:
        """A judge that did not score is said at once, at the end and on the page; no judge passes for one silently."""
        assert self.offline == (behaviour not in JUDGED_ALL_THE_SAME), self.ended
        assert ("the judge cannot score" in self.ended.err) == self.offline, self.ended
        assert ("rescored offline" in self.ended.out) == self.offline, self.ended
        assert ("were scored offline" in self.page) == self.offline
        if behaviour == "other_model":
            for said in (self.ended.err, self.ended.out, html.unescape(self.page)):
                assert "calls itself 'quite-another-model'" in said, self.ended


def _cache(folder: Path) -> Path:
    """An empty cache with this machine's managed environments, which take minutes to make."""
    from planarena.managed import cache_directory

    folder.mkdir()
    (folder / "environments").symlink_to(cache_directory() / "environments")
    return folder


def bytes_of_key(folder: Path, ended: Ended) -> int:
    """Count the bytes of the key in everything that was written or printed, also where it is encoded."""
    forms = [
        KEY.encode(),
        base64.b64encode(KEY.encode())[:-2],
        KEY.encode().hex().encode(),
        KEY[:20].encode(),
    ]
    said = [(ended.out + ended.err).encode()]
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return sum(text.count(form) * len(form) for text in (*said, *files) for form in forms)


@pytest.mark.parametrize(("command", "behaviour"), _cases())
def test_a_server_that_misbehaves(
    command: str,
    behaviour: str,
    materials: Materials,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    figures: Callable[..., None],
) -> None:
    asking = ASKING[command]
    zygote: Zygote = request.getfixturevalue(
        "training_zygote" if command.startswith("train") else "asking_zygote"
    )
    env = {"THE_KEY": KEY, "PLANARENA_CACHE": str(_cache(tmp_path / "cache"))}
    with FaultyServer(behaviour, asking.good) as server:
        words = asking.words(materials, tmp_path / "out", f"m@{server.url}#THE_KEY")
        ended = zygote.run(words, cwd=tmp_path, env=env, wrap=HURRY, timeout=PATIENCE)
        asked = server.asked[behaviour]
        server.behaviour = "good"
        retry = ["--retry-failed"] if command.startswith("build") else []
        if command.startswith("train"):
            judge = JudgeSeen(tmp_path / "out", ended)
            retry = ["--set", "judge.timeout=20.0"]
        if command.startswith("eval"):
            # What hangs is given up early above; a good answer may take a loaded machine longer.
            retry = ["--set", "generation.timeout=20.0"]
        if command == "env draft":
            # What it said is kept; a draft that was given up over it is drafted once more where one asks for that.
            retry = ["--timeout", "20", "--retry-failed"]
        if command == "rate":
            retry = settings(generation__timeout=20.0)
        if command == "build --simulate":
            # What a model made up is kept, and no one asks twice: a good model is another one.
            env["PLANARENA_CACHE"] = str(_cache(tmp_path / "cache2"))
            retry = ["--fresh"]
        again = zygote.run([*words, *retry], cwd=tmp_path, env=env, wrap=HURRY, timeout=PATIENCE)
        trapped = list(server.trapped)
    leaked = (
        bytes_of_key(tmp_path, ended)
        + bytes_of_key(tmp_path, again)
        + sum(KEY.encode() in one for one in trapped)
    )
    figures(
        "model servers",
        case=f"{command} / {behaviour}",
        ended=not ended.timed_out and not again.timed_out,
        lost=again.code != 0,
        contained=not ended.left and not again.left,
        traceback=ended.traceback or again.traceback,
        key=leaked,
        seconds=ended.seconds,
        peak=max(ended.peak, again.peak),
    )
    assert not ended.timed_out, ended
    assert not ended.traceback, ended
    assert ended.code in (0, 1, 2), ended
    assert asked, f"the server was never asked: {ended}"
    assert leaked == 0, f"the key was written\n{ended}"
    if command.startswith("train") and ended.code == 0:
        judge.check(behaviour)
    # With a server that is well again the same command goes on and ends well.
    assert again.code == 0, again
    assert not again.traceback, again
    assert not ended.left
    assert not again.left


# What the interpreter with all its libraries takes, and thirty times what is read of an answer.
MOST_BYTES = 600 << 20


@pytest.mark.parametrize("behaviour", ["endless_body", pytest.param("bomb", marks=pytest.mark.full)])
def test_no_more_is_read_than_an_answer_may_hold(
    behaviour: str, materials: Materials, asking_zygote: Zygote, tmp_path: Path, figures: Callable[..., None]
) -> None:
    asking = ASKING["eval math"]
    with FaultyServer(behaviour, asking.good) as server:
        words = asking.words(materials, tmp_path / "out", f"m@{server.url}")
        env = {"PLANARENA_CACHE": str(_cache(tmp_path / "cache"))}
        ended = asking_zygote.run(words, cwd=tmp_path, env=env, wrap=HURRY, timeout=PATIENCE)
        taken = server.most_sent
    figures("model servers", case=f"size of the answer / {behaviour}", ended=not ended.timed_out, lost=False,
            contained=ended.peak < MOST_BYTES, traceback=ended.traceback, seconds=ended.seconds, peak=ended.peak)  # fmt: skip
    assert ended.code == 1, ended
    assert "1 with server_error" in ended.err, ended
    assert ended.peak < MOST_BYTES, f"{ended.peak >> 20} MiB"
    # Sixteen MiB are read, and some more lie in the buffers of the connection.
    assert taken < 40 << 20, f"{taken >> 20} MiB were taken"


@pytest.mark.parametrize(
    "behaviour",
    [
        "negative_usage",
        *(
            pytest.param(one, marks=pytest.mark.full)
            for one in ("good", "no_usage", "wrong_usage", "huge_usage", "infinite_usage")
        ),
    ],
)
@pytest.mark.parametrize(
    ("command", "budget"),
    [
        ("eval math", "calls"),
        ("eval math", "tokens"),
        pytest.param("train --judge-model", "calls", marks=pytest.mark.full),
    ],
)
def test_a_budget_is_kept_to_one_call(
    command: str,
    behaviour: str,
    budget: str,
    materials: Materials,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    figures: Callable[..., None],
) -> None:
    """Whatever a server counts, no more is asked than the budget pays for, and one call more."""
    asking = ASKING[command]
    zygote: Zygote = request.getfixturevalue(
        "training_zygote" if command.startswith("train") else "asking_zygote"
    )
    with FaultyServer(behaviour, asking.good) as server:
        words = asking.words(materials, tmp_path / "out", f"m@{server.url}")
        if command.startswith("train"):
            words += settings(judge__budget_calls=1, judge__concurrency=1, judge__timeout=20.0)
        else:
            words[words.index("--limit") + 1] = "3"
            most = {"calls": "1", "tokens": "60"}[budget]
            words += [f"--budget-{budget}", most, "--concurrency", "1", "--set", "generation.max_tokens=8"]
        ended = zygote.run(
            words, cwd=tmp_path, env={"PLANARENA_CACHE": str(_cache(tmp_path / "cache"))}, wrap=HURRY, timeout=PATIENCE
        )  # fmt: skip
        asked = server.asked[behaviour]
    figures("model servers", case=f"{command}, budget of {budget} / {behaviour}", ended=not ended.timed_out, lost=False, contained=asked <= 2,
            traceback=ended.traceback, seconds=ended.seconds)  # fmt: skip
    assert ended.code == 2, ended
    assert "budget" in ended.err, ended
    assert 1 <= asked <= 2, asked
