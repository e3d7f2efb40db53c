"""A task that a session plays: what is seen at its beginning, where it is played, and the goal."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from planarena.environments import World
from planarena.episodes import Episode
from planarena.formats import Call
from planarena.proofs import open_scenario, read_goal
from planarena.rows import EnvironmentReference, EpisodeRow, Opened, open_environment
from planarena.users import Brief, ScriptedUser, User, read_brief

__all__ = ["SessionTask", "StoredWorld"]


class StoredWorld(msgspec.Struct, frozen=True):
    """A world and a goal as the tables of a run hold them, for tasks that are read without their run.

    Attributes:
        environment: Column `environment` of the table `scenarios`.
        seed_state: Column `seed_state`.
        context: Column `context`.
        goal: Column `goal` of the table `tasks`.
    """

    environment: str
    seed_state: str
    context: str
    goal: str

    def open(self) -> Opened:
        """Make the world in its initial state.

        Raises:
            SourceError: It needs an environment that is not here.
        """
        world = _open(self.environment, self.seed_state, self.context)
        return Opened(world, Episode(world), read_goal(self.goal), [])


class _Scenario(msgspec.Struct, frozen=True):
    environment: dict[str, Any]
    seed_state: dict[str, Any]
    context: dict[str, Any]


@lru_cache(maxsize=1024)
def _decoded(environment: str, seed_state: str, context: str) -> _Scenario:
    # Records are never changed in place, so that worlds of one scenario share them.
    decode = msgspec.json.decode
    return _Scenario(decode(environment), decode(seed_state), decode(context))


def _open(environment: str, seed_state: str, context: str) -> World:
    from planarena.environments.catalog import restore_world

    found = _decoded(environment, seed_state, context)
    if found.environment.get("kind") != "builtin":
        return open_scenario({"environment": environment, "seed_state": seed_state, "context": context})
    shown = found.environment.get("presented")
    return restore_world(found.environment["domains"], found.seed_state, found.context, shown)


class SessionTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task, and what only the side of the environment may see of it: `world`, `gold` and `answers`.

    Attributes:
        id: The id of its task.
        messages: Chat messages up to the first decision.
        tools: The tools on offer in the OpenAI shape; the world may have others, which the task withholds.
        turns: All messages of the user; the first is in `messages` already.
        world: Where it is played, with the goal.
        gold: The calls of the gold, by decision; a decision without calls is an answer.
        answers: The answers of the gold, in order.
        actions: Calls of the gold, which is minimal; 0 where no call is right.
        split: `train`, `validation`, `test` or `unseen_tools`.
        scenario: Id of its scenario.
        domain: Of its scenario.
        category: `call`, or why no call is right.
        brief: What the user knows and says when; empty in runs of before.
    """

    id: str
    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...]
    turns: tuple[str, ...]
    world: EnvironmentReference | StoredWorld
    gold: tuple[tuple[Call, ...], ...] = ()
    answers: tuple[str, ...] = ()
    actions: int = 0
    split: str = "train"
    scenario: str = ""
    domain: str = ""
    category: str = "call"
    brief: str = ""

    @classmethod
    def of_row(cls, row: EpisodeRow) -> SessionTask:
        """Return the task of a row that has an environment."""
        assert row.environment is not None
        return cls(
            id=row.task_id,
            messages=row.prompt,
            tools=row.tools,
            turns=row.turns,
            world=row.environment,
            gold=tuple(gold.calls for gold in row.gold),
            answers=tuple(gold.response or "" for gold in row.gold if not gold.calls),
            actions=sum(len(gold.calls) for gold in row.gold),
            split=row.split,
            scenario=row.scenario_id,
            domain=row.domain,
            category=row.category,
            brief=row.brief,
        )

    def user(self) -> User:
        """Return the user of an episode; the first message is said already."""
        return ScriptedUser(self.known)

    @property
    def known(self) -> Brief:
        """What the user knows and says when."""
        return read_brief(self.brief, self.turns)

    @property
    def offered(self) -> frozenset[str]:
        """Wire names of the tools on offer."""
        return frozenset(str(tool["function"]["name"]) for tool in self.tools)

    def without_solution(self) -> SessionTask:
        """Return the task as a server needs it: with its goal, and without the way there."""
        return msgspec.structs.replace(self, gold=(), answers=())

    def open(self) -> Opened:
        """Make its world.

        Raises:
            RunError: Its run is gone or another one.
            SourceError: It needs an environment that is not here.
        """
        return self.world.open() if isinstance(self.world, StoredWorld) else open_environment(self.world)
