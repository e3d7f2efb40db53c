"""Named prompt templates: what a policy reads before it acts. The words are data (`data/prompts/rows`)."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from string import Template as Slots
from typing import Any, Literal

import msgspec

from planarena import formats
from planarena.data import read_bytes
from planarena.errors import UserError
from planarena.formats import Format
from planarena.records import canonical_json
from planarena.rows.signatures import Signatures, render_tools

__all__ = ["PromptTemplate", "default_template", "render_context", "template", "template_names"]

_NAMES = ("planarena", "short", "toolupt", "toolrl", "chord", "math", "hermes", "native")
_DEFAULTS = {"think": "planarena", "parameters": "planarena", "params": "planarena", "answer": "planarena"}


class PromptTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words around a row; `$slots` are filled in once, so nothing in the data is read as a slot.

    Attributes:
        formats: Formats that the words describe.
        history: `chat`: a message each; `packed`: one user message (ToolUPT Figure 6); `records`: one user message
            with tags (ToolRL).
        system: Slots tools, plan_rule, plan_tag, response_tag, arguments_key.
        context: Follows the system text where something is known beforehand; slot context.
        observations: The role of tool results in a chat: `tool`, `user`, or `native` with call ids.
        signatures: How tools are written unless a caller says so.
        with_plan: The rule about the plan where rows have one; slots as in `system`.
        without_plan: The same where they have none.
        user: Of `packed`: slots memory, query, steps; of `records`: records.
        labels: Of `packed`: the lines of memory and steps.
    """

    formats: tuple[str, ...]
    history: Literal["chat", "packed", "records"]
    system: str
    context: str
    observations: Literal["tool", "user", "native"] = "tool"
    signatures: Signatures = "json"
    with_plan: str = ""
    without_plan: str = ""
    user: str = ""
    labels: dict[str, str] = {}

    def render_system(
        self,
        form: Format,
        tools: Sequence[dict[str, Any]],
        known: dict[str, Any],
        *,
        plan: bool,
        signatures: Signatures | None,
    ) -> str:
        """Write the system message; empty where there is nothing to say.

        Args:
            form: The format that the policy speaks.
            tools: In the OpenAI shape.
            known: The context.
            plan: Whether rows have a plan.
            signatures: How tools are written; None for the template's own way.
        """
        slots = {
            "plan_tag": getattr(form, "plan_tag", "think"),
            "response_tag": getattr(form, "response_tag", "response"),
            "arguments_key": getattr(form, "arguments_key", "arguments"),
        }
        rule = Slots(self.with_plan if plan else self.without_plan).substitute(slots).strip()
        slots |= {"plan_rule": rule, "tools": render_tools(tools, signatures or self.signatures) or "(none)"}
        parts = [Slots(self.system).substitute(slots).strip()]
        if known:
            parts.append(Slots(self.context).substitute(context=render_context(known)).strip())
        return "\n\n".join(filter(None, parts))


def render_context(known: dict[str, Any]) -> str:
    """Write what is known beforehand: a source's own instructions as they are, the rest line by line."""
    lines = [
        f"- {name}: {value if isinstance(value, str) else canonical_json(value)}"
        for name, value in sorted(known.items())
        if name != "instructions"
    ]
    instructions = known.get("instructions")
    return "\n".join(([str(instructions)] if instructions else []) + lines)


def template_names() -> tuple[str, ...]:
    """Return the names of all templates."""
    return _NAMES


def default_template(form: str) -> str:
    """Return the name of the template that a format uses unless told otherwise.

    Raises:
        UserError: There is no format of that name.
    """
    formats.get(form)
    return _DEFAULTS.get(form, form)


def template(name: str, form: str) -> PromptTemplate:
    """Return a template for a format.

    Raises:
        UserError: There is none of that name, or it describes another format.
    """
    if name not in _NAMES:
        near = get_close_matches(name, _NAMES, n=1)
        fix = f"did you mean {near[0]}?" if near else f"one of: {', '.join(_NAMES)}"
        raise UserError(f"there is no prompt template {name!r}", where="template", fix=fix)
    found = _load(name)
    if form not in found.formats:
        fitting = [other for other in _NAMES if form in _load(other).formats]
        raise UserError(
            f"the prompt template {name!r} describes {', '.join(found.formats)}, not {form}",
            where="template",
            fix=f"one of: {', '.join(fitting)}",
        )
    return found


@cache
def _load(name: str) -> PromptTemplate:
    return msgspec.yaml.decode(read_bytes(f"prompts/rows/{name}.yaml"), type=PromptTemplate)
