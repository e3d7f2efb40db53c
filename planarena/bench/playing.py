"""Playing tasks: every open dialogue is put to the policy at once, its calls run in the scenario's environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from planarena import formats
from planarena.bench.policy import Asked, Policy
from planarena.bench.tasks import Task
from planarena.environments import Outcome
from planarena.episodes import succeeded
from planarena.formats import Format, Native, Parsed, read_output
from planarena.rows.templates import template
from planarena.session import Session, SessionTask, observation_text
from planarena.users import Users

__all__ = ["MOST_CALLS", "MOST_TURNS", "Dialogue", "Made", "Played", "begin", "parse_reply", "play"]

MOST_TURNS = 24
# A reply with a hundred calls is not to fill the dialogue with their results.
MOST_CALLS = 16


class Made(msgspec.Struct, frozen=True):
    """A call that the policy made.

    Attributes:
        tool: As the policy wrote it.
        arguments: Likewise.
        outcome: What came of it; a tool that the task does not offer is unknown.
        turn: The reply that made it.
    """

    tool: str
    arguments: dict[str, Any]
    outcome: Outcome
    turn: int


@dataclass(slots=True)
class Played:
    """One episode.

    Attributes:
        task: The task.
        sample: Which of the item's K episodes.
        texts: The policy's replies.
        tokens: Of all replies; None where nobody counted.
        calls: The calls made, in order.
        plan: The plan of the first reply that has one.
        goal: The goal predicate holds at the end.
        answered: It ended with an answer to the user's last message.
        broken: Replies that the format cannot read.
        problem: A request failed, so that nothing is known; else empty.
        spoiled: What the user did wrong (see `planarena.users.FAULTS`): the episode shows nothing of the policy; else empty.
    """

    task: Task
    sample: int = 0
    texts: list[str] = field(default_factory=list)
    tokens: int | None = 0
    calls: list[Made] = field(default_factory=list)
    plan: str = ""
    goal: bool = False
    answered: bool = False
    broken: int = 0
    problem: str = ""
    spoiled: str = ""

    @property
    def success(self) -> bool:
        """The goal is reached and the user has an answer; where no call is right, without having made any."""
        return succeeded(self.goal, self.answered, calls=len(self.calls), gold_calls=self.task.actions)


class Dialogue:
    """An episode under way."""

    def __init__(self, task: Task, sample: int, observations: str, users: Users | None = None) -> None:
        self.played = Played(task, sample)
        self.session = Session(user=None if users is None else lambda one: users.play(one.known))
        self.messages = list(self.session.reset(SessionTask.of_row(task.row)).messages)
        self.open = True
        self._role = observations

    @property
    def asked(self) -> Asked:
        """What the policy is asked now."""
        task = self.played.task
        return Asked(
            id=task.id,
            messages=tuple(self.messages),
            tools=task.row.tools,
            sample=self.played.sample,
            turn=len(self.played.texts),
        )

    def take(self, text: str, parsed: Parsed, last: bool) -> None:
        """Carry out a reply."""
        played = self.played
        number = len(played.texts)
        played.texts.append(text)
        played.plan = played.plan or parsed.plan or ""
        played.broken += parsed.broken or not parsed.valid
        if parsed.calls and not parsed.broken:
            made = [self._make(call.name, call.arguments, number) for call in parsed.calls[:MOST_CALLS]]
            self._say(text, parsed, [one.outcome for one in made])
            self.open = not last
        elif parsed.response is not None and not parsed.broken:
            message = self.session.answer(parsed.response)
            if message is not None and not last:
                self._say(text, parsed, [])
                self.messages.append({"role": "user", "content": message})
            else:
                played.answered = self.session.answered
                played.spoiled = self.session.spoiled
                self.open = False
        else:
            self.open = False
        if not self.open:
            self.close()

    def _make(self, tool: str, arguments: dict[str, Any], number: int) -> Made:
        made = Made(tool, arguments, self.session.call(tool, arguments), number)
        self.played.calls.append(made)
        return made

    def _say(self, text: str, parsed: Parsed, outcomes: Sequence[Outcome]) -> None:
        """Append what was said and what came back, as the rows of training write it."""
        number = len(self.played.texts) - 1
        contents = list(map(observation_text, outcomes))
        if parsed.format == "native":
            calls = parsed.calls[:MOST_CALLS]
            message = Native().message(plan=None, calls=calls, response=parsed.response)
            for index, call in enumerate(message.get("tool_calls", ())):
                call["id"] = f"call_{number}_{index}"
            self.messages.append(message)
            self.messages += [
                {"role": "tool", "tool_call_id": f"call_{number}_{index}", "content": content}
                for index, content in enumerate(contents)
            ]
            return
        self.messages.append({"role": "assistant", "content": text})
        for call, content in zip(parsed.calls, contents, strict=False):
            words = content if self._role == "tool" else f"Result of {call.name}: {content}"
            self.messages.append({"role": self._role, "content": words})

    def close(self) -> None:
        """Ask the goal predicate."""
        self.played.goal = self.session.goal_reached()
        self.open = False


def play(
    policy: Policy,
    tasks: Sequence[Task],
    *,
    samples: int = 1,
    at_once: int = 512,
    most_turns: int = MOST_TURNS,
    done: Mapping[tuple[str, int], Sequence[str]] | None = None,
    tell: Callable[[int, int], None] | None = None,
    parse: Callable[[str], Parsed] | None = None,
    users: Users | None = None,
) -> Iterator[Played]:
    """Let a policy act on tasks; episodes come back as their batch ends.

    A reply that neither calls nor answers ends its episode, and so does one whose request failed. An episode that its
    user spoiled is to be discarded: it is no failure of the policy's.

    Args:
        policy: The policy.
        tasks: With prompts in the policy's format.
        samples: Episodes per task.
        at_once: Episodes under way at a time.
        most_turns: Replies of one episode.
        done: Replies of episodes that were played before, by task and sample: they are carried out, not asked.
        tell: Told (episodes ended, episodes in all).
        parse: Reads a reply in the place of the policy's format.
        users: Who plays the users; by default they are scripted.
    """
    form = formats.get(policy.format)
    read = parse or partial(parse_reply, form)
    wanted = [(task, sample) for task in tasks for sample in range(samples)]
    known = done or {}
    ended = 0
    for start in range(0, len(wanted), at_once):
        group = [begin(task, sample, users) for task, sample in wanted[start : start + at_once]]
        for turn in range(most_turns):
            running = [one for one in group if one.open]
            if not running:
                break
            last = turn + 1 == most_turns
            asking = []
            for one in running:
                texts = known.get((one.played.task.id, one.played.sample))
                if texts is None:
                    asking.append(one)
                elif turn < len(texts):
                    one.take(texts[turn], read(texts[turn]), last)
                else:
                    one.close()
            replies = policy.reply([one.asked for one in asking]) if asking else []
            for one, reply in zip(asking, replies, strict=True):
                if reply.problem:
                    one.played.problem = reply.problem
                    one.close()
                    continue
                if reply.tokens is None or one.played.tokens is None:
                    one.played.tokens = None
                else:
                    one.played.tokens += reply.tokens
                one.take(reply.text, read(reply.text), last)
            ended += sum(not one.open for one in running)
            if tell is not None:
                tell(ended, len(wanted))
        for one in group:
            yield one.played


def parse_reply(form: Format, text: str) -> Parsed:
    """Read a reply; of the format native also calls that a server left in the content, which are no answer."""
    parsed = form.parse(text)
    if form.name != "native" or parsed.calls or parsed.broken or parsed.response is None:
        return parsed
    reading = read_output(text)
    if reading.written in ("native", "plain", "python") or (reading.written == "xlam" and reading.content):
        return parsed
    return msgspec.structs.replace(
        parsed,
        calls=reading.calls,
        response=reading.content or None,
        broken=not reading.calls and bool(reading.problem),
        reason="" if reading.calls else reading.problem,
    )


def begin(task: Task, sample: int = 0, users: Users | None = None) -> Dialogue:
    """Return an episode of a task at its beginning."""
    role = template(task.row.template, task.row.format).observations
    return Dialogue(task, sample, role if role != "native" else "tool", users)
