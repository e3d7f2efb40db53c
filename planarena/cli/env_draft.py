"""`planarena env draft`: environments written by a model, in parts that are held to the contract."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planarena.cli import plain
from planarena.cli._options import AsJson

if TYPE_CHECKING:
    from planarena.drafting import DraftReport
    from planarena.llm import Spent

__all__ = ["draft"]


def draft(
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help='What it is about, as "the front desk of a car rental".')
    ] = "",
    model: Annotated[
        str, typer.Option("--model", metavar="ID", help="Who drafts: a LiteLLM id, or MODEL@URL.")
    ] = "",
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the environments' folders are written.")
    ] = Path(),
    topics: Annotated[
        Path | None, typer.Option("--topics", metavar="FILE", help="Many topics, one a line.")
    ] = None,
    count: Annotated[int, typer.Option("--count", metavar="N", help="The first N of FILE; 0 for all.")] = 0,
    workers: Annotated[int, typer.Option("--workers", metavar="N", help="Environments at a time.")] = 2,
    fewest: Annotated[int, typer.Option("--fewest-tools", metavar="N", help="Of one environment.")] = 8,
    most: Annotated[int, typer.Option("--most-tools", metavar="N", help="Likewise.")] = 14,
    repairs: Annotated[
        int, typer.Option("--repairs", metavar="N", help="Most repairs of a part before it is given up.")
    ] = 3,
    tasks: Annotated[
        int, typer.Option("--tasks", metavar="N", help="Fewest composed tasks of each length.")
    ] = 3,
    temperature: Annotated[float | None, typer.Option("--temperature", help="Of the model.")] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", metavar="N", help="Of one answer.")] = 16_000,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", help="Seconds for one attempt at an answer.")
    ] = 600.0,
    attempts: Annotated[int, typer.Option("--attempts", metavar="N", help="At one answer.")] = 6,
    budget_usd: Annotated[
        float | None, typer.Option("--budget-usd", metavar="X", help="Most US dollars.")
    ] = None,
    budget_tokens: Annotated[
        float | None, typer.Option("--budget-tokens", metavar="N", help="Most tokens.")
    ] = None,
    budget_calls: Annotated[
        float | None, typer.Option("--budget-calls", metavar="N", help="Most answers to pay for.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Draft those that were given up once more.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Have a model draft environments; each part is run in the sandbox and held to the contract."""
    from planarena.drafting import DraftConfig, draft_all, read_topics
    from planarena.errors import ConfigError
    from planarena.llm import Budget

    if bool(topic) == (topics is not None):
        raise ConfigError(
            "one topic or a file of topics is needed",
            where="TOPIC",
            fix='planarena env draft "the desk of a car rental" --model ID --out DIR, or --topics FILE',
        )
    if not model:
        raise ConfigError("no model is named", where="--model", fix="give a LiteLLM id, or MODEL@URL")
    config = DraftConfig(
        topics=(topic,) if topics is None else read_topics(topics, count),
        model=model,
        out=str(out),
        tools=(fewest, most),
        repairs=repairs,
        tasks=tasks,
        budget=Budget(usd=budget_usd, tokens=budget_tokens, calls=budget_calls),
        workers=workers,
        temperature=temperature,
        max_tokens=max_tokens,
        timeout=timeout,
        attempts=attempts,
        retry_failed=retry_failed,
    )
    reports, spent = draft_all(config, (lambda _: None) if as_json else _tell)
    _print(reports, spent, as_json)
    return 0 if all(one.status == "made" for one in reports) else 1


def _tell(report: DraftReport) -> None:
    print(plain(f"{report.name}: {report.status.replace('_', ' ')}"), file=sys.stderr, flush=True)


def _print(reports: list[DraftReport], spent: Spent, as_json: bool) -> None:
    if as_json:
        import json

        import msgspec

        typer.echo(json.dumps({"drafts": msgspec.to_builtins(reports), "spent": msgspec.to_builtins(spent)}))
        return
    for one in reports:
        answers = sum(part.answers for part in one.parts)
        if one.status == "made":
            counts = ", ".join(f"{number} of {length}" for length, number in one.tasks.items())
            typer.echo(
                plain(
                    f"{one.folder}: {one.tools} tools in {answers} answers; composed tasks by actions: {counts}"
                )
            )
            continue
        part = one.parts[-1]
        typer.echo(
            plain(f"{one.name}: given up at {part.part!r} after {part.answers} answers ({one.folder})")
        )
        if part.fault:
            typer.echo(plain(f"  {part.fault}"))
        for found in part.findings[-1][:5] if part.findings else ():
            typer.echo(plain(f"  {found.rule}: {found.where}: {found.what}"))
    typer.echo(f"spent over this folder: {spent.calls} answers, {spent.tokens} tokens, {spent.usd:.2f} USD")
    made = [one for one in reports if one.status == "made"]
    if made:
        typer.echo(plain(f"next: planarena env show {made[0].folder}"))
