"""Whether a folder's run is the one that is asked for: another configuration or size is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from planarena.config import BuildConfig
from planarena.errors import RunError
from planarena.pipeline.run.ledger import Ledger
from planarena.records.tables import FORMAT_VERSION

__all__ = ["check_identity"]


def check_identity(ledger: Ledger, config: BuildConfig, root: Path) -> None:
    """Make the folder's run this build's, or see that it is.

    Args:
        ledger: Of the folder.
        config: The build.
        root: The folder.

    Raises:
        RunError: It holds another run, or a larger one, or a smaller one without `--extend`.
    """
    mine = {"format_version": FORMAT_VERSION, "config": config.identity()}
    stored = ledger.get("identity")
    if stored is None:
        ledger.put("identity", mine)
        ledger.put("trajectories", config.trajectories)
        return
    if stored["format_version"] != FORMAT_VERSION:
        raise RunError(
            f"was written in format version {stored['format_version']}, this planarena writes {FORMAT_VERSION}",
            where=str(root),
            fix="give another --out, or --fresh to build it again",
        )
    differing = _differences(stored["config"], _plain(mine["config"]))
    if differing:
        raise RunError(
            f"holds a run with another configuration: {'; '.join(differing[:4])}",
            where=str(root),
            fix="give another --out, the same options, or --fresh to throw it away",
        )
    before = ledger.get("trajectories")
    if config.trajectories < before:
        raise RunError(
            f"holds a run of {before} trajectories, more than the {config.trajectories} asked for",
            where=str(root),
            fix="give another --out, or --fresh to throw it away",
        )
    if config.trajectories > before:
        if not config.execution.extend:
            raise RunError(
                f"holds a run of {before} trajectories, {config.trajectories} are asked for",
                where=str(root),
                fix="add --extend to go on with it, or give another --out",
            )
        ledger.put("trajectories", config.trajectories)


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    found = []
    for key in sorted({*old, *new}):
        a, b = old.get(key), new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            found += _differences(a, b, f"{prefix}{key}.")
        elif a != b:
            found.append(f"{prefix}{key} is {a!r} there, {b!r} here")
    return found
