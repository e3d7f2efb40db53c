"""The definitions that an API's operations share: repaired and checked once, added to every schema that reaches them."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from planarena.errors import SchemaError
from planarena.records.canonical import canonical_bytes
from planarena.tools.documents import Documents
from planarena.tools.repair import Repairer
from planarena.tools.validation import MAX_SCHEMA_NODES, SchemaValidator, check_schema

__all__ = ["Definitions", "check_canonical"]


class _Definition(NamedTuple):
    schema: Any
    needs: tuple[str, ...]
    repairs: tuple[str, ...]
    nodes: int


def _check_part(schema: Any, needs: Collection[str], where: str) -> int:
    """Check a schema whose definitions are checked by themselves; return how many values it holds.

    Raises:
        SchemaError: It does not compile, is too large or deep, or has no canonical JSON.
    """
    check_canonical(schema, where)
    part = {**schema, "$defs": dict.fromkeys(needs, True)} if isinstance(schema, dict) else schema
    nodes = check_schema(part, where)
    SchemaValidator(part, where, checked=True)
    return nodes


def check_canonical(value: Any, where: str) -> None:
    """Refuse what has no canonical JSON.

    Raises:
        SchemaError: NaN, an infinity, more than 64 bits, or text that is no Unicode.
    """
    try:
        canonical_bytes(value)
    except ValueError as error:
        raise SchemaError(f"has no canonical JSON: {error}", where=where, fix="use finite numbers") from error


class Definitions:
    """The definitions of one description, named as they are met.

    Args:
        file: The description.
        documents: Its files.
        nullable: See `Repairer`.
    """

    def __init__(self, file: Path, documents: Documents, *, nullable: bool) -> None:
        self.file, self.documents, self.nullable = file, documents, nullable
        self._names: dict[tuple[Path, str], str] = {}
        self._places: dict[str, tuple[Path, str, str]] = {}
        self._definitions: dict[str, _Definition | SchemaError] = {}

    def repairer(self, base: Path, needs: set[str]) -> Repairer:
        """Return what repairs schemas of a file.

        Args:
            base: The file.
            needs: Filled with the names of the definitions that the schemas refer to.
        """

        def resolve(target: str) -> str:
            file, pointer = self.documents.locate(target, base)
            name = self._names.get((file, pointer))
            if name is None:
                self.documents.follow(target, base)
                name = self._new_name(file, pointer)
                self._places[name] = (file, pointer, target if file == base else f"{file.name}#{pointer}")
            needs.add(name)
            return f"#/$defs/{name}"

        return Repairer(resolve, nullable=self.nullable)

    def _new_name(self, file: Path, pointer: str) -> str:
        last = pointer.rstrip("/").rsplit("/", 1)[-1] or file.stem
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", last)[:80] or "definition"
        name, number = stem, 2
        while name in self._places:
            name, number = f"{stem}_{number}", number + 1
        self._names[file, pointer] = name
        return name

    def _definition(self, name: str) -> _Definition:
        known = self._definitions.get(name)
        if known is None:
            file, pointer, _ = self._places[name]
            needs: set[str] = set()
            repairer = self.repairer(file, needs)
            try:
                value, _, _ = self.documents.follow(f"#{pointer}", file)
                schema = repairer.schema(value, f"$defs/{name}")
                nodes = _check_part(schema, needs, f"{self.file.name}: $defs/{name}")
                known = _Definition(schema, tuple(sorted(needs)), repairer.take_repairs(), nodes)
            except SchemaError as error:
                known = error
            self._definitions[name] = known
        if isinstance(known, SchemaError):
            raise known
        return known

    def closed(self, schema: Any, needs: set[str], repairs: list[str], where: str) -> Any:
        """Check a schema and add every definition that it reaches.

        Some APIs reach half of their model from every answer: each definition is checked once, by itself.

        Args:
            schema: Repaired.
            needs: The definitions that it refers to.
            repairs: What was changed in those that it reaches is added here.
            where: The operation.

        Raises:
            SchemaError: A definition cannot be converted, or there are too many values.
        """
        nodes = _check_part(schema, needs, where)
        if not needs or not isinstance(schema, dict):
            return schema
        reached: dict[str, Any] = {}
        queue = sorted(needs)
        while queue:
            name = queue.pop()
            if name in reached:
                continue
            definition = self._definition(name)
            reached[name] = definition.schema
            nodes += definition.nodes
            if nodes > MAX_SCHEMA_NODES:
                raise SchemaError(f"more than {MAX_SCHEMA_NODES} values", where=where, fix="split the tool")
            if definition.repairs:
                repairs.extend(note for note in definition.repairs if note not in repairs)
            queue.extend([need for need in definition.needs if need not in reached])
        return {**schema, "$defs": dict(sorted(reached.items()))}
