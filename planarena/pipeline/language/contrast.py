"""Contrast: wrong choices at every decision point, executed from the gold state, and where they lead.

Live tools execute no wrong choice: of theirs only those stand that need no execution (answering too early, a call that
is refused before it is sent, a value that cannot be known), and gold calls are told from their record.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from planarena.config import ContrastConfig
from planarena.environments import World
from planarena.environments.wording import ToolWording, parse_pointer
from planarena.episodes import Backend, Episode, ReplayBackend, Taken, WithheldCallError, reached
from planarena.generate.clauses import StepWords
from planarena.generate.mutations import MUTATIONS, Knowledge, Proposal, Scene, propose
from planarena.generate.offline import write_failure, write_response, write_step_plan
from planarena.generate.relevance import relevance, tool_similarity
from planarena.pipeline.products import Attempt, Candidate, Contrast, Contrastive, Executed, ExecutedScenario
from planarena.proofs import Choice, DecisionPoint, judge_choice, ready_steps
from planarena.tasks.algebra import order_of, parse
from planarena.tasks.atoms import Binding, Call, fill, resolve

__all__ = ["ScenarioContrast", "as_attempt"]

# Where candidates of each outcome are looked for, best first; "early_stop" is sure to diverge and comes last.
_SOURCES: dict[str, tuple[str, ...]] = {
    "diverges": ("wrong_value", "wrong_tool", "too_early", "early_stop"),
    "error": ("wrong_tool", "missing_parameter", "hallucinated_tool"),
    "inefficient": ("unrelated_tool", "wrong_tool", "wrong_value"),
    "ungrounded": ("too_early", "parallel_dependents"),
}
# Calls that a decision point may cost beyond those that end up as candidates.
_MOST_TRIES = 6


class _Judged(NamedTuple):
    proposal: Proposal
    outcome: str
    taken: Taken | None


class ScenarioContrast:
    """Makes the contrast of a scenario's tasks; outcomes are balanced over the scenario.

    Args:
        config: How much, and in which mix.
        scenario: The scenario.
        world: Its world in the initial state, where it is left after every task.
        wording: The words of its tools.
    """

    def __init__(
        self,
        config: ContrastConfig,
        scenario: ExecutedScenario,
        world: World,
        wording: dict[str, ToolWording],
    ) -> None:
        self.config, self.scenario, self.world, self.wording = config, scenario, world, wording
        literals: dict[str, list[Any]] = {}
        tools = {name: world.operations[name].tool for name in scenario.tools}
        for atom in scenario.atoms:
            for name, value in atom.arguments.items():
                semantic = tools[atom.tool].parameters[name].get("x-semantic", "")
                known = literals.setdefault(semantic, [])
                if value not in known:
                    known.append(value)
        closed = [(atom.tool, atom.arguments) for atom in scenario.atoms if not atom.needs]
        similar = {(a, b): tool_similarity(tools[a], tools[b]) for a in tools for b in tools}
        self.scene = Scene(tools, literals, closed, scenario.facts, similar, {}, {})
        self.counts = dict.fromkeys(config.outcome_mix, 0)
        self.spares = not world.live_tools.isdisjoint(scenario.tools)
        self.start = world.mark()

    def contrast(self, task: Executed, words: list[StepWords], rng: Random) -> Contrast:
        """Return the candidates at every step of a task, and contrastive trajectories.

        Args:
            task: The proven task.
            words: Its steps as the language part sees them.
            rng: Decides among equals.
        """
        program = self._program(task)
        taken = task.steps
        before = self._before(task)
        episode = Episode(self._backend(taken), program)
        known = Knowledge(self.scene, (call.literals for call in program))
        points: list[tuple[Candidate, ...]] = []
        wrong: list[tuple[int, _Judged]] = []
        for step in range(len(program)):
            point = DecisionPoint(program, before, step, taken, task.goal)
            judged = self._judge_some(episode, point, known, rng)
            points.append((*self._ready(point), *(self._candidate(point, one) for one in judged)))
            wrong += [(step, one) for one in judged if one.outcome in {"diverges", "ungrounded", "error"}]
            episode.perform(step)
            known.learn(taken[step])
        self.world.rollback(self.start)
        return Contrast(tuple(points), tuple(self._go_on(task, program, taken, words, wrong, rng)))

    def _backend(self, taken: Sequence[Taken]) -> Backend:
        """Return what executes the choices at the steps of a task."""
        return ReplayBackend(self.world, taken) if self.spares else self.world

    # -- the gold task -------------------------------------------------------------------------

    def _program(self, task: Executed) -> list[Call]:
        return [
            Call(
                self.scenario.atoms[step.atom].tool,
                self.scenario.atoms[step.atom].arguments,
                tuple(
                    Binding(argument, source, parse_pointer(pointer))
                    for argument, source, pointer in step.bound
                ),
            )
            for step in task.steps
        ]

    def _before(self, task: Executed) -> list[int]:
        names, masks = order_of(parse(task.expression))
        place = {str(step.atom): number for number, step in enumerate(task.steps)}
        before = [0] * len(names)
        for name, mask in zip(names, masks, strict=True):
            before[place[name]] = sum(1 << place[names[i]] for i in range(len(names)) if mask >> i & 1)
        return before

    # -- candidates ----------------------------------------------------------------------------

    def _judge_some(
        self, episode: Episode, point: DecisionPoint, known: Knowledge, rng: Random
    ) -> list[_Judged]:
        streams = {name: propose(name, self.scene, known, point, rng) for name in MUTATIONS}
        spare: list[_Judged] = []
        chosen: list[_Judged] = []
        seen: list[tuple[str, dict[str, Any], Any]] = []
        tries = 0
        barren: set[str] = set()
        while len(chosen) < self.config.candidates:
            # Every point teaches something: the last place is kept for a wrong choice if there is none yet.
            last = len(chosen) == self.config.candidates - 1
            all_right = all(one.outcome == "inefficient" for one in chosen)
            wanted = self._most_lacking(barren | {"inefficient"} if last and all_right else barren)
            if wanted is None:
                break
            found = next((one for one in spare if one.outcome == wanted), None)
            if found is not None:
                spare.remove(found)
            else:
                sources = list(_SOURCES[wanted])
                if wanted == "error" and rng.random() < 0.5:
                    sources.reverse()
                for name in sources:
                    # A source that cannot miss costs nothing; the others are tried while there is patience.
                    sure = name in {
                        "early_stop",
                        "missing_parameter",
                        "hallucinated_tool",
                        "parallel_dependents",
                    }
                    if tries >= _MOST_TRIES and not sure:
                        continue
                    proposal = next(streams[name], None)
                    if proposal is None:
                        continue
                    key = (proposal.tool, proposal.arguments, proposal.beside)
                    if key in seen:
                        continue
                    seen.append(key)
                    tries += not sure
                    try:
                        outcome, taken = judge_choice(episode, point, Choice(*proposal[1:4]))
                    except WithheldCallError:
                        continue
                    one = _Judged(proposal, outcome, taken)
                    if outcome == wanted:
                        found = one
                        break
                    if outcome != "frontier":
                        spare.append(one)
            if found is None:
                barren.add(wanted)
                continue
            self.counts[wanted] += 1
            chosen.append(found)
        # What the mix did not ask for still says something, if there is room.
        for one in spare:
            if len(chosen) >= self.config.candidates:
                break
            if one.outcome == "equivalent":
                chosen.append(one)
        return chosen

    def _most_lacking(self, barren: set[str]) -> str | None:
        mix = self.config.outcome_mix
        total = sum(self.counts.values()) + 1
        weight = sum(mix.values())
        live = [name for name, share in mix.items() if share > 0 and name not in barren]
        return max(live, key=lambda name: mix[name] / weight * total - self.counts[name], default=None)

    def _ready(self, point: DecisionPoint) -> list[Candidate]:
        """Return the right choices: the ready steps, the gold one first."""
        return [
            Candidate(
                point.taken[step].tool,
                point.taken[step].arguments,
                "frontier",
                self._relevance(point, point.taken[step].tool, point.taken[step].arguments),
                "",
                None,
            )
            for step in ready_steps(point)
        ]

    def _candidate(self, point: DecisionPoint, one: _Judged) -> Candidate:
        proposal = one.proposal
        return Candidate(
            proposal.tool,
            proposal.arguments,
            one.outcome,
            self._relevance(point, proposal.tool, proposal.arguments),
            proposal.mutation,
            None if one.taken is None else as_attempt(one.taken),
            proposal.beside,
        )

    def _relevance(self, point: DecisionPoint, tool: str, arguments: dict[str, Any]) -> float:
        gold = point.taken[point.step]
        if not tool:
            return 0.0
        # A tool that does not exist borrows its name, hence its looks, from the right one.
        similar = self.scene.similar.get((gold.tool, tool), 0.5)
        return relevance(gold.arguments, similar, arguments)

    # -- trajectories --------------------------------------------------------------------------

    def _go_on(
        self,
        task: Executed,
        program: Sequence[Call],
        taken: Sequence[Taken],
        words: list[StepWords],
        wrong: list[tuple[int, _Judged]],
        rng: Random,
    ) -> list[Contrastive]:
        made: list[Contrastive] = []
        order = list(wrong)
        rng.shuffle(order)
        used: set[str] = set()
        for step, one in order:
            if len(made) >= self.config.trajectories:
                break
            if one.proposal.mutation in used or one.proposal.beside is not None:
                continue
            try:
                attempts = self._act_on(task, program, taken, step, one.proposal)
            except WithheldCallError:
                attempts = None
            self.world.rollback(self.start)
            if attempts is None:
                continue
            used.add(one.proposal.mutation)
            made.append(self._written(step, one.proposal.mutation, attempts, words, rng))
        return made

    def _act_on(
        self, task: Executed, program: Sequence[Call], taken: Sequence[Taken], step: int, proposal: Proposal
    ) -> list[Taken] | None:
        """Make the wrong choice and then what an agent would do; None if it reaches the goal after all."""
        backend = self._backend(taken)
        episode = Episode(backend, program)
        for earlier in range(step):
            episode.perform(earlier)
        made: list[Taken] = []
        if proposal.tool:
            first = episode.act(proposal.tool, proposal.arguments)
            made.append(first)
            # The agent believes that the step is done: what it saw stands for what it should have seen.
            if proposal.tool == program[step].tool and first.outcome.status == "ok":
                episode.results[step] = first.outcome.result
            for later in range(step + 1, len(program)):
                arguments = fill(program[later], episode.results)
                if arguments is None or (program[later].tool, arguments) == (
                    proposal.tool,
                    proposal.arguments,
                ):
                    continue  # nothing to take the value from, or done already
                following = episode.act(program[later].tool, arguments)
                if following.outcome.status == "schema_error":
                    continue  # the value seen is of no use there
                made.append(following)
                episode.results[later] = following.outcome.result
        observed = [(one.tool, one.outcome) for one in (*taken[:step], *made)]
        if reached(task.goal, backend.digest(), observed):
            return None
        return made

    def _written(
        self, step: int, mutation: str, attempts: Sequence[Taken], words: list[StepWords], rng: Random
    ) -> Contrastive:
        spoken = list(words[:step])
        lines: list[str] = []
        for one in attempts:
            operation = self.world.operations.get(one.tool)
            if operation is None:
                name = one.tool.replace("_", " ")
                lines.append(f"Next: use {name}.")
                continue
            known = StepWords(
                len(spoken),
                operation,
                self.wording[one.tool],
                one.arguments,
                self._sources_of(spoken, one),
                one.outcome.result,
            )
            spoken.append(known)
            lines.append(write_step_plan(known, spoken, rng))
        done = [one for one in spoken if one.result is not None]
        consumed = {source for one in done for source, _ in one.bound.values()}
        reported = [one.number for one in done if one.number not in consumed and one.tells_all()]
        failed = [one.outcome.error["message"] for one in attempts if one.outcome.error is not None]
        text = write_response(spoken, reported, rng) if reported else ""
        return Contrastive(
            step,
            mutation,
            tuple(as_attempt(one) for one in attempts),
            tuple(lines),
            write_failure(text, failed, rng),
        )

    def _sources_of(self, spoken: Sequence[StepWords], one: Taken) -> dict[str, tuple[int, str]]:
        """Find for each hidden argument an earlier result that shows it, so that words need not name an id."""
        found: dict[str, tuple[int, str]] = {}
        for name, value in one.arguments.items():
            schema = self.world.operations[one.tool].tool.parameters.get(name, {})
            if not schema.get("x-hidden"):
                continue
            for earlier in reversed(spoken):
                pointer = next(
                    (
                        text
                        for text in earlier.wording.refer
                        if resolve(earlier.result, parse_pointer(text)) == value
                    ),
                    None,
                )
                if pointer is not None:
                    found[name] = earlier.number, pointer
                    break
        return found


def as_attempt(taken: Taken) -> Attempt:
    """Return a call in the shape that products keep."""
    outcome = taken.outcome
    return Attempt(
        taken.tool,
        taken.arguments,
        outcome.status,
        outcome.result,
        outcome.error,
        taken.state_before,
        taken.state_after,
    )
