"""What an augmentation may choose."""

from __future__ import annotations

from difflib import get_close_matches

import msgspec

from planarena.errors import ConfigError

__all__ = ["KINDS", "AugmentConfig"]

# Name -> what it does, in the order in which they are applied.
KINDS = {
    "missing": "a tool that the request needs is withheld: the honest answer is that it cannot be done",
    "injected": "a text that a look-up shows holds an order that nobody gave",
    "distractors": "more tools are on offer than are needed",
    "renamed": "tools and arguments have other names",
    "reworded": "descriptions of tools and arguments say the same in other words",
    "noisy": "results hold more than is needed",
    "reordered": "tools and required arguments stand in another order",
}


class AugmentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings of an augmentation.

    Attributes:
        run: The run whose gold trajectories are varied.
        out: The folder of the new run.
        kinds: Some of missing, injected, distractors, renamed, reworded, noisy, reordered; empty for all.
        per: Variants of each trajectory.
        limit: Most variants; 0 for no limit.
        most_distractors: Most tools that are added to those on offer.
        splits: Only trajectories of these splits; empty for all. A variant stays in its trajectory's split.
        seed: Of every draw.
        workers: Processes; 0 for one a core. The bytes do not depend on it.
        fresh: Throw away what the folder holds.
    """

    run: str
    out: str
    kinds: tuple[str, ...] = ()
    per: int = 1
    limit: int = 0
    most_distractors: int = 6
    splits: tuple[str, ...] = ()
    seed: int = 0
    workers: int = 0
    fresh: bool = False

    def check(self) -> None:
        """Refuse settings that mean nothing.

        Raises:
            ConfigError: There is one.
        """
        for kind in self.kinds:
            if kind not in KINDS:
                near = get_close_matches(kind, KINDS, n=1)
                fix = f"did you mean {near[0]}?" if near else f"some of: {', '.join(KINDS)}"
                raise ConfigError(f"there is no kind {kind!r}", where="--kinds", fix=fix)
        for name, least in (("per", 1), ("limit", 0), ("most_distractors", 1), ("workers", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"is {getattr(self, name)}", where=name, fix=f"give {least} or more")
        if not self.out:
            raise ConfigError("no output folder", where="--out", fix="give one, as --out runs/more")

    @property
    def wanted(self) -> tuple[str, ...]:
        """The kinds, in the order in which they are applied."""
        return tuple(kind for kind in KINDS if not self.kinds or kind in self.kinds)

    def stated(self) -> dict[str, object]:
        """Return the settings that decide the bytes."""
        kept = msgspec.to_builtins(self)
        return {key: value for key, value in kept.items() if key not in {"run", "out", "workers", "fresh"}}
