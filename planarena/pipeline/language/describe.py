"""Phase 2, language: queries, plans, answers and contrast for the tasks that phase 1 proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any

import msgspec

from planarena.config import BuildConfig
from planarena.environments import Operation
from planarena.environments.catalog import restore_world, wording_of
from planarena.environments.wording import ToolWording
from planarena.episodes import Episode, ExecutedCall
from planarena.generate.answers import untold_output
from planarena.generate.checks import QueryFaultError, check_query
from planarena.generate.clauses import StepContext
from planarena.generate.no_call import NoCallItem, write_no_calls
from planarena.generate.offline import write_plan, write_step_plans
from planarena.generate.queries import write_query
from planarena.generate.relevance import relevance_of_answer, relevance_of_call
from planarena.generate.tellings import Query, Telling, before_of
from planarena.pipeline.execute.scenarios import rng_for
from planarena.pipeline.language.aim_words import aim_steps
from planarena.pipeline.language.aims import aim_teller_of
from planarena.pipeline.language.contrast import ScenarioContrast
from planarena.pipeline.language.conversations import brief_of, failures_of, plans_of, teller_of, unmade_of
from planarena.pipeline.language.decontamination import strike_queries
from planarena.pipeline.language.spoken import Spoken
from planarena.pipeline.products import (
    Candidate,
    Contrast,
    Discard,
    Executed,
    ExecutedChunk,
    ExecutedScenario,
    Language,
    LanguageChunk,
    NoCall,
)

__all__ = ["ScenarioLanguage", "describe_chunk", "reported_in", "steps_of"]


def describe_chunk(config: BuildConfig, executed: ExecutedChunk, *, contrast: bool = True) -> LanguageChunk:
    """Write the words of every task of a chunk; discards pass through as they are.

    Args:
        config: The build.
        executed: Phase 1.
        contrast: Whether to make the contrast of every task; else `contrast_chosen` makes that of the kept ones.
    """
    items, no_calls = [], []
    # The scenarios of a chunk share their templates out, so that none is used twice while another was never.
    used: Counter[str] = Counter()
    for scenario in executed.scenarios:
        writer = ScenarioLanguage(config, scenario, used)
        items.append(
            tuple(
                item if isinstance(item, Discard) else writer.describe(item, contrast=contrast)
                for item in scenario.items
            )
        )
        no_calls.append(writer.refuse())
    return strike_queries(config, executed, LanguageChunk(executed.chunk, tuple(items), tuple(no_calls)))


class ScenarioLanguage:
    """Writes for the tasks of one scenario.

    Args:
        config: The build.
        scenario: The scenario with its proven tasks.
        used: How often each template was used, counted on.
    """

    def __init__(
        self, config: BuildConfig, scenario: ExecutedScenario, used: Counter[str] | None = None
    ) -> None:
        self.used = Counter() if used is None else used
        self.config, self.scenario = config, scenario
        self.world = restore_world(scenario.domains, msgspec.json.decode(scenario.seed_state), scenario.facts)
        self.world.remember(True)
        self.wording = {
            name: words for domain in scenario.domains for name, words in wording_of(domain).items()
        }

    @cached_property
    def contrast(self) -> ScenarioContrast | None:
        """Makes the contrast of its tasks; None where the build wants none."""
        wanted = self.config.contrast
        if not wanted.candidates and not wanted.trajectories:
            return None
        return ScenarioContrast(wanted, self.scenario, self.world, self.wording)

    def describe(self, task: Executed, *, contrast: bool = True) -> Language | Discard:
        """Write one task's query, plans and answer with the offline generator, and make its contrast if asked to."""
        scenario = self.scenario
        steps = steps_of(scenario, task, self.world.operations, self.wording)
        # The same atoms with other bindings are another task, and must not get the same words.
        identity: tuple[Any, ...] = task.expression, [step.bound for step in task.steps]
        if task.talk.kind:
            identity = *identity, task.talk.kind
        rng = rng_for(self.config.seed, "language", scenario.scenario_id, identity)
        text = ", ".join(scenario.atoms[step.atom].tool for step in task.steps)
        every = aim_steps(task, [*steps, *unmade_of(task, self.world.operations, self.wording)])
        before = before_of(len(every), [step.bound for step in every], task.order_edges)
        unmade = [act.turn for act in task.talk.acts if act.what in {"forbids", "confirms"}]
        turn_of = (*task.turn_of, *(unmade[0] for _ in task.talk.unmade))
        now = str(scenario.facts.get("now", ""))
        telling = Telling(turn_of, task.reported, before, now, task.turns, repr(scenario.facts))
        try:
            query = write_query(every, telling, rng, self.used, aim_teller_of(task) or teller_of(task))
            checks = check_query(" ".join(query.turns), steps, query.said, scenario.facts, scenario.tools)
            _check_told(task, steps, query)
            plan, step_plans = self._plans(task, steps, query, rng)
        except QueryFaultError as fault:
            return Discard(text, "query", fault.reason, fault.detail)
        except (LookupError, ValueError, TypeError) as error:
            # Words made of data that nobody foresaw cost this task, never the chunk.
            return Discard(text, "query", "unsayable", f"{type(error).__name__}: {error}")
        rules = {"rules": msgspec.to_builtins(task.talk.rules)} if task.talk.rules else {}
        aims = {"aims": [f"{one.domain}.{one.name}" for one in task.aims]} if task.aims else {}
        said = Language(
            turns=query.turns,
            plan=plan,
            step_plans=step_plans,
            response=query.answers[-1],
            checks={**checks, "asked_is_told": True} | rules | aims,
            contrast=None,
            register=query.register,
            turn_of=task.turn_of,
            turn_responses=query.answers[:-1],
            failures=failures_of(task, query.style),
            brief=brief_of(task, steps, plan, query),
        )
        return msgspec.structs.replace(said, contrast=self.contrast_of(task, said)) if contrast else said

    def contrast_of(self, task: Executed, said: Language) -> Contrast | None:
        """Make the contrast of a task that was described; None where the build wants none."""
        if self.contrast is None:
            return None
        steps = steps_of(self.scenario, task, self.world.operations, self.wording)
        identity = task.expression, [step.bound for step in task.steps]
        rng = rng_for(self.config.seed, "contrast", self.scenario.scenario_id, identity)
        reported = [task.asked_in(turn) for turn in range(len(said.turns))]
        spoken = Spoken(task.turn_of, (*said.turn_responses, said.response), reported, said.failures)
        return self.contrast.contrast(task, steps, spoken, rng)

    @staticmethod
    def _plans(
        task: Executed, steps: list[StepContext], query: Query, rng: Random
    ) -> tuple[str, tuple[str, ...]]:
        if task.talk.kind:
            return plans_of(task, steps, rng, query.style)
        groups = [step.group for step in task.steps]
        plan = write_plan(steps, task.order_edges, groups, rng, query.style)
        return plan, write_step_plans(steps, rng, query.style)

    def refuse(self) -> tuple[NoCall, ...]:
        """Write the scenario's requests without a call; what looks right for one is executed and judged."""
        scenario = self.scenario
        if scenario.origin:
            return ()  # the scenario as it was drawn has them
        rng = rng_for(self.config.seed, "no_call", scenario.scenario_id)
        atoms = [(atom.tool, atom.arguments) for atom in scenario.atoms if not atom.needs]
        count = self.config.contrast.no_calls
        items = write_no_calls(self.world, scenario.tools, atoms, self.wording, count, rng)
        return tuple(
            NoCall(item.category, item.query, item.response, item.withheld, self._choices(item))
            for item in items
        )

    def _choices(self, item: NoCallItem) -> tuple[Candidate, ...]:
        """Return the right answer to a request without a call, and the calls and answers that are wrong there."""
        if not self.world.live_tools.isdisjoint(self.scenario.tools):
            return ()
        offered = [name for name in self.scenario.tools if name not in item.withheld]
        digest = self.world.digest()

        def check(text: str) -> ExecutedCall:
            # No call is right, so that the state is as it should be whatever is said: the text is the fault.
            shown = {
                "goal_reached": True,
                "steps_left": [],
                "untold": [] if text == item.response else ["request"],
            }
            return ExecutedCall("", {"response": text}, "ok", shown, None, digest, digest)

        found = [Candidate("", {}, "frontier", 1.0, "", check(item.response), response=item.response)]
        for number, (tool, arguments) in enumerate(item.tempting):
            if tool not in offered:
                continue
            taken = self._executed(tool, arguments)
            if taken is None:
                continue
            unchanged = taken.state_after == taken.state_before
            outcome = "error" if taken.outcome.status != "ok" else "useless" if unchanged else "diverges"
            relevance = relevance_of_call(outcome, 0.9 - 0.1 * number)
            found.append(Candidate(tool, arguments, outcome, relevance, "unneeded_call", taken))
        for kind, text in item.wrong_answers:
            relevance = relevance_of_answer(0.5)
            found.append(Candidate("", {}, "diverges", relevance, kind, check(text), response=text))
        return tuple(found) if len(found) > 1 else ()

    def _executed(self, tool: str, arguments: dict[str, Any]) -> ExecutedCall | None:
        """Execute a call in the initial state; None where the environment is at a loss with an invented value."""
        start = self.world.mark()
        try:
            return Episode(self.world).act(tool, arguments)
        except Exception:
            return None
        finally:
            self.world.rollback(start)


