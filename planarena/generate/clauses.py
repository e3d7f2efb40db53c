"""Clauses from templates: the small language of the wording files.

`{name}` is an argument of the call: written by its surface when it is literal, by a reference to its
producer when it is bound. `{/pointer}` is a value of the result, `{}` all of it. `[...]` is left out when an argument
inside it is absent. `FIELD` begins the name of one more argument.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from planarena.environments import Operation
from planarena.environments.wording import FIELD, ToolWording, parse_pointer, schema_at
from planarena.generate.surfaces import surface
from planarena.tasks.atoms import resolve

__all__ = ["Clause", "Said", "StepWords", "Voice", "parse_template"]

_PART = re.compile(r"\[([^\[\]]*)\]|\{([^{}]*)\}|([^\[\]{}]+)")


class _Segment(NamedTuple):
    kind: str  # "text", "argument", "result" or "optional"
    text: str
    inner: tuple[_Segment, ...]


@lru_cache(maxsize=8192)
def parse_template(template: str) -> tuple[_Segment, ...]:
    """Split a template into segments.

    Raises:
        ValueError: Brackets or braces that do not match.
    """
    found, place = [], 0
    for part in _PART.finditer(template):
        if part.start() != place:
            raise ValueError(f"cannot read the template {template!r} at character {place}")
        place = part.end()
        optional, name, text = part.groups()
        if optional is not None:
            found.append(_Segment("optional", "", parse_template(optional)))
        elif name is not None:
            found.append(_Segment("result" if name[:1] in {"", "/"} else "argument", name, ()))
        else:
            found.append(_Segment("text", text, ()))
    if place != len(template):
        raise ValueError(f"cannot read the template {template!r} at character {place}")
    return tuple(found)


class Said(NamedTuple):
    """Where a literal argument was said: its text."""

    step: int
    argument: str
    text: str


class Clause(NamedTuple):
    """A rendered template and the literals that it states."""

    text: str
    said: tuple[Said, ...]


class Voice(NamedTuple):
    """How a clause is spoken.

    Attributes:
        steps: All steps of the task.
        pick: A number that chooses among phrases.
        manner: How values are written; 0 is the plain manner.
        near: The step just spoken of, which may be referred to briefly; None for full references.
        known: Everything has happened, as in a final answer: bound values are written out, unless hidden.
        noted: A literal that was told before, as ((step, argument), what it is called now), or None.
    """

    steps: list[StepWords]
    pick: int
    manner: int = 0
    near: int | None = None
    known: bool = False
    noted: tuple[tuple[int, str], str] | None = None


class StepWords(NamedTuple):
    """A step as the language part sees it.

    Attributes:
        number: Place in the unrolled order.
        operation: The tool.
        wording: Its words.
        arguments: All arguments.
        bound: argument -> (source step, JSON pointer).
        result: The result.
    """

    number: int
    operation: Operation
    wording: ToolWording
    arguments: dict[str, Any]
    bound: dict[str, tuple[int, str]]
    result: Any

    def tells_all(self) -> bool:
        """Say whether the result holds every value that an answer reports of this tool, as scalars."""
        return all(
            isinstance(resolve(self.result, parse_pointer(output)), str | int | float)
            for output in self.wording.outputs
        )

    def clause(self, template: str, voice: Voice) -> Clause:
        """Render a template of this tool."""
        said: list[Said] = []
        text = self._render(parse_template(template), voice, said)
        if FIELD in text:
            text = text.replace(FIELD, " with ", 1).replace(FIELD, ", ")
        return Clause(text, tuple(said))

    def _render(self, segments: tuple[_Segment, ...], voice: Voice, said: list[Said]) -> str:
        out = []
        for kind, text, inner in segments:
            if kind == "text":
                out.append(text)
            elif kind == "argument":
                out.append(self._argument(text, voice, said))
            elif kind == "result":
                path = parse_pointer(text)
                schema = schema_at(self.operation.tool.output_schema, path) or {}
                value = resolve(self.result, path)
                if not _is_json(value):
                    raise LookupError(f"the result of {self.operation.tool.wire_name} has nothing at {text}")
                out.append(surface(value, schema, voice.manner))
            elif all(part.kind != "argument" or part.text in self.arguments for part in inner):
                out.append(self._render(inner, voice, said))
        return "".join(out)

    def _argument(self, name: str, voice: Voice, said: list[Said]) -> str:
        schema = self.operation.tool.parameters[name]
        if name in self.bound and not (voice.known and not schema.get("x-hidden")):
            source, pointer = self.bound[name]
            producer = voice.steps[source]
            reference = producer.wording.refer[pointer]
            phrases = reference.short if voice.near == source else reference.full
            if voice.near != source:
                voice = voice._replace(near=None)
            # What the reference says of the producer's own arguments was said with the producer.
            return producer._render(parse_template(phrases[voice.pick % len(phrases)]), voice, [])
        if name not in self.arguments:
            return f"an unspecified {name.replace('_', ' ')}"  # a call that lacks it: only in contrast
        if voice.noted is not None and voice.noted[0] == (self.number, name):
            return voice.noted[1]
        text = surface(self.arguments[name], schema, voice.manner, self.wording.values.get(name))
        said.append(Said(self.number, name, text))
        return text


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | list | dict)
