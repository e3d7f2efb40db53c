"""What is said of a user's own sources before anything is built: what they were taken for, which tools are used and why not."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from planarena.cli import plain

__all__ = ["announce_tools", "with_kinds"]

_OWN = ("python", "mcp", "http")
_SMALL = 60


def with_kinds(sources: Sequence[str], *, quiet: bool = False) -> list[str]:
    """Return sources with their kinds; what was taken for which is said in one line each.

    Args:
        sources: As the user wrote them.
        quiet: Say nothing.
    """
    from planarena.environments.sources import recognise, split_source

    found = []
    for source in sources:
        named = source.startswith(("builtin", "json:", "openapi:", "mcp:", "python:", "http:", "env:"))
        taken = None if named else recognise(source)
        if taken is None:
            split_source(source)  # its faults come first
            found.append(source)
            continue
        if not quiet:
            print(plain(taken.said), file=sys.stderr, flush=True)
        found.append(taken.text if taken.kind != "json" else source)
    return found


def announce_tools(sources: Sequence[str], *, quiet: bool = False) -> bool:
    """Say of each tool of the user's own sources whether it is used, and if not, why and what to write.

    Args:
        sources: With their kinds.
        quiet: Say nothing.

    Returns:
        Whether there is such a source.
    """
    from planarena.environments.catalog import unit_names, verdicts_of
    from planarena.environments.sources import split_source

    own = [source for source in sources if split_source(source)[0] in _OWN]
    for source in own:
        if not quiet:
            print(plain(f"{source}: looking for values that work"), file=sys.stderr, flush=True)
        unit_names(source)  # where nothing can be called, the build ends here
        verdicts = verdicts_of(source)
        if quiet:
            continue
        used = sum(one.used for one in verdicts)
        print(plain(f"{source}: {used} of {len(verdicts)} tools are used"), file=sys.stderr)
        width = max((len(one.tool) for one in verdicts), default=0)
        for one in verdicts if len(verdicts) <= _SMALL else [one for one in verdicts if not one.used]:
            line = f"  {one.tool:<{width}}  {'used' if one.used else f'not used: {one.why}'}"
            print(plain(line), file=sys.stderr)
            if one.write:
                print(plain(f"  {'':<{width}}  write: {one.write}"), file=sys.stderr)
        sys.stderr.flush()
    return bool(own)
