"""The dataset card: a README with the YAML header that Hugging Face reads.

Everything in it comes from `run.json` and the tools table, so that it never differs between two makings of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planarena.export.card_facts import render_facts, tool_facts
from planarena.export.escaping import escape_markdown, visible
from planarena.records import Run
from planarena.records.tables import TABLES

__all__ = ["render_card", "render_header", "size_category"]

# Largest count of a class (exclusive) and its name, as Hugging Face names them.
_SIZES = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
)

# SPDX ids (in small letters) that Hugging Face knows by the same name; all else is "other".
_LICENCES = (
    "apache-2.0 mit bsd-2-clause bsd-3-clause cc0-1.0 cc-by-4.0 cc-by-sa-4.0 cc-by-nc-4.0 isc mpl-2.0 "
    "lgpl-3.0 gpl-3.0 agpl-3.0 unlicense zlib odbl"
).split()

_TABLES = {
    "trajectories": "plan, response, kind and length of each trajectory",
    "steps": "the calls, step by step, with the source of every bound value",
    "executions": "what each call returned, from which state to which",
    "tasks": "the expression, its bindings and the goal",
    "queries": "what the user says, and where each value in the calls is grounded",
    "scenarios": "tools, context and initial state",
    "tools": "names, descriptions and JSON Schemas",
    "edges": "which output was accepted as which argument",
    "atomic_tasks": "the single calls that composition starts from",
    "discards": "what did not become a trajectory, and why",
    "decision_points": "right and wrong choices at a step",
    "proposals": "what models proposed, and what became of it",
    "audits": "what people judged",
    "labels": "labels derived from audits",
    "augmentations": "which trajectory of another run each one was made from, and what was done to it",
    "rates": "how often a model does each task",
}


def render_card(run: Run) -> str:
    """Return the README of a run: what is in it, how it was made, what it cannot be used for."""
    shown = [name for name in _TABLES if run.shards(name)]
    header = render_header(
        run,
        [
            {
                "config_name": name,
                "data_files": f"tables/{name}/*.parquet",
                **({"default": True} if name == "trajectories" else {}),
            }
            for name in shown
        ],
    )
    tables = "\n".join(f"- `{name}`: {_TABLES[name]}" for name in shown)
    return f"""{header}
# {escape_markdown(_title(run))}

Multi-step tool-use trajectories: a user's query, a plan, calls with their observations, and an answer. Every one
was composed from tools, executed and proven by `planarena`.

{render_facts(run)}
## Tables

One folder of Parquet files each; JSON values are strings of canonical JSON, so that no schema of one tool leaks
into another. Columns and keys: `docs/dataset.md` of planarena.

{tables}

## How to load

```python
import planarena
run = planarena.Run.open("RUN")
run.table("trajectories")                 # a polars LazyFrame
run.to_pandas("steps", decode=True)       # JSON columns as Python values

import datasets
datasets.load_dataset("RUN", "trajectories")
```

`planarena inspect RUN` shows trajectories, `planarena export RUN --format hf --out DIR` joins the tables to one row
a trajectory, `--format openai` writes chat messages.
"""


def render_header(run: Run, configs: Sequence[Mapping[str, Any]]) -> str:
    """Return the YAML header of a card.

    Args:
        run: The run.
        configs: The `configs` that `datasets.load_dataset` reads.

    Returns:
        The header between its two lines of dashes, ending with a newline.
    """
    import yaml

    licences = sorted(tool_facts(run)["licence"])
    one = licences[0].lower() if len(licences) == 1 and licences[0].lower() in _LICENCES else "other"
    fields: dict[str, Any] = {
        "license": one,
        **({"license_name": "see-licences-below"} if one == "other" else {}),
        "language": ["en"],
        "pretty_name": _title(run),
        "task_categories": ["text-generation"],
        "tags": ["tool-use", "function-calling", "agents", "synthetic", "planarena"],
        "size_categories": [size_category(int(run.info["counts"].get("gold", 0)))],
        "configs": [dict(config) for config in configs],
    }
    return f"---\n{yaml.safe_dump(fields, sort_keys=False, allow_unicode=False, width=1000)}---\n"


def size_category(number: int) -> str:
    """Return the class of a number of rows, as Hugging Face names it."""
    return next((name for limit, name in _SIZES if number < limit), "n>10M")


def _title(run: Run) -> str:
    kinds: Mapping[str, int] = run.info["counts"].get("gold_kind", {})
    counted = " and ".join(f"{number} {visible(kind)}" for kind, number in sorted(kinds.items())) or "0"
    return f"{counted} gold tool-use {'trajectory' if list(kinds.values()) == [1] else 'trajectories'}"


assert set(_TABLES) == set(TABLES)
