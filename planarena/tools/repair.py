"""Schemas of other dialects become JSON Schema 2020-12; every change is recorded, nothing is cut by depth.

OpenAPI 2 and 3.0 (`nullable`, boolean `exclusiveMinimum`, `type: file`), draft 3 and 4 (`required: true`, a list
of `items`), type names of programming languages, and plain mistakes (a string where a number must stand, a
pattern that does not compile). Each keyword of the result is checked against what the meta-schema allows, so a
repaired schema passes it by construction; what has no meaning in JSON Schema is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from planarena.errors import SchemaError
from planarena.tools.keywords import (
    COUNTS,
    FLAGS,
    FOREIGN_TYPES,
    MANY,
    NAMED,
    NUMBERS,
    ONE,
    SILENT,
    TEXT,
    TYPES,
)
from planarena.tools.patterns import pattern_fault

__all__ = ["Repairer", "clean_value"]

_MAX_DEPTH = 60
_MAX_RECORDS = 40

Resolve = Callable[[str], str]


def clean_value(value: Any) -> bool:
    """Say whether a value has canonical JSON: finite numbers of 64 bits, string keys, no lone surrogates."""
    stack = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if depth > 100:
            return False
        if isinstance(item, dict):
            for key, child in item.items():
                stack += [(key, depth + 1), (child, depth + 1)]
                if not isinstance(key, str):
                    return False
        elif isinstance(item, list):
            stack.extend((child, depth + 1) for child in item)
        elif isinstance(item, str):
            if not item.isascii() and any("\ud800" <= character <= "\udfff" for character in item):
                return False
        elif isinstance(item, float):
            if not math.isfinite(item):
                return False
        elif isinstance(item, int):
            if not -(2**63) <= item < 2**63:
                return False
        elif item is not None:
            return False
    return True


class Repairer:
    """Repairs the schemas of one document.

    Args:
        resolve: Turns the target of a `$ref` into the reference to write; it raises `SchemaError` for one that
            must not be followed. By default references are kept as they are.
        nullable: Whether `nullable: true` is a keyword (OpenAPI 2 and 3.0) or a foreign word.

    Attributes:
        repairs: What was changed so far, in words, each once.
    """

    def __init__(self, resolve: Resolve | None = None, *, nullable: bool = True) -> None:
        self._resolve = resolve or (lambda target: target)
        self._nullable = nullable
        self.repairs: list[str] = []
        self._seen: set[str] = set()

    def take_repairs(self) -> tuple[str, ...]:
        """Return what was changed since the last call of this method."""
        taken = tuple(self.repairs)
        self.repairs, self._seen = [], set()
        return taken

    def note(self, text: str) -> None:
        """Record a change once; beyond 40 only that there are more."""
        if text in self._seen:
            return
        self._seen.add(text)
        if len(self.repairs) < _MAX_RECORDS:
            self.repairs.append(text)
        elif len(self.repairs) == _MAX_RECORDS:
            self.repairs.append("and more of the kind")

    def schema(self, node: Any, where: str = "", depth: int = 0) -> Any:
        """Return the repaired copy of a schema.

        Raises:
            SchemaError: Nested deeper than 60, or a reference that must not be followed.
        """
        if depth > _MAX_DEPTH:
            raise SchemaError(f"nested deeper than {_MAX_DEPTH}", where=where, fix="use definitions and $ref")
        if isinstance(node, bool):
            return node
        if not isinstance(node, dict):
            self.note(f"{where or '/'}: {_kind(node)} where a schema must stand; anything is allowed there")
            return {}
        if "$ref" in node and isinstance(node["$ref"], str):
            found: dict[str, Any] = {"$ref": self._resolve(node["$ref"])}
            if isinstance(node.get("description"), str):
                found["description"] = _text(node["description"])
            if self._nullable:  # siblings of a reference count only in 3.1
                return found
            rest = {key: value for key, value in node.items() if key != "$ref"}
            return {**self._keywords(rest, where, depth), **found}
        return self._nulled(node, self._keywords(node, where, depth))

    def _keywords(self, node: dict[Any, Any], where: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        hoisted: list[str] = []
        for key, value in node.items():
            place = f"{where}/{key}"
            if not isinstance(key, str):
                self.note(f"{place}: a keyword that is no text is left out")
            elif key in ONE:
                self._one(found, key, value, place, depth)
            elif key in MANY:
                self._many(found, key, value, place, depth)
            elif key in NAMED:
                self._named(found, key, value, place, depth, hoisted)
            else:
                self._plain(found, key, value, place)
        if hoisted:
            found["required"] = [
                *found.get("required", []),
                *(n for n in hoisted if n not in found.get("required", [])),
            ]
        if "example" in node and "examples" not in found and clean_value(node["example"]):
            found["examples"] = [node["example"]]
        self._bounds(found, where)
        self._enumeration(found, where)
        return found

    def _one(self, found: dict[str, Any], key: str, value: Any, place: str, depth: int) -> None:
        if key == "items" and isinstance(value, list):
            self.note(f"{place}: a list of schemas became prefixItems")
            if value:
                found["prefixItems"] = [
                    self.schema(item, f"{place}/{n}", depth + 1) for n, item in enumerate(value)
                ]
            return
        found[key] = self.schema(value, place, depth + 1)

    def _many(self, found: dict[str, Any], key: str, value: Any, place: str, depth: int) -> None:
        if isinstance(value, dict):
            self.note(f"{place}: one schema where a list must stand")
            value = [value]
        if not isinstance(value, list) or not value:
            self.note(f"{place}: left out, it is no list of schemas")
            return
        found[key] = [self.schema(item, f"{place}/{number}", depth + 1) for number, item in enumerate(value)]

    def _named(
        self, found: dict[str, Any], key: str, value: Any, place: str, depth: int, hoisted: list[str]
    ) -> None:
        if isinstance(value, list) and all(
            isinstance(item, dict) and isinstance(item.get("name"), str) for item in value
        ):
            self.note(f"{place}: a list of named schemas became an object")
            value = {
                item["name"]: {word: inner for word, inner in item.items() if word != "name"}
                for item in value
            }
        if not isinstance(value, dict):
            if value is not None:
                self.note(f"{place}: left out, it is no object")
            return
        inner: dict[str, Any] = {}
        for name, child in value.items():
            text = (
                name if isinstance(name, str) else str(name).lower() if isinstance(name, bool) else str(name)
            )
            if text is not name:
                self.note(f"{place}: the name {text} is no text")
            if key == "patternProperties" and (fault := pattern_fault(text)) is not None:
                self.note(f"{place}: the pattern {text[:80]!r} {fault}; left out")
                continue
            if key == "properties" and isinstance(child, dict) and child.get("required") in (True, "true"):
                self.note(f"{place}/{text}: required: true became the object's list of required names")
                hoisted.append(text)
            inner[text] = self.schema(child, f"{place}/{text}", depth + 1)
        found[key] = inner

    def _plain(self, found: dict[str, Any], key: str, value: Any, place: str) -> None:
        if key in SILENT or (key.startswith("x-") and key not in {"x-semantic", "x-hidden", "x-surface"}):
            return
        if key == "type":
            self._type(found, value, place)
        elif key in TEXT:
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                found[key] = _text(str(value))
            elif value is not None:
                self.note(f"{place}: left out, it is no text")
        elif key in FLAGS:
            self._flag(found, key, value, place)
        elif key in NUMBERS:
            self._number(found, key, value, place)
        elif key in COUNTS:
            self._count(found, key, value, place)
        elif key == "pattern":
            self._pattern(found, value, place)
        elif key == "required":
            self._required(found, value, place)
        elif key in {"enum", "examples"}:
            if key == "examples" and isinstance(value, dict):
                value = [
                    item.get("value", item) if isinstance(item, dict) else item for item in value.values()
                ]
            if isinstance(value, list) and value and clean_value(value):
                found[key] = list(value)
            elif key == "enum":
                self.note(f"{place}: left out, it is no list of values")
        elif key in {"default", "const"}:
            if clean_value(value):
                found[key] = value
            else:
                self.note(f"{place}: left out, the value has no canonical JSON")
        elif key == "dependentRequired" and isinstance(value, dict):
            found[key] = {str(n): _names(v) for n, v in value.items() if isinstance(v, list)}
        else:
            self.note(f"{place}: the unknown keyword is left out")

    def _type(self, found: dict[str, Any], value: Any, place: str) -> None:
        if isinstance(value, str) and value in TYPES:
            found["type"] = value
            return
        if isinstance(value, list):
            kinds = []
            for item in value:
                known = item if item in TYPES else FOREIGN_TYPES.get(str(item).lower(), {}).get("type")
                if known is None:
                    self.note(f"{place}: the type {str(item)[:40]!r} is unknown; any type is allowed")
                    return
                if known not in kinds:
                    kinds.append(known)
            if kinds:
                found["type"] = kinds if len(kinds) > 1 else kinds[0]
            return
        word = str(value).strip().lower()
        if word in TYPES:
            meant: dict[str, Any] | None = {"type": word}
        else:
            meant = FOREIGN_TYPES.get(word)
            if meant is None and word.startswith(("array<", "list<", "list[")):
                meant = {"type": "array"}
        if meant is None:
            self.note(f"{place}: the type {str(value)[:40]!r} is unknown; any type is allowed")
            return
        self.note(f"{place}: the type {word!r} became {meant.get('type', 'any type')!r}")
        for key, item in meant.items():
            found.setdefault(key, item)

    def _flag(self, found: dict[str, Any], key: str, value: Any, place: str) -> None:
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            self.note(f"{place}: a text became a boolean")
            value = value.lower() == "true"
        if isinstance(value, bool):
            found[key] = value
        elif value is not None:
            self.note(f"{place}: left out, it is neither true nor false")

    def _number(self, found: dict[str, Any], key: str, value: Any, place: str) -> None:
        if isinstance(value, bool) and key.startswith("exclusive"):
            found[key] = value  # paired with its bound in `_bounds`
            return
        number = _as_number(value)
        if number is None or (key == "multipleOf" and number <= 0):
            if value is not None:
                self.note(
                    f"{place}: left out, it is no number of 64 bits"
                    + (" above 0" if key == "multipleOf" else "")
                )
            return
        if not isinstance(value, int | float):
            self.note(f"{place}: a text became a number")
        found[key] = number

    def _count(self, found: dict[str, Any], key: str, value: Any, place: str) -> None:
        number = _as_number(value)
        if number is None or number < 0 or number != int(number):
            if value is not None:
                self.note(f"{place}: left out, it is no count")
            return
        if type(value) is not int:
            self.note(f"{place}: {str(value)[:40]!r} became a count")
        found[key] = int(number)

    def _pattern(self, found: dict[str, Any], value: Any, place: str) -> None:
        if not isinstance(value, str):
            self.note(f"{place}: left out, it is no text")
            return
        text = value
        if len(text) > 1 and text.startswith("/") and text.endswith("/"):
            text = text[1:-1]
            self.note(f"{place}: the slashes around the pattern are left out")
        if (fault := pattern_fault(text)) is not None:
            self.note(f"{place}: the pattern {value[:80]!r} {fault}; left out")
            return
        found["pattern"] = text

    def _required(self, found: dict[str, Any], value: Any, place: str) -> None:
        if (
            isinstance(value, bool) or value in {"true", "false"}
            if isinstance(value, bool | str)
            else value is None
        ):
            return  # draft 3: the object above takes it
        if not isinstance(value, list):
            self.note(f"{place}: left out, it is no list of names")
            return
        names = _names(value)
        if names != value:
            self.note(f"{place}: repeated or foreign entries are left out")
        found["required"] = names

    def _bounds(self, found: dict[str, Any], where: str) -> None:
        for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            flag = found.get(exclusive)
            if isinstance(flag, bool):
                del found[exclusive]
                if flag and bound in found:
                    found[exclusive] = found.pop(bound)
                elif flag:
                    self.note(f"{where}/{exclusive}: left out, there is no {bound}")

    def _enumeration(self, found: dict[str, Any], where: str) -> None:
        """Values that YAML took for numbers or booleans are the texts that the type says they are."""
        if found.get("type") != "string" or "enum" not in found:
            return
        values = []
        for value in found["enum"]:
            if isinstance(value, bool):
                value = "true" if value else "false"
            elif isinstance(value, int | float):
                value = str(value)
            if value not in values:
                values.append(value)
        if values != found["enum"]:
            self.note(f"{where}/enum: values became texts, as the type says")
            found["enum"] = values

    def _nulled(self, node: dict[Any, Any], found: dict[str, Any]) -> dict[str, Any]:
        if not self._nullable or node.get("nullable") not in (True, "true"):
            return found
        kind = found.get("type")
        if isinstance(kind, str) and kind != "null":
            found["type"] = [kind, "null"]
            if "enum" in found and None not in found["enum"]:
                found["enum"] = [*found["enum"], None]
            return found
        if any(key in found for key in ("allOf", "anyOf", "oneOf", "enum")):
            words: dict[str, Any] = {key: found.pop(key) for key in ("title", "description") if key in found}
            return {**words, "anyOf": [found, {"type": "null"}]}
        return found


def _kind(value: Any) -> str:
    return {str: "a text", list: "a list", type(None): "null"}.get(type(value), "a number")


def _text(text: str) -> str:
    return text if clean_value(text) else text.encode("utf-8", "replace").decode()


def _names(value: list[Any]) -> list[str]:
    return list(dict.fromkeys(item for item in value if isinstance(item, str) and clean_value(item)))


def _as_number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value.strip()) if not value.strip().lstrip("+-").isdigit() else int(value.strip())
        except ValueError:
            return None
    if not isinstance(value, int | float) or not clean_value(value):
        return None
    return value
