"""The page of items of one or two evaluations, for `planarena report --items`."""

from __future__ import annotations

from pathlib import Path

from planarena.errors import UserError

__all__ = ["items_page"]


def items_page(folders: list[Path]) -> str:
    """Return the page.

    Raises:
        UserError: More than two evaluations, or one without its items.
    """
    from planarena.eval.items import read_items
    from planarena.eval.items_page import render_items

    if len(folders) > 2:
        raise UserError(
            "a page of items holds one or two evaluations", where="--items", fix="name two folders"
        )
    for folder in folders:
        if not (folder / "items.jsonl").is_file():
            raise UserError(
                "holds no items.jsonl",
                where=str(folder),
                fix="run `planarena eval` again; it asks nothing anew",
            )
    return render_items([folder.name for folder in folders], [read_items(folder) for folder in folders])
