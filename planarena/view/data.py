"""Pages of runs: browsing, one trajectory or two, two runs, marks, the scorecard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from markupsafe import Markup

from planarena.export.escaping import visible
from planarena.quality.figures import figures_of
from planarena.records import Run
from planarena.report.reading import FAULTS
from planarena.report.scorecard import render_scorecard
from planarena.view.browse import FACETS, SORTS, Browser, Found, Table
from planarena.view.library import Folder, Library
from planarena.view.marks import Marks, default_reader
from planarena.view.pages import link, render
from planarena.view.trajectory import View, view_of

__all__ = ["pages"]

_STATE = ("q", *FACETS, "sort", "mark", "reader")


def pages(library: Library) -> Iterator[tuple[str, Callable[[Any], Any], list[str]]]:
    """Yield (path, page, methods)."""
    own = _Data(library)
    yield "/run/{key}", own.browse, ["GET"]
    yield "/run/{key}/scorecard", own.scorecard, ["GET"]
    yield "/run/{key}/t/{id}", own.trajectory, ["GET"]
    yield "/run/{key}/t/{id}/field/{field}", own.field, ["GET"]
    yield "/run/{key}/t/{id}/mark", own.mark, ["POST"]
    yield "/compare", own.compare, ["GET"]


class _Side(NamedTuple):
    folder: Folder
    run: Run
    table: Table
    found: Found


class _Data:
    def __init__(self, library: Library) -> None:
        self._library, self._browser = library, Browser()

    # -- one run -----------------------------------------------------------------------------------

    def browse(self, asked: Any) -> str:
        folder, run, table = self._open(asked.parts["key"])
        state = _state(asked)
        marks = Marks(run.path)
        wanted = _wanted(state, marks)
        found = table.find(wanted, asked.number("page"))
        reader = state.get("reader") or default_reader()
        return render(
            "browse.html",
            title=folder.name,
            place="data",
            folder=folder,
            found=found,
            total=table.total,
            facets=_facets(table, state),
            sorts=SORTS,
            state=state,
            shown={**state, "page": found.page or ""},
            marked=marks.of(reader),
            readers=marks.readers(),
            counts=marks.counts(reader),
            others=[one for one in self._library.folders() if one.kind == "run" and one.key != folder.key],
        )

    def scorecard(self, asked: Any) -> str:
        folder, run, _ = self._open(asked.parts["key"], table=False)
        # The section escapes every value itself.
        body = Markup(render_scorecard(run.info)) if run.info.get("scorecard") else ""  # noqa: S704
        return render(
            "scorecard.html",
            title=f"Scorecard of {folder.name}",
            place="data",
            folder=folder,
            body=body,
            facts=_facts(run),
        )

    def trajectory(self, asked: Any) -> str:
        folder, run, table = self._open(asked.parts["key"])
        name, state = asked.parts["id"], _state(asked)
        view = self._view(run, table, name)
        marks = Marks(run.path)
        before, after, place, number = table.around(_wanted(state, marks), name)
        reader = state.get("reader") or default_reader()
        beside = self._beside(asked.query.get("beside", ""))
        return render(
            "trajectory.html",
            title=f"{view.data['title']} in {folder.name}",
            place="data",
            folder=folder,
            one=view.data,
            beside=beside,
            before=before,
            after=after,
            at=place,
            number=number,
            state=state,
            family=[row for row in table.family(name) if row["trajectory_id"] != name],
            mark=marks.of(reader).get(name, {}),
            said=[(who, one) for who, one in marks.all().get(name, []) if who != reader],
            reader=reader,
            faults=FAULTS,
        )

    def field(self, asked: Any) -> tuple[str, str]:
        _, run, table = self._open(asked.parts["key"])
        fields = self._view(run, table, asked.parts["id"]).fields
        if asked.parts["field"] not in fields:
            raise LookupError("the trajectory has no such field")
        return "text", visible(fields[asked.parts["field"]])

    def mark(self, asked: Any) -> tuple[str, str]:
        _, run, table = self._open(asked.parts["key"])
        name, form = asked.parts["id"], asked.form or {}
        if table.shard(name) is None:
            raise LookupError("there is no such trajectory")
        reader = form.get("reader") or default_reader()
        Marks(run.path).mark(
            reader, name, form.get("verdict", ""), form.get("reason", ""), form.get("note", "")
        )
        state = {**_state(asked), "reader": reader}
        after = form.get("after", "")
        target = after if form.get("go") == "next" and table.shard(after) else name
        return "see", link(f"/run/{asked.parts['key']}/t/{target}", state)

    # -- two runs ----------------------------------------------------------------------------------

    def compare(self, asked: Any) -> str:
        state = _state(asked)
        sides = []
        for side in ("a", "b"):
            folder, run, table = self._open(asked.query.get(side, ""))
            found = table.find(_wanted(state, Marks(run.path)), asked.number("page"), size=20)
            sides.append(_Side(folder, run, table, found))
        first, second = sides
        return render(
            "compare.html",
            title=f"{first.folder.name} beside {second.folder.name}",
            place="data",
            sides=sides,
            state=state,
            own={"a": first.folder.key, "b": second.folder.key},
            page=asked.number("page"),
            rows=_beside_each_other([first.run, second.run]),
            facets=_facets(first.table, state),
        )

    # -- parts -------------------------------------------------------------------------------------

    def _open(self, key: str, *, table: bool = True) -> tuple[Folder, Run, Table]:
        folder = self._library.get(key, "run")
        if folder is None:
            raise LookupError("there is no such run")
        run = Run.open(folder.path)
        return folder, run, self._browser.table(run) if table else None  # type: ignore[return-value]

    def _view(self, run: Run, table: Table, name: str) -> View:
        shard = table.shard(name)
        if shard is None:
            raise LookupError("there is no such trajectory in this run")
        return view_of(run, shard, name)

    def _beside(self, wanted: str) -> dict[str, Any] | None:
        """Read the trajectory `KEY:ID` to show beside."""
        key, _, name = wanted.partition(":")
        if not name:
            return None
        folder, run, table = self._open(key)
        return {"folder": folder, "one": self._view(run, table, name).data}


def _state(asked: Any) -> dict[str, str]:
    return {name: asked.query[name] for name in _STATE if asked.query.get(name)}


def _wanted(state: dict[str, str], marks: Marks) -> dict[str, str]:
    wanted = dict(state)
    if state.get("mark"):
        judged = marks.of(state.get("reader") or default_reader())
        wanted["ids"] = ",".join(name for name, one in judged.items() if one["verdict"] == state["mark"])
    return wanted


def _facets(table: Table, state: dict[str, str]) -> list[dict[str, Any]]:
    """Return the filters that can filter something, or do."""
    return [
        {"name": name, "label": label, "values": table.facets[name], "chosen": state.get(name, "")}
        for name, label in FACETS.items()
        if state.get(name)
        or len(table.facets[name]) > 1
        or (table.facets[name] and table.facets[name][0][1] < table.total)
    ]


def _facts(run: Run) -> list[tuple[str, Any]]:
    counts = run.info.get("counts")
    known = counts if isinstance(counts, dict) else {}
    facts: list[tuple[str, Any]] = [
        (name.replace("_", " "), value) for name, value in known.items() if isinstance(value, int | float)
    ]
    for name in ("gold_kind", "gold_domain", "gold_length"):
        if isinstance(known.get(name), dict):
            listed = ", ".join(f"{key}: {value}" for key, value in sorted(known[name].items()))
            facts.append((name.replace("_", " "), listed))
    return facts


def _beside_each_other(runs: list[Run]) -> list[tuple[str, str, list[str]]]:
    """Return (name, meaning, a value for each run) of the counts and the scorecards."""
    facts = [dict(_facts(run)) for run in runs]
    rows = [
        (name, "", [str(one.get(name, "")) for one in facts])
        for name in dict.fromkeys(name for one in facts for name in one)
    ]
    cards = [
        {figure.name: figure for figure in figures_of(run.info["scorecard"])}
        if run.info.get("scorecard")
        else {}
        for run in runs
    ]
    for name in dict.fromkeys(name for card in cards for name in card):
        known = next(card[name] for card in cards if name in card)
        rows.append((name, known.meaning, [card[name].value if name in card else "" for card in cards]))
    return rows
