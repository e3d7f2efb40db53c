"""A dialogue that goes on: what was asked, said and returned so far, as the messages that a format's prompt has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from string import Template as Slots
from typing import Any

from planarena import formats
from planarena.errors import UserError
from planarena.eval.config import EvalConfig
from planarena.formats import Call, Format
from planarena.formats.blocks import write_json
from planarena.records import CanonicalError, canonical_json
from planarena.rows.templates import PromptTemplate, default_template, template

__all__ = ["Conversation", "calls_of_reply"]


def calls_of_reply(form: str, text: str) -> list[dict[str, Any]]:
    """Return the native calls of a reply, as the server or the reader of its text gave them."""
    if form != "native":
        return []
    try:
        calls = json.loads(text).get("tool_calls") or []
    except (ValueError, AttributeError, RecursionError):
        return []
    return [call for call in calls if isinstance(call, dict)]


class Conversation:
    """What a policy reads, turn by turn. What it wrote stands in the history as it wrote it.

    Args:
        form: The format of its replies.
        tools: In the OpenAI shape.
        config: For the template, the way of writing tools and the plan.
        known: What is said before: instructions, context.
    """

    def __init__(
        self,
        form: str,
        tools: Sequence[dict[str, Any]],
        config: EvalConfig,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        made = config.generation
        self.form: Format = formats.get(form)
        self.tools = list(tools)
        self._template: PromptTemplate = template(made.template or default_template(form), form)
        self._signatures: Any = made.signatures or None
        self._plan = made.plan is None or made.plan
        self._known = dict(known or {})
        self._turns: list[list[tuple[str, Any]]] = []

    @property
    def native(self) -> bool:
        """Whether tools and calls travel beside the text."""
        return self.form.name == "native"

    def user(self, text: str) -> None:
        """Add a message of the user, which begins a turn."""
        self._turns.append([("user", text)])

    def said(self, text: str) -> None:
        """Add a reply of the policy, or an assistant's words that the benchmark has before it."""
        if not self._turns:
            self._turns.append([])
        self._turns[-1].append(("assistant", text))

    def returned(self, results: Sequence[tuple[str, str]]) -> None:
        """Add what calls returned: (name, text) each, in the order of the calls of the last reply."""
        self._turns[-1].append(("results", list(results)))

    def write(self, *, calls: Sequence[Call] = (), response: str | None = None) -> str:
        """Return what a benchmark has its assistant do as a reply of the format; as plain text where it has no way."""
        try:
            return self.form.render(plan=None, calls=calls, response=response)
        except (UserError, CanonicalError):
            pass
        try:
            return self.form.render(plan="", calls=calls, response=response)
        except (UserError, CanonicalError):
            lines = [write_json({"name": call.name, "arguments": call.arguments}) for call in calls]
            return "\n".join([response or "", *lines]).strip()

    def messages(self) -> tuple[dict[str, Any], ...]:
        """Return the messages before the next reply."""
        history = "chat" if self.native else self._template.history
        system = self._system()
        opening = [{"role": "system", "content": system}] if system else []
        layout = {"chat": self._chat, "packed": self._packed, "records": self._records}[history]
        return (*opening, *layout())

    def _system(self) -> str:
        if self.native:
            # The benchmark's own instructions, unchanged: tools travel beside them.
            return "\n".join(str(value) for value in self._known.values())
        return self._template.render_system(
            self.form, self.tools, self._known, plan=self._plan, signatures=self._signatures
        )

    def _chat(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        for turn in self._turns:
            for kind, value in turn:
                if kind == "user":
                    messages.append({"role": "user", "content": value})
                elif kind == "assistant":
                    messages.append(self._assistant(value))
                    calls = messages[-1].get("tool_calls") or []
                else:
                    messages += self._tool_messages(value, calls)
        return messages

    def _assistant(self, text: str) -> dict[str, Any]:
        if self.native:
            try:
                read = json.loads(text)
            except (ValueError, RecursionError):
                read = None
            if isinstance(read, dict) and read.get("role") == "assistant":
                message = {key: read[key] for key in ("role", "content", "tool_calls") if read.get(key)}
                return {"content": None if "tool_calls" in message else "", **message}
        return {"role": "assistant", "content": text}

    def _tool_messages(
        self, results: Sequence[tuple[str, str]], calls: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        if self.native:
            return [
                {"role": "tool", "tool_call_id": str(call.get("id") or ""), "content": text}
                for call, (_, text) in zip(calls, results, strict=False)
            ]
        if self._template.observations == "tool":
            return [{"role": "tool", "content": text} for _, text in results]
        return [{"role": "user", "content": f"Result of {name}: {text}"} for name, text in results]

    def _packed(self) -> list[dict[str, Any]]:
        labels = self._template.labels
        memory: list[str] = []
        content = ""
        for turn in self._turns:
            query, steps, number = "", [], 0
            for kind, value in turn:
                if kind == "user":
                    query = value
                elif kind == "assistant":
                    number += 1
                    parsed = self.form.parse(value)
                    if parsed.calls:
                        key = labels["arguments_key"]
                        calls = ", ".join(
                            canonical_json({"name": call.name, key: call.arguments}) for call in parsed.calls
                        )
                        steps.append(Slots(labels["call"]).substitute(number=number, calls=calls))
                    else:
                        steps.append(Slots(labels["assistant"]).substitute(text=parsed.response or value))
                else:
                    shown = ", ".join(text for _, text in value)
                    steps.append(Slots(labels["observation"]).substitute(number=number, observations=shown))
            content = Slots(self._template.user).substitute(
                memory="\n".join(memory) or labels["none"],
                query=query or labels["none"],
                steps="\n".join(steps) or labels["none"],
            )
            memory += [Slots(labels["user"]).substitute(text=query)] if query else []
            memory += steps
        return [{"role": "user", "content": content.strip()}]

    def _records(self) -> list[dict[str, Any]]:
        records = []
        for turn in self._turns:
            for kind, value in turn:
                if kind == "user":
                    records.append(f"<user> {value} </user>")
                elif kind == "assistant":
                    records.append(value)
                else:
                    records += [f"<obs> {text} </obs>" for _, text in value]
        content = Slots(self._template.user).substitute(records="\n".join(records))
        return [{"role": "user", "content": content.strip()}]
