"""The trajectories of a run as one table in memory: search, filters, pages, in milliseconds for a hundred thousand."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from planarena.errors import RunError
from planarena.records import Run

if TYPE_CHECKING:
    import polars

__all__ = ["FACETS", "PAGE", "SORTS", "Browser", "Found", "Table"]

PAGE = 50
# Column -> what people call it.
FACETS = {
    "kind": "Kind",
    "domain": "Domain",
    "n_actions": "Actions",
    "category": "No call because",
    "mutation": "Fault",
    "conversation": "Conversation",
    "register": "Manner",
    "split": "Split",
}
SORTS = ("run", "longest", "shortest")
_MOST_VALUES = 60
# Characters of a row's words that are searched and shown in a list.
_SEARCHED, _SHOWN = 2_000, 320
_MOST_TABLES = 2


class Found(NamedTuple):
    """A page of what fits.

    Attributes:
        rows: Of the page.
        total: How many fit.
        page: Its number, from 0.
        pages: How many there are, at least 1.
    """

    rows: list[dict[str, Any]]
    total: int
    page: int
    pages: int


class Table:
    """What lists and filters need of the trajectories of a run; made once.

    Args:
        run: The run.

    Attributes:
        total: Trajectories.
        facets: By column the values with their numbers, the most frequent first.

    Raises:
        RunError: A shard is damaged.
    """

    def __init__(self, run: Run) -> None:
        import polars

        try:
            self._frame = _joined(run)
        except polars.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0][:300]
            raise RunError(
                f"a table is damaged: {reason}", where=str(run.path), fix="build the run again"
            ) from error
        self.total = self._frame.height
        self.facets = {name: _values(self._frame, name) for name in FACETS}

    def find(self, wanted: Mapping[str, str], page: int, *, size: int = PAGE) -> Found:
        """Return a page of the trajectories that fit.

        Args:
            wanted: `q` for words, a facet's name for its value, `sort`, `ids` for ids with a comma between.
            page: From 0; beyond the last it is the last.
            size: Rows of a page.
        """
        places = self._places(wanted)
        pages = max(1, -(-places.len() // size))
        page = min(max(page, 0), pages - 1)
        rows = self._frame[places.slice(page * size, size)].drop("text").to_dicts()
        return Found([{**row, "said": _said(row["turns"])} for row in rows], places.len(), page, pages)

    def around(self, wanted: Mapping[str, str], name: str) -> tuple[str, str, int, int]:
        """Return the trajectories before and after one among those that fit, its place and how many fit."""
        ids = self._frame.get_column("trajectory_id").gather(self._places(wanted))
        place = ids.index_of(name)
        if place is None:
            return "", "", -1, ids.len()
        before = ids[place - 1] if place else ""
        return before, ids[place + 1] if place + 1 < ids.len() else "", place, ids.len()

    def shard(self, name: str) -> str | None:
        """Return the shard that holds a trajectory."""
        import polars

        found = self._frame.filter(polars.col("trajectory_id") == name).get_column("shard")
        return str(found[0]) if found.len() else None

    def family(self, name: str) -> list[dict[str, Any]]:
        """Return a trajectory's parent and the others that depart from the same one, itself among them."""
        import polars

        rows = self._frame.filter(polars.col("trajectory_id") == name).to_dicts()
        if not rows:
            return []
        head = rows[0]["parent_id"] or name
        return self._frame.filter(
            (polars.col("trajectory_id") == head) | (polars.col("parent_id") == head)
        ).to_dicts()

    def _places(self, wanted: Mapping[str, str]) -> polars.Series:
        """Return the numbers of the rows that fit, in order; rows themselves are only made of a page."""
        import polars

        frame = self._frame
        tests = []
        for name in FACETS:
            value = wanted.get(name, "")
            if not value:
                continue
            if name == "n_actions":
                tests.append(
                    polars.col(name)
                    == (int(value) if value.isascii() and value.isdigit() and len(value) < 10 else -1)
                )
            else:
                tests.append(polars.col(name) == value)
        if "ids" in wanted:
            tests.append(polars.col("trajectory_id").is_in([one for one in wanted["ids"].split(",") if one]))
        tests += [
            polars.col("text").str.contains(word, literal=True)
            for word in wanted.get("q", "").lower().split()[:12]
        ]
        if tests:
            places = frame.select(polars.all_horizontal(tests).fill_null(value=False)).to_series().arg_true()
        else:
            places = polars.Series(range(0)) if frame.is_empty() else polars.arange(frame.height, eager=True)
        if wanted.get("sort") in SORTS[1:]:
            lengths = frame.get_column("n_actions").gather(places)
            longest = wanted["sort"] == "longest"
            # A sort that keeps the order of equals.
            key = -lengths if longest else lengths
            places = (
                polars.DataFrame({"key": key, "place": places})
                .sort("key", maintain_order=True)
                .get_column("place")
            )
        return places


