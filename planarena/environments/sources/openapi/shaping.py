"""Responses in their last shape: counts that fit what is listed, names of owners, what is new about an item."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from planarena.environments.sources.field_kinds import kind_of_number, kind_of_text, spaced
from planarena.environments.sources.openapi.fields import merged_of
from planarena.environments.sources.openapi.identifiers import normal
from planarena.environments.sources.openapi.naming import Naming
from planarena.environments.state import Record

__all__ = ["BEGUN", "counted", "is_new", "name_alike", "parts_of_name", "with_owners"]

_TOTALS = {"total", "totalcount", "totalresults", "totalitems", "totalrecords", "totalelements", "totalsize"}
BEGUN = r"(?i)(created?|new|open|submitted|pending|active|draft|queued|planned|scheduled|todo|to_do|backlog|started|enabled)$"
_MADE = r"\b(created?|creation|added|registered|joined|inserted|updated?|modified|modification|changed)\b"
_LEVELS = 3
# Numbers that somebody chooses, which do not begin at zero.
_CHOSEN = re.compile(
    r"\b(capacity|max|maximum|limit|quantity|qty|stock|seats?|guests?|rooms?|bedrooms?|bathrooms?|nights?|people|persons?|adults|children|copies|hours|days|weeks|months|points|size)\b"
)


def name_alike(made: dict[str, Any], naming: Naming | None) -> None:
    """Write the short form of a name as addresses on the web have it: `garden-tools` for "Garden tools"."""
    title = made.get(naming.main) if naming is not None and naming.kind == "title" else None
    for name, value in made.items():
        if (
            isinstance(title, str)
            and isinstance(value, str)
            and normal(name) in {"slug", "urlslug", "nameslug"}
        ):
            made[name] = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def parts_of_name(fields: Mapping[str, Any]) -> tuple[str, str]:
    """Return the first and the last name of the person whom fields tell of: by a name, a login or an address."""
    plain = {normal(name): value for name, value in fields.items() if isinstance(value, str)}
    first = next((plain[one] for one in ("firstname", "givenname") if one in plain), "")
    last = next((plain[one] for one in ("lastname", "familyname", "surname") if one in plain), "")
    if first and last:
        return first, last
    for name in ("name", "fullname", "displayname"):
        parts = plain.get(name, "").split(" ")
        if len(parts) == 2:
            return parts[0], parts[1]
    for name in ("username", "login", "email", "workemail"):
        match = re.match(r"([a-z]+)\.([a-z]+)(@|$)", plain.get(name, ""))
        if match:
            return match.group(1).capitalize(), match.group(2).capitalize()
    return "", ""


def is_new(name: str, value: Any, schema: Any, root: Any) -> bool:
    """Say whether a service has a value of its own for a new item: dates, states, counts, addresses on the web."""
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        kind = kind_of_number(name)
        return (kind in {"count", "total"} and not _CHOSEN.search(spaced(name))) or (
            kind == "epoch" and bool(re.search(_MADE, spaced(name)))
        )
    if not isinstance(value, str):
        return False
    kind = kind_of_text("", name)
    if kind in {"date", "date-time"}:
        return bool(re.search(_MADE, spaced(name)))
    if re.search(r"\bids?$", spaced(name)):
        return False  # it would belong to something that nobody named
    merged = merged_of(schema, root)
    begins = any(isinstance(one, str) and re.match(BEGUN, one) for one in merged.get("enum", ()))
    told = kind == "type" and "enum" not in merged  # which of several it is nobody said
    return kind in {"status", "uri", "id", "uuid", "secret"} or told or begins


def counted(base: Any, total: int, shown: int) -> Any:
    """Return an envelope whose counts are those of what it lists, and that has no further page."""
    if not isinstance(base, dict):
        return base
    made = {}
    for name, value in base.items():
        if isinstance(value, dict):
            made[name] = counted(value, total, shown)
        elif isinstance(value, bool):
            made[name] = (
                False
                if normal(name) in {"hasmore", "hasnext", "more", "truncated", "incomplete", "hasnextpage"}
                else value
            )
        elif isinstance(value, int) and normal(name) in {
            "count",
            "size",
            "itemcount",
            "recordcount",
            "numresults",
            "resultcount",
            "returned",
            "numfound",
            "totalfound",
        }:
            made[name] = shown
        elif isinstance(value, int) and normal(name) in _TOTALS:
            made[name] = total
        else:
            made[name] = value
    return made


def with_owners(
    value: Any, ids: Mapping[str, Any], owners: Mapping[str, tuple[Record, str]], level: int
) -> Any:
    """Return a result that names the owners whom the path named, wherever it speaks of them.

    Args:
        value: A part of it.
        ids: Values by normal name of their field.
        owners: Items and the fields of their ids, by normal noun.
        level: How deep the part stands.
    """
    if isinstance(value, list):
        return [with_owners(one, ids, owners, level) for one in value]
    if not isinstance(value, dict) or level > _LEVELS:
        return value
    made: dict[str, Any] = {}
    for name, inner in value.items():
        plain = normal(name)
        if plain in owners and isinstance(inner, dict):
            record, id_field = owners[plain]
            mine = {normal(word): own for word, own in record["fields"].items()}
            made[name] = {
                word: record["id"] if word == id_field else mine.get(normal(word), own)
                for word, own in inner.items()
            }
        elif plain in ids and isinstance(inner, str | int) and not isinstance(inner, bool):
            wanted = ids[plain]
            made[name] = (
                wanted if type(wanted) is type(inner) else str(wanted) if isinstance(inner, str) else inner
            )
            if isinstance(inner, int) and isinstance(wanted, str) and wanted.isdigit():
                made[name] = int(wanted)
        else:
            made[name] = with_owners(inner, ids, owners, level + 1)
    return made
