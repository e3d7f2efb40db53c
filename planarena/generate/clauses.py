"""Clauses from templates: the small language of the wording files.

`{name}` is an argument of the call: written by its surface when it is literal, by a reference to its
producer when it is bound. `{/pointer}` is a value of the result. `[...]` is left out when an argument
inside it is absent.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from planarena.environments import Operation
from planarena.environments.wording import ToolWording, parse_pointer, schema_at
from planarena.generate.surfaces import surface
from planarena.tasks.atoms import resolve

__all__ = ["Clause", "Said", "StepWords", "parse_template"]

_PART = re.compile(r"\[([^\[\]]*)\]|\{([^{}]*)\}|([^\[\]{}]+)")


class _Segment(NamedTuple):
    kind: str  # "text", "argument", "result" or "optional"
    text: str
    inner: tuple[_Segment, ...]


@cache
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
            found.append(_Segment("result" if name.startswith("/") else "argument", name, ()))
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

    def clause(
        self, template: str, steps: list[StepWords], manner: int, near: int | None, pick: int
    ) -> Clause:
        """Render a template.

        Args:
            template: Of this tool.
            steps: All steps of the task.
            manner: How values are written.
            near: The step just spoken of, which may be referred to briefly; None for full references.
            pick: A number that chooses among phrases.
        """
        said: list[Said] = []
        text = self._render(parse_template(template), steps, manner, near, pick, said)
        return Clause(text, tuple(said))

    def _render(
        self,
        segments: tuple[_Segment, ...],
        steps: list[StepWords],
        manner: int,
        near: int | None,
        pick: int,
        said: list[Said],
    ) -> str:
        out = []
        for kind, text, inner in segments:
            if kind == "text":
                out.append(text)
            elif kind == "argument":
                out.append(self._argument(text, steps, manner, near, pick, said))
            elif kind == "result":
                path = parse_pointer(text)
                schema = schema_at(self.operation.tool.output_schema, path) or {}
                out.append(surface(resolve(self.result, path), schema, manner, self._result_words(path)))
            elif all(part.kind != "argument" or part.text in self.arguments for part in inner):
                out.append(self._render(inner, steps, manner, near, pick, said))
        return "".join(out)

    def _result_words(self, path: tuple[str | int, ...]) -> dict[Any, str] | None:
        # A result's enumeration is worded like the argument of the same name.
        return self.wording.values.get(str(path[-1])) if path else None

    def _argument(
        self, name: str, steps: list[StepWords], manner: int, near: int | None, pick: int, said: list[Said]
    ) -> str:
        if name in self.bound:
            source, pointer = self.bound[name]
            producer = steps[source]
            reference = producer.wording.refer[pointer]
            if near == source:
                phrases = reference.short
            else:
                phrases, near = reference.full, None
            phrase = phrases[pick % len(phrases)]
            # What the reference says of the producer's own arguments was said with the producer.
            return producer._render(parse_template(phrase), steps, manner, near, pick, [])
        text = surface(
            self.arguments[name], self.operation.tool.parameters[name], manner, self.wording.values.get(name)
        )
        said.append(Said(self.number, name, text))
        return text
