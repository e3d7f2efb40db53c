"""`planarena report`: the HTML report of a run, or a comparison of several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planarena.cli import plain
from planarena.cli._options import AsJson

__all__ = ["report"]


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Builds, imports, evaluations or training runs; of one kind."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The HTML file; of one build report.html in its folder."),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write the tables as Markdown.")
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(
            "--items", metavar="FILE", help="One or two evaluations: a page of every item, side by side."
        ),
    ] = None,
    latex: Annotated[
        Path | None,
        typer.Option("--latex", metavar="FILE", help="Evaluations: one table of all suites in LaTeX."),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the HTML file in the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the HTML report of a run, or compare several.

    One build or training run: its report is written again. Several builds, imports, evaluations or training runs: their tables are
    printed side by side, and written where --out and --markdown say; differences are taken from the first.
    """
    from planarena.errors import UserError

    kind = _kind_of_all(folders)
    alone = kind == "build" and len(folders) == 1
    trained = kind == "training" and len(folders) == 1
    page = folders[0] / "report.html" if (alone or trained) and out is None else out
    if show and page is None:
        raise UserError(
            "there is no page to open", where="--open", fix="say with --out FILE where to write it"
        )
    made = _Made() if alone and markdown is None and latex is None else _compare(kind, folders)
    if page is not None:
        _write(page, _render(folders[0]) if alone else _render_training(folders[0]) if trained else made.html)
    if markdown is not None:
        _write(markdown, made.markdown)
    if items is not None:
        if kind != "evaluation":
            raise UserError("only evaluations have items", where="--items", fix="leave it away")
        from planarena.cli._items import items_page

        _write(items, items_page(folders))
    if latex is not None:
        if not made.latex:
            raise UserError("only evaluations have a table in LaTeX", where="--latex", fix="leave it away")
        _write(latex, made.latex)
    if as_json:
        import json

        typer.echo(json.dumps({"kind": kind, "html": str(page) if page else None, **made.values}))
    else:
        if not alone:
            typer.echo(made.text, nl=False)
        for name, path in (("report", page), ("markdown", markdown), ("latex", latex), ("items", items)):
            if path is not None:
                typer.echo(plain(f"{name}: {path}"))
    if show and page is not None:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())


class _Made:
    """A comparison in all its shapes."""

    def __init__(
        self,
        text: str = "",
        markdown: str = "",
        html: str = "",
        values: dict[str, Any] | None = None,
        latex: str = "",
    ) -> None:
        self.text, self.markdown, self.html, self.values = text, markdown, html, values or {}
        self.latex = latex


def _kind_of_all(folders: list[Path]) -> str:
    """Return `build` (of imports too), `evaluation` or `training`; anything else, or a mixture, is an error."""
    from planarena.errors import UserError

    kinds = {folder: _kind(folder) for folder in folders}
    if len(set(kinds.values())) > 1:
        told = ", ".join(f"{folder} is {_ARTICLES[kind]}" for folder, kind in kinds.items())
        raise UserError(
            f"these are of different kinds: {told}",
            where="planarena report",
            fix="compare builds with builds, evaluations with evaluations, training runs with training runs",
        )
    return kinds[folders[0]]


_ARTICLES = {"build": "a build", "evaluation": "an evaluation", "training": "a training run"}


def _kind(folder: Path) -> str:
    import json

    from planarena.errors import UserError
    from planarena.records import Run

    if (folder / "metrics.jsonl").is_file():
        return "training"
    try:
        info = json.loads((folder / "run.json").read_bytes())
        kind = info.get("kind") if isinstance(info, dict) else None
    except (OSError, ValueError):
        kind = "build"
    if kind == "evaluation":
        return "evaluation"
    if kind not in {"build", "import", "augment"}:
        raise UserError(
            f"there is no report for a run of the kind {kind!r}",
            where=str(folder),
            fix="name a build, an import, an evaluation or a training run with a metrics.jsonl",
        )
    Run.open(folder)  # says what is wrong with it
    return "build"


def _render(folder: Path) -> str:
    from planarena.records import Run
    from planarena.report import render_report

    return render_report(Run.open(folder))


def _render_training(folder: Path) -> str:
    from planarena.report import render_training

    return render_training(folder)


def _compare(kind: str, folders: list[Path]) -> _Made:
    if kind == "evaluation":
        from planarena.eval import compare

        scores = compare(folders)
        tables = [
            {
                "suite": table.suite,
                "formula": table.formula,
                "rows": {row.name: row.values for row in table.rows},
            }
            for table in scores.tables
        ]
        written = f"{scores.markdown()}\n{scores.summary()}" if len(folders) > 1 else scores.markdown()
        return _Made(plain(written), written, scores.html(), {"tables": tables}, scores.latex())
    from planarena.records import Run
    from planarena.report import compare_builds, compare_trainings

    if kind == "training":
        found = compare_trainings(folders)
    else:
        found = compare_builds([Run.open(folder) for folder in folders])
    return _Made(found.text(), found.markdown(), found.html(), found.json())


def _write(path: Path, text: str) -> None:
    from planarena.errors import UserError
    from planarena.records.shards import write_durably

    if path.is_dir():
        raise UserError("is a folder, not a file", where=str(path), fix="name a file to write")
    write_durably(path, text.encode())
