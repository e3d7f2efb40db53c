"""What a card says of a run that was made from another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["render_augmentation"]

_WORDS = {
    "missing": "a tool that the request needs is withheld; the right answer is that it cannot be done",
    "injected": "a text that a look-up shows holds an order that nobody gave",
    "distractors": "more tools are on offer than are needed",
    "renamed": "tools and arguments have other names",
    "reworded": "descriptions say the same in other words",
    "noisy": "results hold more than is needed",
    "reordered": "tools stand in another order",
}


def render_augmentation(info: Mapping[str, Any]) -> str:
    """Say what was done to the trajectories of the other run, and what was proven of it."""
    counts: Mapping[str, Any] = info["counts"]
    whole = counts.get("gold", 0) + counts.get("no_call", 0)
    rows = "\n".join(
        f"| {kind} | {number} | {_WORDS.get(kind, '')} |"
        for kind, number in sorted(counts.get("augmented", {}).items(), key=lambda one: (-one[1], one[0]))
    )
    proven, unproven = counts.get("augmented_proven", 0), counts.get("augmented_unproven", 0)
    refused = sum(counts.get("discard", {}).values())
    return (
        f"{whole} variants of gold trajectories of another run; the table `augmentations` says of each where it comes from and "
        f"what was done. {proven} were executed and proven again in full from their own rows, {unproven} could not be, as their "
        f"run has no environment; {refused} draws failed a proof and are in the table `discards`.\n\n"
        f"| kind | variants | |\n|---|---|---|\n{rows}"
    )
