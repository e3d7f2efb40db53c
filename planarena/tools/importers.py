"""Tool lists in JSON: the shapes of OpenAI, Anthropic and MCP become `Tool`s; nothing is fetched or executed.

A list may stand alone or under "tools", as MCP servers answer. Shapes may be mixed within a list:

- OpenAI: `{"type": "function", "function": {"name", "description", "parameters"}}`, or the function alone
- Anthropic: `{"name", "description", "input_schema"}`
- MCP: `{"name", "description", "inputSchema", "outputSchema", "annotations"}`
- BFCL and ToolBench: see `bfcl_shape` and `toolbench_shape`; BFCL's files of one row a line are read too
"""

from __future__ import annotations

import json
import math
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from planarena.errors import SchemaError, SourceError, UserError
from planarena.records.canonical import CanonicalError
from planarena.records.foreign import fits
from planarena.tools.bfcl_shape import is_bfcl_function, is_bfcl_row, read_bfcl_function
from planarena.tools.tool import Effect, Tool
from planarena.tools.toolbench_shape import is_toolbench, read_toolbench
from planarena.tools.validation import SchemaValidator

__all__ = ["MAX_BYTES", "examine_tool_list", "read_tool_list"]

MAX_BYTES = 64 * 2**20
# The largest set that is known, ToolBench, has 16,464.
_MOST_TOOLS = 100_000
_MAX_DEPTH = 128
_WIRE = re.compile(r"[^A-Za-z0-9_-]")
_WIRE_LENGTH = 64
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
# Outside strings these words are what Python's reader takes for numbers and JSON does not have.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN', re.DOTALL)


def read_tool_list(path: str | Path) -> list[Tool]:
    """Read a tool list.

    Args:
        path: A JSON file of at most 64 MiB.

    Returns:
        The tools in order; their namespace is the file's name without ending.

    Raises:
        SourceError: The file cannot be read, is not JSON or no list of tools, or a tool has no usable name.
        SchemaError: A schema does not compile or refers outside itself.
    """
    tools, problems = examine_tool_list(path)
    if problems:
        first = problems[0]
        more = len(problems) - 1
        if not more:
            raise first
        others = f"; `planarena tools check {path}` shows {more} more problem{'s' if more > 1 else ''}"
        raise type(first)(first.what, where=first.where, fix=first.fix + others) from first
    return tools


def examine_tool_list(path: str | Path) -> tuple[list[Tool], list[UserError]]:
    """Read a tool list and collect every problem instead of stopping at the first.

    Args:
        path: A JSON file of at most 64 MiB.

    Returns:
        The tools that are usable, and the problems in the file's order.
    """
    file = Path(path)
    try:
        data = _read(file)
        entries = [read for entry in _list_of(_parse(data, file), file) for read in _shaped(entry)]
    except UserError as error:
        return [], [error]
    if len(entries) > _MOST_TOOLS:
        what = f"lists {len(entries):,} tools, more than {_MOST_TOOLS:,}"
        return [], [SourceError(what, where=str(file), fix="split it into several files")]
    tools: list[Tool] = []
    problems: list[UserError] = []
    names: dict[str, tuple[int, str]] = {}
    digest = sha256(data).hexdigest()
    for place, entry in enumerate(entries):
        where = f"{file}: tool {place}"
        try:
            tool = _tool(entry, file, where, digest)
            _check_name(tool, place, names, where)
            tool.tool_id  # noqa: B018  computing it refuses what has no canonical JSON
        except CanonicalError as error:
            problems.append(
                SourceError(
                    f"a value has no canonical JSON: {error}",
                    where=where,
                    fix="use finite 64-bit numbers and valid Unicode",
                )
            )
        except UserError as error:
            problems.append(error)
        else:
            tools.append(tool)
    return tools, problems


def _read(file: Path) -> bytes:
    try:
        if not file.is_file():
            what = "is a folder" if file.is_dir() else "there is no such file"
            raise SourceError(what, where=str(file), fix="give a JSON file with a list of tools")
        # One byte more than allowed: a file may grow, and its stated size may be a lie.
        with file.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror}", where=str(file), fix="check the path and its permissions"
        ) from error
    if len(data) > MAX_BYTES:
        raise SourceError(
            f"is larger than {MAX_BYTES // 2**20} MiB", where=str(file), fix="split it into several files"
        )
    return data


