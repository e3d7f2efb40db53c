"""What stands beside the tables of a finished build: run.json, the dataset card and the report."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from planarena.config import BuildConfig
from planarena.environments.catalog import verdicts_of
from planarena.environments.sources import open_source, split_source
from planarena.errors import PlanArenaError
from planarena.export.card import render_card
from planarena.pipeline.execute.decontamination import guard_of
from planarena.quality import measure_run
from planarena.records.run import Run
from planarena.records.shards import write_durably
from planarena.records.tables import FORMAT_VERSION
from planarena.report.build_report import write_report
from planarena.version import __version__

__all__ = ["check_failures", "grouped_counts", "write_if_new", "write_outputs"]

# Of what the server of one model called itself.
_MOST_NAMES = 20


def write_outputs(
    root: Path,
    config: BuildConfig,
    *,
    counts: dict[str, Any],
    shapes: int,
    stop_reason: str,
    quarantined: list[tuple[int, str]],
    prepared: Callable[[Path], Path | None],
) -> None:
    """Write run.json, README.md and report.html; files that would not change are left alone.

    Nothing in them differs from run to run: times, attempts and cost per attempt live in the ledger.

    Raises:
        OSError: No space, no permission.
    """
    import pyarrow

    micro_usd, unpriced = counts.pop("llm_micro_usd", 0), counts.pop("llm_unpriced", 0)
    calls, tokens = counts.pop("llm_answers", 0), counts.pop("llm_tokens", 0)
    usd = None if unpriced else micro_usd / 1e6
    served = _served(counts)
    info = {
        "format_version": FORMAT_VERSION,
        "kind": "build",
        "versions": {
            "planarena": __version__,
            "python": ".".join(platform.python_version_tuple()[:2]),
            "pyarrow": pyarrow.__version__,
        },
        "config": config.stated(),
        "seed": config.seed,
        **({"contamination": _findings(config, counts)} if config.contamination else {}),
        **({"probe": found} if (found := _probed(config)) else {}),
        "stop_reason": stop_reason,
        "counts": grouped_counts(counts) | {"distinct_masked_shapes": shapes},
        "scorecard": measure_run(Run(root)),
        **({"descriptions": described} if (described := _descriptions(config)) else {}),
        "quarantined": [{"scenario": scenario, "error": error} for scenario, error in quarantined],
        # Of the answers used, whenever they were paid for; what this run paid is in the ledger.
        "cost": {
            "usd": usd,
            "llm_calls": calls,
            "tokens": tokens,
            **({"served_by": served} if served else {}),
        },
    }
    text = msgspec.json.format(msgspec.json.encode(info, order="deterministic"), indent=2) + b"\n"
    write_if_new(root / "run.json", text)
    run = Run(root)
    write_if_new(root / "README.md", render_card(run).encode())
    write_report(run, root / "report.html", prepared=prepared)


def _served(counts: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Take out of the counts what the servers of each model called themselves, the most frequent names."""
    found: dict[str, dict[str, int]] = {}
    for key in sorted(key for key in counts if key.startswith("llm_served:")):
        model, _, name = key.removeprefix("llm_served:").partition("\t")
        found.setdefault(model, {})[name] = counts.pop(key)
    return {
        model: dict(sorted(names.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_NAMES])
        for model, names in found.items()
    }


def _descriptions(config: BuildConfig) -> dict[str, Any]:
    """Return by source of API descriptions how many operations people ask for, and why the others are left out.

    A draw by quotas opens thousands of descriptions one after the other: there the table `tools` says what was on offer.
    """
    if config.quotas.enabled:
        return {}
    found = {}
    for source in config.sources:
        if split_source(source)[0] == "openapi":
            # Imported here: most builds read no descriptions.
            from planarena.environments.sources.openapi.source import Family, usage_of

            units = [unit for unit in open_source(source).units if isinstance(unit, Family)]
            found[source] = usage_of(units)
    return found


def _probed(config: BuildConfig) -> dict[str, Any]:
    """Return for each source of the user's own which tools were used, and why the others were not."""
    if config.quotas.enabled:
        return {}
    found: dict[str, Any] = {}
    for source in config.sources:
        if split_source(source)[0] in {"python", "mcp", "http"}:
            verdicts = verdicts_of(source)
            found[source] = {
                "used": [one.tool for one in verdicts if one.used],
                "not_used": {
                    one.tool: {"why": one.why, "write": one.write} for one in verdicts if not one.used
                },
            }
    return found


def check_failures(root: Path, counts: Mapping[str, int], quarantined: int, most: float) -> None:
    """See that no more failed than a build may lose.

    Args:
        root: The run directory.
        counts: Of the run.
        quarantined: Scenarios that failed.
        most: The largest share of scenarios, and of requests to models.

    Raises:
        PlanArenaError: More did.
    """
    total = quarantined + counts["scenarios"]
    if total and quarantined / total > most:
        raise PlanArenaError(
            f"{quarantined} of {total} scenarios failed (see `planarena inspect {root} --discarded quarantine`); "
            "--retry-failed tries them again"
        )
    kinds = {name.partition(":")[2]: n for name, n in counts.items() if name.startswith("llm_failures:")}
    failed = sum(kinds.values())
    if failed > most * counts["llm_requests"]:
        listed = ", ".join(f"{name} {n}" for name, n in sorted(kinds.items(), key=lambda one: -one[1]))
        raise PlanArenaError(
            f"{failed} of {counts['llm_requests']} requests to models gave nothing of use ({listed}); the run is complete, "
            f"with offline words in their place (see `planarena inspect {root} --discarded models`); --retry-failed asks again"
        )


def grouped_counts(counts: dict[str, Any]) -> dict[str, Any]:
    """Turn `{"gold_length:3": 5}` into `{"gold_length": {"3": 5}}`."""
    grouped: dict[str, Any] = {}
    for key, value in counts.items():
        name, sign, rest = key.partition(":")
        if sign:
            grouped.setdefault(f"by_{name}" if name in counts else name, {})[rest] = value
        else:
            grouped[name] = value
    return grouped


def _findings(config: BuildConfig, counts: Mapping[str, Any]) -> dict[str, str]:
    """Return for the card what each benchmark was held against and what it struck out.

    Args:
        config: The build.
        counts: As summed up over the chunks, `discard:contamination:ngram:bfcl` among them.
    """
    guard = guard_of(config)
    found: dict[str, str] = {}
    for benchmark in guard.benchmarks if guard is not None else ():
        struck = sum(
            number
            for key, number in counts.items()
            if key.startswith("discard:contamination:") and key.endswith(f":{benchmark.name}")
        )
        found[benchmark.name] = (
            f"held against {len(benchmark.signatures)} tools, which are on no offer, and {len(benchmark.queries)} texts; "
            f"{struck} queries discarded"
        )
    return found


def write_if_new(path: Path, data: bytes) -> None:
    """Write a file durably, unless it holds the same."""
    if not path.is_file() or path.read_bytes() != data:
        write_durably(path, data)
