"""`planarena audit`: people judge trajectories, in the real Argilla or on a sheet."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planarena.cli._options import AsJson

if TYPE_CHECKING:
    from planarena.annotation import Pulled, ServerState

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Let people judge trajectories, in Argilla or on a sheet.",
)

_DataDir = Annotated[
    Path | None, typer.Option("--data-dir", metavar="D", help="The embedded server's data directory.")
]
_RunPath = Annotated[str, typer.Argument(metavar="RUN", help="The run directory.")]
_Overlap = Annotated[int, typer.Option("--overlap", metavar="N", help="How many people judge each item.")]
_Blind = Annotated[
    float, typer.Option("--blind", metavar="SHARE", help="The share of items without suggestions.")
]
_Limit = Annotated[
    int | None, typer.Option("--limit", metavar="N", help="Most trajectories, and most decision points.")
]
_Dataset = Annotated[
    str, typer.Option("--dataset", metavar="NAME", help="The datasets' common name; the run's by default.")
]
_Adjudicate = Annotated[
    bool, typer.Option("--adjudicate", help="Only what people disagree about, with their answers.")
]
_MinAnswers = Annotated[
    int | None,
    typer.Option("--min-answers", metavar="N", help="Answers a label needs; the overlap by default."),
]
_Correct = Annotated[bool, typer.Option("--correct/--no-correct", help="Execute corrected calls.")]
_Passwords = Annotated[
    bool, typer.Option("--passwords", help="Print names and passwords once, on this terminal.")
]


@app.command()
def up(
    data_dir: _DataDir = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on.")] = 6900,
    annotators: Annotated[
        str, typer.Option("--annotators", metavar="ann,bob", help="People who shall have an account.")
    ] = "",
    detach: Annotated[bool, typer.Option("--detach", help="Leave it running in the background.")] = False,
    passwords: _Passwords = False,
    as_json: AsJson = False,
) -> int:
    """Start the real Argilla on this machine: its server and its page, nothing else needed."""
    from planarena.annotation import is_loopback, start_server
    from planarena.errors import Interrupted

    if not is_loopback(host):
        print(
            f"WARNING: {host} can be reached from other machines, and the page speaks plain HTTP: passwords and data\n"
            "WARNING: can be read on the way. Keep the default and let people come through an SSH tunnel or a proxy\n"
            "WARNING: with TLS, or use annotation/deploy/compose.yaml.",
            file=sys.stderr,
        )
    signal.signal(signal.SIGTERM, _interrupt)
    names = [name.strip() for name in annotators.split(",") if name.strip()]
    state, process = start_server(
        _folder(data_dir, remember=True), host=host, port=port, annotators=names, detach=detach
    )
    _print_state(state, as_json, passwords)
    if detach:
        return 0
    try:
        code = process.wait()
    except KeyboardInterrupt as error:
        process.terminate()
        process.wait()
        raise Interrupted("stopped; `planarena audit up` goes on where it was") from error
    return int(code != 0)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@app.command()
def down(data_dir: _DataDir = None, as_json: AsJson = False) -> None:
    """Stop the embedded server; everything it holds stays."""
    from planarena.annotation import stop_server

    stopped = stop_server(_folder(data_dir))
    _echo({"stopped": stopped}, "stopped" if stopped else "no server was running", as_json)


@app.command()
def status(data_dir: _DataDir = None, passwords: _Passwords = False, as_json: AsJson = False) -> int:
    """Say whether the embedded server runs, and where; exit 1 if it does not."""
    from planarena.annotation import server_state

    state = server_state(_folder(data_dir))
    _print_state(state, as_json, passwords)
    return int(not state.answers)


@app.command()
def push(
    run: _RunPath,
    overlap: _Overlap = 2,
    blind: _Blind = 0.2,
    limit: _Limit = None,
    dataset: _Dataset = "",
    adjudicate: _Adjudicate = False,
    data_dir: _DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Push a run's trajectories and decision points to Argilla; pushing again sends only what is new."""
    from planarena.annotation import Plan, find_place, push_run
    from planarena.records import Run

    opened = Run.open(run)
    place = find_place(_folder(data_dir))
    plan = Plan(overlap, blind, limit, dataset, adjudicate)
    with _Watch(as_json) as watch:
        pushed = push_run(opened, place, plan, watch.show)
    lines = [f"{one.dataset}: {one.items} items, {one.new} new, {one.changed} changed" for one in pushed]
    if not as_json:
        lines.append(f"annotators open {place.url}; then: planarena audit pull {run}")
    _echo({"url": place.url, "datasets": [one._asdict() for one in pushed]}, "\n".join(lines), as_json)