def _parse(data: bytes, file: Path) -> Any:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(
            f"is not UTF-8: byte {error.start}, line {line}", where=str(file), fix="save it as UTF-8"
        ) from error
    if not text.strip():
        raise SourceError("is empty", where=str(file), fix="write a JSON list of tools")
    if not fits(data):
        raise SourceError("holds more values than a file of tools may hold", where=str(file), fix="split it")
    try:
        parsed = json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        several = error.msg == "Extra data"
        rows = _rows(text) if several else None
        if rows is not None:
            return rows
        raise SourceError(
            f"is not JSON: {error.msg}, line {error.lineno} column {error.colno}",
            where=str(file),
            fix="put the objects into one list: [{...}, {...}]" if several else "correct it there",
        ) from error
    except RecursionError as error:
        raise _too_deep(file) from error
    except _NotANumberError as error:
        found = next((m for m in _TOKENS.finditer(text) if not m.group().startswith('"')), None)
        at = _place(text, found.start()) if found else ""
        raise SourceError(
            f"is not JSON: {error} is no number{at}", where=str(file), fix="use a finite number or null"
        ) from error
    except _RepeatedKeyError as error:
        raise SourceError(
            f"the key {str(error)!r} stands twice in one object", where=str(file), fix="keep one of the two"
        ) from error
    except ValueError as error:  # an integer of thousands of digits
        raise SourceError(
            f"is not JSON that can be read: {error}", where=str(file), fix="shorten it"
        ) from error
    if _depth_exceeds(parsed, _MAX_DEPTH):
        raise _too_deep(file)
    return parsed


class _NotANumberError(ValueError):
    """NaN, an infinity, or a number beyond what a double holds."""


class _RepeatedKeyError(ValueError):
    """A key twice in one object: readers disagree on which counts."""


def _refuse(word: str) -> Any:
    raise _NotANumberError(word)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _NotANumberError(text if len(text) < 40 else text[:40] + "...")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RepeatedKeyError(key[:80])
            seen.add(key)
    return found


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f", line {line} column {at - (text.rfind(chr(10), 0, at) + 1) + 1}"


def _too_deep(file: Path) -> SourceError:
    return SourceError(
        f"is nested deeper than {_MAX_DEPTH}", where=str(file), fix="use $defs and $ref in the schemas"
    )


def _depth_exceeds(value: Any, most: int) -> bool:
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, dict | list):
            if depth >= most:
                return True
            children = item.values() if isinstance(item, dict) else item
            stack.extend((child, depth + 1) for child in children)
    return False


def _list_of(parsed: Any, file: Path) -> list[Any]:
    if isinstance(parsed, dict) and isinstance(parsed.get("tools"), list):
        parsed = parsed["tools"]
    if not isinstance(parsed, list):
        raise SourceError(
            f"holds no list of tools but {_kind(parsed)}",
            where=str(file),
            fix='write [{"name": ..., "description": ..., "parameters": {...}}, ...]',
        )
    if not parsed:
        raise SourceError("the list is empty", where=str(file), fix="write at least one tool")
    return parsed


def _shaped(entry: Any) -> list[Any]:
    """Turn the shapes of BFCL and ToolBench into the plain one; other entries stay as they are."""
    if is_bfcl_row(entry):
        return [read for one in entry["function"] for read in _shaped(one)]
    if is_bfcl_function(entry):
        return [read_bfcl_function(entry)]
    return list(read_toolbench(entry)) if is_toolbench(entry) else [entry]


def _rows(text: str) -> list[Any] | None:
    """Read lines of JSON as BFCL writes them, or return None."""
    try:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None
    return rows if all(map(is_bfcl_row, rows)) else None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return names.get(type(value), "a number")


