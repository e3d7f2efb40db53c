"""`planarena env`: write, check, show and play environments that are folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planarena.cli import plain
from planarena.cli._options import AsJson
from planarena.cli.env_draft import draft

if TYPE_CHECKING:
    from planarena.config import BuildConfig
    from planarena.environments.sources.source import SourceOptions, Unit
    from planarena.pipeline.aim_samples import AimSamples

__all__ = ["app"]

_WORLDS = 20

app = typer.Typer(add_completion=False, help="Write, draft, check, show and play environments.")

Folder = Annotated[str, typer.Argument(metavar="ENV", help="An environment folder, or builtin:DOMAIN.")]
Trusted = Annotated[
    bool, typer.Option("--trusted", help="Run your own folder in process, without a sandbox.")
]
Unsafe = Annotated[bool, typer.Option("--unsafe-no-sandbox", help="Run it outside of the sandbox.")]


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A word for it, as `car_rental`.")],
    directory: Annotated[Path, typer.Option("--dir", help="Where the folder is written.")] = Path(),
    title: Annotated[str, typer.Option("--title", help="What it is, in a few words.")] = "",
) -> None:
    """Write a small environment that works as it is, to be changed into yours."""
    import re
    from importlib.resources import files

    from planarena.errors import UserError

    if re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name) is None:
        raise UserError(
            f"{name!r} cannot name an environment", where="NAME", fix="write lower-case letters, digits and _"
        )
    folder = directory / name
    if folder.exists():
        raise UserError("is there already", where=str(folder), fix="give another NAME, or another --dir")
    words = {
        "NAME": name,
        "CLASS": "".join(part.capitalize() for part in name.split("_")),
        "TITLE": title.strip() or f"The counter of a {name.replace('_', ' ')}",
    }
    folder.mkdir(parents=True)
    for item in sorted(
        files("planarena.environments").joinpath("template").iterdir(), key=lambda one: one.name
    ):
        text = item.read_text(encoding="utf-8")
        for key, value in words.items():
            text = text.replace(f"@{key}@", value)
        (folder / item.name.removesuffix(".txt")).write_text(text, encoding="utf-8")
    shown = plain(str(folder))
    typer.echo(f"wrote {shown}: environment.py, world.py, words.yaml, goals.yaml, seeds.yaml, README.md")
    typer.echo(f"next: planarena env check {shown}")


@app.command()
def check(
    folder: Folder,
    tasks: Annotated[
        int, typer.Option("--tasks", metavar="N", help="Fewest composed tasks of each length.")
    ] = 3,
    trusted: Trusted = False,
    unsafe: Unsafe = False,
    as_json: AsJson = False,
) -> int:
    """Hold an environment to the contract; each finding says what to write instead. Exit 2 if there is one."""
    import json

    import msgspec

    from planarena.environments.check import Finding, check_folder, too_few_tasks

    path = _folder_of(folder)
    options = _options(trusted or folder.startswith("builtin:"), unsafe)
    findings = check_folder(path, options)
    lengths: dict[str, int] = {}
    if not findings and tasks > 0:
        lengths = _count_tasks(folder if folder.startswith("builtin:") else f"env:{path}", trusted, unsafe)
        findings = too_few_tasks(lengths, tasks)
        findings += [
            Finding(
                "goals",
                f"goals.yaml: {one.name}",
                f"is never drawn in {_WORLDS} worlds"
                + "".join(f"; {count} times: {why}" for why, count in one.misfits.most_common(2)),
                "loosen what it picks or needs, or have the world hold what it is about",
            )
            for one in _aim_samples(_source_of(folder), "", trusted, unsafe, _WORLDS)
            if not one.told
        ]
    if as_json:
        typer.echo(
            json.dumps(
                {"ok": not findings, "findings": msgspec.to_builtins(findings), "tasks": lengths}, indent=2
            )
        )
    else:
        for one in findings:
            typer.echo(plain(f"{one.rule}: {one.where}: {one.what}\n  fix: {one.fix}"))
        if findings:
            typer.echo(f"{len(findings)} finding{'s' if len(findings) > 1 else ''}")
        else:
            counts = ", ".join(f"{number} of {length}" for length, number in sorted(lengths.items()))
            typer.echo(f"no findings{f'; composed tasks by actions: {counts}' if counts else ''}")
            typer.echo(f"next: planarena env show {plain(folder)}")
    return 2 if findings else 0


app.command()(draft)


@app.command()
def show(
    folder: Folder,
    aims: Annotated[
        int, typer.Option("--aims", metavar="N", help="Show N samples of every aim, and nothing else.")
    ] = 0,
    aim: Annotated[str, typer.Option("--aim", metavar="NAME", help="Samples of this aim alone.")] = "",
    trusted: Trusted = False,
    unsafe: Unsafe = False,
    as_json: AsJson = False,
) -> None:
    """Show an environment: its tools, a world, its aims, and sample requests with what was done."""
    import json

    if aims or aim:
        _show_aims(_source_of(folder), aim, aims or 3, trusted, unsafe)
        return
    unit, source = _open(folder, trusted, unsafe)
    opened = unit.open("0000000000000007")
    tables = opened.world.store.dump()
    if as_json:
        found = {
            "title": opened.title,
            "description": opened.description,
            "facts": opened.world.facts,
            "tools": {
                name: {
                    "effects": one.tool.effects,
                    "description": one.tool.description,
                    "input_schema": one.tool.input_schema,
                }
                for name, one in unit.operations.items()
            },
            "tables": tables,
        }
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo(plain(f"{opened.title}\n  {opened.description}"))
    typer.echo("\ntools")
    for name, operation in unit.operations.items():
        arguments = ", ".join(
            key if key in operation.tool.required else f"[{key}]" for key in operation.tool.parameters
        )
        first = operation.tool.description.split("\n")[0]
        typer.echo(plain(f"  {name}({arguments})  {operation.tool.effects}\n      {first}"))
    typer.echo("\na world")
    for table, rows in tables.items():
        typer.echo(plain(f"  {table}: {len(rows)} records"))
        for record in list(rows.values())[:2]:
            typer.echo(plain(f"      {json.dumps(record, ensure_ascii=False)[:150]}"))
    typer.echo("\naims")
    _show_aims(source, "", 1, trusted, unsafe, worlds=4)
    typer.echo("\nrequests")
    for turns, calls, answers in _samples(source, trusted, unsafe):
        for place, turn in enumerate(turns):
            typer.echo(plain(f"  user       {turn}"))
            for call in calls[place]:
                typer.echo(plain(f"             {call}"))
            typer.echo(plain(f"  assistant  {answers[place]}"))
        typer.echo("")


@app.command()
def play(
    folder: Folder,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Which world, or which conversation.")] = 1,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="scripted|model:ID", help="A user speaks; you act and answer."),
    ] = None,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="With --user: the kind of conversation; any.")
    ] = "",
    trusted: Trusted = False,
    unsafe: Unsafe = False,
) -> int:
    """Act in an environment by hand: call tools, see what changed, undo, save what you did; alone or for a user."""
    from planarena.cli._play import Game

    if user is None:
        unit, source = _open(folder, trusted, unsafe)
        return Game(unit, source, f"{seed:016x}").run()
    from planarena.cli._play_user import open_conversation
    from planarena.users import Users

    with Users(user) as users:
        unit, source = _open(folder, trusted, unsafe)
        return open_conversation(unit, source, users, seed, kind, trusted, unsafe).run()


def _folder_of(folder: str) -> Path:
    if folder.startswith("builtin:"):
        from planarena.environments.domains import load_domain

        return load_domain(folder.partition(":")[2]).folder()
    return Path(folder.removeprefix("env:"))


def _options(trusted: bool, unsafe: bool) -> SourceOptions:
    from planarena.environments.sources import SourceOptions

    return SourceOptions(unsafe_no_sandbox=unsafe, trusted=trusted)


def _open(folder: str, trusted: bool, unsafe: bool) -> tuple[Unit, str]:
    """Return the unit of a folder or of a builtin domain, and the source that builds take."""
    from planarena.environments.sources.folder.source import open_folder_source

    builtin = folder.startswith("builtin:")
    path = _folder_of(folder)
    return open_folder_source(
        str(path), _options(trusted or builtin, unsafe)
    ), folder if builtin else f"env:{path}"


def _source_of(folder: str) -> str:
    return folder if folder.startswith("builtin:") else f"env:{Path(folder.removeprefix('env:'))}"


def _show_aims(source: str, only: str, most: int, trusted: bool, unsafe: bool, worlds: int = 20) -> None:
    """Print samples of aims, and how many worlds each of them suits."""
    for one in _aim_samples(source, only, trusted, unsafe, worlds):
        typer.echo(plain(f"  {one.name}: suits {len(one.told)} of {worlds} worlds"))
        for why, count in one.misfits.most_common(3):
            typer.echo(plain(f"      {count} times: {why}"))
        for lines in one.told[:most]:
            for line in lines:
                typer.echo(plain(f"    {line[:400]}"))
            typer.echo("")


def _aim_samples(source: str, only: str, trusted: bool, unsafe: bool, worlds: int) -> list[AimSamples]:
    from planarena.pipeline.aim_samples import sample_aims
    from planarena.pipeline.phases import allow_for

    config = _config(source, Path("unused"), 1, trusted, unsafe)
    allow_for(config)
    return sample_aims(config, range(worlds), (only,) if only else ())


def _config(source: str, out: Path, gold: int, trusted: bool, unsafe: bool) -> BuildConfig:
    from planarena.config import AllowedConfig, BuildConfig, ContrastConfig

    return BuildConfig(
        sources=(source,),
        out=str(out),
        trajectories=gold,
        contrast=ContrastConfig(candidates=0, trajectories=0, no_calls=0),
        allowed=AllowedConfig(unsafe_no_sandbox=unsafe, trusted=trusted),
    )


def _build(source: str, out: Path, gold: int, trusted: bool, unsafe: bool) -> Any:
    import planarena

    return planarena.build(_config(source, out, gold, trusted, unsafe))


def _count_tasks(source: str, trusted: bool, unsafe: bool) -> dict[str, int]:
    from planarena.pipeline.composed_tasks import count_composed_tasks

    return count_composed_tasks(_config(source, Path("unused"), 40, trusted, unsafe))


def _samples(source: str, trusted: bool, unsafe: bool) -> list[tuple[list[str], list[list[str]], list[str]]]:
    """Build a few trajectories; return their messages, the calls made for each, and the answers."""
    import json
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        run = _build(source, Path(folder) / "run", 12, trusted, unsafe)
        gold = run.table("trajectories").collect().filter(kind="gold").filter(n_actions=3).head(3).to_dicts()
        queries = {row["query_id"]: row for row in run.table("queries").collect().to_dicts()}
        steps = run.table("steps").collect().sort("step").to_dicts()
    samples = []
    for row in gold:
        turns = json.loads(queries[row["query_id"]]["turns"])
        calls: list[list[str]] = [[] for _ in turns]
        for step in steps:
            if step["trajectory_id"] == row["trajectory_id"]:
                calls[step["turn"]].append(f"{step['tool']} {step['arguments']}")
        samples.append((turns, calls, [*json.loads(row["turn_responses"]), row["response"]]))
    return samples
