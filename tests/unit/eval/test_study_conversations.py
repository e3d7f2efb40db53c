"""The study's conversations: gold reaches their goals, carelessness does not, nothing leaks, and practice can hear the user."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planarena.bench import DoNothing, GoldPolicy
from planarena.errors import ConfigError
from planarena.eval.algorithms.conversations import AIMS, draw_conversations, spoil_conversation
from planarena.eval.algorithms.data import StudyTask, composition_is_held_out
from planarena.eval.algorithms.plan import PRESETS, StudyConfig, units_of
from planarena.eval.algorithms.setting import draw_sets
from planarena.eval.algorithms.work import rollout_config
from planarena.eval.algorithms.writing import write_tasks
from planarena.eval.arena import load_tasks, play
from planarena.rows import RowOptions
from planarena.trainers.config import DataConfig, TinyConfig, TrainConfig, complete
from planarena.trainers.local.model import Policy, make_tiny
from planarena.trainers.loop.backend import Generated, Sampling
from planarena.trainers.loop.data import load_data, load_texts
from planarena.trainers.loop.encoding import make_encoder
from planarena.trainers.loop.episodes import sample_episodes
from planarena.trainers.loop.score import Scorer, open_judges
from planarena.trainers.loop.tokenizer import ChatTokenizer, train_tokenizer
from planarena.trainers.types import Needs

OPTIONS = RowOptions(template="short", plan="none")


@pytest.fixture(scope="module")
def tasks() -> list[StudyTask]:
    return draw_conversations(80, seed=1, first_house=0)


def test_gold_reaches_every_goal_and_careless_conversations_do_not(
    tasks: list[StudyTask], tmp_path: Path
) -> None:
    write_tasks(tmp_path / "gold", tasks, seed=1, split="test")
    loaded = load_tasks(tmp_path / "gold", OPTIONS)
    assert all(one.success for one in play(GoldPolicy(loaded), loaded))
    assert not any(one.success for one in play(DoNothing(), loaded))
    rng = Random(0)
    led = [spoil_conversation(task, 1.0, rng) for task in tasks]
    write_tasks(tmp_path / "careless", tasks, seed=1, split="test", said=lambda number, _: led[number])
    careless = load_tasks(tmp_path / "careless", OPTIONS)
    missed = 0
    for task, one, said in zip(tasks, play(GoldPolicy(careless), careless), led, strict=True):
        assert one.success == (said.exchanges == task.exchanges)
        missed += not one.success
    assert missed > 40


def test_every_conversation_has_several_messages_and_every_aim_occurs(tasks: list[StudyTask]) -> None:
    assert min(len(task.exchanges) for task in tasks) == 2
    assert {kind for task in tasks for kind in task.kinds} == set(AIMS)
    for task in tasks:
        for before, exchange in pairwise(task.exchanges):
            # What is held back follows a question that no call comes before.
            assert (exchange.message.when == "asked") == before.answer.endswith("?")
            assert not (before.groups and before.answer.endswith("?"))


def test_practice_and_test_share_no_conversation_no_state_and_no_held_out_composition() -> None:
    config = StudyConfig(**{**PRESETS["conversations"], "demonstrations": 60, "tasks": 40, "test": 30})
    sets = draw_sets(config)
    assert {name: len(found) for name, found in sets.items()} == {
        "parts": 60,
        "tasks": 40,
        "seen": 30,
        "unseen": 30,
    }
    said = [task.query for found in sets.values() for task in found]
    assert len(set(said)) == len(said)
    houses = [{task.house for task in found} for found in sets.values()]
    assert sum(map(len, houses)) == len(set().union(*houses))
    for name, found in sets.items():
        assert {composition_is_held_out(task.kinds) for task in found} == {name == "unseen"}


def test_a_study_of_conversations_stands_alone() -> None:
    units = units_of(StudyConfig(**PRESETS["conversations"]))
    assert [unit.name for unit in units[:2]] == ["conversations/start", "ceiling"]
    assert {unit.method for unit in units[2:]} == {"grpo", "sft-steps", "sft-compute"}
    for wrong in ({"regimes": ("conversations", "gold")}, {"ablation": "dupo-table-4"}):
        with pytest.raises(ConfigError, match="tasks of its own"):
            StudyConfig(**{**PRESETS["conversations"], **wrong})


class _Talker:
    """Says by heart what a task's gold or a careless assistant says; one dialogue at a time is continued."""

    def __init__(self, policy: Policy, lines: dict[tuple[int, ...], Sequence[str]]) -> None:
        self.policy, self.lines = policy, lines

    def __call__(self, ids: Sequence[Sequence[int]], *, repeats: int = 1, **_: Any) -> list[list[Generated]]:
        return [[self._next(list(one))] * repeats for one in ids]

    def _next(self, ids: list[int]) -> Generated:
        start = next(known for known in self.lines if tuple(ids[: len(known)]) == known)
        mark = self.policy.chat.tokenizer.convert_tokens_to_ids("<|assistant|>")
        said = self.policy.chat.target(self.lines[start][ids[len(start) :].count(mark)])
        return Generated(said, [-0.5] * len(said), [0.1] * len(said), True)


