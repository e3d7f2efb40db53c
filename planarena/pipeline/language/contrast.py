"""Contrast: wrong choices at every decision point, executed from the gold state, and where they lead.

An answer is a choice too: what is executed then is the check of the goal and of what the answer tells.
Live tools execute no wrong choice: of theirs only those stand that need no call of them (answers, a call that is
refused before it is sent), and gold calls are told from their record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from planarena.config import TRIVIAL_KINDS, ContrastConfig
from planarena.environments import World
from planarena.environments.wording import ToolWording, parse_pointer
from planarena.episodes import (
    Backend,
    Episode,
    ExecutedCall,
    ReplayBackend,
    WithheldCallError,
    reached,
)
from planarena.generate.clauses import StepContext
from planarena.generate.mutations import Knowledge, Proposal, Scene, Situation, propose
from planarena.generate.relevance import (
    DONE_BEFORE,
    NOT_YET,
    likeness,
    relevance_of_answer,
    relevance_of_call,
)
from planarena.generate.wrong_answers import told_in, values_told
from planarena.pipeline.language.conversations import Scenery, choices_of
from planarena.pipeline.language.departures import DepartureWriter
from planarena.pipeline.language.spoken import Spoken
from planarena.pipeline.products import (
    Candidate,
    Contrast,
    Contrastive,
    Executed,
    ExecutedScenario,
)
from planarena.proofs import Choice, DecisionPoint, judge_choice, ready_steps
from planarena.records import RIGHT_OUTCOMES, WRONG_OUTCOMES
from planarena.tasks.atoms import Binding, Call, fill

__all__ = ["ScenarioContrast"]

# Proposals that a decision point may execute beyond those that end up as candidates.
_MOST_TRIES = 6
# Right choices besides the steps of the gold that a point keeps where they are found by the way.
_MOST_EXTRA = 1
_FIRST_ONLY = 3
# Faults by which something right is found: a step made early, a look-up with another tool. A wrong value that happens to
# leave the same state is neither a right choice nor a wrong one.
_MAY_BE_RIGHT = ("wrong_order", "near_tool")


class _Judged(NamedTuple):
    proposal: Proposal
    outcome: str
    relevance: float
    attempt: ExecutedCall | None
    second: ExecutedCall | None = None


class ScenarioContrast:
    """Makes the contrast of a scenario's tasks; the kinds of faults keep to their weights over the scenario.

    Args:
        config: How much, and which kinds.
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
        self.config, self.scenario, self.world = config, scenario, world
        self.writer = DepartureWriter(world, wording)
        tools = {name: world.operations[name].tool for name in scenario.tools}
        self.scene = Scene.of(tools, scenario.atoms, scenario.facts)
        total = sum(config.kinds.values())
        self.weights = {kind: weight / total for kind, weight in config.kinds.items() if weight}
        # Small scenarios begin at different places, so that over many of them every kind gets its share.
        start = Random(scenario.scenario_id)
        self.lead = {kind: start.random() for kind in self.weights}
        self.counts = dict.fromkeys(self.weights, 0)
        self.spares = not world.live_tools.isdisjoint(scenario.tools)
        self.start = world.mark()

    def contrast(self, task: Executed, words: list[StepContext], spoken: Spoken, rng: Random) -> Contrast:
        """Return the candidates at every step of a task and at its answer, and contrastive trajectories.

        Args:
            task: The proven task.
            words: Its steps as the language part sees them.
            spoken: What was said of it.
            rng: Decides among equals.
        """
        program = self._program(task)
        taken = task.steps
        episode = Episode(self._backend(taken), program)
        points: list[tuple[Candidate, ...]] = []
        wrong: list[tuple[int, _Judged]] = []
        for at in self._situations(task, program, taken, words, spoken, episode):
            right = self._right(at, episode)
            judged = self._judge_some(at, episode, rng)
            points.append((*right, *(self._candidate(one) for one in judged)))
            if at.gold is not None:
                wrong += [(at.point.step, one) for one in judged if self._departs(at, spoken, one)]
        self.world.rollback(self.start)
        departures = tuple(self._go_on(task, program, taken, words, wrong, rng))
        scenery = Scenery(self.world, self.scenario.facts, lambda kind: self.scene.literals.get(kind, ()))
        answers = (
            choices_of(scenery, task, program, words, spoken.answers, rng) if self.config.candidates else ()
        )
        return Contrast(tuple(points), departures, answers)

    def _backend(self, taken: Sequence[ExecutedCall]) -> Backend:
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

    def _situations(
        self,
        task: Executed,
        program: Sequence[Call],
        taken: Sequence[ExecutedCall],
        words: list[StepContext],
        spoken: Spoken,
        episode: Episode,
    ) -> Iterator[Situation]:
        """Yield the decision points of a task, the last one where only the answer is left; each performs its step."""
        before, turns = task.before, list(spoken.turn_of)
        groups = [step.group for step in task.steps]
        asked = [number in task.reported for number in range(len(words))]
        told = [
            values_told(words, reported, answer)
            for reported, answer in zip(spoken.reported, spoken.answers, strict=True)
        ]
        forbidden = {
            act.turn: _known_calls(task, act.step - len(task.steps), words)
            for act in task.talk.acts
            if act.what in {"forbids", "declines"}
        }
        superseded = {
            act.step: (act.argument, act.value) for act in task.talk.acts if act.what in {"slips", "corrects"}
        }
        known = Knowledge(self.scene, ())
        for step in range(len(program) + 1):
            # The last answer is that to the last message, which may have asked for nothing that is done.
            turn = turns[step] if step < len(turns) else len(spoken.answers) - 1
            since = turns.index(turn) if turn in turns else len(turns)
            until = len(turns) - turns[::-1].index(turn) if turn in turns else len(turns)
            if step == since:
                known.hear(call.literals for call in program[since:until])
            point = DecisionPoint(program, before, step, taken, task.goal, until)
            if task.talk.goals and turn in turns:
                # What a later message takes back was wanted all the same: this message has a goal of its own.
                goal = task.talk.goals[sorted(set(turns)).index(turn)]
                point = DecisionPoint(program[:until], before[:until], step, taken[:until], goal, until)
            yield Situation(
                *(self.scene, known, point, words, since, groups, asked),
                *(spoken.reported[turn], spoken.answers[turn], told[turn]),
                {one: text for one, text in spoken.failed.items() if turns[one] == turn},
                superseded,
                forbidden.get(turn, ()),
                [tuple(act.value) for act in task.talk.acts if act.what == "injects" and act.step < step],
            )
            if step < len(program):
                episode.perform(step)
                known.learn(taken[step])

    # -- candidates ----------------------------------------------------------------------------

    def _judge_some(self, at: Situation, episode: Episode, rng: Random) -> list[_Judged]:
        """Return wrong choices of the kinds that are due, and what turned out right by the way."""
        chosen: list[_Judged] = []
        extra: list[_Judged] = []
        seen: list[tuple[str, dict[str, Any], Any, str]] = []
        most = self.config.candidates
        tries = most + _MOST_TRIES
        kinds = self._due() if most else []
        # Where few kinds fit, each may come twice. Every point teaches something: a trivial fault where nothing else fits.
        for number, kind in enumerate((*kinds, *kinds, *TRIVIAL_KINDS)):
            trivial = number >= 2 * len(kinds)
            if len(chosen) >= most or (tries <= 0 and not trivial) or (trivial and chosen):
                break
            if kind not in self.weights:
                continue
            for proposal in islice(propose(kind, at, rng), _FIRST_ONLY):
                key = (proposal.tool, proposal.arguments, proposal.beside, proposal.response)
                if key in seen:
                    continue
                seen.append(key)
                tries -= bool(proposal.tool)
                judged = self._judge(at, episode, proposal)
                if judged is None:
                    continue
                if judged.outcome in WRONG_OUTCOMES:
                    chosen.append(judged)
                    self.counts[kind] += 1
                    break
                if kind in _MAY_BE_RIGHT and judged.outcome != "frontier" and len(extra) < _MOST_EXTRA:
                    extra.append(judged)
        return [*extra, *chosen]

    def _due(self) -> list[str]:
        """Return the kinds by how much they lack, of the trivial ones only those that are due."""
        total = sum(self.counts.values()) + 1
        lacks = {
            kind: weight * total + self.lead[kind] - self.counts[kind]
            for kind, weight in self.weights.items()
        }
        kinds = [kind for kind in lacks if kind not in TRIVIAL_KINDS or lacks[kind] >= 1]
        return sorted(kinds, key=lambda kind: -lacks[kind])

    def _judge(self, at: Situation, episode: Episode, proposal: Proposal) -> _Judged | None:
        """Execute a proposal; None where it may not be, or cannot be: an environment's own fault is no lesson."""
        if not proposal.tool:
            return self._judge_answer(at, episode, proposal)
        later = at.words[at.point.left.stop :]
        call = proposal.tool, proposal.arguments
        if any((one.operation.tool.wire_name, one.arguments) == call for one in later):
            return None  # what a later message asks for, before it is asked: neither right nor surely wrong
        try:
            found = judge_choice(episode, at.point, Choice(*proposal[1:5]), at.known.scalars)
        except WithheldCallError:
            return None
        except Exception:
            # A date that is none, say, which the schema lets through: what the environment does then is not defined.
            return None
        return _Judged(
            proposal,
            found.outcome,
            self._relevance(at.point, found.outcome, proposal.tool, proposal.arguments, proposal.beside),
            found.taken,
            found.beside,
        )

    def _judge_answer(self, at: Situation, episode: Episode, proposal: Proposal) -> _Judged | None:
        point = at.point
        told = told_in(at, proposal.response)
        # The steps of earlier messages were answered then.
        goal = not point.left and len(told) == len(at.reported) and not _unsaid(at, proposal.response)
        if goal:
            return None  # it tells everything after all
        asked = [step for step in range(at.since, point.left.stop) if at.asked[step]]
        done = sum(step < point.step for step in asked)
        untold = len(at.reported) - len(told) if not point.left else 0
        share = max(done - untold, 0) / max(len(asked), 1)
        attempt = _checked(at, episode.backend, proposal.response, told)
        return _Judged(proposal, "diverges", relevance_of_answer(share), attempt)

    def _right(self, at: Situation, episode: Episode) -> list[Candidate]:
        """Return the right choices: the steps that may come next, the gold one first; at the end the answer."""
        point, backend = at.point, episode.backend
        if at.gold is None:
            attempt = _checked(at, backend, at.answer, told_in(at, at.answer))
            return [Candidate("", {}, "frontier", 1.0, "", attempt, response=at.answer)]
        found = []
        for step in ready_steps(point):
            one = point.taken[step]
            executed: ExecutedCall | None = None
            gold = step
            if one.state_before != point.taken[point.step].state_before:
                # The gold makes it in another state: here it is executed for itself.
                executed, gold = self._executed(backend, one), -1
            found.append(Candidate(one.tool, one.arguments, "frontier", 1.0, "", executed, gold=gold))
        return found

    @staticmethod
    def _executed(backend: Backend, one: ExecutedCall) -> ExecutedCall | None:
        mark = backend.mark()
        try:
            return Episode(backend).act(one.tool, one.arguments)
        except WithheldCallError:
            return None
        finally:
            backend.rollback(mark)

    @staticmethod
    def _candidate(one: _Judged) -> Candidate:
        proposal = one.proposal
        return Candidate(
            proposal.tool,
            proposal.arguments,
            one.outcome,
            one.relevance,
            proposal.mutation,
            one.attempt,
            proposal.beside,
            response=proposal.response,
            second=one.second,
        )

    def _relevance(
        self,
        point: DecisionPoint,
        outcome: str,
        tool: str,
        arguments: dict[str, Any],
        beside: tuple[str, dict[str, Any]] | None = None,
    ) -> float:
        if outcome in RIGHT_OUTCOMES:
            return relevance_of_call(outcome)
        done, best = (1 << point.step) - 1, 0.0
        if any(one.tool == tool and one.arguments == arguments for one in point.taken[: point.step]):
            best = DONE_BEFORE
        else:
            for step in point.left:
                gold = point.taken[step]
                # A tool that does not exist borrows its name, hence its looks, from the right one.
                similar = self.scene.similar.get((gold.tool, tool), 0.5)
                weight = NOT_YET if point.before[step] & ~done else 1.0
                if weight * (0.6 * similar + 0.4) > best:
                    best = max(best, weight * likeness(gold.arguments, similar, arguments))
        return relevance_of_call(outcome, best if beside is None else (best + DONE_BEFORE) / 2)

    # -- trajectories --------------------------------------------------------------------------

    @staticmethod
    def _departs(at: Situation, spoken: Spoken, one: _Judged) -> bool:
        """Say whether a trajectory can go on from a choice: not from one that costs nothing, nor past an answer."""
        if one.outcome not in {"diverges", "ungrounded", "error"} or one.proposal.beside is not None:
            return False
        last = spoken.turn_of[at.point.step] == spoken.turn_of[-1]
        return bool(one.proposal.tool) or last

    def _go_on(
        self,
        task: Executed,
        program: Sequence[Call],
        taken: Sequence[ExecutedCall],
        words: list[StepContext],
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
            proposal = one.proposal
            if proposal.mutation in used:
                continue
            try:
                attempts = self._act_on(task, program, taken, step, proposal)
            except WithheldCallError:
                attempts = None
            self.world.rollback(self.start)
            if attempts is None:
                continue
            used.add(proposal.mutation)
            made.append(self.writer.write(step, proposal.mutation, attempts, words, rng, proposal.response))
        return made

    def _act_on(
        self,
        task: Executed,
        program: Sequence[Call],
        taken: Sequence[ExecutedCall],
        step: int,
        proposal: Proposal,
    ) -> list[ExecutedCall] | None:
        """Make the wrong choice and then what an agent would do; None if it reaches the goal after all."""
        backend = self._backend(taken)
        episode = Episode(backend, program)
        for earlier in range(step):
            episode.perform(earlier)
        made: list[ExecutedCall] = []
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


def _known_calls(
    task: Executed, number: int, words: Sequence[StepContext]
) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return a call that is not made, where all that it takes from others is taken from steps that are."""
    step = task.talk.unmade[number]
    known = all(source < len(words) for _, source, _ in step.bound)
    return ((step.tool, step.arguments),) if known else ()


def _unsaid(at: Situation, text: str) -> list[int]:
    """Return the steps that failed for good and of which a text does not tell it."""
    return [step for step, sentence in at.failed.items() if sentence not in text]


def _checked(at: Situation, backend: Backend, text: str, told: Sequence[int]) -> ExecutedCall:
    """Check an answer at a decision point as the end of the episode: is the goal reached, and is all told?"""
    point = at.point
    digest = backend.digest()
    shown = {
        "goal_reached": reached(
            point.goal, digest, [(one.tool, one.outcome) for one in point.taken[: point.step]]
        ),
        "steps_left": [point.taken[step].tool for step in point.left],
        "untold": [point.taken[step].tool for step in at.reported if step < point.step and step not in told]
        + [point.taken[step].tool for step in _unsaid(at, text) if step < point.step],
    }
    return ExecutedCall("", {"response": text}, "ok", shown, None, digest, digest)
