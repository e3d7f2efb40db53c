"""The words of own tools: requests, reports and references made from names, descriptions and what calls gave."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from planarena.environments.sources.generic_wording import words_of
from planarena.environments.sources.own.asking import Argument, asks_of, described, label_of
from planarena.environments.sources.own.naming import Deed, is_id
from planarena.environments.sources.own.records import outputs_of, records_in
from planarena.environments.sources.own.reports import NAMED, SEARCHED, Bound, reports_of
from planarena.environments.wording import Offer, Omission, Reference, ToolWording, parse_pointer
from planarena.tools.tool import Tool

__all__ = ["Bound", "annotated", "noun_of_key", "outputs_of", "own_wording"]


def own_wording(
    tool: Tool,
    deed: Deed,
    bound: Mapping[str, Bound],
    sample: Any,
    offers: Sequence[Offer],
    outputs: Sequence[str],
    nouns: Mapping[str, str],
) -> ToolWording:
    """Make the words of a tool.

    Args:
        tool: As it is offered.
        deed: What its name says.
        bound: By argument, what it refers to.
        sample: A result.
        offers: What its results offer for binding.
        outputs: What answers tell.
        nouns: By pointer of an offer, what the value stands for.
    """
    arguments = [
        Argument(
            name,
            name in tool.required,
            bound[name].noun if name in bound else "",
            schema,
        )
        for name, schema in tool.parameters.items()
        if name in tool.required or not is_id(name)
    ]
    ask = asks_of(deed, tool.effects, arguments, tool.description)
    missing = {}
    for one in arguments:
        if one.required and not (one.name in bound and bound[one.name].hidden):
            others = [other for other in arguments if other.name != one.name]
            missing[one.name] = Omission(
                asks_of(deed, tool.effects, others, tool.description), label_of(one.name)
            )
    records = records_in(sample, deed, [words_of(name) for name in tool.parameters])
    on = tuple(name for name in bound if name in tool.required)
    return ToolWording(
        ask=ask,
        plan=tuple(text[:1].upper() + text[1:] for text in ask),
        outputs=tuple(outputs),
        report=reports_of(tool, deed, bound, sample, records, outputs, arguments),
        refer={
            offer.pointer: _reference(tool, deed, arguments, offer, nouns.get(offer.pointer, ""))
            for offer in offers
        },
        records={pointer: record for pointer, record, _ in records},
        missing=missing,
        undoes=(tool.wire_name,) if tool.effects == "update" else (),
        ends=on[-1:] if tool.effects == "delete" else (),
    )


# -- records and what is told of them -----------------------------------------------------------------------------


# -- references ----------------------------------------------------------------------------------------------------


def _reference(tool: Tool, deed: Deed, arguments: Sequence[Argument], offer: Offer, noun: str) -> Reference:
    """Say how a user speaks of a value that a later call takes."""
    key = parse_pointer(offer.pointer)
    last = next((str(word) for word in reversed(key) if isinstance(word, str)), "")
    noun = noun if noun and noun != "id" else deed.noun or "one"
    if tool.effects != "read":
        if not offer.hidden and last and not is_id(last):
            return Reference(
                (f"its {label_of(last)}",), (f"the {label_of(last)} of the new {deed.noun or noun}",)
            )
        new = f"the new {noun}" if tool.effects == "create" else f"the {noun}"
        return Reference((new,), (new,), noun=noun if offer.hidden else "")
    required = [one for one in arguments if one.required]
    if any(isinstance(word, int) for word in key):
        query = next(
            (one for one in required if re.search(SEARCHED, one.name)),
            None,
        )
        rest = "".join(f" with {described(one)}" for one in required if one is not query and not one.of)
        rest += "".join(f" of {{{one.name}}}" for one in required if one.of and one is not query)
        found = (
            f' found for "{{{query.name}}}"'
            if query is not None and not query.of
            else ""
            if rest
            else " on the list"
        )
        what, place = noun, "second" if 1 in key else "first"
        if offer.hidden or not last:
            full = f"the {place} {what}{found}{rest}"
            return Reference((f"the {place} {what}",), (full,), noun=what if offer.hidden else "")
        return Reference(
            (f"its {label_of(last)}",), (f"the {label_of(last)} of the {place} {what}{found}{rest}",)
        )
    target = next((one for one in required), None)
    what = noun if offer.hidden else label_of(last or "value")
    # "The student Mara Lind", and not of her.
    called = target is not None and re.search(NAMED, words_of(target.name)) is not None and bool(noun)
    of = (
        ""
        if target is None
        else f" {{{target.name}}}"
        if called and offer.hidden
        else f" of {{{target.name}}}"
    )
    return Reference((f"its {what}",), (f"the {what}{of}",), noun=noun if offer.hidden else "")


def annotated(schema: Any, sample: Any, offers: Mapping[str, tuple[str, bool]]) -> dict[str, Any] | None:
    """Return an output schema in which the values that others bind are marked; None where nothing can be said.

    Args:
        schema: As declared, or None.
        sample: A result.
        offers: Pointer -> (semantic type, whether it is hidden).
    """
    if not offers:
        return schema if isinstance(schema, dict) else None
    made: dict[str, Any] = schema if isinstance(schema, dict) else {}
    for pointer, (semantic, hidden) in offers.items():
        made = _marked(
            made,
            sample,
            parse_pointer(pointer),
            {"x-semantic": semantic, **({"x-hidden": True} if hidden else {})},
        )
    return made


def _marked(schema: Any, sample: Any, path: Sequence[str | int], words: Mapping[str, Any]) -> dict[str, Any]:
    base = dict(schema) if isinstance(schema, dict) else {}
    if not path:
        kinds = {str: "string", int: "integer", float: "number"}
        return {
            **base,
            **({} if base else {"type": kinds[type(sample)]} if type(sample) in kinds else {}),
            **words,
        }
    word = path[0]
    inner = sample[word]
    if isinstance(word, int):
        return {**(base or {"type": "array"}), "items": _marked(base.get("items"), inner, path[1:], words)}
    known = base.get("properties")
    properties: dict[str, Any] = known if isinstance(known, dict) else {}
    return {
        **(base or {"type": "object"}),
        "properties": {**properties, word: _marked(properties.get(word), inner, path[1:], words)},
    }


def noun_of_key(key: str, about: str) -> str:
    """Return what a value refers to: the book of a `book id`; of a bare code what its records are about."""
    noun = re.sub(r" ?(id|name|title)$", "", key)
    return (
        about
        if not noun
        or re.fullmatch(r"(?:\w+ )?(?:sku|iban|isbn|code|number|serial|slug|ref|reference|key)", noun)
        else noun
    )
