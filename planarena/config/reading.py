"""Reading a configuration: defaults, presets, YAML files and `--set key=value` into a strict frozen struct."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from planarena.errors import ConfigError
from planarena.records.foreign_yaml import MAX_YAML, load_yaml

__all__ = ["load_config", "merge_settings", "parse_settings"]

_T = TypeVar("_T")


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Turn `["composition.budget=50", ...]` into nested dictionaries; values are YAML.

    Raises:
        ConfigError: A setting without `=`, or a value that is not YAML.
    """
    import yaml

    found: dict[str, Any] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or not key.strip():
            raise ConfigError(
                f"{setting!r} is not key=value", where="--set", fix="write --set composition.budget=50"
            )
        try:
            value = _load_yaml(text)
        except yaml.YAMLError as error:
            raise ConfigError(
                f"the value of {key} is not YAML: {text!r}", where="--set", fix="quote it"
            ) from error
        target = found
        *parents, last = key.strip().split(".")
        for parent in parents:
            target = target.setdefault(parent, {})
            if not isinstance(target, dict):
                raise ConfigError(
                    f"{key} sets a part of a value set before", where="--set", fix="set one of the two"
                )
        target[last] = value
    return found


def merge_settings(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested settings with others over them.

    Example:
        >>> merge_settings({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}})
        {'a': {'b': 1, 'c': 3}}
    """
    merged = dict(base)
    for key, value in top.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged[key] = merge_settings(below, value)
        else:
            merged[key] = value
    return merged


def _check_keys(kind: Any, values: Mapping[str, Any], where: str, prefix: str = "") -> None:
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    for key, value in values.items():
        if key not in fields:
            near = get_close_matches(str(key), fields, n=1, cutoff=0.5)
            fix = (
                f"did you mean {prefix}{near[0]}?"
                if near
                else f"one of: {', '.join(prefix + name for name in fields)}"
            )
            raise ConfigError(f"unknown key {prefix}{key}", where=where, fix=fix)
        inner = fields[key].type
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            if not isinstance(value, dict):
                raise ConfigError(
                    f"{prefix}{key} must be a mapping", where=where, fix=f"write {prefix}{key}.NAME=value"
                )
            _check_keys(inner, value, where, f"{prefix}{key}.")


def load_config(
    kind: type[_T],
    *,
    file: Path | None = None,
    preset: Mapping[str, Any] | None = None,
    values: Mapping[str, Any],
) -> _T:
    """Build a configuration: defaults, then the preset, then the file, then `values`.

    Args:
        kind: A frozen msgspec struct.
        file: A YAML file, or None.
        preset: Values that a preset sets, or None.
        values: What the command line or the caller sets; nested dictionaries.

    Returns:
        The checked configuration.

    Raises:
        ConfigError: An unreadable file, an unknown key (the nearest is named), a value of the wrong type or range.
    """
    merged: dict[str, Any] = dict(preset or {})
    if file is not None:
        read = _read_yaml(file)
        _check_keys(kind, read, str(file))
        merged = merge_settings(merged, read)
    _check_keys(kind, values, "options")
    merged = merge_settings(merged, values)
    try:
        return msgspec.convert(merged, kind)
    except msgspec.ValidationError as error:
        cause = error.__cause__
        if isinstance(cause, ConfigError):
            raise cause from None
        text = str(error)
        what, _, path = text.partition(" - at `$")
        raise ConfigError(what, where=path.strip("`.") or "configuration", fix="correct the value") from error


def _load_yaml(text: str) -> Any:
    """Return what a YAML text says; `1e-3` is a number here, as in YAML 1.2 and everywhere else."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Safe, as its base."""

    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"^[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+$"),
        list("-+0123456789"),
    )
    return load_yaml(text, Loader)


def _read_yaml(file: Path) -> dict[str, Any]:
    import yaml

    try:
        with file.open("rb") as handle:
            read = _load_yaml(handle.read(MAX_YAML + 1).decode())
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {error.strerror}", where=str(file), fix="check the path"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        line = str(error).splitlines()[0]
        raise ConfigError(f"is not YAML: {line}", where=str(file), fix="correct the file") from error
    if read is None:
        return {}
    if not isinstance(read, dict):
        raise ConfigError("holds no mapping", where=str(file), fix="write key: value lines")
    return read