def _check_told(task: Executed, steps: Sequence[StepContext], query: Query) -> None:
    """Refuse a conversation in which something was asked for and is told nowhere.

    Raises:
        QueryFaultError: `untold`.
    """
    for step in task.reported:
        missing = untold_output(steps[step], query.answers[task.turn_of[step]], query.style)
        if missing:
            tool = steps[step].operation.tool.wire_name
            raise QueryFaultError("untold", f"step {step} ({tool}): {missing} is not in the answer")


def steps_of(
    scenario: ExecutedScenario,
    task: Executed,
    operations: Mapping[str, Operation],
    wording: Mapping[str, ToolWording],
) -> list[StepContext]:
    """Return a task's steps as the language part sees them.

    Args:
        scenario: The scenario.
        task: One of its tasks.
        operations: Of its tools, by wire name.
        wording: Likewise.
    """
    steps = [
        StepContext(
            number,
            operations[scenario.atoms[step.atom].tool],
            wording[scenario.atoms[step.atom].tool],
            step.arguments,
            {argument: (source, pointer) for argument, source, pointer in step.bound},
            step.result,
        )
        for number, step in enumerate(task.steps)
    ]
    return aim_steps(task, steps)


def reported_in(task: Executed, turn: int) -> list[int]:
    """Return the steps that a message asks for, which its answer tells."""
    return task.asked_in(turn)