class Browser:
    """The tables of the runs that were looked at last."""

    def __init__(self) -> None:
        self._tables: OrderedDict[tuple[str, Any], Table] = OrderedDict()
        self._lock = Lock()

    def table(self, run: Run) -> Table:
        """Return the table of a run; it is read again where the run changed.

        Raises:
            RunError: A shard is damaged.
        """
        with self._lock:
            shards = run.shards("trajectories")
            stamp = tuple((path.name, path.stat().st_mtime_ns) for path in shards)
            key = (str(run.path), hash(stamp))
            if key not in self._tables:
                while len(self._tables) >= _MOST_TABLES:
                    self._tables.popitem(last=False)
                self._tables[key] = Table(run)
            self._tables.move_to_end(key)
            return self._tables[key]


def _joined(run: Run) -> polars.DataFrame:
    import polars

    column = polars.col
    shards = run.shards("trajectories")
    if not shards:
        return _joined_empty()
    own = polars.scan_parquet(shards, include_file_paths="shard").select(
        "trajectory_id", "task_id", "query_id", "kind", "parent_id", "mutation", "n_actions", "shard"
    )
    tasks = run.table("tasks")
    conversation = (
        column("conversation")
        if "conversation" in tasks.collect_schema().names()
        else polars.lit("plain").alias("conversation")
    )
    words = run.table("queries").select("query_id", column("turns").str.slice(0, _SEARCHED), "register")
    return (
        own.join(
            tasks.select(
                "task_id",
                "scenario_id",
                column("expression").str.slice(0, _SEARCHED),
                "category",
                conversation,
            ),
            on="task_id",
            how="left",
            maintain_order="left",
        )
        .join(words, on="query_id", how="left", maintain_order="left")
        .join(
            run.table("scenarios").select("scenario_id", "domain", "split"),
            on="scenario_id",
            how="left",
            maintain_order="left",
        )
        .select(
            "trajectory_id",
            "parent_id",
            column("n_actions").cast(polars.Int32),
            column("turns").fill_null("").str.slice(0, _SHOWN),
            column("expression").fill_null("").str.slice(0, 200),
            column("shard").str.extract(r"([^/\\]+)\.parquet$").cast(polars.Categorical),
            *(
                column(name).fill_null("").cast(polars.Categorical)
                for name in ("kind", "mutation", "category", "conversation", "register", "domain", "split")
            ),
            polars.concat_str(
                [column(name).fill_null("") for name in ("turns", "expression", "trajectory_id", "domain")],
                separator="\n",
            )
            .str.to_lowercase()
            .alias("text"),
        )
        .collect()
    )


def _joined_empty() -> polars.DataFrame:
    import polars

    texts = ["trajectory_id", "parent_id", "turns", "expression", "shard", "text", *FACETS]
    return polars.DataFrame(
        schema={name: polars.Int32 if name == "n_actions" else polars.String for name in texts}
    )


def _values(frame: polars.DataFrame, name: str) -> list[tuple[str, int]]:
    counted = frame.get_column(name).value_counts(sort=True)
    values = [(str(value), number) for value, number in counted.iter_rows() if value not in ("", None)]
    if name == "n_actions":
        values.sort(key=lambda one: int(one[0]))
    return values[:_MOST_VALUES]


def _said(turns: str) -> str:
    """Return the user's words; what was cut in the middle of the JSON list is shown without its quotes."""
    try:
        return " ".join(msgspec.json.decode(turns, type=list[str]))
    except msgspec.MsgspecError:
        return turns.removeprefix('["').replace('","', " ").replace('\\"', '"').replace("\\n", " ")
