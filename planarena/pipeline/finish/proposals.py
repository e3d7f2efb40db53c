"""What models proposed, executed from the gold states and labelled by proof; words that passed take the offline ones' place.

A model's claim about its proposal decides nothing. Only tools that the scenario offers are executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from planarena.config import BuildConfig
from planarena.environments.wording import parse_pointer
from planarena.episodes import Episode, ExecutedCall, reached
from planarena.generate.clauses import StepContext
from planarena.generate.model_records import Proposal, Written
from planarena.generate.mutations import Knowledge
from planarena.generate.semantic_values import hidden_values
from planarena.pipeline.execute.scenarios import rng_for
from planarena.pipeline.language.contrast import ScenarioContrast
from planarena.pipeline.language.describe import ScenarioLanguage, steps_of
from planarena.pipeline.language.spoken import Spoken
from planarena.pipeline.products import (
    Candidate,
    Contrast,
    Contrastive,
    Discard,
    Executed,
    ExecutedChunk,
    Language,
    LanguageChunk,
    ModelChunk,
)
from planarena.proofs import Choice, DecisionPoint, judge_choice, scalars_of
from planarena.tasks.atoms import Call, resolve

__all__ = ["MUTATION", "ScenarioProposals", "with_models"]

# What the column `mutation` says of a model's wrong choice.
MUTATION = "proposed"
# The marker of `resolve` for what is not there.
_ABSENT = resolve({}, ("absent",))


def with_models(
    config: BuildConfig, executed: ExecutedChunk, language: LanguageChunk, models: ModelChunk
) -> LanguageChunk:
    """Return the language of a chunk with what models gave for it: their words, and their proposals executed."""
    items = [list(said) for said in language.items]
    by_scenario: dict[int, list[Written]] = {}
    for written in models.items:
        by_scenario.setdefault(written.scenario, []).append(written)
    for number, all_written in by_scenario.items():
        scenario = executed.scenarios[number]
        writer = ScenarioLanguage(config, scenario)
        labeller = ScenarioProposals(config.contrast, scenario, writer.world, writer.wording)
        for written in all_written:
            task, said = scenario.items[written.item], items[number][written.item]
            assert not isinstance(task, Discard)
            assert not isinstance(said, Discard)
            words = steps_of(scenario, task, writer.world.operations, writer.wording)
            identity = task.expression, [step.bound for step in task.steps]
            rng = rng_for(config.seed, "proposals", scenario.scenario_id, identity)
            items[number][written.item] = labeller.merge(task, _with_words(said, written), words, rng)
    return LanguageChunk(language.chunk, tuple(map(tuple, items)), language.no_calls)


def _with_words(said: Language, written: Written) -> Language:
    """Put a model's words in the place of the offline ones, part by part."""
    changes: dict[str, Any] = {"written": written}
    if written.turns:
        changes |= {"turns": written.turns, "checks": written.checks}
    if written.plan:
        changes |= {"plan": written.plan, "step_plans": written.step_plans}
    if written.responses:
        changes |= {"turn_responses": written.responses[:-1], "response": written.responses[-1]}
    return msgspec.structs.replace(said, **changes)


