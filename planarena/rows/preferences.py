"""Preference pairs at the same state: the right action and a wrong one after the same messages.

Two sources: the candidates of a decision point, executed from one state, and contrastive trajectories, which agree
with their gold up to the step where they depart. Pairs of whole trajectories compare actions of different states
and are not made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from planarena.formats import Call, Gold
from planarena.records import WRONG_OUTCOMES, Run, content_id
from planarena.records.tables import DecisionPointRow, TrajectoryRow
from planarena.rows.dialogue import Decision, Dialogue, Place
from planarena.rows.difficulty import tasks_within
from planarena.rows.options import RowOptions
from planarena.rows.prompts import Moment, Unsayable
from planarena.rows.row import PreferencePair
from planarena.rows.run_reading import ShardReader
from planarena.rows.stepwise import StepExtractor

__all__ = ["WRONG", "PairOptions", "PairReader"]

WRONG = WRONG_OUTCOMES


class PairOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which pairs.

    Attributes:
        outcomes: Outcomes of candidates that count as rejected; of runs of earlier versions `inefficient` may be named,
            which holds harmless and useless calls alike.
        contrastive: Pairs from contrastive trajectories, too.
        per_decision: Most pairs of one decision, the most relevant first; 0 for all.
    """

    outcomes: tuple[str, ...] = WRONG
    contrastive: bool = True
    per_decision: int = 0


