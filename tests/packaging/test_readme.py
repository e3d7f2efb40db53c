"""The README's commands run, its pictures and links are there, and the tree of docs/architecture.md is the tree.

A block that opens with ```sh runnable is run, in the order of the file and in one folder, so that a tour may
go on with what an earlier block made.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```sh runnable\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s][^)\s]*)\)")
TREE_LINE = re.compile(r"^(?P<indent> *)(?P<name>[\w.-]+/?)(?:  +(?P<comment>.*))?$")


def test_commands_run(root: Path, tmp_path: Path) -> None:
    blocks = BLOCK.findall((root / "README.md").read_text(encoding="utf-8"))
    assert blocks
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block in blocks:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=tmp_path,
            env={**os.environ, "PATH": here},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"


def test_links_lead_somewhere(root: Path) -> None:
    missing = []
    for page in [
        *root.glob("*.md"),
        *root.glob("docs/*.md"),
        *root.glob("planarena/environments/domains/*/*.md"),
    ]:
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target.partition("#")[0]).exists():
                missing.append(f"{page.relative_to(root)}: {target}")
    assert missing == []


def test_tree_is_the_tree(root: Path, tracked: list[str]) -> None:
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = text.partition("## The tree")[2].partition("```text\n")[2].partition("```")[0]
    stack: list[str] = []
    named = {}
    for line in tree.splitlines():
        match = TREE_LINE.match(line)
        assert match is not None, line
        depth = len(match["indent"]) // 2
        stack = [*stack[:depth], match["name"].rstrip("/")]
        named["/".join(stack)] = match["comment"]
    assert [name for name, comment in named.items() if not comment] == []
    folders = {name.split("/")[0] for name in tracked if "/" in name}
    folders |= {"/".join(name.split("/")[:2]) for name in tracked if re.match(r"planarena/\w+/", name)}
    assert folders - named.keys() == set(), "folders that the tree leaves out"
    assert named.keys() - folders - set(tracked) == set(), "in the tree, but not in the repository"
