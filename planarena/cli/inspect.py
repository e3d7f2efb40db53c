"""`planarena inspect`: what a run holds, one trajectory as a tree, or what was thrown away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planarena.cli import plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from planarena.export.trajectories import JoinedTrajectory
    from planarena.pipeline.run.ledger import Ledger
    from planarena.records.run import Run

__all__ = ["inspect"]

QUARANTINE, MODELS = "quarantine", "models"


def inspect(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory of a finished build.")],
    id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A trajectory's id, or how it begins.")
    ] = None,
    discarded: Annotated[
        str | None,
        typer.Option(
            "--discarded",
            metavar="REASON",
            help="List discards of a stage or reason; quarantine, models, or all.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Most rows to list.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    read: Annotated[
        int | None,
        typer.Option(
            "--read",
            metavar="N",
            min=1,
            max=1000,
            help="Draw N gold trajectories at random as a page to pass or fail each.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", min=0, help="Of --read: another draws others.")
    ] = 0,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Of --read: the page.", show_default=True)
    ] = Path("reading.html"),
) -> None:
    """Show what a run holds, or one trajectory as a tree, or discards with their evidence."""
    from planarena.errors import UserError
    from planarena.records import Run

    opened = Run.open(run)
    if read is not None:
        if id is not None or discarded is not None:
            raise UserError(
                "--read draws at random; ID and --discarded ask for something else",
                where="inspect",
                fix="leave one out",
            )
        _write_reading(opened, read, seed, out, as_json)
        return
    if id is not None and discarded is not None:
        raise UserError("ID and --discarded ask for two things", where="inspect", fix="leave one out")
    if discarded == QUARANTINE:
        found = _quarantined(opened)
        _print_rows(found[:limit], len(found), ("scenario", "phase", "error", "detail"), as_json)
    elif discarded == MODELS:
        found = _failed_requests(opened)
        _print_rows(found[:limit], len(found), ("part", "model", "error", "detail"), as_json)
    elif discarded is not None:
        rows, total = _discards(opened, discarded, limit)
        _print_rows(rows, total, ("stage", "reason", "expression", "detail"), as_json)
    elif id is not None:
        from planarena.cli._trajectory import as_data, as_tree

        trajectory = _find(opened, id)
        if as_json:
            _print_json(as_data(trajectory))
        else:
            _console().print(as_tree(trajectory))
    else:
        _summarise(opened, limit, as_json)


def _console() -> Console:
    from rich.console import Console

    # What is shown comes from data: nothing in it is markup, an emoji code or worth a colour of its own.
    return Console(markup=False, emoji=False, highlight=False)


def _print_json(value: Any) -> None:
    import json

    typer.echo(json.dumps(value, ensure_ascii=True, indent=2))


def _write_reading(run: Run, number: int, seed: int, out: Path, as_json: bool) -> None:
    from planarena.errors import UserError
    from planarena.records.shards import write_durably
    from planarena.report.reading import draw_trajectories, render_reading

    drawn = draw_trajectories(run, number, seed)
    page = render_reading(run.path.resolve().name, drawn, seed)
    try:
        write_durably(out, page.encode())
    except OSError as error:
        raise UserError(
            f"the page cannot be written: {error.strerror}", where=str(out), fix="name a file with --out"
        ) from error
    if as_json:
        ids = [one.row.trajectory_id for one in drawn]
        _print_json({"page": str(out), "seed": seed, "trajectories": ids})
    else:
        few = f" (the run has no more than {len(drawn)})" if len(drawn) < number else ""
        _console().print(
            plain(f"{len(drawn)} trajectories{few} in {out}: open it in a browser, judge each, save the file")
        )


# -- one trajectory --------------------------------------------------------------------------------


def _find(run: Run, prefix: str) -> JoinedTrajectory:
    from planarena.errors import RunError
    from planarena.export.trajectories import find_ids, join_trajectories

    found = find_ids(run, prefix, most=6)
    if not found:
        raise RunError(
            f"has no trajectory whose id begins with {prefix!r}",
            where=str(run.path),
            fix=f"`planarena inspect {run.path}` lists some",
        )
    if len(found) > 1:
        names = ", ".join(name for name, _ in found[:5]) + (", ..." if len(found) > 5 else "")
        raise RunError(
            f"{prefix!r} begins several ids: {names}", where=str(run.path), fix="write more of the id"
        )
    (name, shard) = found[0]
    return next(iter(join_trajectories(run, {shard}, lambda row: row.trajectory_id == name)))


# -- discards --------------------------------------------------------------------------------------


def _discards(run: Run, wanted: str, limit: int) -> tuple[list[dict[str, Any]], int]:
    """Return the first discards of a stage, a reason or `stage:reason`, and how many there are."""
    from difflib import get_close_matches

    from planarena.errors import UserError

    counted: dict[str, int] = run.info["counts"].get("discard", {})
    known = {word for key in counted for word in (key, *key.split(":", 1))} | {QUARANTINE, "all"}
    if wanted not in known:
        near = get_close_matches(wanted, sorted(known), n=1)
        listed = ", ".join(sorted(known - set(counted)))
        raise UserError(
            f"there is no discard of stage or reason {wanted!r}",
            where="--discarded",
            fix=f"did you mean {near[0]}?" if near else f"one of: {listed}",
        )
    rows: list[dict[str, Any]] = []
    total = 0
    import pyarrow.parquet

    for path in run.shards("discards"):
        for row in pyarrow.parquet.read_table(path).to_pylist():
            if wanted in {"all", row["stage"], row["reason"], f"{row['stage']}:{row['reason']}"}:
                total += 1
                if len(rows) < limit:
                    rows.append(row)
    return rows, total


def _quarantined(run: Run) -> list[dict[str, Any]]:
    """Return the scenarios that failed unexpectedly; details are in the ledger, which a copied run may lack."""
    found = _in_ledger(run, lambda ledger: ledger.quarantined())
    if found is None:
        return [
            {**entry, "phase": "", "detail": "the ledger is not here"}
            for entry in run.info.get("quarantined", [])
        ]
    return [
        {"scenario": scenario, "chunk": chunk, "phase": phase, "error": error, "detail": detail}
        for scenario, chunk, phase, error, detail in found
    ]


def _failed_requests(run: Run) -> list[dict[str, Any]]:
    """Return the requests to models that gave nothing of use."""
    names = ("chunk", "scenario", "item", "part", "model", "error", "detail")
    found = _in_ledger(run, lambda ledger: ledger.failures()) or []
    return [dict(zip(names, row, strict=True)) for row in found]


def _in_ledger(run: Run, read: Callable[[Ledger], list[Any]]) -> list[Any] | None:
    """Read something in the ledger; None without one."""
    import sqlite3

    from planarena.errors import RunError
    from planarena.pipeline.run.ledger import Ledger

    path = run.path / "ledger.sqlite"
    if not path.is_file():
        return None
    try:
        ledger = Ledger(path)
        try:
            return read(ledger)
        finally:
            ledger.close()
    except sqlite3.OperationalError as error:
        raise RunError(
            f"the ledger cannot be read: {error}", where=str(path), fix="wait for the build that runs here"
        ) from error


def _print_rows(rows: list[dict[str, Any]], total: int, columns: tuple[str, ...], as_json: bool) -> None:
    if as_json:
        _print_json({"total": total, "rows": rows})
        return
    from rich.text import Text

    console = _console()
    for row in rows:
        *heads, detail = (plain(str(row[name])) for name in columns)
        line = Text("  ".join(heads), "bold")
        line.append(f"\n    {detail.strip().replace(chr(10), chr(10) + '    ')}", "not bold")
        console.print(line)
    more = f", {len(rows)} are shown; --limit shows more" if len(rows) < total else ""
    console.print(f"{total} found{more}")


# -- a run -----------------------------------------------------------------------------------------


def _summarise(run: Run, limit: int, as_json: bool) -> None:
    from itertools import islice

    from planarena.export.trajectories import join_trajectories

    info = run.info
    counts: dict[str, Any] = info["counts"]
    first: list[dict[str, Any]] = [
        {
            "trajectory_id": one.row.trajectory_id,
            "kind": one.row.kind,
            "domain": one.scenario.domain,
            "n_actions": one.row.n_actions,
            "expression": one.task.expression,
            "query": "\n".join(one.turns),
        }
        for one in islice(join_trajectories(run), limit)
    ]
    if as_json:
        _print_json(
            {
                "run": str(run.path),
                "stop_reason": info["stop_reason"],
                "counts": counts,
                "quarantined": info.get("quarantined", []),
                "trajectories": first,
            }
        )
        return
    console = _console()
    console.print(_facts(info, counts))
    console.print(_listing(first))
    console.print(
        plain(f"next: planarena inspect {run.path} {first[0]['trajectory_id'][:8] if first else 'ID'}")
    )


def _facts(info: dict[str, Any], counts: dict[str, Any]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    gold = counts.get("gold", 0)

    def listed(name: str) -> str:
        return "  ".join(f"{key}: {number}" for key, number in sorted(counts.get(name, {}).items()))

    def share(name: str) -> str:
        return f"{100 * counts.get(name, 0) / gold:.0f} %" if gold else "-"

    discards: dict[str, int] = counts.get("discard", {})
    table = Table(box=None, show_header=False, pad_edge=False)
    for label, value in (
        ("gold, by execution kind", listed("gold_kind")),
        ("by domain", listed("gold_domain")),
        ("by actions", listed("gold_length")),
        (
            "with",
            f"parallel group {share('gold_parallel')}   data edge {share('gold_data_edge')}   "
            f"order edge {share('gold_order_edge')}",
        ),
        ("scenarios", f"{counts.get('scenarios', 0)}, of which {len(info.get('quarantined', []))} failed"),
        ("discarded", f"{sum(discards.values())} candidates; --discarded all lists them"),
        ("stopped by", str(info["stop_reason"])),
    ):
        table.add_row(Text(label, "dim"), Text(plain(value)))
    return table


def _listing(rows: list[dict[str, Any]]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, title_justify="left")
    for name in ("id", "kind", "domain", "actions", "query"):
        table.add_column(name, no_wrap=name != "query", overflow="ellipsis")
    for row in rows:
        table.add_row(
            Text(row["trajectory_id"][:12]),
            Text(plain(row["kind"])),
            Text(plain(row["domain"])),
            Text(str(row["n_actions"])),
            Text(plain(row["query"]), no_wrap=True, overflow="ellipsis"),
        )
    return table