def _tool(entry: Any, file: Path, where: str, digest: str) -> Tool:
    if not isinstance(entry, dict):
        raise SourceError(f"is {_kind(entry)}, not an object", where=where, fix='write {"name": ..., ...}')
    body = entry
    if "function" in entry:
        body = entry["function"]
        if not isinstance(body, dict):
            raise SourceError(
                f'"function" is {_kind(body)}, not an object', where=where, fix='write {"name": ..., ...}'
            )
    name = body.get("name")
    if not isinstance(name, str) or not name.strip():
        what = "has no name" if name is None or name == "" else "the name is no text"
        raise SourceError(what, where=where, fix='add "name": "..."')
    where = f"{where} ({name[:64]!r})"
    description = body.get("description")
    if description is None:
        description = ""
    if not isinstance(description, str):
        raise SourceError(
            f"the description is {_kind(description)}, not text",
            where=where,
            fix='write "description": "..."',
        )
    repairs = [note for note in body.get("x-repairs", ()) if isinstance(note, str)]
    key, schema = _input_schema(body, where, repairs)
    _compile(schema, f"{where} {key}")
    output = body.get("outputSchema")
    if output is not None:
        if not isinstance(output, dict):
            raise SchemaError(
                f"is {_kind(output)}, not an object", where=f"{where} outputSchema", fix="correct it"
            )
        _compile(output, f"{where} outputSchema")
    return Tool(
        namespace=file.stem,
        name=name,
        wire_name=_WIRE.sub("_", name)[:_WIRE_LENGTH],
        description=description,
        input_schema=schema,
        output_schema=output,
        effects=_effects(body.get("annotations")),
        source_kind="json",
        source_ref=file.name,
        source_sha256=digest,
        schema_repairs=tuple(repairs),
    )


# Type names of other languages that tool lists are found to use.
_JSON_TYPES = {
    "dict": "object",
    "float": "number",
    "double": "number",
    "int": "integer",
    "long": "integer",
    "str": "string",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
}


def _compile(schema: dict[str, Any], where: str) -> None:
    """Compile a schema; an error names the place within it and, for a foreign type name, the right one."""
    try:
        SchemaValidator(schema, where)
    except SchemaError as error:
        if error.where != where:
            raise
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import best_match

        fault = best_match(Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema))
        if fault is None:
            raise
        place = "".join(f"/{part}" for part in fault.absolute_path)
        foreign = fault.instance if isinstance(fault.instance, str) else ""
        fix = f'write "{_JSON_TYPES[foreign]}"' if foreign in _JSON_TYPES else "correct it there"
        raise SchemaError(error.what, where=where + place, fix=fix) from error


def _input_schema(body: dict[str, Any], where: str, repairs: list[str]) -> tuple[str, dict[str, Any]]:
    """Return the schema of the arguments and the key it stands under."""
    given = [key for key in _SCHEMA_KEYS if body.get(key) is not None]
    if len(given) > 1:
        raise SchemaError(f"has {' and '.join(given)}", where=where, fix="keep one of them")
    if not given:
        repairs.append("input_schema: none was given, no arguments are taken")
        return _SCHEMA_KEYS[0], {"type": "object", "properties": {}}
    (key,) = given
    schema = body[key]
    if not isinstance(schema, dict):
        raise SchemaError(
            f"is {_kind(schema)}, not an object", where=f"{where} {key}", fix='write {"type": "object", ...}'
        )
    if "type" not in schema and "$ref" not in schema:
        repairs.append("input_schema: type object added")
        schema = {**schema, "type": "object"}
    if schema.get("type", "object") != "object":
        raise SchemaError(
            f"arguments must be an object, the type is {str(schema['type'])[:40]!r}",
            where=f"{where} {key}",
            fix='write {"type": "object", "properties": {...}}',
        )
    return key, schema


def _effects(annotations: Any) -> Effect:
    if isinstance(annotations, dict) and annotations.get("readOnlyHint") is True:
        return "read"
    return "unknown"


def _check_name(tool: Tool, place: int, names: dict[str, tuple[int, str]], where: str) -> None:
    earlier = names.setdefault(tool.wire_name, (place, tool.name))
    if earlier[0] == place:
        return
    if earlier[1] == tool.name:
        what = f"the name {tool.name[:64]!r} is that of tool {earlier[0]} too"
    else:
        what = f"{tool.name[:64]!r} and {earlier[1][:64]!r} (tool {earlier[0]}) are both {tool.wire_name!r} to a model"
    raise SourceError(what, where=where, fix="give each tool a name of its own")
