"""The parts of a draft: what is asked for each, the shape of its answer, and what can be seen in it without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

from planarena.environments.check import Finding
from planarena.records.foreign_yaml import load_yaml

__all__ = [
    "DESIGN_SCHEMA",
    "Design",
    "check_design",
    "files_schema",
    "read_words",
    "stub_words",
    "stub_world",
    "tools_in",
]

_LONGEST_FILE = 120_000

DESIGN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 3, "maxLength": 80},
        "summary": {"type": "string", "minLength": 10, "maxLength": 300},
        "tables": {
            "type": "array",
            "minItems": 2,
            "maxItems": 10,
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "holds": {"type": "string"},
                    "fields": {
                        "type": "array",
                        "minItems": 2,
                        "maxItems": 20,
                        "items": {
                            "type": "object",
                            "properties": {
                                "name": {"type": "string"},
                                "meaning": {"type": "string"},
                                "hidden": {"type": "boolean"},
                            },
                            "required": ["name", "meaning", "hidden"],
                            "additionalProperties": False,
                        },
                    },
                },
                "required": ["name", "holds", "fields"],
                "additionalProperties": False,
            },
        },
        "invariants": {
            "type": "array",
            "minItems": 1,
            "maxItems": 20,
            "items": {"type": "string", "maxLength": 300},
        },
        "tools": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "effect": {"enum": ["read", "create", "update", "delete"]},
                    "does": {"type": "string", "minLength": 10, "maxLength": 300},
                },
                "required": ["name", "effect", "does"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["title", "summary", "tables", "invariants", "tools"],
    "additionalProperties": False,
}


class Field(msgspec.Struct, frozen=True):
    """A field of a table."""

    name: str
    meaning: str
    hidden: bool


class Table(msgspec.Struct, frozen=True):
    """A table of the state."""

    name: str
    holds: str
    fields: tuple[Field, ...]


class PlannedTool(msgspec.Struct, frozen=True):
    """A tool as it is planned."""

    name: str
    effect: str
    does: str


class Design(msgspec.Struct, frozen=True):
    """What an environment is to be: its tables, what always holds, its tools."""

    title: str
    summary: str
    tables: tuple[Table, ...]
    invariants: tuple[str, ...]
    tools: tuple[PlannedTool, ...]


def check_design(design: Design, tools: tuple[int, int]) -> list[Finding]:
    """Return what is wrong with a design, before any code is written."""
    found: list[Finding] = []

    def add(where: str, what: str, fix: str) -> None:
        found.append(Finding("design", where, what, fix))

    for kind, names in (
        ("tables", [one.name for one in design.tables]),
        ("tools", [one.name for one in design.tools]),
    ):
        for name in names:
            if re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) is None or len(name) > 48:
                add(f"{kind}: {name[:60]!r}", "is no lower-case word", "write it like `open_orders`")
            if names.count(name) > 1:
                add(f"{kind}: {name}", "stands there twice", "name each once")
    for tool in design.tools:
        if "_" not in tool.name:
            add(f"tools: {tool.name[:60]}", "is no verb and noun", "name it like `open_ticket`")
    if not tools[0] <= len(design.tools) <= tools[1]:
        add("tools", f"has {len(design.tools)}", f"plan {tools[0]} to {tools[1]} tools")
    effects = {tool.effect for tool in design.tools}
    if "read" not in effects or effects == {"read"}:
        add("tools", "does not have both look-ups and changes", "plan some of each")
    for table in design.tables:
        if not any(field.hidden for field in table.fields):
            add(
                f"tables: {table.name}", "has no id", "give it a field that identifies a record and is hidden"
            )
    return found


def files_schema(required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """Return the schema of an answer that gives whole files."""
    needed = list(required)
    text = {"type": "string", "minLength": 1, "maxLength": _LONGEST_FILE}
    return {
        "type": "object",
        "properties": {
            "files": {
                "type": "object",
                "properties": dict.fromkeys((*needed, *optional), text),
                "required": needed,
                "minProperties": 1,
                "additionalProperties": False,
            }
        },
        "required": ["files"],
        "additionalProperties": False,
    }


def tools_in(code: str) -> list[str]:
    """Return the names of the methods that a module marks as tools, without running it; none where it is no Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            marks = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
            if any(isinstance(one, ast.Name) and one.id == "tool" for one in marks):
                found.append(node.name)
    return found


def stub_world() -> str:
    """Return a world without records, for judging tools before there is a world."""
    return '''"""A world without records."""

from __future__ import annotations

from datetime import date, timedelta

from planarena.environments.contract import Seed

PROPOSALS = {}


def days_from(day, number):
    return str(date.fromisoformat(day) + timedelta(days=number))


def make_world(words, rng):
    return Seed(tables={}, title="Nothing", description="Nothing yet.", facts={"now": "2026-05-04T09:00", "user_name": "Ana Costa"})
'''


def stub_words(name: str, tools: Iterable[str], known: dict[str, Any] | None = None) -> str:
    """Return words that say nothing for the tools that have none yet, so that the folder opens."""
    empty = {"ask": ["do that"], "plan": ["Do that"], "outputs": [], "report": ["it is done"]}
    words = {tool: (known or {}).get(tool, empty) for tool in tools}
    return str(
        yaml.safe_dump({"domain": name, "tools": words}, sort_keys=False, allow_unicode=True, width=1000)
    )


def read_words(text: str, tools: list[str]) -> tuple[dict[str, Any], list[Finding]]:
    """Read the words of some tools; what is wrong with the file as such are findings."""
    fix = "write a YAML mapping with one entry for each of these tools and nothing else"
    try:
        found = load_yaml(text)
    except yaml.YAMLError as error:
        return {}, [Finding("words", "words.yaml", f"is no YAML: {str(error)[:300]}", fix)]
    if isinstance(found, dict) and set(found) == {"domain", "tools"}:
        found = found["tools"]
    if not isinstance(found, dict):
        return {}, [Finding("words", "words.yaml", "is no mapping", fix)]
    findings = [
        Finding("words", str(name)[:60], "is none of the tools that were asked for", fix)
        for name in found
        if name not in tools
    ]
    findings += [Finding("words", name, "has no words", fix) for name in tools if name not in found]
    return {name: found[name] for name in tools if name in found}, findings
