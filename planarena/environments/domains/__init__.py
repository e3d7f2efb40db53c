"""Environments of our own, one file each, found by name."""

from __future__ import annotations

from importlib import import_module

from planarena.environments.environment import Environment
from planarena.errors import SourceError

__all__ = ["DOMAINS", "load_domain"]

# Name -> class, in the order in which builds take them.
DOMAINS: dict[str, str] = {
    "travel": "Travel",
    "calendar": "Calendar",
    "banking": "Banking",
    "smart_home": "SmartHome",
    "email": "EmailBox",
    "files": "Files",
    "shopping": "Shopping",
    "support": "Support",
}


def load_domain(name: str) -> type[Environment]:
    """Return the environment class of a domain.

    Raises:
        SourceError: There is no such domain.
    """
    if name not in DOMAINS:
        raise SourceError(f"there is no builtin domain {name!r}", fix=f"one of: {', '.join(DOMAINS)}")
    found: type[Environment] = getattr(import_module(f"{__name__}.{name}"), DOMAINS[name])
    return found
