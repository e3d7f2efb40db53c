"""Arguments made up from a tool's schema and from what its names say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any

from planarena.environments.contract import BOUND
from planarena.environments.sources.generic_wording import is_sayable, sayable_value
from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.identifiers import words_of
from planarena.environments.sources.own.likely import likely_value
from planarena.environments.sources.own.reading import properties_of
from planarena.records.canonical import CanonicalError, canonical_bytes
from planarena.tools.tool import Tool

__all__ = ["made_arguments", "stays"]


def made_arguments(tool: Tool, rng: Random, number: int, noun: str) -> dict[str, Any] | None:
    """Return arguments made from a schema, None where it cannot be; `number` 0 leaves what is optional out."""
    generator = Generator(tool.input_schema, rng, written=True, noun=noun)
    arguments: dict[str, Any] = {}
    for key, schema in properties_of(tool).items():
        required = key in tool.required
        if not required and number == 0:
            continue
        if not required and rng.random() < 0.5:
            continue
        try:
            examples = schema.get("examples")
            if isinstance(examples, list) and examples:
                value = examples[rng.randrange(len(examples))]
            else:
                value = likely_value(key, noun, schema, rng.randrange(100), writes=tool.effects != "read")
                value = sayable_value(generator, schema, key) if value is None else value
                if value is None and required:
                    value = generator.value(schema, key, 2)
            canonical_bytes(value)
        except (NoInstanceError, RecursionError, CanonicalError):
            if required:
                return None
            continue
        if required or (value is not None and is_sayable(value)):
            arguments[key] = value
    return _in_keeping(arguments)


def _in_keeping(arguments: dict[str, Any]) -> dict[str, Any]:
    """Give whoever has a name and a made-up address the address of that name, in every object."""
    kept = {key: _in_keeping(value) if isinstance(value, dict) else value for key, value in arguments.items()}
    name = next((kept[key] for key in kept if words_of(key) in {"name", "full name"}), None)
    letters = re.sub(r"[^a-z ]", "", name.lower()).split() if isinstance(name, str) else []
    for key, value in kept.items():
        if (
            words_of(key) in {"email", "mail", "email address"}
            and isinstance(value, str)
            and len(letters) == 2
        ):
            _, at, host = value.partition("@")
            kept[key] = f"{'.'.join(letters)}@{host}" if at else value
    return kept


def stays(arguments: Mapping[str, Any]) -> bool:
    """Say whether something is to go from a place to the same place: nobody converts euros into euros."""
    sides = {
        re.sub(r"^(from|to|source|target) ", r"\1 ", words_of(key)): value for key, value in arguments.items()
    }
    return any(
        value is not BOUND and value == sides.get(f"{other}{key.removeprefix(side)}", ...)
        for side, other in (("from", "to"), ("source", "target"))
        for key, value in sides.items()
        if re.match(rf"{side}\b", key)
    )
