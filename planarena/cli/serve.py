"""`planarena serve`: environments and policies for other people's programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planarena.cli import plain

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.callback()
def _group() -> None:
    """Serve environments and policies to other programs."""


Source = Annotated[
    str, typer.Argument(metavar="RUN", help="A run, env:FOLDER or builtin:DOMAIN.", show_default=False)
]
Host = Annotated[str, typer.Option("--host", help="Another address needs PLANARENA_SERVE_TOKEN.")]
Port = Annotated[int, typer.Option("--port", metavar="N", help="0 takes a free one.")]
Trusted = Annotated[bool, typer.Option("--trusted", help="Run your own environment folder in process.")]
Unsafe = Annotated[bool, typer.Option("--unsafe-no-sandbox", help="Run it outside of the sandbox.")]
Tasks = Annotated[
    int, typer.Option("--tasks", metavar="N", help="Of env: and builtin: how many trajectories to build.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of env: and builtin: what is built.")]


def _token() -> str:
    import os

    return os.environ.get("PLANARENA_SERVE_TOKEN", "")


@app.command()
def mcp(
    source: Source,
    scenario: Annotated[
        str, typer.Option("--scenario", metavar="ID", help="A task's or scenario's id, or its beginning.")
    ] = "",
    http: Annotated[bool, typer.Option("--http", help="HTTP instead of standard input and output.")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8930,
    trusted: Trusted = False,
    unsafe: Unsafe = False,
    tasks: Tasks = 40,
    seed: Seed = 0,
) -> None:
    """Let an MCP client play a task: its tools, the task as a prompt, and `check`."""
    import sys

    from planarena.serving import Limits, open_tasks
    from planarena.serving.http import check_address, need_extra, run
    from planarena.serving.mcp_transport import http_app, serve_lines
    from planarena.serving.sources import find_task

    if http:
        need_extra()
        check_address(host, _token(), port)
    with open_tasks(source, trajectories=tasks, seed=seed, trusted=trusted, unsafe=unsafe) as found:
        task = find_task(found, scenario)
        limits = Limits()
        if not http:
            serve_lines(task, sys.stdin.buffer, sys.stdout.buffer, limits)
            return

        def say(address: str) -> None:
            typer.echo(plain(f"task {task.id}: {address}/mcp"), err=True)

        run(
            http_app(task, limits),
            host=host,
            port=port,
            limits=limits,
            token=_token(),
            say=say,
        )


@app.command()
def policy(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="A folder with a model, or a training run.")
    ],
    host: Host = "127.0.0.1",
    port: Port = 8931,
    name: Annotated[str, typer.Option("--name", help="What clients call the model.")] = "",
    form: Annotated[str, typer.Option("--format", help="What it speaks; by default as it was trained.")] = "",
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", metavar="N", help="Most tokens of a reply.")
    ] = 2048,
    temperature: Annotated[
        float, typer.Option("--temperature", help="Of requests that name none; 0 is greedy.")
    ] = 0.0,
    rows: Annotated[int, typer.Option("--rows", metavar="N", help="Most dialogues of a batch.")] = 64,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the draws.")] = 0,
) -> None:
    """Answer OpenAI-compatible chat completions, with tools and streaming, from a checkpoint."""
    from planarena.serving import Limits
    from planarena.serving.batching import Batcher
    from planarena.serving.checkpoint import dialect_of, open_checkpoint
    from planarena.serving.http import check_address, need_extra, run
    from planarena.serving.policy import PolicyServer, policy_app

    need_extra()
    check_address(host, _token(), port)
    opened, config = open_checkpoint(
        checkpoint, form=form, max_tokens=max_tokens, temperature=temperature, rows=rows, seed=seed
    )
    with opened:
        shown = name or Path(checkpoint).absolute().name
        batcher = Batcher(opened, rows)
        limits = Limits(body=16 << 20)

        def say(address: str) -> None:
            typer.echo(plain(f"{shown} (format {opened.format}): {address}/v1"), err=True)

        server = PolicyServer(batcher, dialect_of(config, opened.format), shown)
        run(policy_app(server), host=host, port=port, limits=limits, token=_token(), say=say)


@app.command()
def openenv(
    source: Source,
    host: Host = "127.0.0.1",
    port: Port = 8932,
    sessions: Annotated[int, typer.Option("--sessions", metavar="N", help="Most sessions at a time.")] = 2000,
    trusted: Trusted = False,
    unsafe: Unsafe = False,
    tasks: Tasks = 40,
    seed: Seed = 0,
) -> int:
    """Serve tasks as an OpenEnv environment, in an environment of its own."""
    from planarena.serving.http import check_address
    from planarena.serving.openenv import serve_openenv
    from planarena.serving.sources import open_run

    check_address(host, _token(), port)
    with open_run(source, trajectories=tasks, seed=seed, trusted=trusted, unsafe=unsafe) as run:
        return serve_openenv(run, host=host, port=port, sessions=sessions, trusted=trusted, unsafe=unsafe)
