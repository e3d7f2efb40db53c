"""Wrong choices at the questions and answers before the end: executed and judged like those at the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from planarena.environments import World
from planarena.episodes import Episode, ExecutedCall
from planarena.generate.clauses import StepContext
from planarena.generate.relevance import likeness, relevance_of_answer, relevance_of_call
from planarena.generate.wrong_answers import ASK_BACK, write_claim
from planarena.pipeline.language.conversations.lines import FOR_GOOD
from planarena.pipeline.products import Act, Candidate, Executed
from planarena.proofs import scalars_of, scalars_shown
from planarena.tasks.atoms import Call, fill

__all__ = ["Scenery", "choices_of"]

_REFUSALS = (
    "I'm sorry, I can't do that here.",
    "Unfortunately I have no way to do that.",
    "I don't have access to what that would need.",
)
_CLAIMS = ("Done.", "That is taken care of.", "All set.", "Sure, it is done.")
# To what a rule forbids there is nothing to say yes to.
_OFFERS = (
    "Are you sure? If you say yes, I'll do it.",
    "Shall I do it all the same?",
    "Do you want me to go ahead with that?",
)
_MOST = 3


class Scenery(NamedTuple):
    """What the choices of a scenario's conversations are made from.

    Attributes:
        world: In the initial state, where it is left.
        facts: The context.
        literals: By semantic type the values of the scenario's atoms.
    """

    world: World
    facts: dict[str, Any]
    literals: Callable[[str], Sequence[Any]]


def choices_of(
    scenery: Scenery,
    task: Executed,
    program: Sequence[Call],
    words: list[StepContext],
    answers: Sequence[str],
    rng: Random,
) -> tuple[tuple[int, int, tuple[Candidate, ...]], ...]:
    """Return (message, next step, candidates) for every question of a conversation.

    Args:
        scenery: The scenario.
        task: The conversation.
        program: Its calls.
        words: Its steps.
        answers: By message.
        rng: Decides among equals.
    """
    found = []
    for act in task.talk.acts:
        if act.what == "lacks":
            place = sum(turn <= act.turn for turn in task.turn_of)
            point = _Point(scenery, task, program, words, act, place)
            found.append((act.turn, place, tuple(point.candidates(answers[act.turn], rng))))
        elif act.what == "confirms":
            place = sum(turn <= act.turn for turn in task.turn_of)
            point = _Point(scenery, task, program, words, act, place)
            found.append((act.turn, place, tuple(point.before_a_yes(answers[act.turn], rng))))
        elif act.what == "forbids" and act.turn not in task.turn_of and act.turn + 1 < task.turns:
            place = sum(turn <= act.turn for turn in task.turn_of)
            point = _Point(scenery, task, program, words, act, place)
            found.append((act.turn, place, tuple(point.at_a_refusal(answers[act.turn], rng))))
        elif act.what == "fails" and act.argument == FOR_GOOD and act.turn + 1 < task.turns:
            place = sum(turn <= act.turn for turn in task.turn_of)
            point = _Point(scenery, task, program, words, act, place)
            found.append((act.turn, place, tuple(point.after_failure(answers[act.turn], rng))))
    return tuple(found)


class _Point(NamedTuple):
    """A question: the world stands before `place`, the first step after it."""

    scenery: Scenery
    task: Executed
    program: Sequence[Call]
    words: list[StepContext]
    act: Act
    place: int

    def candidates(self, question: str, rng: Random) -> Iterator[Candidate]:
        world = self.scenery.world
        start = world.mark()
        try:
            episode = Episode(world, self.program)
            episode.perform_all(range(self.place))
            digest = world.digest()
            yield Candidate("", {}, "frontier", 1.0, "", self._checked(question, digest), response=question)
            yield from self._guesses(episode)
            for kind, share, text in self._wrong_answers(rng):
                attempt = self._checked(text, digest)
                relevance = relevance_of_answer(share)
                yield Candidate("", {}, "diverges", relevance, kind, attempt, response=text)
        finally:
            world.rollback(start)

    def before_a_yes(self, question: str, rng: Random) -> Iterator[Candidate]:
        """Yield the question for a yes, the call without one, and what else is wrong in its place."""
        others = (("false_answer", 0.3, _CLAIMS), ("needless_refusal", 0.2, _REFUSALS))
        return self._instead_of_the_call(question, "unconfirmed_call", others, rng)

    def at_a_refusal(self, refusal: str, rng: Random) -> Iterator[Candidate]:
        """Yield the refusal, the call that a rule forbids, and what else is wrong in its place."""
        others = (("false_answer", 0.3, _CLAIMS), ("needless_question", 0.4, _OFFERS))
        return self._instead_of_the_call(refusal, "forbidden_call", others, rng)

    def _instead_of_the_call(
        self, right: str, kind: str, others: Sequence[tuple[str, float, Sequence[str]]], rng: Random
    ) -> Iterator[Candidate]:
        world = self.scenery.world
        start = world.mark()
        try:
            episode = Episode(world, self.program)
            episode.perform_all(range(self.place))
            digest = world.digest()
            yield Candidate("", {}, "frontier", 1.0, "", self._checked(right, digest), response=right)
            made = len(self.task.steps)
            asked = self.act.step
            step = self.task.steps[asked] if asked < made else self.task.talk.unmade[asked - made]
            if all(source < self.place for _, source, _ in step.bound):
                mark = world.mark()
                taken = episode.act(step.tool, step.arguments)
                world.rollback(mark)
                # Whatever it reaches, nobody said yes to it, or a rule forbids it.
                outcome = "diverges" if taken.status == "ok" else "error"
                yield Candidate(
                    *(step.tool, step.arguments, outcome, relevance_of_call(outcome, 0.99)),
                    *(kind, taken),
                )
            for other, share, texts in others:
                text = texts[rng.randrange(len(texts))]
                attempt = self._checked(text, digest)
                yield Candidate("", {}, "diverges", relevance_of_answer(share), other, attempt, response=text)
        finally:
            world.rollback(start)

    def after_failure(self, answer: str, rng: Random) -> Iterator[Candidate]:
        """Yield the honest answer, a claim in its place, and the failed call once more."""
        world = self.scenery.world
        start = world.mark()
        try:
            episode = Episode(world, self.program)
            episode.perform_all(range(self.place))
            digest = world.digest()
            yield Candidate("", {}, "frontier", 1.0, "", self._checked(answer, digest), response=answer)
            claim = write_claim(self.words[self.act.step], self.words, rng)
            untold = [self.task.steps[self.act.step].tool]
            yield Candidate(
                *("", {}, "diverges", relevance_of_answer(0.5), "ignored_error"),
                self._checked(claim, digest, untold),
                response=claim,
            )
            failed = self.task.steps[self.act.step]
            taken = episode.act(failed.tool, failed.arguments)
            if taken.status != "ok":
                relevance = relevance_of_call("error", 0.3)
                yield Candidate(failed.tool, failed.arguments, "error", relevance, "repeated_call", taken)
        finally:
            world.rollback(start)

    def _checked(self, text: str, digest: str, untold: Sequence[str] = ()) -> ExecutedCall:
        left = [one.tool for turn, one in zip(self.task.turn_of, self.task.steps, strict=True)
                if turn == self.act.turn + 1]  # fmt: skip
        shown = {"goal_reached": False, "steps_left": left, "untold": list(untold)}
        return ExecutedCall("", {"response": text}, "ok", shown, None, digest, digest)

    def _guesses(self, episode: Episode) -> Iterator[Candidate]:
        """Yield the call with a value that nobody told, where all else that it needs is known."""
        call = self.program[self.act.step]
        arguments = fill(call, episode.results)
        if arguments is None:
            return
        schema = self.scenery.world.operations[call.tool].tool.parameters[self.act.argument]
        value = arguments[self.act.argument]
        made = 0
        for guess in self._values(schema, value):
            if made >= _MOST - 1:
                return
            guessed = {**arguments, self.act.argument: guess}
            taken = self._executed(episode, call.tool, guessed)
            if taken is None:
                continue
            outcome = (
                "error" if taken.status != "ok" else "diverges" if self._is_known(guess) else "ungrounded"
            )
            relevance = relevance_of_call(outcome, likeness(arguments, 1.0, guessed))
            made += 1
            yield Candidate(call.tool, guessed, outcome, relevance, "guessed_value", taken)

    def _executed(self, episode: Episode, tool: str, arguments: dict[str, Any]) -> ExecutedCall | None:
        """Execute a call and undo it; None where the environment is at a loss with it, which is no lesson."""
        mark = self.scenery.world.mark()
        try:
            return episode.act(tool, arguments)
        except Exception:
            return None
        finally:
            self.scenery.world.rollback(mark)

    def _is_known(self, value: Any) -> bool:
        known = scalars_of([self.scenery.facts, *(self.program[step].literals for step in range(self.place))])
        for step in self.task.steps[: self.place]:
            known |= scalars_shown(step.outcome)
        return scalars_of(value) <= known

    def _values(self, schema: dict[str, Any], value: Any) -> Iterator[Any]:
        found = list(schema.get("enum", ()))
        now = str(self.scenery.facts.get("now", ""))
        if isinstance(value, str) and schema.get("x-surface") in {"date", "datetime"} and now:
            found.append(now[: len(value)])
        found += self.scenery.literals(schema.get("x-semantic", ""))
        if isinstance(value, int | float):
            found.append(type(value)(max(schema.get("minimum", 1), 1)))
        for one in dict.fromkeys(found):
            if one != value and type(one) is type(value):
                yield one

    def _wrong_answers(self, rng: Random) -> Iterator[tuple[str, float, str]]:
        """Yield (kind, share, text): a question for what was told, a claim, a refusal; about two of them."""
        step = self.words[self.act.step]
        told = [
            one.wording.missing[name].label if name in one.wording.missing else name
            for one in self.words
            if self.task.turn_of[one.number] == self.act.turn + 1
            for name in one.arguments
            if ("_" not in name or name in one.wording.missing)
            and name not in one.bound
            and (one.number, name) != (self.act.step, self.act.argument)
        ]
        missing = step.wording.missing[self.act.argument].label
        told = [label for label in dict.fromkeys(told) if label != missing]
        found: list[tuple[str, float, str]] = []
        if told:
            text = ASK_BACK[rng.randrange(len(ASK_BACK))].format(told[rng.randrange(len(told))])
            found.append(("needless_question", 0.5, text))
        if step.operation.tool.effects != "read":
            found.append(("false_answer", 0.3, _CLAIMS[rng.randrange(len(_CLAIMS))]))
        found.append(("needless_refusal", 0.2, _REFUSALS[rng.randrange(len(_REFUSALS))]))
        return iter(found[: _MOST - 1])
