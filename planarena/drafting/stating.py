"""What lies beside a draft that passed: a page for readers, and where it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from planarena.drafting.parts import Design
from planarena.drafting.report import PartReport
from planarena.drafting.settings import DraftConfig
from planarena.export.escaping import escape_markdown
from planarena.llm import load_prompt
from planarena.version import __version__

__all__ = ["PROVENANCE", "write_provenance"]

PROVENANCE = "provenance.json"
_PROMPTS = ("draft_design", "draft_tools", "draft_world", "draft_words", "draft_repair")
_LICENCE = (
    "Code and texts of this folder were written by a language model. No licence is claimed for them; what may be done with "
    "them follows from the terms of the model's provider. The frame that they fill is planarena's, Apache-2.0."
)


def write_provenance(
    folder: Path,
    config: DraftConfig,
    topic: str,
    design: Design,
    parts: list[PartReport],
    tasks: dict[str, int],
) -> None:
    """Write `README.md` and `provenance.json` into the folder of a draft that passed."""
    tools = "\n".join(
        f"| `{one.name}` | {one.effect} | {escape_markdown(one.does)} |" for one in design.tools
    )
    counts = ", ".join(f"{number} of {length}" for length, number in tasks.items())
    holds = "\n".join(f"- {escape_markdown(one)}" for one in design.invariants)
    text = f"""# {folder.name}

{escape_markdown(design.title)}: {escape_markdown(design.summary)}

| tool | effect | |
|---|---|---|
{tools}

What always holds:

{holds}

```sh
planarena env check {folder.name}
planarena build env:{folder.name} --trajectories 50 --out runs/{folder.name}
```

## Where it comes from

Drafted by `{escape_markdown(config.model)}` with planarena {__version__} for the topic "{escape_markdown(topic)}", in parts that were
run in a sandbox and held to the contract of environments; composed tasks by actions that pass the proofs: {counts}.
`{PROVENANCE}` says more. Its code runs in the sandbox like any other that is not your own.

{_LICENCE}
"""
    (folder / "README.md").write_text(text, encoding="utf-8")
    stated: dict[str, Any] = {
        "topic": topic,
        "model": config.model,
        "planarena": __version__,
        "prompts": [load_prompt(name).label for name in _PROMPTS],
        "settings": {"temperature": config.temperature, "tools": config.tools, "repairs": config.repairs},
        "parts": [{"part": one.part, "answers": one.answers} for one in parts],
        "tasks": tasks,
        "licence": _LICENCE,
    }
    data = msgspec.json.format(msgspec.json.encode(stated, order="deterministic"), indent=2)
    (folder / PROVENANCE).write_bytes(data + b"\n")
