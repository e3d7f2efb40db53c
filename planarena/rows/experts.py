"""Expert sets: which demonstrations go with which RL prompts.

Disjoint (CHORD section 4.1: 500 for SFT, 5,000 for RL, no overlap): the trajectories are divided, so that no prompt of
one side is on the other. Aligned (LUFFY and SRFT): each RL prompt takes the demonstration of an expert for the same
prompt, where there is one; the coverage says for how many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal

import msgspec

from planarena.errors import UserError
from planarena.rows.row import EpisodeRow, TrainingRow

__all__ = ["Aligned", "Coverage", "ExpertOptions", "Experts", "align", "divide"]


class ExpertOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How experts are chosen.

    Attributes:
        mode: `disjoint` or `aligned`.
        ratio: Of `disjoint`: the share of tasks whose trajectories are experts; of `aligned`: the share of
            prompts that may have an expert (CHORD Table 6 varies the source, LUFFY has one for each).
        generators: Only demonstrations that these made; empty for all.
        seed: Of the division.
    """

    mode: Literal["disjoint", "aligned"] = "disjoint"
    ratio: float = 0.1
    generators: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.ratio <= 1:
            raise UserError(
                f"{self.ratio} is no share", where="experts.ratio", fix="write a number from 0 to 1"
            )


class Coverage(msgspec.Struct):
    """What an expert set covers; filled while it is read.

    Attributes:
        prompts: RL rows seen.
        covered: RL rows that have an expert.
        experts: Expert rows.
        generators: Expert rows by generator.
        overlap: Prompts that stand on both sides.
    """

    prompts: int = 0
    covered: int = 0
    experts: int = 0
    generators: Counter[str] = msgspec.field(default_factory=Counter)
    overlap: int = 0

    @property
    def share(self) -> float:
        """Covered RL rows over RL rows; 0 without any."""
        return self.covered / self.prompts if self.prompts else 0.0

    def __str__(self) -> str:
        made = ", ".join(f"{number} by {name}" for name, number in sorted(self.generators.items()))
        return f"{self.covered} of {self.prompts} prompts have an expert ({100 * self.share:.1f} %); {made or 'none'}"


class Experts(msgspec.Struct):
    """A division: the expert rows, the RL rows, and what is covered."""

    experts: list[TrainingRow]
    prompts: list[TrainingRow]
    coverage: Coverage


def is_expert_task(row: TrainingRow | EpisodeRow, options: ExpertOptions) -> bool:
    """Whether a row's task belongs to the experts: a function of the seed and the task alone.

    Trajectories of one task share queries and states, so a task goes to one side as a whole, and the side of one
    does not depend on which others there are.
    """
    return _place(options.seed, row.task_id or row.trajectory_id) < options.ratio


def divide(rows: Iterable[TrainingRow], options: ExpertOptions) -> Experts:
    """Divide rows into experts and RL prompts that share nothing.

    A prompt that two tasks happen to share stays with the experts and leaves the RL side; `overlap` counts those.

    Args:
        rows: Positive rows.
        options: `mode` is not read.

    Raises:
        UserError: No row is left for the experts.
    """
    coverage = Coverage()
    experts: list[TrainingRow] = []
    prompts: list[TrainingRow] = []
    for row in rows:
        if not is_expert_task(row, options):
            prompts.append(row)
        elif not options.generators or row.generator in options.generators:
            experts.append(row)
            coverage.generators[row.generator] += 1
    taken = {row.prompt_id for row in experts}
    kept = [row for row in prompts if row.prompt_id not in taken]
    coverage.overlap = len(prompts) - len(kept)
    coverage.prompts, coverage.experts = len(kept), len(experts)
    if not experts:
        _refuse(options)
    return Experts(experts, kept, coverage)


class Aligned(msgspec.Struct, frozen=True):
    """An RL row and the demonstration for the same prompt, or None."""

    row: TrainingRow
    expert: TrainingRow | None


def align(
    rows: Iterable[TrainingRow],
    experts: Iterable[TrainingRow],
    options: ExpertOptions,
    coverage: Coverage | None = None,
) -> Iterator[Aligned]:
    """Give each RL row the demonstration of an expert for the same prompt.

    Rows match by what the policy sees. Of several demonstrations the first counts. Which prompts may have one is a
    function of the seed and the prompt, so that a smaller ratio covers a part of what a larger one covers.

    Args:
        rows: The RL rows; streamed.
        experts: Expert rows, of the same run or another; held in memory by prompt.
        options: `mode` is not read.
        coverage: Filled while the result is read.

    Raises:
        UserError: There is no expert row.
    """
    coverage = coverage if coverage is not None else Coverage()
    known: dict[str, TrainingRow] = {}
    for row in experts:
        if row.polarity == "positive" and (not options.generators or row.generator in options.generators):
            known.setdefault(row.prompt_id, row)
    coverage.experts = len(known)
    if not known:
        _refuse(options)
    for row in rows:
        expert = known.get(row.prompt_id) if _place(options.seed, row.prompt_id) < options.ratio else None
        coverage.prompts += 1
        if expert is not None:
            coverage.covered += 1
            coverage.generators[expert.generator] += 1
        yield Aligned(row, expert)


def _place(seed: int, key: str) -> float:
    digest = blake2b(f"experts/{seed}/{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def _refuse(options: ExpertOptions) -> None:
    wanted = f" made by {' or '.join(options.generators)}" if options.generators else ""
    raise UserError(
        f"no row{wanted} is left for the experts",
        where="experts",
        fix="raise the ratio, or name another generator",
    )
