"""Driving dialogues and keeping their outputs: what fails is asked again, what is answered never is."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from planarena.bench import Asked, Reply
from planarena.errors import UserError
from planarena.eval.models.dialogues import Exchange, Item, converse
from planarena.eval.models.journal import Journal


def counting(turns: int) -> Any:
    """An item that asks so many times and returns what it was told."""

    def begin(sample: int) -> Exchange:
        said = []
        for turn in range(turns):
            reply = yield Asked(
                id="any", messages=({"role": "user", "content": f"{turn}"},), sample=sample, turn=turn
            )
            said.append(reply.text)
        return said

    return begin


class Script:
    """Answers with the item's turn; fails as often as it is told to."""

    name, format = "script", "planarena"

    def __init__(self, failures: int = 0, at_once: int = 2, parallel: int = 1) -> None:
        self.failures, self.at_once, self.parallel = failures, at_once, parallel
        self.calls: list[int] = []
        self.asked: Counter[tuple[int, int]] = Counter()
        self._lock = threading.Lock()

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        with self._lock:
            self.calls.append(len(asked))
            found = []
            for one in asked:
                self.asked[one.sample, one.turn] += 1
                if self.failures:
                    self.failures -= 1
                    found.append(Reply(problem="timeout: no answer in time"))
                else:
                    found.append(
                        Reply(
                            text=f"{one.sample}.{one.turn}",
                            tokens=2,
                            prompt_tokens=3,
                            usd=0.5,
                            truncated=True,
                        )
                    )
            return found


def drive(path: Path, policy: Any, items: Sequence[Item], samples: int = 1) -> Any:
    seen: list[int] = []
    with Journal(path) as journal:
        found, totals = converse("suite", items, policy, samples, journal, seen.append)
    assert sorted(seen) == list(range(1, len(seen) + 1))
    return found, totals


@pytest.mark.parametrize(("at_once", "parallel"), [(1, 1), (3, 1), (2, 3), (64, 1)])
def test_every_sample_of_every_item_gets_its_replies(tmp_path: Path, at_once: int, parallel: int) -> None:
    items = [Item(f"i{n}", counting(1 + n % 3)) for n in range(7)]
    policy = Script(at_once=at_once, parallel=parallel)
    found, totals = drive(tmp_path / "r.jsonl", policy, items, samples=2)
    for n in range(7):
        texts = [response.value for response in found.by_id[f"i{n}"]]
        assert texts == [[f"{sample}.{turn}" for turn in range(1 + n % 3)] for sample in range(2)]
    replies = 2 * sum(1 + n % 3 for n in range(7))
    assert (totals.outputs, totals.replies, totals.completion_tokens) == (14, replies, 2 * replies)
    assert (totals.prompt_tokens, totals.cut, totals.usd) == (3 * replies, replies, 0.5 * replies)
    assert max(policy.calls) <= at_once
    again = Script()
    same, counted = drive(tmp_path / "r.jsonl", again, items, samples=2)
    assert again.calls == []
    assert same.by_id == found.by_id
    assert counted == totals


def test_a_failed_request_is_no_answer_and_is_asked_again(tmp_path: Path) -> None:
    items = [Item(f"i{n}", counting(2)) for n in range(4)]
    found, totals = drive(tmp_path / "r.jsonl", Script(failures=3, at_once=1), items)
    assert totals.failed == {"timeout": 3}
    assert totals.outputs == 1
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [set(row) & {"response", "error"} for row in rows] == [{"error"}] * 3 + [{"response"}]
    assert [found.by_id[f"i{n}"][0].problem != "" for n in range(4)] == [True] * 3 + [False]
    policy = Script()
    found, totals = drive(tmp_path / "r.jsonl", policy, items)
    assert (totals.outputs, totals.failed.total()) == (4, 0)
    assert sum(policy.asked.values()) == 6
    with Journal(tmp_path / "r.jsonl") as journal:
        lines = journal.compact({("suite", f"i{n}", 0): n for n in range(4)}).splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["i0", "i1", "i2", "i3"]
    assert all("response" in json.loads(line) for line in lines)