class PairReader:
    """Streams the pairs of a run.

    Args:
        run: A finished build.
        options: What prompts and actions look like.
        pairs: Which pairs.
        counts: Where to count; a counter of its own by default.

    Attributes:
        counts: Pairs by source, and what was left out by reason.
    """

    def __init__(
        self,
        run: Run,
        options: RowOptions,
        pairs: PairOptions | None = None,
        counts: Counter[str] | None = None,
    ) -> None:
        self.run, self.options, self.pairs = run, options, pairs or PairOptions()
        self.cutter = StepExtractor(msgspec.structs.replace(options, kinds=("gold",)), counts)
        self.counts: Counter[str] = self.cutter.counts

    def __iter__(self) -> Iterator[PreferencePair]:
        reader = ShardReader(self.run)
        chosen = self.options.difficulty
        within = tasks_within(self.run, chosen) if chosen else None
        for path in self.run.shards("trajectories"):
            rows = reader.open(path)
            # A choice at a step goes by the step, one at an answer before the end by its message: -1 for the first.
            points: dict[str, dict[int, DecisionPointRow]] = {}
            for point in reader.decision_points():
                key = point.step if point.turn < 0 else -1 - point.turn
                points.setdefault(point.trajectory_id, {})[key] = point
            children: dict[str, list[TrajectoryRow]] = {}
            for row in rows:
                if row.kind == "contrastive":
                    children.setdefault(row.parent_id, []).append(row)
            for row in rows:
                if within is not None and row.task_id not in within:
                    continue
                if row.kind == "gold" and (row.trajectory_id in points or row.trajectory_id in children):
                    gold = reader.dialogue(row)
                    if self.cutter.wants(gold) and gold.label != "negative":
                        yield from self._pairs(
                            reader,
                            gold,
                            points.get(row.trajectory_id, {}),
                            children.get(row.trajectory_id, []),
                        )

    def _pairs(
        self,
        reader: ShardReader,
        gold: Dialogue,
        points: Mapping[int, DecisionPointRow],
        children: list[TrajectoryRow],
    ) -> Iterator[PreferencePair]:
        if self.options.one_call_per_turn:
            gold = gold.one_call_per_turn()
        departures = self._departures(reader, gold, children) if self.pairs.contrastive else {}
        prompter = self.cutter.prompter
        tools = prompter.tools(gold)
        total = sum(1 for _ in gold.decisions())
        # The choices where only the answer is left stand behind the last step; where no call is right, that is the first.
        answers = sum(len(decision.steps) for _, decision in gold.decisions())
        try:
            for moment in prompter.moments(gold):
                decision = moment.decision
                is_last = moment.place.number == total - 1 and not decision.calls
                found = [
                    wrong
                    for step in (decision.steps or ((answers if is_last else -1 - moment.place.turn),))
                    if step in points
                    for wrong in self._wrong(reader, points[step], decision)
                ]
                found += departures.get(moment.place.number, [])
                yield from self._of_decision(gold, moment, found, tools, total)
        except Unsayable as error:
            self.counts[f"unsayable: {error}"] += 1

    def _of_decision(
        self,
        gold: Dialogue,
        moment: Moment,
        found: list[_Wrong],
        tools: tuple[dict[str, Any], ...],
        total: int,
    ) -> Iterator[PreferencePair]:
        prompter = self.cutter.prompter
        chosen = prompter.render(moment.gold)
        found.sort(key=lambda wrong: -wrong.relevance)
        seen = {chosen}
        made = 0
        for wrong in found:
            if self.pairs.per_decision and made >= self.pairs.per_decision:
                break
            action = _with_plan_of(moment.gold, wrong.decision)
            try:
                rejected = prompter.render(action)
            except Unsayable as error:
                self.counts[f"unsayable: {error}"] += 1
                continue
            if rejected in seen:
                self.counts["duplicate"] += 1
                continue
            seen.add(rejected)
            made += 1
            self.counts[wrong.source] += 1
            yield PreferencePair(
                pair_id=content_id("pair", self.options.format, moment.prompt, tools, chosen, rejected),
                prompt=moment.prompt,
                chosen=chosen,
                rejected=rejected,
                chosen_action=moment.gold,
                rejected_action=action,
                tools=tools,
                format=self.options.format,
                template=self.options.template_name,
                step=moment.place.number + 1,
                steps=total,
                trajectory_id=gold.trajectory_id,
                scenario_id=gold.scenario_id,
                split=gold.split,
                domain=gold.domain,
                outcome=wrong.outcome,
                mutation=wrong.mutation,
                relevance=wrong.relevance,
                anchor=moment.decision.state,
            )

    # -- where wrong actions come from ---------------------------------------------------------------

    def _wrong(self, reader: ShardReader, point: DecisionPointRow, decision: Decision) -> Iterator[_Wrong]:
        """Return the wrong candidates of a point, each in the place of its step's call or of the answer."""
        place = decision.steps.index(point.step) if decision.steps else 0
        for candidate in msgspec.json.decode(point.candidates, type=list[dict[str, Any]]):
            if candidate["outcome"] not in self.pairs.outcomes:
                continue
            instead = self._instead_of(reader, decision, place, candidate)
            if instead is None:
                self.counts["candidate without a call"] += 1
                continue
            relevance = candidate.get("relevance")
            yield _Wrong(
                instead,
                candidate["outcome"],
                candidate.get("mutation") or "",
                -1.0 if relevance is None else float(relevance),
                "decision points",
            )

    @staticmethod
    def _instead_of(
        reader: ShardReader, decision: Decision, place: int, candidate: Mapping[str, Any]
    ) -> Decision | None:
        """Return what a candidate does in place of a decision, or None where that cannot be said."""
        name = candidate.get("tool")
        if name is None:
            name = reader.tool(candidate["tool_id"]).wire_name
        calls = list(decision.calls)
        if name:
            beside = candidate.get("beside")
            extra = (Call(beside["tool"], beside["arguments"]),) if beside else ()
            calls[place : place + 1] = [Call(name, candidate["arguments"]), *extra]
        elif place and candidate.get("mutation") == "omitted_call":
            del calls[place]  # the turn without the call; the answer comes after it
        elif place or not candidate.get("response"):
            # Other calls of the turn come before, or a run of an earlier version: it does not keep what is said.
            return None
        else:
            return Decision(text=candidate["response"])
        return Decision(calls=tuple(calls), observations=(None,) * len(calls))

    def _departures(
        self, reader: ShardReader, gold: Dialogue, children: list[TrajectoryRow]
    ) -> dict[int, list[_Wrong]]:
        """Return the first wrong decision of each contrastive trajectory by the number of the gold decision."""
        found: dict[int, list[_Wrong]] = {}
        golden = list(gold.decisions())
        for row in children:
            child = reader.dialogue(row)
            child = child.one_call_per_turn() if self.options.one_call_per_turn else child
            theirs = list(child.decisions())
            at = next(
                (
                    (place.number, decision)
                    for place, decision in golden
                    if child.diverge_step in decision.steps
                ),
                None,
            )
            if at is None:
                self.counts["contrastive without a decision to compare"] += 1
                continue
            number, right = at
            instead = _instead(right, number, theirs, child)
            if instead is None:
                self.counts["contrastive without a decision to compare"] += 1
                continue
            same = len(theirs) > number and all(
                mine.calls == yours.calls
                and mine.observations == yours.observations
                and mine.text == yours.text
                for (_, mine), (_, yours) in zip(golden[:number], theirs[:number], strict=True)
            )
            if not same:
                self.counts["contrastive from another state"] += 1
                continue
            wrong = _Wrong(instead, "contrastive", child.mutation, -1.0, "contrastive trajectories")
            found.setdefault(number, []).append(wrong)
        return found


class _Wrong(msgspec.Struct, frozen=True):
    decision: Decision
    outcome: str
    mutation: str
    relevance: float
    source: str


def _instead(
    right: Decision, number: int, theirs: list[tuple[Place, Decision]], child: Dialogue
) -> Decision | None:
    """Return what the contrastive trajectory does in place of a gold decision, or None where it does not compare."""
    made = [
        call
        for _, decision in theirs
        for step, call in zip(decision.steps, decision.calls, strict=True)
        if step == child.diverge_step
    ]
    first = right.steps.index(child.diverge_step)
    if made:
        # The calls beside it in the turn do not depend on it, so that the state is the same for all of them.
        calls = (*right.calls[:first], *made, *right.calls[first + 1 :])
        return Decision(calls=calls, observations=(None,) * len(calls))
    if first or number >= len(theirs) or theirs[number][1].calls:
        return None
    return theirs[number][1]


def _with_plan_of(gold: Gold, wrong: Decision) -> Gold:
    """Give the wrong action the right one's plan: a pair differs in what is done, not in how it is announced."""
    return Gold(wrong.calls, None if wrong.calls else wrong.text, gold.plan)
