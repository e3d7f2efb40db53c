"""One variant of one trajectory: kinds are drawn, applied, executed, written and proven; what fails is not made."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from planarena.augment.cases import Case
from planarena.augment.executing import Refused, execute
from planarena.augment.harder import inject, withhold
from planarena.augment.kinds import add_distractors, add_noise, rename, reorder, reword
from planarena.augment.proving import find_faults, find_text_faults
from planarena.augment.settings import KINDS, AugmentConfig
from planarena.augment.variant import Draft
from planarena.augment.writing import VariantRows, write_variant
from planarena.pipeline.execute.scenarios import rng_for
from planarena.records.canonical import content_id
from planarena.records.tables import DiscardRow

__all__ = ["Outcome", "make_variant"]

# How often another draw is made where one gives nothing, and how often a second kind comes on top of the first.
_DRAWS, _EXTRA = 6, 0.3
# Kinds that change what happens: one of them at most.
_HARDER = ("missing", "injected")


class Outcome(NamedTuple):
    """What became of a variant: its rows, or None, and what was refused on the way."""

    rows: VariantRows | None
    discards: list[DiscardRow]


def make_variant(case: Case, number: int, config: AugmentConfig) -> Outcome:
    """Make a variant of a trajectory; the same for the same seed, whatever else is made.

    Args:
        case: The trajectory.
        number: Of the variant, from 0.
        config: The settings.
    """
    rng = rng_for(config.seed, "augment", case.trajectory.trajectory_id, number)
    discards: list[DiscardRow] = []
    first = list(config.wanted)
    rng.shuffle(first)
    # These fit few trajectories: they are tried first every other time.
    if (harder := [kind for kind in first if kind in _HARDER]) and rng.random() < 0.5:
        first = list(dict.fromkeys([*harder, *first]))
    for primary in first[:_DRAWS]:
        extra = [
            kind
            for kind in config.wanted
            if kind != primary and kind not in _HARDER and rng.random() < _EXTRA
        ]
        draft = _apply(case, {primary, *extra}, primary, rng, config)
        if draft is None:
            continue
        try:
            made = execute(draft)
            rows = write_variant(draft, made, number)
        except Refused as refused:
            discards.append(_discard(case, draft, refused.reason, str(refused)))
            continue
        tools = {row.tool_id: row for row in rows.tools}
        executions = {row.execution_id: row for row in rows.executions}
        texts = [rows.trajectory.response, rows.trajectory.turn_responses]
        faults = find_text_faults(rows.query, texts, tools)
        if case.is_proven and not faults:
            faults = find_faults(rows.scenario, rows.task, rows.steps, executions, made.program, tools)
        if not faults:
            return Outcome(rows, discards)
        discards.append(_discard(case, draft, *faults[0]))
    return Outcome(None, discards)


def _apply(case: Case, kinds: set[str], primary: str, rng: Random, config: AugmentConfig) -> Draft | None:
    """Apply kinds in their order; None where the first of them has nothing to do."""
    offered = [name for name in case.scene.tools if name not in case.withheld]
    draft = Draft(case, rng, offered)
    for kind in KINDS:
        if kind in kinds:
            if _KINDS[kind](draft, config):
                draft.kinds.append(kind)
            elif kind == primary:
                return None
    return draft


_KINDS: dict[str, Callable[[Draft, AugmentConfig], bool]] = {
    "missing": lambda draft, _: withhold(draft),
    "injected": lambda draft, _: inject(draft),
    "distractors": lambda draft, config: add_distractors(draft, config.most_distractors),
    "renamed": lambda draft, _: rename(draft),
    "reworded": lambda draft, _: reword(draft),
    "noisy": lambda draft, _: draft.missing < 0 and add_noise(draft),
    "reordered": lambda draft, _: reorder(draft),
}


def _discard(case: Case, draft: Draft, reason: str, detail: str) -> DiscardRow:
    kinds = ", ".join(draft.kinds)
    key = [case.trajectory.trajectory_id, kinds, reason, detail]
    scenario = case.scene.row.scenario_id
    return DiscardRow(
        content_id("discard", *key),
        scenario,
        case.task.expression,
        "augment",
        reason,
        f"{kinds}: {detail}"[:2000],
    )
