"""A finished or unfinished build on disk, and its tables as polars, pandas and datasets views."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from planarena.errors import RunError
from planarena.records.tables import FORMAT_VERSION, TABLES, arrow_schema, json_columns

if TYPE_CHECKING:
    import datasets
    import pandas
    import polars

__all__ = ["Run"]


class Run:
    """A run directory.

    Example:
        ```python
        run = planarena.Run.open("runs/first")
        run.table("trajectories").filter(polars.col("n_actions") > 3).collect()
        ```

    Attributes:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open a run directory.

        Raises:
            RunError: It is no run, or one of another format version.
        """
        root = Path(path)
        run = cls(root)
        if not root.is_dir():
            raise RunError(
                "there is no such folder", where=str(root), fix="`planarena build --out RUN` makes one"
            )
        if not (root / "run.json").is_file():
            unfinished = (root / "ledger.sqlite").is_file()
            raise RunError(
                "the build is not finished" if unfinished else "is not a planarena run",
                where=str(root),
                fix="run the same `planarena build` command again"
                if unfinished
                else "give the folder of a build",
            )
        version = run.info.get("format_version")
        if version != FORMAT_VERSION:
            raise RunError(
                f"is of format version {version}, this planarena reads {FORMAT_VERSION}",
                where=str(root),
                fix="build it again, or use the planarena that wrote it",
            )
        names = [[path.name for path in run.shards(table)] for table in ("trajectories", "steps")]
        if (root / "tables/steps").is_dir() and names[0] != names[1]:
            raise RunError(
                "the tables trajectories and steps have not the same shards: a file is missing",
                where=str(root / "tables"),
                fix="build it again, or put a copy back",
            )
        return run

    @cached_property
    def info(self) -> dict[str, Any]:
        """The contents of `run.json`: configuration, versions, seed, counts, execution kinds, cost, stop reason.

        Raises:
            RunError: The file is damaged.
        """
        try:
            info: dict[str, Any] = msgspec.json.decode(
                (self.path / "run.json").read_bytes(), type=dict[str, Any]
            )
        except msgspec.DecodeError as error:
            raise RunError(
                f"run.json is damaged: {error}", where=str(self.path), fix="build it again"
            ) from error
        return info

    @property
    def tables(self) -> list[str]:
        """The names of the tables that have a shard."""
        return [name for name in TABLES if self.shards(name)]

    def shards(self, table: str) -> list[Path]:
        """Return the shards of a table, in order.

        Raises:
            RunError: There is no table of that name.
        """
        if table not in TABLES:
            raise RunError(
                f"there is no table {table!r}", where=str(self.path), fix=f"one of: {', '.join(TABLES)}"
            )
        return sorted((self.path / "tables" / table).glob("[!.]*.parquet"))

    def table(self, name: str) -> polars.LazyFrame:
        """Return a table as a polars LazyFrame; JSON columns are strings.

        Raises:
            RunError: There is no table of that name.
        """
        import polars

        shards = self.shards(name)
        if not shards:
            frame = polars.from_arrow(arrow_schema(name).empty_table())
            assert isinstance(frame, polars.DataFrame)
            return frame.lazy()
        return polars.scan_parquet(shards)

    def to_pandas(self, name: str = "trajectories", *, decode: bool = False) -> pandas.DataFrame:
        """Return a table as a pandas DataFrame.

        Args:
            name: The table.
            decode: Turn the JSON columns into Python values.

        Raises:
            RunError: There is no table of that name.
        """
        frame = self.table(name).collect().to_pandas()
        if decode:
            for column in json_columns(TABLES[name][0]):
                frame[column] = [msgspec.json.decode(text) for text in frame[column]]
        return frame

    def to_dataset(self, name: str = "trajectories") -> datasets.Dataset:
        """Return a table as a `datasets.Dataset`; JSON columns stay strings, so nothing is merged or padded with nulls.

        Raises:
            RunError: There is no table of that name.
        """
        import datasets

        return datasets.Dataset(self.table(name).collect().to_arrow().cast(arrow_schema(name)))

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"