def test_a_question_that_changed_is_asked_anew(tmp_path: Path) -> None:
    drive(tmp_path / "r.jsonl", Script(), [Item("i", counting(1))])

    def other(sample: int) -> Exchange:
        reply = yield Asked(id="i", messages=({"role": "user", "content": "another"},), sample=sample)
        return reply.text

    policy = Script()
    found, _ = drive(tmp_path / "r.jsonl", policy, [Item("i", other)])
    assert sum(policy.asked.values()) == 1
    assert found.by_id["i"][0].value == "0.0"


def test_the_two_versions_of_bfcl_are_asked_once(tmp_path: Path) -> None:
    items = [Item("i", counting(2)), Item("j", counting(1))]
    with Journal(tmp_path / "r.jsonl") as journal:
        found, _ = converse("bfcl-v3", items[:1], Script(), 1, journal, lambda _: None)
        policy = Script()
        other, totals = converse("bfcl-v4", items, policy, 1, journal, lambda _: None)
        assert sum(policy.asked.values()) == 1
        assert other.by_id["i"] == found.by_id["i"]
        assert (totals.outputs, totals.replies) == (2, 3)
        assert sorted(key[:2] for key in journal.rows) == [
            ("bfcl-v3", "i"), ("bfcl-v4", "i"), ("bfcl-v4", "j")
        ]  # fmt: skip
        converse("api-bank", items[:1], policy, 1, journal, lambda _: None)
        assert sum(policy.asked.values()) == 3  # another suite reads replies in its own way


class Broken(Script):
    """Answers for a while; then nobody can."""

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        if sum(self.asked.values()) >= 5:
            raise UserError("the key is refused", where="m", fix="set another")
        time.sleep(0.001)
        return super().reply(asked)


@pytest.mark.parametrize("parallel", [1, 4])
def test_an_error_for_all_keeps_what_was_answered(tmp_path: Path, parallel: int) -> None:
    items = [Item(f"i{n}", counting(1)) for n in range(50)]
    with pytest.raises(UserError, match="the key is refused"):
        drive(tmp_path / "r.jsonl", Broken(at_once=1, parallel=parallel), items)
    kept = len((tmp_path / "r.jsonl").read_text().splitlines())
    assert 5 <= kept < 5 + parallel
    policy = Script(at_once=1)
    drive(tmp_path / "r.jsonl", policy, items)
    assert sum(policy.asked.values()) == 50 - kept


def test_a_torn_line_is_cut_off_and_the_rest_stays(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    row = {"suite": "s", "id": "a", "sample": 0, "asked": "x", "response": "whole"}
    path.write_bytes(
        json.dumps(row).encode() + b"\nnot JSON at all\n" + b'{"suite":"s","id":"b","resp' + b"x" * 70_000
    )
    with Journal(path) as journal:
        assert list(journal.rows) == [("s", "a", 0)]
        journal.add(row | {"id": "b", "response": "half \ud800 of a pair"})
        journal.add(row | {"id": "c", "response": 2**80})
    lines = path.read_bytes().splitlines()
    assert len(lines) == 4
    assert json.loads(lines[2])["response"] == "half \ud800 of a pair"
    with Journal(path) as journal:
        assert [key[1] for key in journal.rows] == ["a", "b", "c"]
        assert journal.answer(("s", "b", 0), "x") is not None
        assert journal.answer(("s", "b", 0), "another prompt") is None


def test_two_writers_of_one_folder_are_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "r.jsonl"), pytest.raises(UserError, match="another evaluation is writing here"):
        Journal(tmp_path / "r.jsonl")
    with Journal(tmp_path / "r.jsonl") as journal:
        assert journal.rows == {}
    with pytest.raises(UserError, match="cannot be written"):
        Journal(tmp_path / "absent" / "r.jsonl")
