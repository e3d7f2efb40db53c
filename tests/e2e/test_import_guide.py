"""The guide on rows: its commands and its Python run as they stand."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from planarena import formats
from planarena.cli import main
from planarena.rows import RowOptions, template_names
from planarena.rows.importers import SOURCES


def test_commands_and_python_of_the_guide(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (root / "docs/rows.md").read_text(encoding="utf-8")
    samples = json.loads((root / "tests/unit/rows/import_samples.json").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    Path("traces.jsonl").write_text(
        json.dumps(samples["openai"][0]) + "\n" + json.dumps(samples["openai"][0]).replace("Ada", "Bo") + "\n"
    )
    names: dict[str, object] = {}
    blocks = re.findall(r"```(sh|python)\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 8
    for kind, block in blocks:
        if kind == "python":
            exec(compile(block, "docs/rows.md", "exec"), names)
            continue
        for line in block.splitlines():
            words = shlex.split(line)
            assert words[0] == "planarena"
            assert main(words[1:]) == 0, line
    assert {path.name for path in Path("VERL").iterdir()} == {"rl", "sft", "export.json"}


def test_the_guide_names_every_source_format_and_option(root: Path) -> None:
    text = (root / "docs/rows.md").read_text(encoding="utf-8")
    missing = [
        name
        for name in (*SOURCES, *formats.names(), *RowOptions.__struct_fields__)
        if f"`{name}`" not in text and name not in ("observations", "context")
    ]
    assert missing == []
    assert {"short", "toolupt", "chord", "math", "toolrl"} <= set(template_names())
