"""Build the documentation as a site (`make site`): the commands' reference from the command line itself, then mkdocs.

Runs where planarena runs. mkdocs and what it needs live in an environment of their own, which is built once from
requirements/docs.lock; after that a build wants no network. Warnings and dead links fail it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from planarena import managed

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import commands  # noqa: E402  the file beside this one
import links  # noqa: E402


def main() -> int:
    """Build the site into a folder and check its links; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="the folder to write (site/)")
    out = parser.parse_args().out.resolve()
    environment = managed.environment("docs", lock=ROOT / "requirements" / "docs.lock")
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder) / "commands.md"
        reference.write_text(commands.write_reference(), encoding="utf-8")
        done = subprocess.run(
            [environment.python, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", out],
            cwd=ROOT,
            env={**os.environ, "PLANARENA_COMMANDS": str(reference), "NO_MKDOCS_2_WARNING": "1"},
            check=False,
        )
    if done.returncode:
        return done.returncode
    dead = links.dead_links(out)
    for line in dead:
        sys.stderr.write(f"{line}\n")
    pages = len(list(out.rglob("*.html")))
    sys.stdout.write(f"{pages} pages in {out}; dead links: {len(dead)}\n")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
