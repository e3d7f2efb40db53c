"""Public names of a package that are imported on first use (PEP 562), so that importing the package stays cheap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["on_first_use"]


def on_first_use(
    package: str, names: Sequence[str], homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package.

    Args:
        package: Its `__name__`.
        names: Its public names.
        homes: By name that is imported on first use, the module that holds it, relative to the package.

    Example:
        >>> get, names = on_first_use("planarena", ["Episode"], {"Episode": "episodes"})
        >>> names(), get("Episode").__module__
        (['Episode'], 'planarena.episodes.episode')
    """

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home}"), name)

    return get, lambda: sorted(names)
