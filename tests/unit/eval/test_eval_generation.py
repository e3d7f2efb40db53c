"""The bench through the same loop: episodes are kept as they end, those whose requests failed are played again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from planarena.bench import Asked, GoldPolicy, Reply, bench_options, bench_path, load_tasks
from planarena.eval import EvalConfig, evaluate
from planarena.eval.models.generation import UnansweredError

LIMIT = 3


class Flaky:
    """The gold policy, whose requests for some items fail until it is mended."""

    name, format = "gold", "planarena"

    def __init__(self, gold: GoldPolicy) -> None:
        self.gold = gold
        self.broken: set[str] = set()
        self.problem = "timeout: too late"
        self.asked: list[str] = []

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        self.asked += [one.id for one in asked]
        return [
            Reply(problem=self.problem)
            if one.id in self.broken and one.turn == 1
            else msgspec.structs.replace(reply, tokens=7, prompt_tokens=11)
            for one, reply in zip(asked, self.gold.reply(asked), strict=True)
        ]


@pytest.fixture
def policy() -> Flaky:
    with bench_path() as path:
        return Flaky(GoldPolicy(load_tasks(path, bench_options("planarena"), limit=LIMIT)))


def run(out: Path, policy: Flaky) -> None:
    evaluate(EvalConfig(("planarena",), str(out), model="gold", limit=LIMIT), policy=policy)


def test_failed_episodes_are_played_again_and_the_others_are_not(tmp_path: Path, policy: Flaky) -> None:
    run(tmp_path / "whole", policy)
    scores = json.loads((tmp_path / "whole" / "scores.json").read_bytes())["suites"]["planarena"]
    assert all(verdict["correct"] for verdict in scores["verdicts"])
    several = [one for one in policy.asked if policy.asked.count(one) > 1]
    assert several
    first = list(policy.asked)

    policy.asked, policy.broken = [], {several[0]}
    with pytest.raises(UnansweredError, match="1 of .* outputs are missing.*1 with timeout"):
        run(tmp_path / "cut", policy)
    assert not (tmp_path / "cut" / "scores.json").exists()
    policy.asked, policy.broken = [], set()
    run(tmp_path / "cut", policy)
    assert set(policy.asked) == {several[0]}
    for name in ("scores.json", "responses.jsonl"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    taken = json.loads((tmp_path / "cut" / "run.json").read_bytes())["generation"]["suites"]["planarena"]
    assert (taken["replies"], taken["completion_tokens"]) == (len(first), 7 * len(first))


def test_failures_may_be_counted_as_wrong(tmp_path: Path, policy: Flaky) -> None:
    run(tmp_path / "whole", policy)
    broken = next(one for one in policy.asked if policy.asked.count(one) > 1)
    policy.broken = {broken}
    config = EvalConfig(("planarena",), str(tmp_path / "run"), model="gold", limit=LIMIT)
    made = msgspec.structs.replace(config.generation, count_failed=True)
    found = evaluate(msgspec.structs.replace(config, generation=made), policy=policy)
    wrong = [verdict.id for verdict in found.suites["planarena"].verdicts if not verdict.correct]
    assert wrong == [broken]


def test_what_the_provider_refuses_is_wrong_and_said(tmp_path: Path, policy: Flaky) -> None:
    run(tmp_path / "whole", policy)
    refused = next(one for one in policy.asked if policy.asked.count(one) > 1)
    policy.broken, policy.problem = {refused}, "refused: the provider's content filter stopped the answer"
    found = evaluate(
        EvalConfig(("planarena",), str(tmp_path / "run"), model="gold", limit=LIMIT), policy=policy
    )
    assert [one.id for one in found.suites["planarena"].verdicts if not one.correct] == [refused]
    (note,) = json.loads((tmp_path / "run" / "run.json").read_bytes())["generation"]["notes"]
    assert "WARNING: 1 of" in note
    assert "refused by the provider" in note
    assert "refused by the provider" in (tmp_path / "run" / "report.html").read_text()
    # What failed otherwise beside it is still missing.
    policy.problem = "timeout: too late"
    with pytest.raises(UnansweredError, match="1 with timeout"):
        run(tmp_path / "cut", policy)
