"""Pages of evaluations: every item, two models side by side, the whole row a link away."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from planarena.eval.items_page import shown_item, shown_side
from planarena.export.escaping import visible
from planarena.view.items import Entry, Joined, Shelf
from planarena.view.library import Folder, Library
from planarena.view.pages import render

__all__ = ["pages"]

_STATE = ("q", "verdict", "suite", "category", "reason")


def pages(library: Library) -> Iterator[tuple[str, Callable[[Any], Any], list[str]]]:
    """Yield (path, page, methods)."""
    own = _Evaluation(library)
    yield "/items", own.browse, ["GET"]
    yield "/items/{item}", own.item, ["GET"]
    yield "/items/{item}/whole/{side}", own.whole, ["GET"]


class _Evaluation:
    def __init__(self, library: Library) -> None:
        self._library, self._shelf = library, Shelf()

    def browse(self, asked: Any) -> str:
        folders, joined = self._open(asked)
        state = _state(asked)
        own = {"e": ",".join(one.key for one in folders)}
        others = [one for one in self._library.folders() if one.kind == "evaluation" and one not in folders]
        return render(
            "items.html",
            title=" beside ".join(one.name for one in folders),
            place="evaluation",
            folders=folders,
            found=joined.find(state, asked.number("page")),
            total=len(joined.entries),
            unread=sum(side.unread for side in joined.sides),
            facets=joined.facets(state),
            state=state,
            own=own,
            others=others if len(folders) == 1 else [],
        )

    def item(self, asked: Any) -> str:
        folders, joined = self._open(asked)
        state, entry = _state(asked), self._entry(joined, asked)
        names = [one.name for one in joined.fitting(state)]
        place = names.index(entry.name) if entry.name in names else -1
        rows = [side.row(entry.key) for side in joined.sides]
        known = [row for row in rows if row is not None]
        if not known:
            raise LookupError("the item is not there any more")
        return render(
            "item.html",
            title=f"{entry.key[1]} of {entry.key[0]}",
            place="evaluation",
            folders=folders,
            entry=entry,
            shared=shown_item(known[0]),
            sides=[None if row is None else shown_side(row) for row in rows],
            state=state,
            own={"e": ",".join(one.key for one in folders)},
            before=names[place - 1] if place > 0 else "",
            after=names[place + 1] if 0 <= place < len(names) - 1 else "",
            at=place,
            number=len(names),
        )

    def whole(self, asked: Any) -> tuple[str, str]:
        _, joined = self._open(asked)
        entry, side = self._entry(joined, asked), asked.parts["side"]
        if side not in ("0", "1") or int(side) >= len(joined.sides):
            raise LookupError("there is no such evaluation")
        row = joined.sides[int(side)].row(entry.key)
        if row is None:
            raise LookupError("the evaluation has no such item")
        parts = [
            f"{name}\n{value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)}"
            for name, value in row.items()
        ]
        return "text", visible("\n\n".join(parts))

    def _open(self, asked: Any) -> tuple[list[Folder], Joined]:
        keys = list(dict.fromkeys(asked.values("e")))
        found = [self._library.get(key, "evaluation") for key in keys[:2]]
        folders = [one for one in found if one is not None]
        if not folders or len(folders) < len(found):
            raise LookupError("there is no such evaluation")
        return folders, self._shelf.joined([one.path for one in folders])

    def _entry(self, joined: Joined, asked: Any) -> Entry:
        entry = joined.by_name.get(asked.parts["item"])
        if entry is None:
            raise LookupError("there is no such item")
        return entry


def _state(asked: Any) -> dict[str, str]:
    return {name: asked.query[name] for name in _STATE if asked.query.get(name)}
