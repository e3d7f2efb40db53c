"""`planarena view`: a local web application over folders of runs, trainings and evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planarena.cli import plain

__all__ = ["view"]


def view(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR]...", help="Folders to look in; by default this one.", show_default=False
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Another address can be reached by others.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="0 takes a free one.")] = 8940,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="ID",
            help="A served model that may act on the pages: a LiteLLM id or MODEL@URL; repeatable.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Look at runs, trainings and evaluations in the browser, and play environments.

    The printed address holds a token; PLANARENA_VIEW_TOKEN sets one that stays the same.
    """
    from planarena.serving.http import need_extra, run

    need_extra("view", ("jinja2", "starlette", "uvicorn"))
    import os
    import secrets

    from planarena.errors import UserError
    from planarena.serving import Limits
    from planarena.view.app import view_app
    from planarena.view.guard import BrowserGuard

    token = os.environ.get("PLANARENA_VIEW_TOKEN", "") or secrets.token_urlsafe(18)
    if not token.isascii() or not all(sign.isalnum() or sign in "-_.~" for sign in token):
        raise UserError(
            "a token is made of letters, digits and -_.~",
            where="PLANARENA_VIEW_TOKEN",
            fix="leave it unset for a random one",
        )
    app = view_app(folders or [Path()], models or ())

    def say(address: str) -> None:
        whole = f"{address}/?token={token}"
        typer.echo(plain(f"open {whole}"), err=True)
        if show:
            import webbrowser

            webbrowser.open(whole)

    run(app, host=host, port=port, limits=Limits(concurrency=256), token=token, say=say, guard=BrowserGuard)
