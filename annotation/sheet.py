"""The same task without a server: one HTML file that asks and hands out the answers, and the items as JSON lines.

The page fetches nothing. Its policy allows the one script whose hash it names, so a value that got past its
escaping could still run nothing. Answers are kept in the browser until they are saved to a file.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from planarena.annotation.answers import checked_values
from planarena.annotation.forms import Answer, Form, Item, Question, form
from planarena.annotation.items import escape
from planarena.annotation.templates import render, style
from planarena.data import read_text
from planarena.errors import UserError
from planarena.records.foreign import Marks
from planarena.records.shards import write_durably

__all__ = ["read_sheet", "write_sheet"]


class _Filled(msgspec.Struct, frozen=True):
    """One line of a file of answers; what a person or a script may leave out has a default."""

    form: str
    item_id: str
    answers: dict[str, Any]
    annotator: str = ""
    submitted_at: str = ""
    blind: bool = False
    guidelines: str = ""
    version: str = ""


def write_sheet(folder: Path, asked: Form, items: Sequence[Item], title: str) -> list[Path]:
    """Write `FORM.html` and `FORM.jsonl`.

    Args:
        folder: Made where it is absent.
        asked: The form.
        items: To judge.
        title: What the page is about, plain text.

    Returns:
        What was written.

    Raises:
        OSError: No space, no permission.
    """
    page, lines = folder / f"{asked.name}.html", folder / f"{asked.name}.jsonl"
    write_durably(page, _page(asked, items, title).encode())
    blank: dict[str, Any] = {
        question.name: [] if question.kind == "labels" else None for question in asked.questions
    }
    rows = [
        {
            "form": asked.name,
            "item_id": item.item_id,
            "version": item.metadata["version"],
            "guidelines": item.metadata["guidelines"],
            "blind": item.metadata["blind"] == "yes",
            "annotator": "",
            "answers": blank,
            "suggestions": {one.question: one.value for one in item.suggestions},
            "shown": _readable(item.fields),
        }
        for item in items
    ]
    write_durably(lines, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return [page, lines]


def _readable(value: Any) -> Any:
    """Return an item's values for programs: as they were before they were escaped."""
    import html

    if isinstance(value, str):
        return html.unescape(value)
    if isinstance(value, dict):
        return {name: _readable(one) for name, one in value.items()}
    return [_readable(one) for one in value] if isinstance(value, list) else value


def read_sheet(path: Path, annotator: str = "") -> list[Answer]:
    """Read a file of answers; items without any answer are passed over.

    Args:
        path: JSON lines, as the page saves them or as `write_sheet` leaves them to be filled in.
        annotator: Whose answers they are, where the lines do not say.

    Raises:
        UserError: A line is damaged, incomplete, or nobody's.
        OSError: The file cannot be read.
    """
    found = []
    now = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    for number, text in enumerate(_bounded_lines(path), 1):
        if not text.strip():
            continue
        try:
            line = msgspec.json.decode(text, type=_Filled)
            asked = form(line.form)
        except (msgspec.MsgspecError, UnicodeDecodeError, OSError) as error:
            raise UserError(
                f"is no line of answers: {error}",
                where=f"{path}:{number}",
                fix="give the file that the sheet's button saved",
            ) from error
        if not any(value not in (None, "", []) for value in line.answers.values()):
            continue
        who = line.annotator.strip() or annotator
        if not who:
            raise UserError(
                "the line says nothing of who answered",
                where=f"{path}:{number}",
                fix="name them with --annotator",
            )
        found.append(
            checked_values(
                Answer(
                    asked.name,
                    line.item_id,
                    who,
                    line.answers,
                    line.submitted_at or now,
                    line.blind,
                    line.guidelines,
                    line.version,
                )
            )
        )
    return found


