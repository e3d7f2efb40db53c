"""How forms and items look in Argilla's REST API: the bodies of its requests."""

from __future__ import annotations

from typing import Any, NamedTuple

from planarena.annotation.forms import Field, Item, Question
from planarena.annotation.templates import page_template

__all__ = ["Dataset", "field_body", "question_body", "record_body", "same_schema"]

_AGENT = "planarena-checks"
_SHOWN_OPTIONS = 8


class Dataset(NamedTuple):
    """A dataset: its id, its questions' ids by name, and how many answers complete a record."""

    dataset_id: str
    name: str
    questions: dict[str, str]
    overlap: int


def field_body(field: Field) -> dict[str, Any]:
    """Return what makes a field."""
    if not field.template:
        settings: dict[str, Any] = {"type": "text", "use_markdown": False}
    else:
        settings = {
            "type": "custom",
            "template": page_template(field.template, field.name),
            "advanced_mode": False,
        }
    return {"name": field.name, "title": field.title, "required": False, "settings": settings}


def question_body(question: Question) -> dict[str, Any]:
    """Return what makes a question."""
    settings: dict[str, Any]
    if question.kind == "text":
        settings = {"type": "text", "use_markdown": False}
    elif question.kind == "rating":
        settings = {"type": "rating", "options": [{"value": int(value)} for value, _ in question.options]}
    else:
        kind = "label_selection" if question.kind == "label" else "multi_label_selection"
        options = [{"value": value, "text": text} for value, text in question.options]
        shown = len(options) if question.kind == "labels" else min(_SHOWN_OPTIONS, len(options))
        settings = {"type": kind, "options": options, "visible_options": shown if len(options) > 2 else None}
    asked = {
        "name": question.name,
        "title": question.title,
        "required": question.required,
        "settings": settings,
    }
    return asked | ({"description": question.help} if question.help else {})


def same_schema(wanted: dict[str, Any], found: dict[str, Any]) -> bool:
    """Compare what answers depend on: the type and the options; wording and templates may change."""
    asked, there = wanted["settings"], found["settings"]
    if asked["type"] != there["type"]:
        return False

    def values(settings: dict[str, Any]) -> set[Any]:
        return {option["value"] for option in settings.get("options") or ()}

    # A dataset that was made for longer trajectories has options that this form does not need.
    return values(asked) <= values(there)


def record_body(item: Item, dataset: Dataset) -> dict[str, Any]:
    """Return what stores an item as a record, its suggestions included."""
    return {
        "external_id": item.item_id,
        "fields": item.fields,
        "metadata": item.metadata,
        "suggestions": [
            {
                "question_id": dataset.questions[one.question],
                "value": one.value,
                # A choice of several options needs one score for each.
                "score": [one.score] * len(one.value) if isinstance(one.value, list) else one.score,
                "agent": _AGENT,
                "type": "model",
            }
            for one in item.suggestions
            if one.question in dataset.questions
        ],
    }
