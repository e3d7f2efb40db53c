"""Converted descriptions on disk: a build opens the same ones several times, in several processes.

The definitions of a description stand in its file once, however many tools reach them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from planarena.tools.openapi import Conversion, RestOperation, convert_openapi
from planarena.tools.tool import Tool

__all__ = ["convert_once"]

_MOST_BYTES = 1 << 30


class _Schema(msgspec.Struct, frozen=True, array_like=True):
    """A schema without its definitions, and which group of them it reaches; -1 for none."""

    root: Any
    group: int


class _Operation(msgspec.Struct, frozen=True, array_like=True):
    tool: Tool
    inputs: _Schema
    outputs: _Schema
    rest: tuple[str, str, dict[str, tuple[str, str]], str, str, bool]


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    namespace: str
    title: str
    servers: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    names: list[str]
    definitions: list[Any]
    groups: list[list[int]]
    operations: list[_Operation]


def convert_once(file: Path, folder: Path) -> Conversion:
    """Convert a description, or read what was kept of it when it was converted before.

    Args:
        file: JSON or YAML.
        folder: Where to keep it; of one version of this package.

    Raises:
        SourceError: As `convert_openapi`.
    """
    try:
        mark = blake2b(
            file.read_bytes(), key=blake2b(file.name.encode()).digest(), digest_size=16
        ).hexdigest()
    except OSError:
        return convert_openapi(file)  # it says what is wrong
    place = folder / f"{mark}.bin"
    # A torn or foreign file is as good as none.
    with suppress(OSError, ValueError):
        return _read(place.read_bytes())
    conversion = convert_openapi(file)
    if conversion.alone:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
            temporary.write_bytes(_write(conversion))
            temporary.replace(place)
    return conversion


def _write(conversion: Conversion) -> bytes:
    import pyarrow

    definitions: dict[str, Any] = {}
    for operation in conversion.operations:
        for schema in (operation.tool.input_schema, operation.tool.output_schema):
            definitions.update(_definitions_of(schema))
    names = sorted(definitions)
    place = {name: number for number, name in enumerate(names)}
    groups: dict[tuple[int, ...], int] = {}

    def cut(schema: Any) -> _Schema:
        reached = _definitions_of(schema)
        if not reached:
            return _Schema(schema, -1)
        group = tuple(sorted(place[name] for name in reached))
        root = {key: value for key, value in schema.items() if key != "$defs"}
        return _Schema(root, groups.setdefault(group, len(groups)))

    operations = [
        _Operation(
            msgspec.structs.replace(operation.tool, input_schema={}, output_schema=None),
            cut(operation.tool.input_schema),
            cut(operation.tool.output_schema),
            operation[1:],
        )
        for operation in conversion.operations
    ]
    data = msgspec.msgpack.encode(
        _Stored(
            conversion.namespace,
            conversion.title,
            conversion.servers,
            conversion.refused,
            names,
            [definitions[name] for name in names],
            [list(group) for group in groups],
            operations,
        )
    )
    packed: bytes = pyarrow.compress(data, codec="zstd", asbytes=True)
    return len(data).to_bytes(8, "little") + packed


def _definitions_of(schema: Any) -> dict[str, Any]:
    found = schema.get("$defs") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _read(raw: bytes) -> Conversion:
    import pyarrow

    size = int.from_bytes(raw[:8], "little")
    if size > _MOST_BYTES:
        raise ValueError("no conversion is as long")
    data = pyarrow.decompress(raw[8:], decompressed_size=size, codec="zstd", asbytes=True)
    stored = msgspec.msgpack.decode(data, type=_Stored)
    groups = [
        {stored.names[number]: stored.definitions[number] for number in group} for group in stored.groups
    ]
    operations = tuple(
        RestOperation(
            msgspec.structs.replace(
                one.tool, input_schema=_whole(one.inputs, groups), output_schema=_whole(one.outputs, groups)
            ),
            *one.rest,
        )
        for one in stored.operations
    )
    return Conversion(stored.namespace, stored.title, stored.servers, operations, stored.refused)


def _whole(schema: _Schema, groups: Sequence[dict[str, Any]]) -> Any:
    return schema.root if schema.group < 0 else {**schema.root, "$defs": groups[schema.group]}