def test_an_episode_hears_its_user_and_learns_nothing_of_what_the_user_says(
    tasks: list[StudyTask], tmp_path: Path
) -> None:
    """Gold episodes earn 1, careless ones 0; the user's words are in the tokens and masked."""
    config = StudyConfig(**PRESETS["conversations"])
    for name in ("gold", "careless"):
        rng = Random(0)
        led = {task.query: spoil_conversation(task, float(name == "careless"), rng) for task in tasks}
        write_tasks(
            tmp_path / name, tasks[:24], seed=1, split="train", said=lambda _, task, led=led: led[task.query]
        )
    data = {
        name: DataConfig(
            path=str(tmp_path / name), mode="episodes", format="planarena", template="short", plan="none"
        )
        for name in ("gold", "careless")
    }
    training = {
        name: complete(
            TrainConfig(
                out="unused",
                algorithm="grpo",
                data=one,
                rollout=rollout_config(config, episodes=True),
            )
        )
        for name, one in data.items()
    }
    needs = Needs(experts=True)
    chat = ChatTokenizer(train_tokenizer(load_texts(training["gold"], needs), 600))
    size = TinyConfig(hidden=16, layers=1, heads=2, intermediate=16)
    policy = Policy(make_tiny(size, chat, seed=0, positions=2000), chat)
    read = {
        name: load_data(one, needs, make_encoder(one, chat, policy.context, needs))
        for name, one in training.items()
    }
    # Both are asked the same; what is said by heart differs.
    prompts, lines = read["gold"].prompts, {}
    assert len(prompts) == 24
    for name, found in read.items():
        lines[name] = {tuple(prompt.ids): prompt.row.targets for prompt in found.prompts}
    scorer = Scorer("toolrl", {}, None, "planarena", Needs(), open_judges(""))
    how = Sampling(temperature=1.0, repeats=1)
    for name, talker in lines.items():
        rolled = sample_episodes(
            policy, prompts, training["gold"].rollout, scorer, how, _Talker(policy, talker)
        )
        for prompt, sample in zip(prompts, rolled.samples, strict=True):
            task = next(one for one in tasks if one.query == " ".join(prompt.row.turns))
            same = task.exchanges == led[task.query].exchanges
            assert sample.reward == sample.success == float(name == "gold" or same)
            learnt = chat.plain(
                [one for one, flag in zip(sample.response_ids, sample.mask, strict=True) if flag]
            )
            whole = chat.plain(sample.response_ids)
            for exchange in task.exchanges[1:]:
                message = exchange.message
                assert message.text not in learnt
                # What nobody asked for stays unsaid.
                assert (message.text in whole) == (name == "gold" or message.when == "answered" or same)
