"""Export of preference pairs at the same state, in the conversational shape of TRL's DPO: one JSON object a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, BinaryIO

from planarena.export.folder import OutputFolder
from planarena.export.hugging_face import order_splits
from planarena.export.options import ExportOptions
from planarena.export.trajectories import JoinedTrajectory
from planarena.records import Run, canonical_bytes
from planarena.rows import PreferencePair, load_pairs

__all__ = ["write_preference"]


def write_preference(
    run: Run,
    trajectories: Iterable[JoinedTrajectory],  # noqa: ARG001  every format is called alike
    options: ExportOptions,
    folder: OutputFolder,
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Write `SPLIT.jsonl` with prompt, chosen and rejected; return the pairs by split.

    The tools stand in the prompt's text, so that no column holds schemas that Arrow would merge.

    Raises:
        UserError: The format `native`, whose messages hold nested calls.
    """
    rows: dict[str, int] = {}
    files: dict[str, BinaryIO] = {}
    with ExitStack() as stack:
        for done, pair in enumerate(load_pairs(run.path, options.of_rows(), allow_empty=True), 1):
            if pair.split not in files:
                files[pair.split] = stack.enter_context(folder.new_file(f"{pair.split}.jsonl").open("wb"))
            files[pair.split].write(canonical_bytes(_line(pair, options)) + b"\n")
            rows[pair.split] = rows.get(pair.split, 0) + 1
            progress(done)
    return order_splits(rows)


def _line(pair: PreferencePair, options: ExportOptions) -> dict[str, Any]:
    return {
        "prompt": options.with_results(pair.prompt),
        "chosen": [{"role": "assistant", "content": pair.chosen}],
        "rejected": [{"role": "assistant", "content": pair.rejected}],
        "pair_id": pair.pair_id,
        "trajectory_id": pair.trajectory_id,
        "scenario_id": pair.scenario_id,
        "domain": pair.domain,
        "step": pair.step,
        "steps": pair.steps,
        "outcome": pair.outcome,
        "mutation": pair.mutation,
        "relevance": pair.relevance,
        "anchor": pair.anchor,
        "format": pair.format,
    }
