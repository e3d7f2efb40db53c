"""`planarena tools`: list, import, check and call tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planarena.cli import plain
from planarena.cli._options import AsJson

if TYPE_CHECKING:
    from planarena.tools import Tool

__all__ = ["app"]

Unsafe = Annotated[bool, typer.Option("--unsafe-no-sandbox", help="Run third-party code without a sandbox.")]

app = typer.Typer(add_completion=False, help="List, import, check or call tools.")


@app.command("list")
def list_tools(
    source: Annotated[
        str,
        typer.Argument(
            metavar="[SOURCE]",
            help="mytools.py, api.yaml, servers.json or tools.json; builtin[:DOMAIN], openapi:PATH, mcp:FILE, python:MODULE.",
        ),
    ] = "builtin",
    unsafe: Unsafe = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print names, descriptions and schemas.")] = False,
) -> None:
    """List the tools of a source."""
    source = _with_kind(source, as_json)
    tools = _tools_of(source, unsafe)
    if as_json:
        import json

        import msgspec

        rows = [{"tool_id": tool.tool_id, **msgspec.to_builtins(tool)} for tool in tools]
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("tool", "effects", "arguments", "description"):
        table.add_column(name, no_wrap=name in {"tool", "effects"}, overflow="fold")
    last = None
    for tool in tools:
        if tool.namespace != last:
            if last is not None:
                table.add_row()
            table.add_row(Text(plain(tool.namespace), "bold"))
            last = tool.namespace
        table.add_row(
            Text(plain(tool.wire_name), "cyan"),
            Text(tool.effects),
            Text(plain(_arguments(tool)), "dim"),
            Text(plain(tool.description)),
        )
    Console(markup=False, emoji=False, highlight=False).print(table)
    typer.echo(f"{len(tools)} tools")


@app.command()
def check(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="mytools.py, api.yaml, servers.json or tools.json; openapi:PATH, mcp:FILE, python:MODULE.",
        ),
    ],
    as_json: AsJson = False,
    unsafe: Unsafe = False,
) -> int:
    """Check a source and show every problem of its tools; exit 2 if there is one."""
    from planarena.environments.sources import split_source

    source = _with_kind(source, as_json)
    if split_source(source)[0] in {"openapi", "mcp", "python", "http"}:
        return _check_source(source, unsafe, as_json)
    file = Path(source.removeprefix("json:"))
    return _check_list(file, as_json)


def _check_list(file: Path, as_json: bool) -> int:
    from planarena.tools import examine_tool_list

    tools, problems = examine_tool_list(file)
    if as_json:
        import json

        found = {
            "ok": not problems,
            "tools": [
                {"name": tool.name, "wire_name": tool.wire_name, "repairs": list(tool.schema_repairs)}
                for tool in tools
            ],
            "problems": [
                {
                    "kind": type(problem).__name__,
                    "what": problem.what,
                    "where": problem.where,
                    "fix": problem.fix,
                }
                for problem in problems
            ],
        }
        typer.echo(json.dumps(found, indent=2))
    else:
        for problem in problems:
            typer.echo(plain(f"error: {problem}"), err=True)
        for tool in tools:
            for repair in tool.schema_repairs:
                typer.echo(plain(f"note: {tool.name}: {repair}"))
        typer.echo(f"{len(tools)} usable tools, {len(problems)} problems")
    return problems[0].exit_code if problems else 0


def _check_source(source: str, unsafe: bool, as_json: bool) -> int:
    """Say what of a source converts and what can be executed."""
    import json

    from planarena.environments.sources import SourceOptions, open_source, split_source
    from planarena.environments.sources.openapi.source import families, left_out_of, openapi_tools

    kind, rest = split_source(source)
    problems: list[dict[str, str]] = []
    notes: list[str] = []
    if kind == "openapi":
        usable = 0
        for file, conversion in openapi_tools(Path(rest)):
            usable += len(conversion.operations)
            problems += [
                {"where": f"{file.name}: {where}", "what": what} for where, what in conversion.refused
            ]
            for operation in conversion.operations:
                notes += [f"{operation.tool.wire_name}: {repair}" for repair in operation.tool.schema_repairs]
            left = left_out_of(families(conversion))
            notes += [
                f"{file.name}: {count} operations are left out: {why}" for why, count in left.most_common()
            ]
    else:
        opened = open_source(source, SourceOptions(unsafe_no_sandbox=unsafe))
        usable = 0
        for unit in opened.units:
            verdicts = getattr(unit, "verdicts", None)
            usable += len(unit.operations)
            for one in verdicts() if verdicts is not None else ():
                advice = f" (write {one.write})" if one.write else ""
                problems += [] if one.used else [{"where": one.tool, "what": f"{one.why}{advice}"}]
        notes = [f"{tool.wire_name}: {repair}" for tool in opened.tools for repair in tool.schema_repairs]
    if as_json:
        typer.echo(
            json.dumps({"ok": not problems, "usable": usable, "problems": problems, "notes": notes}, indent=2)
        )
    else:
        for problem in problems:
            typer.echo(plain(f"error: {problem['where']}: {problem['what']}"), err=True)
        for note in notes:
            typer.echo(plain(f"note: {note}"))
        typer.echo(f"{usable} usable tools, {len(problems)} problems")
    return 2 if problems else 0


@app.command("import")
def import_tools(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="tools.json, openapi:PATH, mcp:FILE or python:MODULE.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The JSON list of tools to write.")],
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against", metavar="NAME=PATH", help="Leave out tools of a benchmark whose data you have."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    unsafe: Unsafe = False,
    as_json: AsJson = False,
) -> None:
    """Write the tools of a source as one JSON list with wire names, repairs and contamination marks."""
    import json

    from planarena.errors import UserError
    from planarena.quality.contamination import Contamination, read_benchmark
    from planarena.tools.wire_names import with_wire_names

    if out.exists() and not force:
        raise UserError("exists already", where=str(out), fix="give another --out, or --force to replace it")
    tools = with_wire_names(_tools_of(_with_kind(source, as_json), unsafe))
    dropped: list[Any] = []
    if against:
        benchmarks = []
        for entry in against:
            name, sign, path = entry.partition("=")
            if not sign:
                raise UserError(
                    f"{entry!r} is not NAME=PATH", where="--against", fix="write --against bfcl=FOLDER"
                )
            benchmarks.append(read_benchmark(name, Path(path)))
        tools, dropped = Contamination(benchmarks).filter_tools(tools)
    rows = [_row_of(tool) for tool in tools]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"tools": rows}, indent=1, ensure_ascii=False) + "\n")
    flagged = sum(bool(tool.contamination) for tool in tools)
    repaired = sum(bool(tool.schema_repairs) for tool in tools)
    counts = {
        "tools": len(rows),
        "repaired": repaired,
        "flagged": flagged,
        "dropped": len(dropped),
        "out": str(out),
    }
    if as_json:
        typer.echo(json.dumps(counts))
    else:
        typer.echo(
            plain(
                f"{len(rows)} tools to {out}; {repaired} with repaired schemas, {flagged} flagged, {len(dropped)} left out"
            )
        )


@app.command()
def call(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="builtin:DOMAIN, openapi:PATH, mcp:FILE or python:MODULE.")
    ],
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's wire name.")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="Its arguments as a JSON object.")] = "{}",
    seed: Annotated[int, typer.Option("--seed", help="Decides the initial state.")] = 0,
    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="ID", help="Let a model make up results that nothing here can execute."
        ),
    ] = "",
    unsafe: Unsafe = False,
) -> int:
    """Execute one call in a new world and print the outcome as JSON; exit 1 if the call fails."""
    import json

    from planarena.errors import UserError

    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"the arguments are not JSON: {error}", where=tool, fix="""write '{"name": "value"}'"""
        ) from error
    if not isinstance(given, dict):
        raise UserError("the arguments are no object", where=tool, fix="""write '{"name": "value"}'""")
    world = _world_with(_with_kind(source, quiet=True), tool, seed, unsafe, model)
    outcome = world.call(tool, given)
    shown = {"status": outcome.status, "result": outcome.result, "error": outcome.error}
    shown |= {"execution_kind": world.execution_kind, "state": world.digest()}
    typer.echo(plain(json.dumps(shown, indent=2, ensure_ascii=False)))
    return 0 if outcome.status == "ok" else 1


def _world_with(source: str, tool: str, seed: int, unsafe: bool, model: str) -> Any:
    """Return a new world in which the tool can be called."""
    from difflib import get_close_matches

    from planarena.environments.sources import SourceOptions, open_source, split_source
    from planarena.errors import SourceError

    kind, rest = split_source(source)
    known: list[str] = []
    if kind == "builtin":
        from random import Random

        from planarena.environments import World, operations
        from planarena.environments.domains import DOMAINS, load_domain

        for name in [rest] if rest else list(DOMAINS):
            environment = load_domain(name)
            known += list(operations(environment))
            if tool in operations(environment):
                return World([environment], [environment.seed(Random(seed))])
    else:
        if kind == "json" and not model:
            from planarena.environments.sources.json.simulated import require_gateway

            require_gateway(source)
        for unit in open_source(source, SourceOptions(unsafe_no_sandbox=unsafe, model=model)).units:
            known += list(unit.operations)
            if tool in unit.operations:
                return unit.open(str(seed)).world
    near = get_close_matches(tool, known, n=1)
    fix = f"did you mean {near[0]}?" if near else f"`planarena tools list {source}` names them"
    raise SourceError(f"has no usable tool {tool!r}", where=source, fix=fix)


@app.command(hidden=True)
def new(name: Annotated[str, typer.Argument(metavar="NAME")] = "NAME") -> None:
    """Say where this command has gone."""
    from planarena.errors import UserError

    raise UserError("tools new has moved", where="planarena tools", fix=f"planarena env new {plain(name)}")


_MOST_OUTPUT = 64 << 10


def _row_of(tool: Tool) -> dict[str, Any]:
    from planarena.records.canonical import canonical_bytes

    row: dict[str, Any] = {
        "name": tool.wire_name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }
    repairs = list(tool.schema_repairs)
    if tool.output_schema is not None:
        # Some APIs return half of their model with every answer; no model needs that to call the tool.
        if len(canonical_bytes(tool.output_schema)) <= _MOST_OUTPUT:
            row["outputSchema"] = tool.output_schema
        else:
            repairs.append(f"outputSchema: left out, it is longer than {_MOST_OUTPUT} bytes")
    if tool.effects == "read":
        row["annotations"] = {"readOnlyHint": True}
    row |= {"x-namespace": tool.namespace, "x-name": tool.name, "x-licence": tool.licence}
    row |= {"x-repairs": repairs, "x-contamination": list(tool.contamination)}
    return row


def _with_kind(source: str, quiet: bool) -> str:
    """Return a source with its kind, which is said where it was recognised."""
    from planarena.cli._own_sources import with_kinds

    return with_kinds([source], quiet=quiet)[0]


def _tools_of(source: str, unsafe: bool = False) -> list[Tool]:
    from planarena.environments import operations
    from planarena.environments.domains import load_domain
    from planarena.environments.sources import SourceOptions, open_source, split_source
    from planarena.pipeline.execute.scenarios import domains_of
    from planarena.tools import read_tool_list

    if source != "builtin" and not source.startswith("builtin:"):
        kind, rest = split_source(source)
        if kind == "openapi":
            from planarena.environments.sources.openapi.source import openapi_tools

            return [one.tool for _, conversion in openapi_tools(Path(rest)) for one in conversion.operations]
        if kind == "json":
            return read_tool_list(rest)
        return list(open_source(source, SourceOptions(unsafe_no_sandbox=unsafe)).tools)
    return [
        operation.tool
        for domain in domains_of((source,))
        for operation in operations(load_domain(domain)).values()
    ]


def _arguments(tool: Tool) -> str:
    """Write the arguments' names; optional ones carry a question mark."""
    return ", ".join(name if name in tool.required else f"{name}?" for name in tool.parameters)
