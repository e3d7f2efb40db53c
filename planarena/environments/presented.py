"""A world shown otherwise: tools and arguments under other names, results with more in them than is needed.

What happens is what happens in the world underneath: a call is translated, made there, and what it gave is handed back
with the additions. A scenario says how it is shown under `presented` in the column `environment`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any, cast

import msgspec

from planarena.environments.world import Operation, Outcome, World
from planarena.records.canonical import canonical_bytes, id_of_bytes
from planarena.tools import SchemaValidator, Tool

__all__ = ["NOISE", "Presentation", "PresentedWorld", "ShownTool", "as_shown", "noise_for", "present"]


class ShownTool(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one tool is shown.

    Attributes:
        name: Its name; empty for its own.
        description: What it is said to do; empty for its own.
        arguments: By argument the name under which it is shown; those that keep theirs are left out.
        described: By argument (its own name) what it is said to be; those that keep their description are left out.
        noise: What is added to its results, a name of `NOISE`; empty for nothing.
    """

    name: str = ""
    description: str = ""
    arguments: dict[str, str] = {}
    described: dict[str, str] = {}
    noise: str = ""


class Presentation(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a world is shown: by tool, under its own name; those that are not named are shown as they are."""

    tools: dict[str, ShownTool] = {}

    def name(self, tool: str) -> str:
        """Return the name under which a tool is shown."""
        shown = self.tools.get(tool)
        return shown.name or tool if shown is not None else tool

    def arguments(self, tool: str, own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call under the names that are shown."""
        shown = self.tools.get(tool)
        renamed = shown.arguments if shown is not None else {}
        return {renamed.get(name, name): value for name, value in own.items()}


def _meta(tag: str) -> dict[str, Any]:
    return {
        "meta": {
            "served_by": f"node-{int(tag[:2], 16) % 9 + 1}",
            "cached": tag[2] in "01234567",
            "schema": "2.4",
        }
    }


def _trace(tag: str) -> dict[str, Any]:
    return {"request": {"trace": tag[:16], "elapsed": f"{int(tag[:3], 16) % 900 + 40} ms"}, "warnings": []}


def _notice(tag: str) -> dict[str, Any]:
    notices = (
        "Scheduled maintenance is announced on the status page.",
        "Version 3 of this interface will be released later; nothing changes for present users.",
        "Results may be reused for a short while.",
        "Figures are shown in the currency and the time zone of the account.",
    )
    return {
        "notice": notices[int(tag[:2], 16) % len(notices)],
        "pagination": {"next": None, "complete": True},
    }


def _links(tag: str) -> dict[str, Any]:
    return {
        "links": {"self": f"/v2/calls/{tag[:10]}", "documentation": "/v2/help"},
        "related_topics": ["Frequent questions", "Limits of use", "Release notes"],
    }


# Name -> what it adds to a result, from a tag that depends on the tool and its arguments alone.
NOISE = {"meta": _meta, "trace": _trace, "notice": _notice, "links": _links}


def noise_for(flavour: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is added to the result of a call: the same for the same call, whenever it is made."""
    return NOISE[flavour](id_of_bytes(canonical_bytes([flavour, tool, dict(arguments)])))


def as_shown(tool: Tool, shown: ShownTool) -> Tool:
    """Return the record of a tool as it is shown; where it comes from tells the tool underneath."""
    schema = dict(tool.input_schema)
    names = shown.arguments
    if tool.parameters:
        properties = {}
        for name, stated in schema["properties"].items():
            said = shown.described.get(name)
            properties[names.get(name, name)] = stated if said is None else {**stated, "description": said}
        schema["properties"] = properties
    if "required" in schema:
        schema["required"] = [names.get(name, name) for name in schema["required"]]
    output = tool.output_schema
    if shown.noise and output is not None and output.get("type") == "object":
        added = {name: {"description": "Of no use for the task."} for name in NOISE[shown.noise]("0" * 32)}
        output = {**output, "properties": {**output.get("properties", {}), **added}}
    return msgspec.structs.replace(
        tool,
        name=shown.name or tool.name,
        wire_name=shown.name or tool.wire_name,
        description=shown.description or tool.description,
        input_schema=schema,
        output_schema=output,
        source_kind="augmented",
        source_ref=f"{tool.source_kind}:{tool.tool_id}",
    )


_SHOWN: dict[tuple[str, bytes], tuple[Tool, SchemaValidator]] = {}
_MOST_SHOWN = 4096


def _operation(operation: Operation, shown: ShownTool) -> Operation:
    """Return an operation as it is shown; episodes of one scenario share what is made of it."""
    key = operation.tool.tool_id, msgspec.json.encode(shown, order="deterministic")
    found = _SHOWN.get(key)
    if found is None:
        record = as_shown(operation.tool, shown)
        found = record, SchemaValidator(record.input_schema, f"{record.namespace}.{record.wire_name}")
        if len(_SHOWN) >= _MOST_SHOWN:
            _SHOWN.clear()
        _SHOWN[key] = found
    return Operation(found[0], operation.method, found[1], operation.propose)


class PresentedWorld:
    """A world as a presentation shows it; it has all that callers use of a `World`.

    Args:
        world: The world underneath.
        presentation: How it is shown.
    """

    def __init__(self, world: World, presentation: Presentation) -> None:
        self.world = world
        self._shown = presentation.tools
        self._own: dict[str, str] = {}  # by shown name
        self.operations: dict[str, Operation] = {}
        for own, operation in world.operations.items():
            shown = self._shown.get(own)
            name = own if shown is None else shown.name or own
            if shown is not None:
                operation = _operation(operation, shown)
            if name in self.operations:
                raise ValueError(f"two tools are shown under the name {name}")
            self.operations[name] = operation
            self._own[name] = own

    def __getattr__(self, name: str) -> Any:
        # The state, marks, footprints and all else are those of the world underneath.
        return getattr(self.world, name)

    def propose(self, name: str, rng: Random) -> list[dict[str, Any]]:
        """Return the arguments that the environment proposes for a tool, under the names that are shown."""
        own = self._own[name]
        renamed = self._shown[own].arguments if own in self._shown else {}
        return [
            {renamed.get(argument, argument): value for argument, value in found.items()}
            for found in self.world.propose(own, rng)
        ]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Call a tool under the name that is shown; failures are outcomes."""
        own = self._own.get(name)
        if own is None:
            self.world.footprint()  # that of the call before
            words = {"code": "unknown_tool", "message": f"There is no tool named {name}."}
            return Outcome("schema_error", None, words)
        shown = self._shown.get(own)
        if shown is None:
            return self.world.call(own, arguments)
        validator = self.operations[name].validator
        if shown.arguments and not validator.is_valid(arguments):
            self.world.footprint()
            words = {"code": "invalid_arguments", "message": str(validator.first_error(arguments))}
            return Outcome("schema_error", None, words)
        back = {new: old for old, new in shown.arguments.items()}
        outcome = self.world.call(
            own, {back.get(argument, argument): value for argument, value in arguments.items()}
        )
        if outcome.error is not None:
            return Outcome(outcome.status, None, self._reworded(outcome.error, own, shown))
        if shown.noise and isinstance(outcome.result, dict):
            added = noise_for(shown.noise, own, arguments)
            # What the tool itself gives is never covered.
            return Outcome(outcome.status, {**added, **outcome.result}, None)
        return outcome

    def _reworded(self, error: dict[str, str], own: str, shown: ShownTool) -> dict[str, str]:
        """Name tools and arguments in a failure as they are shown; plain words that are like them stay."""
        names = {old: new for old, new in shown.arguments.items() if "_" in old}
        names |= {old: one.name for old, one in self._shown.items() if one.name and "_" in old}
        if shown.name:
            names[own] = shown.name
        if not names:
            return error
        pattern = r"\b(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")\b"
        return {**error, "message": re.sub(pattern, lambda found: names[found[1]], error["message"])}


def present(world: World, stored: Mapping[str, Any] | None) -> World:
    """Return a world as the column `environment` of its scenario says that it is shown.

    Args:
        world: The world.
        stored: What stands there under `presented`; None for a world that is shown as it is.
    """
    if not stored:
        return world
    return cast(World, PresentedWorld(world, msgspec.convert(stored, Presentation)))
