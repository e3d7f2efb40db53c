"""Whether the words of an environment fit its tools: `docs/wording.md` as findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from planarena.environments.check.findings import Findings
from planarena.environments.wording import ToolWording, parse_pointer, schema_at
from planarena.environments.world import Operation

__all__ = ["check_words", "faults_in", "listed", "placeholders"]

# `{name}`, or `{name|one|many}`: what is named is the same.
_PLACEHOLDER = re.compile(r"\{([^{}|]*)(?:\|[^{}|]+\|[^{}|]+)?\}")
_SEGMENT = re.compile(r"\[([^\[\]]*)\]")
_ID = re.compile(r"\b[a-z]{1,4}_[0-9a-f]{6,}\b")
_LEAST = {"ask": 4, "plan": 3, "report": 3}
_STRAY = "has a stray bracket, a line break or a name with an underscore"
_SCHEMA = "docs/wording.md says what stands where"


def placeholders(template: str) -> list[str]:
    """Return what a template names, in order."""
    return _PLACEHOLDER.findall(template)


def faults_in(
    template: str, parameters: Mapping[str, Any], required: set[str], told: Iterable[str] = ()
) -> list[str]:
    """Return what is wrong with a template's placeholders, brackets and characters.

    Args:
        template: The template.
        parameters: The tool's arguments.
        required: Those that are always there.
        told: JSON pointers that it may name.
    """
    found, known = [], set(told)
    optional = set(parameters) - required
    outside = _SEGMENT.sub("", template)
    for name in placeholders(template):
        bare = name.removesuffix("*")
        if not (bare in known if name.startswith("/") else name in parameters):
            found.append(f"names {{{name}}}, which is not there")
    found += [
        f"names {{{name}}}, which may be absent, outside of [ ]"
        for name in placeholders(outside)
        if name in optional
    ]
    for segment in _SEGMENT.findall(template):
        if not any(name in optional or name.startswith("/") for name in placeholders(segment)):
            found.append(f"[{segment}] holds nothing that may be absent")
    plain = _PLACEHOLDER.sub("X", _SEGMENT.sub(lambda match: match.group(1), template))
    if re.search(r"[{}\[\]_]|\n", _ID.sub("X", plain)):
        found.append(_STRAY)
    if _ID.search(template):
        found.append("names an id")
    for shown in (plain, _PLACEHOLDER.sub("X", outside)):
        if "  " in shown or shown != shown.strip() or re.search(r" [,.;]", shown):
            found.append("has a space too many")
            break
    return found


def check_words(
    operations: Mapping[str, Operation], wording: Mapping[str, ToolWording], findings: Findings
) -> None:
    """Hold the words of every tool against its schemas.

    Args:
        operations: By wire name.
        wording: Likewise.
        findings: Where findings are added.
    """
    for name in sorted(wording.keys() - operations.keys()):
        findings.add(
            "words", name, "has words, but there is no such tool", "remove them, or rename the entry"
        )
    for name, operation in operations.items():
        if name not in wording:
            findings.add("words", name, "has no words", f"write ask, plan, outputs and report; {_SCHEMA}")
            continue
        _check_tool(name, operation, wording[name], set(operations), findings)


def _check_tool(
    name: str, operation: Operation, words: ToolWording, names: set[str], findings: Findings
) -> None:
    parameters, required = operation.tool.parameters, set(operation.tool.required)
    known = list(_pointers(operation.tool.output_schema or {}))
    for kind, least in _LEAST.items():
        texts = getattr(words, kind)
        if len(set(texts)) < least:
            findings.add(
                "words",
                f"{name}: {kind}",
                f"has {len(set(texts))} forms",
                f"write at least {least} different ones",
            )
        for text in texts:
            problems = faults_in(text, parameters, required, known if kind == "report" else ())
            if kind == "ask":
                outside = placeholders(_SEGMENT.sub("", text))
                problems += [f"does not state {{{one}}}" for one in sorted(required - set(outside))]
            if kind == "report":
                stated = {one.removesuffix("*") for one in placeholders(text)} | listed(text, words)
                problems += [
                    f"does not tell {{{one}}}" for one in words.outputs if one in known and one not in stated
                ]
            _say(findings, name, kind, text, problems, names)
    for text in words.brief:
        problems = faults_in(text, parameters, required, known)
        stated = set(placeholders(text))
        problems += [
            f"does not tell {{{one}}}" for one in words.outputs if one in known and one not in stated
        ]
        _say(findings, name, "brief", text, problems, names)
    for text in words.aims:
        problems = faults_in(text, parameters, required)
        if not re.match(r'[A-Z"{]', text) or text[-1:] not in {".", "?", "!"}:
            problems.append("is no whole sentence")
        _say(findings, name, "aims", text, problems, names)
    _check_places(name, operation, words, names, findings)
    _check_values(name, operation, words, names, findings)


def _check_places(
    name: str, operation: Operation, words: ToolWording, names: set[str], findings: Findings
) -> None:
    """What words say of the result: that it is there, and may be told or referred to."""
    parameters, required = operation.tool.parameters, set(operation.tool.required)
    output = operation.tool.output_schema or {}
    for pointer in words.outputs:
        place = schema_at(output, parse_pointer(pointer))
        if place is None:
            findings.add(
                "words", f"{name}: outputs", f"{pointer} is not in the result", "name a field of the result"
            )
        elif place.get("x-hidden"):
            findings.add(
                "words",
                f"{name}: outputs",
                f"{pointer} is an id that nobody is told",
                "name what a person wants to know",
            )
    for pointer, reference in words.refer.items():
        place = schema_at(output, parse_pointer(pointer))
        if place is None or "x-semantic" not in place:
            findings.add(
                "words",
                f"{name}: refer",
                f"{pointer} has no semantic type in the result",
                "annotate the field with Semantic, or remove the entry",
            )
        for text in (*reference.short, *reference.full):
            _say(findings, name, "refer", text, faults_in(text, parameters, required), names)


def _check_values(
    name: str, operation: Operation, words: ToolWording, names: set[str], findings: Findings
) -> None:
    """Words for every value of an enumeration, and no word of a tool or argument that is not there."""
    parameters = operation.tool.parameters
    for argument, schema in parameters.items():
        wanted: set[Any] = set(schema.get("enum", ())) | (
            {True, False} if schema.get("type") == "boolean" else set()
        )
        missing = wanted - set(words.values.get(argument, {}))
        if missing:
            findings.add(
                "words",
                f"{name}: values",
                f"has no words for {argument} = {', '.join(sorted(map(str, missing)))}",
                f"write them under `values: {{{argument}: ...}}`",
            )
    for key in ("undoes", "completes", "apart", "never_from"):
        for other in sorted(set(getattr(words, key)) - names):
            findings.add(
                "words", f"{name}: {key}", f"there is no tool {other}", "name a tool of this environment"
            )
    for key in ("ends", "dates", "once"):
        for argument in sorted(set(getattr(words, key)) - set(parameters)):
            findings.add(
                "words", f"{name}: {key}", f"there is no argument {argument}", "name an argument of the tool"
            )


def listed(report: str, words: ToolWording) -> set[str]:
    """Return the outputs that a report tells as part of a list: its records' `line` names their fields."""
    found = set()
    for name in placeholders(_SEGMENT.sub("", report)):
        record = words.records.get(name.removesuffix("*")) if name.endswith("*") else None
        if record is not None:
            fields = placeholders(record.line or record.name)
            found |= {f"{name[:-1]}/0/{field}" for field in fields}
    return found


def _say(findings: Findings, name: str, kind: str, text: str, problems: list[str], names: set[str]) -> None:
    tools = [f"says the name of the tool {other}" for other in sorted(names) if other in text]
    problems = [one for one in problems if not (tools and one == _STRAY)] + tools
    if problems:
        findings.add("words", f"{name}: {kind} {text!r}", "; ".join(problems), _SCHEMA)


def _pointers(schema: Any, prefix: str = "") -> Iterable[str]:
    """Yield the pointers of a result's fields, the first item of a list standing for all."""
    yield prefix
    if not isinstance(schema, dict):
        return
    for name, inner in schema.get("properties", {}).items():
        yield from _pointers(inner, f"{prefix}/{name}")
    if isinstance(schema.get("items"), dict):
        for place in range(3):
            yield from _pointers(schema["items"], f"{prefix}/{place}")
