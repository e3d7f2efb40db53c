"""The bench that ships with planarena: its name, its folder, its splits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import as_file, files
from pathlib import Path

__all__ = ["BENCH", "HELD_OUT", "bench_path"]

BENCH = "planarena-2"
HELD_OUT = ("test", "unseen_tools")
_TABLES = ("scenarios", "tasks", "queries", "trajectories", "steps", "executions", "tools")


@contextmanager
def bench_path() -> Iterator[Path]:
    """Give the folder of the bench that ships with planarena; unpacked for a while where planarena is an archive."""
    root = files("planarena.data").joinpath("bench", BENCH)
    if isinstance(root, Path):
        yield root
        return
    with ExitStack() as stack:
        # Before Python 3.12 a folder of an archive cannot be asked for as a whole.
        import tempfile

        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="planarena-bench-")))
        for part in ("run.json", *(f"tables/{name}/00000.parquet" for name in _TABLES)):
            target = folder / part
            target.parent.mkdir(parents=True, exist_ok=True)
            source = stack.enter_context(as_file(root.joinpath(*part.split("/"))))
            target.write_bytes(source.read_bytes())
        yield folder