def _page(asked: Form, items: Sequence[Item], title: str) -> str:
    script = read_text("guidelines/templates/sheet.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style()}\n{read_text('guidelines/templates/sheet.css')}</style>\n"
        f'</head>\n<body data-form="{asked.name}" data-guidelines="{asked.guideline_version}">\n'
        f"<header><h1>{escape(title)}</h1><p><label>Your name <input id='annotator' autocomplete='name'></label> "
        "<span id='progress'></span> <button id='save' type='button'>Save answers</button></p>\n"
        f"<details><summary>Guidelines</summary>{_guidelines(asked.guidelines)}</details></header>\n<main>\n"
        + "".join(_article(asked, item, number, len(items)) for number, item in enumerate(items, 1))
        + f"</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _article(asked: Form, item: Item, number: int, total: int) -> str:
    shown = "".join(
        f"<section><h3>{field.title}</h3>"
        + (
            render(field.template, item.fields[field.name])
            if field.template
            else f'<p class="text">{item.fields[field.name]}</p>'
        )
        + "</section>"
        for field in asked.fields
    )
    suggested = {one.question: one.value for one in item.suggestions}
    questions = "".join(
        _question(question, f"{number}", suggested.get(question.name)) for question in asked.questions
    )
    blind = item.metadata["blind"]
    return (
        f'<article data-item="{_id(item.item_id)}" data-version="{_id(item.metadata["version"])}" data-blind="{blind}">'
        f"<h2>{number} of {total}</h2><div class='two'><div>{shown}</div><form>{questions}"
        "<p><label class='done'><input type='checkbox' class='finished'> Done</label></p></form></div></article>\n"
    )


def _id(text: str) -> str:
    """Return an id for an attribute; ours are hexadecimal, and nothing else gets into a page."""
    return "".join(character for character in text if character.isalnum() or character in "-_")


def _question(question: Question, number: str, suggested: Any) -> str:
    name = f"{number}.{question.name}"
    head = f"<legend>{escape(question.title)}{' *' if question.required else ''}</legend>"
    if question.help:
        head += f"<p class='help'>{escape(question.help)}</p>"
    if question.kind == "text":
        return f"<fieldset>{head}<textarea name='{name}' data-question='{question.name}' rows='2'></textarea></fieldset>"
    if len(question.options) > 8 and question.kind == "label":
        rows = "".join(
            f"<option value='{value}'{' selected' if value == suggested else ''}>{escape(text)}</option>"
            for value, text in question.options
        )
        return (
            f"<fieldset>{head}<select name='{name}' data-question='{question.name}'><option value=''>none</option>"
            f"{rows}</select></fieldset>"
        )
    kind = "checkbox" if question.kind == "labels" else "radio"
    chosen = {str(one) for one in (suggested if isinstance(suggested, list) else [suggested])}
    boxes = "".join(
        f"<label><input type='{kind}' name='{name}' data-question='{question.name}' data-kind='{question.kind}' "
        f"value='{value}'{' checked' if value in chosen else ''}> {escape(text or value)}</label> "
        for value, text in question.options
    )
    return f"<fieldset>{head}{boxes}</fieldset>"


def _guidelines(text: str) -> str:
    """Return the guidelines as HTML; they are ours and use headings, lists and paragraphs."""
    return "\n".join(_blocks(text.split("\n\n")))


def _blocks(blocks: Iterable[str]) -> Iterator[str]:
    import re

    for block in blocks:
        shown = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(block.strip("\n")))
        shown = re.sub(r"\*(.+?)\*", r"<i>\1</i>", re.sub(r"`(.+?)`", r"<code>\1</code>", shown))
        if block.startswith("#"):
            yield f"<h4>{shown.lstrip('# ')}</h4>"
        elif block.startswith("- "):
            yield "<ul>" + "".join(f"<li>{line[2:]}</li>" for line in shown.split("\n")) + "</ul>"
        elif block.startswith("    "):
            yield f"<pre>{shown.strip()}</pre>"
        else:
            yield f"<p>{shown}</p>"


def _bounded_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file that people filled in, one at a time.

    Raises:
        UserError: It has more lines than a file of its size may have.
    """
    budget = Marks(path.stat().st_size)
    with path.open("rb") as handle:
        for line in handle:
            budget.line(str(path))
            yield line.rstrip(b"\r\n")
