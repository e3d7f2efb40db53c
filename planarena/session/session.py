"""The session: one policy in one environment, from the user's first message to the reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import msgspec

from planarena.environments import Outcome, World
from planarena.environments.sources import LiveWorld
from planarena.episodes import Episode, Goal, reached, succeeded
from planarena.errors import UserError
from planarena.records import canonical_json
from planarena.rows import Opened
from planarena.session.task import SessionTask
from planarena.session.task_set import TaskSet
from planarena.users import Brief, ScriptedUser, User

__all__ = ["Event", "Opening", "Reward", "Session", "Snapshot", "observation_text"]


class Event(NamedTuple):
    """Something that was done in a session: a call of `tool`, or an answer where `tool` is None.

    Attributes:
        tool: Wire name, or None.
        value: The arguments, or the answer's text.
    """

    tool: str | None
    value: Any


class Opening(NamedTuple):
    """What a policy sees first: the chat messages, and the tools in the OpenAI shape."""

    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...]


class Reward(msgspec.Struct, frozen=True):
    """What an episode earned; nothing in it says what would have been right.

    Attributes:
        value: 1.0 for a success, else 0.0.
        goal: The goal predicate holds: the final state is reached and the required results were seen.
        answered: The user's last message has an answer.
        calls: Calls made.
        failed: Calls among them that failed.
    """

    value: float
    goal: bool
    answered: bool
    calls: int
    failed: int

    @property
    def parts(self) -> dict[str, float]:
        """The same as numbers by name."""
        return {name: float(value) for name, value in msgspec.structs.asdict(self).items() if name != "value"}


class Snapshot(NamedTuple):
    """A point in a session: what was done up to it. Plain data, so that it can be kept and sent."""

    task: str
    events: tuple[Event, ...]


class Session:
    """One episode at a time; `reset` begins one, `close` ends it.

    Args:
        tasks: What `reset` chooses from; without them only `reset(task)` with a task of its own and `enter` work.
        user: Makes the user of an episode: it is made again where an episode goes back, so what it says must depend on
            the task and on what was said alone. By default a scripted one that goes by the task's brief.
        most_calls: Further calls fail; None for no limit.

    Attributes:
        task: The task under way, or None.
        observed: (tool, outcome) of the calls so far.
        answers: The answers so far.
        answered: The user's last message has an answer.
        over: The user has nothing more to say; unless `answered` it gave up, or it spoiled the episode.
    """

    def __init__(
        self,
        tasks: TaskSet | None = None,
        *,
        user: Callable[[SessionTask], User] | None = None,
        most_calls: int | None = None,
    ) -> None:
        self.tasks = tasks
        self.task: SessionTask | None = None
        self._user_of = user or SessionTask.user
        self._most_calls = most_calls
        self._user: User = ScriptedUser(Brief())
        self._opened: Opened | None = None
        self._offered: frozenset[str] = frozenset()
        self.observed: list[tuple[str, Outcome]] = []
        self.answers: list[str] = []
        self.answered = self.over = False
        # What was done, and the world's mark before each.
        self._events: list[Event] = []
        self._marks: list[int] = []

    # -- beginning and end -----------------------------------------------------------------------------------

    def reset(self, task: SessionTask | str | None = None, seed: int = 0) -> Opening:
        """Begin an episode; one that is under way is dropped.

        Args:
            task: The task, or the id of one of `tasks`; None draws one of them.
            seed: Decides which one is drawn.

        Returns:
            The messages and the tools.

        Raises:
            UserError: There is no such task, or nothing to choose from.
            RunError: Its run is gone or another one.
            SourceError: It needs an environment that is not here.
        """
        if not isinstance(task, SessionTask):
            if self.tasks is None:
                raise UserError("there are no tasks to choose from", where="reset", fix="give a task")
            task = self.tasks.draw(seed) if task is None else self.tasks.get(task)
        self._begin(task.open(), task.offered)
        self.task, self._user = task, self._user_of(task)
        return Opening(task.messages, task.tools)

    def enter(self, world: World | LiveWorld) -> None:
        """Begin an episode without a task, in a world of one's own: all its tools are on offer, nothing is a goal."""
        own = cast(World, world)
        self._begin(Opened(own, Episode(own), Goal("", ()), []), frozenset(own.operations))
        self.task, self._user = None, ScriptedUser(Brief())

    def _begin(self, opened: Opened, offered: frozenset[str]) -> None:
        self._opened, self._offered = opened, offered
        self.observed = opened.observed
        self.answers, self._events, self._marks = [], [], []
        self.answered = self.over = False

    def close(self) -> None:
        """End the episode and let go of its world."""
        self._opened, self.task, self.observed = None, None, []
        self.answers, self._events, self._marks = [], [], []
        self.answered = self.over = False

    @property
    def is_open(self) -> bool:
        """An episode is under way."""
        return self._opened is not None

    @property
    def spoiled(self) -> str:
        """What the user did wrong (see `planarena.users.FAULTS`), so that the episode shows nothing; mostly empty."""
        return self._user.spoiled

    @property
    def world(self) -> World:
        """The world of the episode."""
        return self._current.world

    @property
    def _current(self) -> Opened:
        if self._opened is None:
            raise UserError("no episode is under way", where="session", fix="call reset first")
        return self._opened

    # -- acting ----------------------------------------------------------------------------------------------

    def call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """Make a call; whatever it holds, a failure is an outcome and the state is as before.

        Beyond `most_calls`, and once the episode is over, a call fails and counts for nothing.
        """
        opened = self._current
        mark = opened.world.mark()
        if self._most_calls is not None and len(self.observed) >= self._most_calls:
            return Outcome("tool_error", None, {"code": "too_many_calls", "message": "No calls are left."})
        if self.over:
            return Outcome("tool_error", None, {"code": "episode_over", "message": "The episode is over."})
        outcome = opened.episode.attempt(tool, arguments, self._offered)
        self._marks.append(mark)
        self._events.append(Event(tool, arguments))
        self.observed.append((tool, outcome))
        return outcome

    def answer(self, text: str) -> str | None:
        """Answer the user; return the user's next message, or None where the episode is over."""
        opened = self._current
        if self.over:
            return None
        self._marks.append(opened.world.mark())
        calls = self._calls_since()
        self._events.append(Event(None, text))
        self.answers.append(text)
        return self._hear(text, calls)

    def _calls_since(self) -> int:
        """Return how many calls of tools on offer were made since the user last spoke."""
        calls = 0
        for event in reversed(self._events):
            if event.tool is None:
                break
            calls += event.tool in self._offered
        return calls

    def _hear(self, text: str, calls: int) -> str | None:
        message = self._user.reply(text, calls)
        self.over = message is None
        self.answered = self.over and (self.task is None or self._user.answered)
        return message

    # -- what it is worth ------------------------------------------------------------------------------------

    def goal_reached(self) -> bool:
        """Say whether the goal predicate holds now; without a task it never does."""
        opened = self._current
        return self.task is not None and reached(opened.goal, opened.world.digest(), self.observed)

    def reward(self) -> Reward:
        """Return the reward of the episode as it stands."""
        goal, calls = self.goal_reached(), len(self.observed)
        actions = self.task.actions if self.task is not None else 0
        success = succeeded(goal, self.answered, calls=calls, gold_calls=actions)
        failed = sum(outcome.status != "ok" for _, outcome in self.observed)
        return Reward(float(success), goal, self.answered, calls, failed)

    # -- going back ------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return the present point of the episode."""
        return Snapshot(self.task.id if self.task is not None else "", tuple(self._events))

    def restore(self, snapshot: Snapshot) -> None:
        """Go to a point of an episode of the same task, back or forth; another session's will do.

        What both have in common stays, what is beyond is undone, what is missing is done again.

        Raises:
            UserError: It is a point of another task.
        """
        opened = self._current
        if snapshot.task != (self.task.id if self.task is not None else ""):
            raise UserError("is a point of another task", where="snapshot", fix="reset to its task first")
        common = 0
        for ours, theirs in zip(self._events, snapshot.events, strict=False):
            if ours != theirs:
                break
            common += 1
        if common < len(self._events):
            opened.world.rollback(self._marks[common])
            before = len(self.observed) - sum(one.tool is not None for one in self._events)
            kept = self._events[:common]
            del self.observed[before + sum(one.tool is not None for one in kept) :]
            self._marks = self._marks[:common]
            self._say_again(kept)
        for event in snapshot.events[common:]:
            if event.tool is None:
                self.answer(event.value)
            else:
                self.call(event.tool, event.value)

    def _say_again(self, events: list[Event]) -> None:
        """Take the user to where some events leave it."""
        self.answered = self.over = False
        self._user = ScriptedUser(Brief()) if self.task is None else self._user_of(self.task)
        self._events, self.answers = [], []
        for event in events:
            calls = self._calls_since()
            self._events.append(event)
            if event.tool is None:
                self.answers.append(event.value)
                self._hear(event.value, calls)

    def undo(self) -> bool:
        """Take the last call or answer back; return whether there was one."""
        if not self._events:
            return False
        self.restore(Snapshot(self.task.id if self.task else "", tuple(self._events[:-1])))
        return True


def observation_text(outcome: Outcome) -> str:
    """Return what a policy is shown of an outcome: text as it is, everything else as canonical JSON."""
    shown = outcome.result if outcome.status == "ok" else outcome.error
    return shown if isinstance(shown, str) else canonical_json(shown)