class ScenarioProposals(ScenarioContrast):
    """Executes what models proposed for the tasks of a scenario; arguments as `ScenarioContrast`."""

    def merge(self, task: Executed, said: Language, words: list[StepContext], rng: Random) -> Language:
        """Return a task's language with every proposal labelled, and those that teach something in its contrast."""
        written = said.written
        assert written is not None
        waiting = any(not one.verdict for one in written.proposals)
        if not (waiting or written.scores) or self.spares:
            # What is live is never called for the sake of a wrong choice.
            idle = tuple(
                one if one.verdict else msgspec.structs.replace(one, verdict="not_executed")
                for one in written.proposals
            )
            return msgspec.structs.replace(said, written=msgspec.structs.replace(written, proposals=idle))
        program = self._program(task)
        taken = task.steps
        proposals = list(written.proposals)
        points = self._choices(task, said, program, taken, words, proposals, written)
        wrong = list(said.contrast.trajectories) if said.contrast is not None else []
        for place, one in enumerate(proposals):
            if one.part == "trajectory" and not one.verdict:
                proposals[place] = self._follow(task, program, taken, words, one, wrong, rng)
        return msgspec.structs.replace(
            said,
            contrast=Contrast(points, tuple(wrong)),
            written=msgspec.structs.replace(written, proposals=tuple(proposals)),
        )

    # -- choices at decision points ------------------------------------------------------------

    def _choices(
        self,
        task: Executed,
        said: Language,
        program: Sequence[Call],
        taken: Sequence[ExecutedCall],
        words: list[StepContext],
        proposals: list[Proposal],
        written: Written,
    ) -> tuple[tuple[Candidate, ...], ...]:
        episode = Episode(self.world, program)
        scores = {one.step: one for one in written.scores}
        points: list[tuple[Candidate, ...]] = []
        reported = [task.asked_in(turn) for turn in range(len(said.turns))]
        spoken = Spoken(said.turn_of, (*said.turn_responses, said.response), reported)
        for at in self._situations(task, program, taken, words, spoken, episode):
            step, point, known = at.point.step, at.point, at.known
            there = (
                list(said.contrast.points[step]) if said.contrast is not None else self._right(at, episode)
            )
            if at.gold is None and there[0].response != said.response:
                # A model's words took the place of the offline ones: they are the right answer.
                there = [self._right(at, episode)[0], *there[1:]]
            waiting = [
                place
                for place, one in enumerate(proposals)
                if one.part == "candidate" and one.step == step and not one.verdict
            ]
            score = scores.get(step)
            if score is not None:
                there = [
                    msgspec.structs.replace(one, relevance=value, scorer=score.scorer)
                    for one, value in zip(there, score.values, strict=False)
                ]
            rest = score.values[len(there) :] if score is not None else (None,) * len(waiting)
            for place, value in zip(waiting, rest, strict=True):
                found = self._try(episode, point, known, proposals[place])
                proposals[place] = msgspec.structs.replace(proposals[place], verdict=found.outcome)
                if value is not None and score is not None:
                    found = msgspec.structs.replace(found, relevance=value, scorer=score.scorer)
                if any((one.tool, one.arguments) == (found.tool, found.arguments) for one in there):
                    continue
                there.append(found)
            points.append(tuple(there))
        self.world.rollback(self.start)
        return tuple(points)

    def _try(self, episode: Episode, point: DecisionPoint, known: Knowledge, one: Proposal) -> Candidate:
        """Execute a proposed choice from the gold state and say what it is worth."""
        tool, arguments = one.content["tool"], one.content["arguments"]
        if tool not in self.scene.tools:
            relevance = self._relevance(point, "error", tool, arguments)
            attempt = self._refused(tool, arguments)
            return Candidate(tool, arguments, "error", relevance, MUTATION, attempt, model=one.model)
        grounded = not self._foresees(tool, arguments, point, known)
        outcome, taken, _ = judge_choice(episode, point, Choice(tool, arguments, grounded), known.scalars)
        relevance = self._relevance(point, outcome, tool, arguments)
        return Candidate(tool, arguments, outcome, relevance, MUTATION, taken, model=one.model)

    def _refused(self, tool: str, arguments: dict[str, Any]) -> ExecutedCall:
        """Answer a call of a tool that is not on offer as the world does, without asking it: others may exist there."""
        error = {"code": "unknown_tool", "message": f"There is no tool named {tool}."}
        state = self.world.digest()
        return ExecutedCall(tool, arguments, "schema_error", None, error, state, state)

    def _foresees(self, tool: str, arguments: dict[str, Any], point: DecisionPoint, known: Knowledge) -> bool:
        """Say whether a call has an id that only a later result shows."""
        ids = set(hidden_values(self.scene.tools[tool].input_schema, arguments))
        later = scalars_of([one.outcome.result for one in point.taken[point.step :]])
        return any(not known.holds(value) and scalars_of(value) <= later for value in ids)

    # -- complete trajectories -----------------------------------------------------------------

    def _follow(
        self,
        task: Executed,
        program: Sequence[Call],
        taken: Sequence[ExecutedCall],
        words: list[StepContext],
        one: Proposal,
        wrong: list[Contrastive],
        rng: Random,
    ) -> Proposal:
        """Execute a proposed trajectory from the initial state; one that misses the goal is contrastive."""
        made, fault = self._execute(program, one.content)
        reaches = reached(task.goal, self.world.digest(), [(each.tool, each.outcome) for each in made])
        self.world.rollback(self.start)
        calls = [(each.tool, each.arguments) for each in made]
        gold = [(each.tool, each.arguments) for each in taken]
        detail = f"{len(made)} of {len(one.content)} calls made{f'; {fault}' if fault else ''}"
        if reaches:
            same = len(calls) == len(gold) and all(call in gold for call in calls)
            verdict = "ungrounded" if fault else "gold" if same else "reaches_goal"
            return msgspec.structs.replace(one, verdict=verdict, detail=detail)
        common = 0
        while common < min(len(calls), len(gold)) and calls[common] == gold[common]:
            common += 1
        attempts = made[common:]
        found = self.writer.write(common, MUTATION, attempts, words, rng)
        plans = tuple(call["plan"] for call in one.content[common : len(made)])
        found = msgspec.structs.replace(found, step_plans=plans, call_id=one.call_id)
        # Offline, several answers may come after the same calls; here the calls are what was proposed.
        alike = [each for each in wrong if (each.diverge_step, each.attempts) == (common, found.attempts)]
        if any(each.attempts or each.call_id for each in alike):
            return msgspec.structs.replace(one, verdict="duplicate", detail=detail)
        wrong.append(found)
        return msgspec.structs.replace(one, verdict="misses_goal", detail=detail)

    def _execute(
        self, program: Sequence[Call], calls: Sequence[Mapping[str, Any]]
    ) -> tuple[list[ExecutedCall], str]:
        """Make the proposed calls; the first argument that cannot be had ends them.

        Returns:
            The calls made, and what was wrong with how a value was come by; empty when nothing was.
        """
        episode = Episode(self.world)
        known = Knowledge(self.scene, (call.literals for call in program))
        made: list[ExecutedCall] = []
        fault = ""
        for number, call in enumerate(calls, 1):
            arguments = _filled(call["arguments"], made)
            if arguments is _ABSENT:
                return made, f"call {number} takes a value that no result holds"
            tool = call["tool"]
            if tool not in self.scene.tools:
                made.append(self._refused(tool, arguments))
                continue
            guessed = [
                value
                for value in hidden_values(self.scene.tools[tool].input_schema, call["arguments"])
                if not known.holds(value)
            ]
            if guessed:
                # Written before anything was called: no result can have told it.
                fault = fault or f"call {number} has an id that no reference takes from a result"
            made.append(episode.act(tool, arguments))
        return made, fault


def _filled(value: Any, made: Sequence[ExecutedCall]) -> Any:
    """Put the results that references name in their place; the marker of an absent value where there is none."""
    if isinstance(value, dict):
        if "$from" in value:
            result = made[value["$from"] - 1].outcome.result
            return resolve(result, parse_pointer(value.get("pointer", "")))
        inner = {key: _filled(item, made) for key, item in value.items()}
        return _ABSENT if any(item is _ABSENT for item in inner.values()) else inner
    if isinstance(value, list):
        items = [_filled(item, made) for item in value]
        return _ABSENT if any(item is _ABSENT for item in items) else items
    return value
