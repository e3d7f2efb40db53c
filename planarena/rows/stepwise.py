"""Step-wise decisions: one row per decision, with the history before it (AWPO and ToolUPT)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from planarena.records import content_id
from planarena.rows.dialogue import Dialogue
from planarena.rows.options import RowOptions
from planarena.rows.prompts import Moment, Prompter, Unsayable
from planarena.rows.row import EnvironmentReference, EpisodeRow, TrainingRow

__all__ = ["StepExtractor"]


class StepExtractor:
    """Turns dialogues into rows and counts what it leaves out.

    Args:
        options: What rows look like and which are wanted.
        counts: Where to count; a counter of its own by default.

    Attributes:
        counts: Rows, dialogues, and what was left out by reason.
    """

    def __init__(self, options: RowOptions, counts: Counter[str] | None = None) -> None:
        self.options = options
        self.prompter = Prompter(options)
        self.counts: Counter[str] = Counter() if counts is None else counts

    def wants(self, dialogue: Dialogue) -> bool:
        """Whether a dialogue passes the selection."""
        chosen = self.options
        return (
            (not chosen.splits or dialogue.split in chosen.splits)
            and dialogue.kind in chosen.kinds
            and (not chosen.generators or dialogue.generator in chosen.generators)
            and (not chosen.domains or dialogue.domain in chosen.domains)
        )

    def rows(
        self, dialogue: Dialogue, environment: EnvironmentReference | None = None
    ) -> Iterator[TrainingRow]:
        """Return the rows of a dialogue, in order.

        Args:
            dialogue: The dialogue.
            environment: Where a policy can act on its task.
        """
        if not self._admit(dialogue):
            return
        dialogue = dialogue.one_call_per_turn() if self.options.one_call_per_turn else dialogue
        tools = self.prompter.tools(dialogue)
        steps = sum(1 for _ in dialogue.decisions())
        try:
            for moment in self.prompter.moments(dialogue):
                if self._is_row(dialogue, moment):
                    row = self._row(dialogue, moment, tools, steps, environment)
                    if row is not None:
                        self.counts["rows"] += 1
                        yield row
        except Unsayable as error:
            # What the format cannot write cannot stand in a later history either.
            self.counts[f"unsayable: {error}"] += 1

    def episode(
        self, dialogue: Dialogue, environment: EnvironmentReference | None = None
    ) -> EpisodeRow | None:
        """Return a dialogue as one multi-turn row, or None where the format cannot write it.

        Args:
            dialogue: The dialogue.
            environment: Where a policy can act on its task.
        """
        if dialogue.kind != "gold" or not self._admit(dialogue):
            return None
        dialogue = dialogue.one_call_per_turn() if self.options.one_call_per_turn else dialogue
        prompter = self.prompter
        try:
            golds = [prompter.gold(dialogue, place, decision) for place, decision in dialogue.decisions()]
            targets = [prompter.render(gold) for gold in golds]
            messages = prompter.messages(dialogue)
            first = next(prompter.moments(dialogue), None)
        except Unsayable as error:
            self.counts[f"unsayable: {error}"] += 1
            return None
        if first is None:
            self.counts["without gold"] += 1
            return None
        tools = prompter.tools(dialogue)
        self.counts["rows"] += 1
        return EpisodeRow(
            row_id=content_id("episode", self.options.format, first.prompt, tools, targets),
            prompt=first.prompt,
            turns=tuple(turn.user for turn in dialogue.turns),
            messages=messages,
            tools=tools,
            format=self.options.format,
            template=self.options.template_name,
            gold=tuple(golds),
            targets=tuple(targets),
            trajectory_id=dialogue.trajectory_id,
            scenario_id=dialogue.scenario_id,
            task_id=dialogue.task_id,
            split=dialogue.split,
            domain=dialogue.domain,
            generator=dialogue.generator,
            category=dialogue.category,
            environment=environment,
            brief=dialogue.brief,
        )

    def _admit(self, dialogue: Dialogue) -> bool:
        if not self.wants(dialogue):
            return False
        self.counts["dialogues"] += 1
        if dialogue.label == "negative" and dialogue.kind == "gold":
            # The query or the goal was judged wrong: no step of it is known to be right or wrong.
            self.counts["judged negative"] += 1
            return False
        return True

    def _is_row(self, dialogue: Dialogue, moment: Moment) -> bool:
        if moment.place.number < dialogue.first_decision:
            return False
        if dialogue.kind == "contrastive":
            return _diverges(dialogue, moment)
        return self.options.answers or bool(moment.decision.calls)

    def _row(
        self,
        dialogue: Dialogue,
        moment: Moment,
        tools: tuple[dict[str, object], ...],
        steps: int,
        environment: EnvironmentReference | None,
    ) -> TrainingRow | None:
        try:
            target = self.prompter.render(moment.gold)
        except Unsayable as error:
            self.counts[f"unsayable: {error}"] += 1
            return None
        longest = self.options.longest_prompt
        if longest and sum(len(message["content"] or "") for message in moment.prompt) > longest:
            self.counts["prompt too long"] += 1
            return None
        if environment is not None:
            environment = EnvironmentReference(
                environment.run,
                environment.scenario_id,
                environment.task_id,
                environment.shard,
                dialogue.calls_before(moment.place),
            )
        polarity: Literal["positive", "negative"] = (
            "negative" if dialogue.kind == "contrastive" else "positive"
        )
        return TrainingRow(
            row_id=content_id(
                "row",
                self.options.format,
                moment.prompt,
                tools,
                target,
                dialogue.trajectory_id,
                moment.place.number,
            ),
            prompt_id=content_id("prompt", moment.prompt, tools),
            prompt=moment.prompt,
            tools=tools,
            format=self.options.format,
            template=self.options.template_name,
            gold=moment.gold,
            target=target,
            step=moment.place.number + 1,
            steps=steps,
            trajectory_id=dialogue.trajectory_id,
            scenario_id=dialogue.scenario_id,
            task_id=dialogue.task_id,
            split=dialogue.split,
            domain=dialogue.domain,
            polarity=polarity,
            rationale=moment.decision.rationale,
            generator=dialogue.generator,
            category=dialogue.category,
            anchor=moment.decision.state,
            environment=environment,
        )


def _diverges(dialogue: Dialogue, moment: Moment) -> bool:
    """Whether a decision of a contrastive trajectory is its first wrong one."""
    if any(dialogue.diverge_step in decision.steps for _, decision in dialogue.decisions()):
        return dialogue.diverge_step in moment.decision.steps
    # It answered where it should have called.
    return not moment.decision.calls and moment.place.turn == dialogue.diverge_turn
