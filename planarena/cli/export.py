"""`planarena export`: a run in a format that others read."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from planarena.cli import plain
from planarena.cli._options import AsJson, Given, Quiet, Setting, with_settings
from planarena.errors import UserError
from planarena.export import ExportOptions
from planarena.records import Run

__all__ = ["export"]


_ROWS = "Of preference and verl"
_SETTINGS = (
    Setting("one_call_per_turn"),
    Setting("system", metavar="TEXT"),
    Setting("context"),
    Setting("difficulty", metavar="LOW:HIGH"),
    Setting("policy_format", metavar="NAME", panel=_ROWS),
    Setting("plan", metavar="global|step|none", panel=_ROWS),
    Setting("signatures", metavar="json|compact|names", panel=_ROWS),
    Setting("result_role", metavar="tool|user", panel=_ROWS),
)
_KINDS = {"gold": ("gold",), "contrastive": ("contrastive",), "all": ("gold", "contrastive")}


@with_settings(ExportOptions, _SETTINGS, "result_role=user")
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory of a finished build.")],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="hf, verl (Parquet), openai, sharegpt, preference, nemo-gym (JSON lines), or a project that plays "
            "the tasks: openenv, verifiers, trl.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new or empty folder.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Write over another export, in DIR and on the hub.")
    ] = False,
    repository: Annotated[
        str,
        typer.Option(
            "--push-to-hub", metavar="REPO", help="OWNER/NAME: upload DIR to this dataset of the hub."
        ),
    ] = "",
    public: Annotated[
        bool, typer.Option("--public", help="A dataset that --push-to-hub makes is open to everybody.")
    ] = False,
    kind: Annotated[
        str, typer.Option("--kind", help="Which trajectories: gold, contrastive or all.")
    ] = "gold",
    quiet: Quiet = False,
    as_json: AsJson = False,
    *,
    given: Given,
) -> None:
    """Write a run as rows for training, split into train, validation and test."""
    from planarena.export import export as write
    from planarena.export.hub import check_repository, push_to_hub

    if kind not in _KINDS:
        raise UserError(f"there is no kind {kind!r}", where="--kind", fix="write gold, contrastive or all")
    options = given.load(ExportOptions, also={"kinds": _KINDS[kind]})
    opened = Run.open(run)
    if repository:
        check_repository(repository, replace=replace)
    written = write(opened, format, out, options, _Watch(quiet=quiet or as_json).show, replace=replace)
    url = push_to_hub(written.path, repository, public=public, replace=replace) if repository else ""
    if as_json:
        import json

        result = {"out": str(written.path), "format": written.format, "rows": written.rows}
        typer.echo(json.dumps(result | ({"url": url} if url else {})))
        return
    rows = ", ".join(f"{number} {split}" for split, number in written.rows.items())
    typer.echo(plain(f"{rows} rows in {written.path}"))
    if url:
        typer.echo(plain(f"uploaded to {url}"))
    typer.echo(plain(f"next: {_next_step(format, written.path)}"))


def _next_step(format: str, path: Path) -> str:
    """Say who reads the format, in a line that can be copied."""
    train = str(path / "train.jsonl")
    steps = {
        "hf": f"datasets.load_dataset({str(path)!r})  (datasets before 4.7: add 'text')",
        "openai": f"openai.files.create(purpose='fine-tune', file=open({train!r}, 'rb'))",
        "sharegpt": f"llamafactory-cli train ... dataset_dir={path} dataset=planarena_train",
        "preference": f"datasets.load_dataset('json', data_files={train!r}) for TRL's DPOTrainer",
        "verl": f"data.train_files={path / 'rl' / 'train.parquet'} (docs/verl.md names the reward function)",
        "openenv": f"openenv validate {path} --level static  (README.md says how to serve it)",
        "verifiers": f"pip install {path}  (README.md says how to evaluate)",
        "trl": f"python {path / 'train.py'}",
        "nemo-gym": f"ng_collect_rollouts +input_jsonl_fpath={train}  (README.md says more)",
    }
    return steps[format]


class _Watch:
    """Says every few seconds how far the export is: over itself on a terminal, line by line otherwise."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._last = time.monotonic()

    def show(self, rows: int) -> None:
        now = time.monotonic()
        if not self._quiet and now - self._last >= 2:
            self._last = now
            over = sys.stderr.isatty()
            print(f"{rows} rows", end="\r" if over else "\n", file=sys.stderr, flush=True)
