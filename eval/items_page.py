"""items.html: every item of one evaluation, or of two side by side, with filters, in one file that fetches nothing.

The list stands in one block that is read when the page opens; an item's content is read when it is shown.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

import orjson

from planarena.errors import UserError

__all__ = ["MOST_ITEMS", "render_items", "shown_item", "shown_side"]

MOST_ITEMS = 5_000
_WIDE = 160
_ASKED = 110
_PROMPT, _OUTPUT = 6_000, 12_000
_GIVEN = ("arguments", "kwargs", "parameters")


def render_items(names: Sequence[str], rows: Sequence[Sequence[dict[str, Any]]]) -> str:
    """Return the page.

    Args:
        names: Of one or two evaluations.
        rows: The rows of their items.jsonl; of two, those that either has.
    """
    joined: dict[tuple[str, str, int], list[dict[str, Any] | None]] = {}
    for side, listed in enumerate(rows):
        for row in listed:
            if not {"suite", "id", "sample"} <= row.keys():
                raise UserError(
                    "a line of items.jsonl names no suite, id and sample",
                    where=names[side],
                    fix="evaluate again with --fresh",
                )
            key = (str(row["suite"]), str(row["id"]), int(row["sample"]))
            joined.setdefault(key, [None] * len(rows))[side] = row
    total = len(joined)
    chosen = _spread(list(joined.items()), MOST_ITEMS)
    index = [_entry(key, sides) for key, sides in chosen]
    details = [_safe(_detail(sides)) for _, sides in chosen]
    style = files("planarena.eval").joinpath("items.css").read_text(encoding="utf-8")
    script = files("planarena.eval").joinpath("items.js").read_text(encoding="utf-8")
    told = (
        f"{len(chosen)} of {total} items; all are in items.jsonl" if len(chosen) < total else f"{total} items"
    )
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    return "".join(
        (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>Items of {escape(' and '.join(names))}</title><style>{style}</style></head><body>",
            f'<header><h1>{escape(" beside ".join(names))}</h1><p id="told">{escape(told)}</p>',
            '<div id="filters"></div></header><main><section id="list" aria-label="Items"></section>',
            '<section id="detail" aria-label="Item" tabindex="-1"><p class="quiet">Choose an item.</p></section></main>',
            f'<script type="text/plain" id="names">{_safe(list(names))}</script>',
            f'<script type="text/plain" id="index">{_safe(index)}</script>',
            '<script type="text/plain" id="details">' + "\n".join(details) + "</script>",
            f"<script>{script}</script></body></html>\n",
        )
    )


def _spread(items: list[Any], most: int) -> list[Any]:
    """Evenly chosen items where there are too many for a page."""
    if len(items) <= most:
        return items
    return [items[place * len(items) // most] for place in range(most)]


def _entry(key: tuple[str, str, int], sides: Sequence[dict[str, Any] | None]) -> list[Any]:
    first = next(row for row in sides if row is not None)
    verdicts = [None if row is None else [int(bool(row["correct"])), str(row["reason"])] for row in sides]
    # What is asked tells an item from others better than its id does.
    asked = [text for role, text in shown_item(first)["prompt"] if role == "user"]
    return [
        key[0],
        key[1],
        key[2],
        str(first["category"]),
        verdicts,
        " ".join(asked[-1].split())[:_ASKED] if asked else "",
    ]


def _detail(sides: Sequence[dict[str, Any] | None]) -> list[dict[str, Any] | None]:
    first = next(row for row in sides if row is not None)
    return [*(None if row is None else shown_side(row) for row in sides), shown_item(first)]


def shown_side(row: dict[str, Any]) -> dict[str, Any]:
    """Return what is shown of a row of items.jsonl as one model's: verdict, output, calls; long texts are cut."""
    found = {
        key: row.get(key)
        for key in (
            "correct",
            "reason",
            "detail",
            "answer",
            "calls",
            "written",
            "unread",
            "tokens",
            "seconds",
        )
    }
    found["output"] = _text(_episode(row.get("output")), _OUTPUT)
    found["thought"] = str(row.get("thought") or "")[:_OUTPUT]
    return found


def _episode(value: Any) -> Any:
    """The replies of an episode one below the other, each message with who wrote it; other outputs as they are."""
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(one, str) or _is_message(one) for one in value)
    ):
        return value
    return "\n".join(_reply(one) for one in value)


def _calls(value: Any) -> Any:
    """A gold list of calls, a line each; anything else as it is."""
    if not isinstance(value, list) or not value:
        return value
    lines = []
    for one in value:
        given = next((one[key] for key in _GIVEN if key in one), None) if isinstance(one, dict) else None
        if given is None or "name" not in one:
            return value
        who = f"{one['requestor']}: " if one.get("requestor") else ""
        lines.append(f"{who}{one['name']} {json.dumps(given, ensure_ascii=False)}")
    return "\n".join(lines)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") in ("assistant", "user", "tool", "system")


def _reply(value: Any) -> str:
    """A reply's words, then its calls, a line each."""
    if isinstance(value, str) and value.startswith('{"') and '"role"' in value[:40]:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return str(value)
    if not _is_message(value):
        return str(value)
    lines = [str(value["content"])] if value.get("content") else []
    for call in value.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            lines.append(f"→ {function.get('name')} {function.get('arguments')}")
    return f"{value['role']}: " + "\n".join(lines)


def shown_item(first: dict[str, Any]) -> dict[str, Any]:
    """Return what is shown of a row of items.jsonl whoever answered: prompt, tools, gold; long texts are cut."""
    prompt = [
        [str(message.get("role", "")), _text(message.get("content"), _PROMPT)]
        for message in first.get("prompt") or ()
        if isinstance(message, dict)
    ]
    tools = [_text(tool, 2_000) for tool in (first.get("tools") or ())[:60]]
    return {"prompt": prompt, "tools": tools, "gold": _text(_calls(first.get("gold")), _PROMPT)}


def _text(value: Any, most: int) -> str:
    text = value if isinstance(value, str) else _json(value)
    if not isinstance(value, str) and _WIDE < len(text) <= 4 * most:
        text = _json(value, orjson.OPT_INDENT_2)
    return text if len(text) <= most else f"{text[:most]} ... ({len(text) - most} more characters)"


def _json(value: Any, option: int = 0) -> str:
    """JSON as it is read; integers beyond 64 bits and halves of surrogate pairs the slow way."""
    try:
        return orjson.dumps(value, option=option).decode()
    except (TypeError, ValueError):
        return json.dumps(value, ensure_ascii=False, default=str)


def _safe(value: Any) -> str:
    """JSON on one line that ends no element and holds no half of a surrogate pair."""
    text = _json(value).encode("utf-8", "replace").decode()
    return (
        text.replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
        .replace("\x7f", "\\u007f")
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