@app.command()
def pull(
    run: _RunPath,
    dataset: _Dataset = "",
    min_answers: _MinAnswers = None,
    correct: _Correct = True,
    data_dir: _DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Bring answers back: the tables audits and labels, agreement, disagreements, corrections."""
    from planarena.annotation import find_place, pull_run
    from planarena.records import Run

    opened = Run.open(run)
    pulled = pull_run(opened, find_place(_folder(data_dir)), dataset, min_answers, correct=correct)
    _print_pulled(run, pulled, as_json)


@app.command("export")
def export_(
    run: _RunPath,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")],
    overlap: _Overlap = 2,
    blind: _Blind = 0.2,
    limit: _Limit = None,
    adjudicate: _Adjudicate = False,
    as_json: AsJson = False,
) -> None:
    """Write the same task as a page that needs no server, and as JSON lines."""
    from planarena.annotation import Plan, export_run
    from planarena.records import Run

    written = export_run(Run.open(run), out, Plan(overlap, blind, limit, "", adjudicate))
    files = [str(path) for path in written]
    shown = [*files, f"then: planarena audit import {run} ANSWERS.jsonl..."]
    _echo({"files": files}, "\n".join(shown), as_json)


@app.command("import")
def import_(
    run: _RunPath,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="What the sheet saved, or RUN/readings/*.json.")
    ],
    annotator: Annotated[
        str, typer.Option("--annotator", metavar="NAME", help="Whose they are, where lines do not say.")
    ] = "",
    min_answers: _MinAnswers = None,
    correct: _Correct = True,
    as_json: AsJson = False,
) -> None:
    """Take answers from a sheet's files or from readings; everything else is as after a pull."""
    from planarena.annotation import import_answers
    from planarena.records import Run

    pulled = import_answers(Run.open(run), files, annotator, min_answers, correct=correct)
    _print_pulled(run, pulled, as_json)


def _folder(data_dir: Path | None, *, remember: bool = False) -> Path:
    """Return the server's folder: the one that is named, else the one that `audit up` was given last, else the usual one."""
    from planarena.annotation import default_data_directory

    usual = default_data_directory()
    note = usual.with_name("audit-data-dir")
    if data_dir is not None:
        folder = data_dir.expanduser().absolute()
        if remember:
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(f"{folder}\n", encoding="utf-8")
        return folder
    with contextlib.suppress(OSError, ValueError):
        kept = Path(note.read_text(encoding="utf-8").rstrip("\n"))
        if kept.is_absolute() and kept.is_dir():
            return kept
    return usual.expanduser().absolute()


def _accounts(folder: Path) -> list[tuple[str, str]]:
    """Return the names and passwords of a server, for the terminal alone."""
    from planarena.annotation.embedded import read_credentials

    found = read_credentials(folder)
    people = [found.owner, *(account for _, account in sorted(found.annotators.items()))]
    return [(account.username, account.password) for account in people]


def _echo(result: dict[str, Any], text: str, as_json: bool) -> None:
    if as_json:
        import json

        typer.echo(json.dumps(result))
    else:
        from planarena.cli import plain

        typer.echo(plain(text))


def _print_state(state: ServerState, as_json: bool, passwords: bool = False) -> None:
    secrets = state.data_dir / "credentials.json"
    result = {
        "running": state.running,
        "answers": state.answers,
        "url": state.url,
        "pid": state.pid,
        "data_dir": str(state.data_dir),
        "credentials": str(secrets),
    }
    if not state.running:
        text = f"no server runs in {state.data_dir}; `planarena audit up --detach` starts one"
    else:
        text = f"Argilla is at {state.url} (process {state.pid})" + (
            "" if state.answers else ", but does not answer"
        )
        text += f"\nnames and passwords are in {secrets}, which only you can read"
        if passwords:
            text += "".join(f"\n  {name}  {password}" for name, password in _accounts(state.data_dir))
    _echo(result, text, as_json)


def _print_pulled(run: str, pulled: Pulled, as_json: bool) -> None:
    if as_json:
        import json

        result = pulled._asdict() | {"corrections": [one._asdict() for one in pulled.corrections]}
        typer.echo(json.dumps(result))
        return
    told = ", ".join(f"{number} about {name}" for name, number in sorted(pulled.answers.items())) or "none"
    labels = ", ".join(f"{number} {label}" for label, number in sorted(pulled.labels.items())) or "none yet"
    lines = [f"answers        {told}", f"labels         {labels}; {pulled.waiting} wait for more answers"]
    for question in ("query_ok", "goal_ok", "right_choices"):
        for group in ("all", "blind", "assisted"):
            if (found := pulled.agreement.get(question, {}).get(group)) and found["units"]:
                lines.append(_agreement_line(f"{question} ({group})", found))
    lines.append(f"disagreements  {pulled.disagreements} to decide" + _hint(run, pulled))
    lines.append(f"repairable     {pulled.repairable} whose query was judged wrong")
    accepted = [one for one in pulled.corrections if one.new_id]
    lines.append(
        f"corrections    {len(accepted)} of {len(pulled.corrections)} run and reach a goal"
        + (f": {os.path.join(run, 'audit', 'corrections')}" if accepted else "")  # noqa: PTH118
    )
    lines += [f"refused        {reason}" for reason in pulled.refused[:10]]
    lines.append(f"written        {run}/tables/audits, {run}/tables/labels, {run}/audit/")
    _echo({}, "\n".join(lines), as_json=False)


def _hint(run: str, pulled: Pulled) -> str:
    return f": planarena audit push {run} --adjudicate" if pulled.disagreements else ""


def _agreement_line(name: str, found: dict[str, Any]) -> str:
    def shown(value: float | None) -> str:
        return "undefined" if value is None else f"{value:.3f}"

    kappas = "; ".join(f"{pair} {shown(one['kappa'])}" for pair, one in found["cohen_kappa"].items())
    return (
        f"agreement      {name}: {found['units']} items, alpha {shown(found['krippendorff_alpha'])}, "
        f"Cohen's kappa {kappas}"
    )


class _Watch:
    """Shows progress: a bar on a terminal, plain lines otherwise, nothing with --json."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> _Watch:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
            self._bar = Progress(
                *columns, TextColumn("left"), TimeRemainingColumn(), console=Console(stderr=True)
            )
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, name: str, done: int, total: int) -> None:
        if self._bar is not None:
            if name not in self._tasks:
                self._tasks[name] = self._bar.add_task(name, total=total)
            self._bar.update(self._tasks[name], completed=done)
        elif not self._quiet and (done >= total or done % 500 == 0):
            print(f"{name}: {done} of {total}", file=sys.stderr, flush=True)
