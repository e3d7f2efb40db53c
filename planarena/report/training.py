"""The page of one training run: success on held-out rows first, then every curve, outputs and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planarena.export.escaping import escape_html
from planarena.llm.models import tell_served
from planarena.records.step_lines import read_steps
from planarena.report.charts import Line, lines
from planarena.report.page import render_page, table
from planarena.report.training_comparison import read_metric_lines

__all__ = ["render_training"]

# Panel -> what it means, and its metrics by how they are called in the legend.
_PANELS: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "Success",
        "Share of decisions that equal the gold action (of episodes that reach the goal); held-out ones are decoded "
        "greedily and none of them is trained on.",
        {
            "validation/success": "held out",
            "bench/success": "whole tasks",
            "reward/success": "training rollouts",
        },
    ),
    (
        "Reward",
        "What the algorithm raises, mean of a batch.",
        {"reward/mean": "training rollouts", "validation/reward": "held out"},
    ),
    ("Loss", "What an update lowers.", {"loss/sft": "supervised", "loss/total": "total"}),
    (
        "Entropy",
        "How undecided the policy is, in nats a token; near 0 it tries nothing new.",
        {"policy/entropy": "of rollouts"},
    ),
    (
        "Length",
        "Tokens of a response.",
        {"length/mean": "training rollouts", "validation/length": "held out"},
    ),
    (
        "Clip fraction",
        "Share of tokens whose update was cut off because the policy had moved too far.",
        {"policy/clip_fraction": "tokens"},
    ),
    (
        "Distance from the sampler",
        "KL divergence of the trained policy from the one that sampled, and from the start where a loss holds it.",
        {"policy/kl_to_rollout": "sampler", "loss/kl": "start"},
    ),
    (
        "Groups without a difference",
        "Share of groups whose rewards are all equal: nothing is learned from them.",
        {"advantage/degenerate_groups": "groups"},
    ),
    (
        "Groups that the judge could not score",
        "Share of a batch's groups; they are scored offline.",
        {"judge/offline": "groups"},
    ),
    (
        "Preference accuracy",
        "Share of pairs whose chosen answer is likelier than the rejected one.",
        {"preference/accuracy": "pairs"},
    ),
)
_MOST_SAMPLES = 8


def render_training(folder: Path, following: Sequence[str] = ()) -> str:
    """Return the page of a training run.

    Args:
        folder: With metrics.jsonl, and run.json and samples.jsonl where they are.
        following: Commands that may come next.

    Raises:
        UserError: A metrics.jsonl is not there, or holds no step.
    """
    read = read_metric_lines(folder)
    info = _info(folder)
    config: Mapping[str, Any] = info.get("config") or {}
    title = f"Training {folder.resolve().name}"
    parts = [
        f"<h1>{escape_html(title)}</h1>",
        f'<p class="soft">{escape_html(_line(config, info))}</p>',
        _tiles(read, info),
        *_judge(read, info),
        *(_next(following)),
        f'<div class="pair wide">{"".join(_panels(read))}</div>',
        *_samples(folder),
        *_settings(config),
    ]
    return render_page(title, "\n".join(parts))


def _info(folder: Path) -> dict[str, Any]:
    try:
        info = msgspec.json.decode((folder / "run.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return info if isinstance(info, dict) else {}


def _line(config: Mapping[str, Any], info: Mapping[str, Any]) -> str:
    data = config.get("data") or {}
    model = config.get("model") or {}
    told = [
        f"algorithm {config.get('algorithm', '?')}",
        f"data {data.get('path', '?')}",
        f"model {model.get('path', '?')}",
        f"seed {info.get('seed', '?')}",
    ]
    if info.get("status") != "finished":
        told.append("not finished")
    return ", ".join(told)


def _tiles(read: Sequence[Mapping[str, Any]], info: Mapping[str, Any]) -> str:
    tiles: list[tuple[str, str]] = []
    for key, what in (("bench/success", "of whole tasks"), ("validation/success", "of held-out decisions")):
        found = [line[key] for line in read if isinstance(line.get(key), int | float)]
        if found:
            tiles.append((f"{found[0]:.1%} → {found[-1]:.1%}", f"success {what}, first to last"))
    tiles.append((str(read[-1]["step"]), "steps"))
    if isinstance(info.get("seconds"), int | float):
        tiles.append((f"{info['seconds'] / 60:.1f} min", "of training"))
    counts = info.get("counts") or {}
    for name, what in (("prompts", "prompts"), ("experts", "demonstrations"), ("pairs", "pairs")):
        if counts.get(name):
            tiles.append((str(counts[name]), what))
    if isinstance(info.get("parameters"), int):
        tiles.append((f"{info['parameters'] / 1e6:.2f} M", "parameters"))
    shown = "".join(
        f'<div class="tile"><b>{escape_html(value)}</b><span>{escape_html(label)}</span></div>'
        for value, label in tiles
    )
    return f'<div class="tiles">{shown}</div>'


def _judge(read: Sequence[Mapping[str, Any]], info: Mapping[str, Any]) -> list[str]:
    """Say that a judge did not score what it was to score, and that its server calls itself otherwise."""
    # Updates of one batch repeat its numbers.
    batches = {line.get("rollout/batch", line["step"]): line.get("judge/offline") for line in read}
    shares = [share for share in batches.values() if isinstance(share, int | float)]
    told = tell_served(info.get("served_by") or {})
    if any(shares):
        lost = sum(1 for share in shares if share)
        told.append(
            f"In {lost} of {len(shares)} batches the judge could not score every group; those groups, "
            f"{sum(shares) / len(shares):.1%} of all, were scored offline."
        )
    if not told:
        return []
    words = "".join(f"<p>{escape_html(note)}</p>" for note in told)
    return [f'<section class="card wide"><h3>The judge</h3>{words}</section>']


def _next(following: Sequence[str]) -> list[str]:
    if not following:
        return []
    listed = "".join(f"<pre>{escape_html(command)}</pre>" for command in following)
    return [f'<section class="card wide"><h2>What may come next</h2>{listed}</section>']


def _panels(read: Sequence[Mapping[str, Any]]) -> list[str]:
    panels = []
    for name, about, keys in _PANELS:
        drawn = [
            Line(label, points)
            for key, label in keys.items()
            if (
                points := [
                    (int(line["step"]), float(line[key]))
                    for line in read
                    if isinstance(line.get(key), int | float)
                ]
            )
        ]
        if drawn:
            panels.append(
                f'<section class="card"><h3>{escape_html(name)}</h3><p class="soft">{escape_html(about)}</p>'
                f"{lines(drawn, name)}</section>"
            )
    return panels


def _samples(folder: Path) -> list[str]:
    """Return outputs of the last validation beside what was wanted."""
    try:
        found = read_steps(folder / "samples.jsonl")
    except OSError:
        return []
    if not found:
        return []
    last = max(sample["step"] for sample in found)
    rows = [
        [
            str(sample.get("last_message", "")),
            str(sample.get("output", "")),
            str(sample.get("target", "")),
            "yes" if sample.get("success") else "no",
        ]
        for sample in found
        if sample["step"] == last
    ][:_MOST_SAMPLES]
    head = ["the end of the prompt", "output", "gold", "right"]
    return [
        f'<section class="card wide"><h3>Some outputs at step {last}</h3>{table(head, rows)}</section>',
    ]


def _settings(config: Mapping[str, Any]) -> list[str]:
    if not config:
        return []
    text = msgspec.json.format(msgspec.json.encode(config), indent=2).decode()
    return [
        '<section class="card wide"><h3>Settings</h3><details><summary>all of them, as they were resolved</summary>'
        f"<pre>{escape_html(text)}</pre></details></section>"
    ]
