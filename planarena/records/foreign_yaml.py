"""YAML that others wrote: limits on size, depth and what aliases expand to, checked before anything is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

__all__ = ["MAX_YAML", "bounded_yaml", "load_yaml"]

MAX_YAML = 4 << 20
_PACKAGE = Path(__file__).resolve().parents[1]
_MAX_DEPTH = 100
_MAX_NODES = 1_000_000


def load_yaml(text: str, loader: Any = None) -> Any:
    """Return what a YAML text says.

    Args:
        text: At most 4 MiB, nested at most 100 deep, at most a million values once aliases are written out.
        loader: The loader's class; safe by default.

    Raises:
        yaml.YAMLError: It is no YAML, or beyond these limits; the first line says why.
    """
    if len(text) > MAX_YAML:
        raise yaml.YAMLError(f"it is longer than {MAX_YAML >> 20} MiB")
    try:
        _check(text)
        # Four megabytes of short values take Python's own parser a minute.
        reading = (loader or getattr(yaml, "CSafeLoader", yaml.SafeLoader))(text)
        try:
            return reading.get_single_data()
        finally:
            reading.dispose()
    except (RecursionError, ValueError, OverflowError) as error:
        # Such as an integer of too many digits, or a date that is none.
        raise yaml.YAMLError(f"it holds a value that cannot be read: {error}") from error
    except (TypeError, KeyError, AttributeError, IndexError) as error:
        # PyYAML's constructors assume that a tag stands before a value of its kind.
        raise yaml.YAMLError(f"a tag does not fit its value: {error}") from error


def bounded_yaml(file: Path) -> bytes:
    """Return the bytes of a YAML file that is within the limits, to be read by any loader: too deep a one ends the process.

    Files of this package are not looked at.

    Raises:
        OSError: It cannot be read.
        yaml.YAMLError: It is no YAML, or beyond the limits; the first line says why.
    """
    with file.open("rb") as handle:
        data = handle.read(MAX_YAML + 1)
    if not file.resolve().is_relative_to(_PACKAGE):
        if len(data) > MAX_YAML:
            raise yaml.YAMLError(f"it is longer than {MAX_YAML >> 20} MiB")
        try:
            _check(data.decode())
        except UnicodeDecodeError as error:
            raise yaml.YAMLError(f"it is not UTF-8: {error}") from error
    return data


def _check(text: str) -> None:
    """Read the events alone, which takes no stack, and count what they would become."""
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    total = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, total))
            total += 1
            if len(open_nodes) > _MAX_DEPTH:
                raise yaml.YAMLError(f"it nests deeper than {_MAX_DEPTH}")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.AliasEvent):
            # An alias inside of what it names is a circle.
            if any(anchor == event.anchor for anchor, _ in open_nodes):
                raise yaml.YAMLError("an alias stands inside of what it names")
            total += sizes.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
            if event.anchor is not None:
                sizes[event.anchor] = 1
        if total > _MAX_NODES:
            raise yaml.YAMLError(f"it holds more than {_MAX_NODES:,} values")
