"""Trajectories that depart from gold at a wrong choice, in words: what the agent says that it does, and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from planarena.environments import World
from planarena.environments.wording import ToolWording, parse_pointer
from planarena.episodes import ExecutedCall
from planarena.generate.clauses import StepContext
from planarena.generate.offline import write_failure, write_response, write_step_plan
from planarena.generate.wrong_answers import write_claim
from planarena.pipeline.products import Contrastive
from planarena.tasks.atoms import resolve

__all__ = ["DepartureWriter"]

IGNORED_ERROR = "ignored_error"


class DepartureWriter:
    """Writes the trajectories that depart from the gold ones of a scenario.

    Args:
        world: Its world.
        wording: The words of its tools.
    """

    def __init__(self, world: World, wording: dict[str, ToolWording]) -> None:
        self.world, self.wording = world, wording

    def write(
        self,
        step: int,
        mutation: str,
        attempts: Sequence[ExecutedCall],
        words: list[StepContext],
        rng: Random,
        response: str = "",
    ) -> Contrastive:
        """Write one trajectory.

        Args:
            step: The first step that differs.
            mutation: The fault.
            attempts: The calls made from there on.
            words: The gold steps.
            rng: Chooses the words.
            response: The answer that is the fault; empty for one that tells what was done.
        """
        spoken = list(words[:step])
        lines: list[str] = []
        failed: StepContext | None = None
        for one in attempts:
            operation = self.world.operations.get(one.tool)
            if operation is None:
                lines.append(f"Next: use {one.tool.replace('_', ' ')}.")
                continue
            known = StepContext(
                len(spoken),
                operation,
                self.wording[one.tool],
                one.arguments,
                self._sources_of(spoken, one),
                one.outcome.result,
            )
            spoken.append(known)
            lines.append(write_step_plan(known, spoken, rng))
            if failed is None and one.outcome.error is not None:
                failed = known
        kept = tuple(attempts)
        if response:
            return Contrastive(step, mutation, kept, tuple(lines), response)
        done = [one for one in spoken if one.result is not None]
        consumed = {source for one in done for source, _ in one.bound.values()}
        reported = [one.number for one in done if one.number not in consumed and one.tells_all()]
        text = write_response(spoken, reported, rng) if reported else ""
        if failed is not None and self._may_be_claimed(failed) and rng.random() < 0.5:
            # The error is passed over: the answer says that the call did what it should.
            claim = write_claim(failed, spoken, rng)
            return Contrastive(step, IGNORED_ERROR, kept, tuple(lines), f"{text} {claim}".strip())
        errors = [one.outcome.error["message"] for one in attempts if one.outcome.error is not None]
        return Contrastive(step, mutation, kept, tuple(lines), write_failure(text, errors, rng))

    @staticmethod
    def _may_be_claimed(step: StepContext) -> bool:
        tool = step.operation.tool
        return tool.effects != "read" and all(name in step.arguments for name in tool.required)

    def _sources_of(self, spoken: Sequence[StepContext], one: ExecutedCall) -> dict[str, tuple[int, str]]:
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
