"""Faults: what is seeded to go wrong in a world, as records of its state, so that it replays and is undone exactly.

The table `faults.pending` holds at most one record per tool, under the tool's name. It strikes when the tool is called
with arguments that fit its schema, before the tool runs:

| field | means |
|---|---|
| `code`, `message` | the call fails with this error |
| `skip` | so many calls go through before |
| `left` | so many calls fail, then the record is gone; 0: every call fails, and nothing changes |
| `until` | calls fail until this other tool was called (a stale version: read again, then write) |
| `changes` | `[[table, id, {field: value}]]`: what has happened in the meantime; then the tool runs, and the record is gone |

A fault that has struck leaves no trace, so that the state in the end is that of a world without it. What every call of a
tool does, faults do too: they count in the state's hash, in marks and rollbacks, and in what is remembered.
"""

from __future__ import annotations

from typing import Any

from planarena.environments.state import Store, View

__all__ = ["FAULTS", "Faults", "fault_record"]

FAULTS = "faults.pending"
_SPACE, _TABLE = FAULTS.split(".")


def fault_record(
    code: str = "",
    message: str = "",
    *,
    skip: int = 0,
    left: int = 1,
    until: str = "",
    changes: list[list[Any]] | None = None,
) -> dict[str, Any]:
    """Return a record of the table of faults; see the module."""
    record: dict[str, Any] = {"code": code, "message": message, "skip": skip, "left": left}
    if until:
        record["until"] = until
    if changes is not None:
        record["changes"] = changes
    return record


class Faults:
    """The faults of a world.

    Args:
        store: Its state.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._view: View = store.view(_SPACE)

    def strike(self, tool: str) -> tuple[str, str] | None:
        """Let a call meet what is seeded for its tool; return (code, message) if it fails of that, else None."""
        record = self._view.get(_TABLE, tool)
        if record is None:
            return None
        if "clears" in record:
            self._clear(tool, record["clears"])
            return None
        if record["skip"]:
            self._view.patch(_TABLE, tool, skip=record["skip"] - 1)
            return None
        if "changes" in record:
            self._happen(record["changes"])
            self._view.delete(_TABLE, tool)
            return None
        if "until" in record:
            # From now on the other tool ends it: what was called before does not count.
            if self._view.get(_TABLE, record["until"]) is None:
                self._view.put(_TABLE, record["until"], {"clears": tool})
        elif record["left"] == 1:
            self._view.delete(_TABLE, tool)
        elif record["left"]:
            self._view.patch(_TABLE, tool, left=record["left"] - 1)
        return record["code"], record["message"]

    def _clear(self, tool: str, struck: str) -> None:
        self._view.delete(_TABLE, tool)
        if self._view.get(_TABLE, struck) is not None:
            self._view.delete(_TABLE, struck)

    def _happen(self, changes: list[list[Any]]) -> None:
        for table, key, fields in changes:
            space, _, name = table.partition(".")
            view = self._store.view(space)
            if view.get(name, key) is not None:
                view.patch(name, key, **fields)
