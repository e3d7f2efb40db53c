"""The application: pages by route, each answered in a thread, and a page for whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from planarena.errors import PlanArenaError, UserError
from planarena.view import data, evaluation, play, training
from planarena.view.library import Folder, Library
from planarena.view.models import Models
from planarena.view.pages import POLICY, link, render, static

__all__ = ["view_app"]

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_MOST_FIELDS = 100


class Asked(NamedTuple):
    """A request as pages read it.

    Attributes:
        path: Of the address.
        parts: The variable parts of the path.
        query: Parameters; several of one name with a comma between.
        form: What a form sent; None where nothing was posted.
        known: The entity tag of what the browser has.
    """

    path: str
    parts: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str] | None = None
    known: str = ""

    def values(self, name: str) -> list[str]:
        """Return the parts of a parameter that lists things with a comma between."""
        return [one for one in self.query.get(name, "").split(",") if one]

    def number(self, name: str, otherwise: int = 0) -> int:
        """Return a parameter as a number from 0."""
        text = self.query.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise


def view_app(roots: Sequence[Path], models: Sequence[str] = ()) -> Starlette:
    """Return the application over some folders.

    Args:
        roots: Folders of runs, trainings and evaluations.
        models: Served models that may act, as LiteLLM ids or MODEL@URL.

    Raises:
        UserError: One of the folders is none, or one of the models is neither.
    """
    # A second's worth of imports, which the first page would wait for.
    import polars  # noqa: F401

    library = Library(roots)
    pages = [
        *data.pages(library),
        *evaluation.pages(library),
        *training.pages(library),
        *play.pages(library, Models(library, models)),
    ]

    def home(_: Asked) -> str:
        folders = library.folders()
        return render(
            "home.html", title="planarena", place="home", roots=library.roots, groups=_groups(folders)
        )

    async def file(request: Request) -> Response:
        found = static(request.path_params["name"])
        if found is None:
            return _failed(404, "there is no such page")
        return Response(found[1], media_type=found[0], headers={**_HEADERS, "Cache-Control": "max-age=60"})

    routes = [
        Route("/", _answering(home)),
        Route("/static/{name}", file),
        *(Route(path, _answering(page), methods=methods) for path, page, methods in pages),
    ]
    return Starlette(routes=routes, exception_handlers={404: _absent, 405: _absent})


def _groups(folders: Sequence[Folder]) -> dict[str, list[Folder]]:
    found: dict[str, list[Folder]] = {"run": [], "training": [], "evaluation": []}
    for one in folders:
        found[one.kind].append(one)
    return found


def _answering(page: Callable[[Any], Any]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            asked = await _read(request)
            made = await run_in_threadpool(page, asked)
        except LookupError as error:
            return _failed(404, str(error.args[0]) if error.args else "there is no such page")
        except PlanArenaError as error:
            where, fix = (error.where, error.fix) if isinstance(error, UserError) else ("", "")
            return _failed(409, getattr(error, "what", "") or str(error), where, fix)
        except OSError as error:
            return _failed(409, (error.strerror or str(error)).lower(), str(error.filename or ""))
        return _response(made)

    return answer


async def _read(request: Request) -> Asked:
    def pairs(text: str) -> dict[str, str]:
        try:
            found = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="replace")
        except ValueError:
            return {}
        merged: dict[str, str] = {}
        for key, value in found:
            clean = value.replace("\0", "")
            merged[key] = f"{merged[key]},{clean}" if merged.get(key) else clean
        return merged

    form = None
    if request.method == "POST":
        form = pairs((await request.body()).decode("utf-8", "replace"))
    return Asked(
        path=request.url.path,
        parts={key: str(value) for key, value in request.path_params.items()},
        query=pairs(request.scope["query_string"].decode("latin-1")),
        form=form,
        known=request.headers.get("if-none-match", ""),
    )


def _response(made: Any) -> Response:
    """Turn what a page returned into an answer.

    A page returns HTML, or (`text`, text), (`part`, HTML, tag), (`see`, address), (`same`,).
    """
    if isinstance(made, str):
        return Response(made, media_type="text/html", headers=_HEADERS)
    kind = made[0]
    if kind == "see":
        return Response(status_code=303, headers={**_HEADERS, "Location": made[1]})
    if kind == "same":
        return Response(status_code=304, headers=_HEADERS)
    if kind == "part":
        return Response(made[1], media_type="text/html", headers={**_HEADERS, "ETag": made[2]})
    return Response(made[1].encode("utf-8", "replace"), media_type="text/plain", headers=_HEADERS)


async def _absent(_: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    return _failed(status, "there is no such page")


def _failed(status: int, what: str, where: str = "", fix: str = "") -> Response:
    body = render(
        "error.html",
        title="Not shown",
        place="",
        what=what[:2_000],
        where=where[:500],
        fix=fix[:500],
        back=link("/"),
    )
    return Response(body, status, media_type="text/html", headers=_HEADERS)
