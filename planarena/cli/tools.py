"""`planarena tools`: list and check tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planarena.cli import plain

if TYPE_CHECKING:
    from planarena.tools import Tool

__all__ = ["app"]

app = typer.Typer(add_completion=False, help="List and check tools.")


@app.command("list")
def list_tools(
    source: Annotated[
        str, typer.Argument(metavar="[SOURCE]", help="builtin, builtin:DOMAIN or a JSON file.")
    ] = "builtin",
    as_json: Annotated[bool, typer.Option("--json", help="Print names, descriptions and schemas.")] = False,
) -> None:
    """List the tools of a source."""
    tools = _tools_of(source)
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
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A JSON list of tools.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> int:
    """Check a JSON list of tools (OpenAI, Anthropic or MCP) and show every problem; exit 2 if there is one."""
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


def _tools_of(source: str) -> list[Tool]:
    from planarena.environments import operations
    from planarena.environments.domains import load_domain
    from planarena.pipeline.scenarios import domains_of
    from planarena.tools import read_tool_list

    if source != "builtin" and not source.startswith("builtin:"):
        return read_tool_list(source)
    return [
        operation.tool
        for domain in domains_of((source,))
        for operation in operations(load_domain(domain)).values()
    ]


def _arguments(tool: Tool) -> str:
    """Write the arguments' names; optional ones carry a question mark."""
    return ", ".join(name if name in tool.required else f"{name}?" for name in tool.parameters)
