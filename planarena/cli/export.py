"""`planarena export`: a run in a format that others read."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from planarena.cli import plain

__all__ = ["export"]


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
    one_call_per_turn: Annotated[
        bool, typer.Option("--one-call-per-turn", help="Write parallel calls one after the other.")
    ] = False,
    system: Annotated[
        str, typer.Option("--system", metavar="TEXT", help="Text that opens the system message.")
    ] = "",
    no_context: Annotated[
        bool, typer.Option("--no-context", help="Leave out what the user told before, as the date.")
    ] = False,
    policy_format: Annotated[
        str,
        typer.Option(
            "--policy-format",
            metavar="NAME",
            help="preference, verl: the format that the policy speaks, as planarena or toolupt.",
        ),
    ] = "planarena",
    plan: Annotated[
        str, typer.Option("--plan", help="preference, verl: plans in rows: global, step or none.")
    ] = "global",
    signatures: Annotated[
        str,
        typer.Option("--signatures", help="preference, verl: tools in prompts: json, compact or names."),
    ] = "",
    result_role: Annotated[
        str,
        typer.Option(
            "--result-role",
            metavar="ROLE",
            help="preference, verl: role of tool results: tool, or user for templates that drop them.",
        ),
    ] = "tool",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress, print the result alone.")
    ] = False,
    difficulty: Annotated[
        str,
        typer.Option(
            "--difficulty",
            metavar="LOW:HIGH",
            help="Only tasks with such a pass rate, as 0.2:0.8, or 0.2:0.8@MODEL (see `planarena rate`).",
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Write a run as rows for training, split into train, validation and test."""
    from planarena.errors import UserError
    from planarena.export import ExportOptions
    from planarena.export import export as write
    from planarena.export.hub import check_repository, push_to_hub
    from planarena.records import Run

    kinds = {"gold": ("gold",), "contrastive": ("contrastive",), "all": ("gold", "contrastive")}
    if kind not in kinds:
        raise UserError(f"there is no kind {kind!r}", where="--kind", fix="write gold, contrastive or all")
    for name, value, known in (
        ("--plan", plan, ("global", "step", "none")),
        ("--signatures", signatures, ("", "json", "compact", "names")),
        ("--result-role", result_role, ("tool", "user")),
    ):
        if value not in known:
            raise UserError(
                f"{value!r} is not one of its values",
                where=name,
                fix=f"write {', '.join(filter(None, known))}",
            )
    options = ExportOptions(
        kinds[kind],  # type: ignore[arg-type]
        one_call_per_turn,
        system,
        not no_context,
        policy_format,
        plan,  # type: ignore[arg-type]
        signatures or None,  # type: ignore[arg-type]
        result_role,  # type: ignore[arg-type]
        difficulty,
    )
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
