"""The trajectories inside a report: compressed blocks of text that the page's script opens when they are asked for.

The list that filters work on stands in blocks of its own, one line a family: number in the run, block, and what
`planarena.report.fragments` says. The page stays below a limit however large the run is: where all parts together are
too large, the last ones are left out. Memory holds one scenario's blocks at a time.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TextIO

from planarena.errors import RunError
from planarena.records import Run
from planarena.report.families import ToolRecord, read_shard, read_tools
from planarena.report.fragment_files import FragmentFile, write_fragment
from planarena.report.fragments import PARTS, Deflate, make_fragment

__all__ = ["MOST_CHARACTERS", "MOST_FAMILIES", "Embedded", "embed_trajectories", "prepare_fragment"]

# A page of 20 MB opens within three seconds; a megabyte is left for the summary.
MOST_CHARACTERS = 19_000_000
# Filters go through all families; this many take well below 200 ms.
MOST_FAMILIES = 50_000


class Embedded(NamedTuple):
    """What a report holds of the trajectories.

    Attributes:
        parts: How many parts there are.
        listed: Trajectories on the page.
        total: Trajectories in the run.
    """

    parts: int
    listed: int
    total: int


def prepare_fragment(run: Run, shard: Path, target: Path, tools: dict[str, ToolRecord] | None = None) -> None:
    """Write the fragment of a shard, for `embed_trajectories` to find.

    Args:
        run: The run.
        shard: Of the table `trajectories`.
        target: The file to write.
        tools: Of the run, where they are read already.

    Raises:
        RunError: A row refers to one that is not there, or a shard is damaged.
        OSError: No space, no permission.
    """
    known = read_tools(run) if tools is None else tools
    write_fragment(target, make_fragment(read_shard(shard), known, str(run.path)))


def embed_trajectories(
    run: Run,
    sink: TextIO,
    most_characters: int = MOST_CHARACTERS,
    most_families: int = MOST_FAMILIES,
    prepared: Callable[[Path], Path | None] | None = None,
) -> Embedded:
    """Write all trajectories of a run, or those of an even sample of its scenarios that fit.

    Args:
        run: The run; read shard by shard.
        sink: Takes the elements as HTML that nothing executes: ids `list-PART` and `block-PART-NUMBER`.
        most_characters: Of all elements together.
        most_families: On the page.
        prepared: Where the fragment of a shard is, if it was made before; the others are made now.

    Raises:
        RunError: A row refers to one that is not there, or a shard is damaged.
        OSError: No space for the fragments.
    """
    with TemporaryDirectory(prefix="planarena-report-") as folder:
        files: list[FragmentFile] = []
        tools: dict[str, ToolRecord] | None = None
        for number, shard in enumerate(run.shards("trajectories")):
            found = _open(prepared(shard)) if prepared is not None else None
            if found is None:
                tools = read_tools(run) if tools is None else tools
                made = Path(folder) / f"{number}.bin"
                prepare_fragment(run, shard, made, tools)
                found = FragmentFile(made)
            files.append(found)
        return _assemble(files, sink, most_characters, most_families)


def _open(path: Path | None) -> FragmentFile | None:
    try:
        return None if path is None else FragmentFile(path)
    except RunError:
        return None  # damaged: it is made again


def _assemble(files: list[FragmentFile], sink: TextIO, most_characters: int, most_families: int) -> Embedded:
    total = sum(file.trajectories for file in files)
    taken = listed = families = kept = 0
    every = _stride(_members(files, 0), most_characters, most_families)
    for part in range(PARTS if every == 1 else 1):
        members = _members(files, part)[::every]
        families += sum(file.families_of(place) for file, place, _ in members)
        if kept and families > most_families:
            break
        start = sink.tell()
        for element in _elements(part, members):
            taken += sink.write(element)
        if kept and taken > most_characters:
            sink.seek(start)
            sink.truncate()
            break
        listed += sum(file.trajectories_of(place) for file, place, _ in members)
        kept += 1
    return Embedded(kept, listed, total)


def _members(files: list[FragmentFile], part: int) -> list[tuple[FragmentFile, int, int]]:
    """Return (file, part in it, number of its first family in the run) for a part of the page."""
    found, scenarios, families = [], 0, 0
    for file in files:
        place = (part - scenarios) % PARTS
        if file.families_of(place):
            found.append((file, place, families))
        scenarios += file.scenarios
        families += file.families
    return found


def _stride(members: list[tuple[FragmentFile, int, int]], most_characters: int, most_families: int) -> int:
    """Return 1 where the first part fits, or of how many shards one is taken from a run too large even for it."""
    characters = sum(file.characters_of(place) for file, place, _ in members)
    families = sum(file.families_of(place) for file, place, _ in members)
    share = min(1.0, most_characters / max(1, characters), most_families / max(1, families))
    return -(-len(members) // max(1, int(len(members) * share))) if members else 1


def _elements(part: int, members: list[tuple[FragmentFile, int, int]]) -> Iterator[str]:
    lines = Deflate()
    blocks = 0
    for file, place, first in members:
        piece = file.read(place)
        for number, block, rest in piece.lines:
            lines.add(b"[%d,%d,%b" % (first + number, blocks + block, rest))
        for data in piece.blocks:
            yield _element(f"block-{part}-{blocks}", data)
            blocks += 1
    yield _element(f"list-{part}", lines.finish())


def _element(name: str, data: bytes) -> str:
    # A type that is no script's: the browser keeps the text and runs nothing.
    return f'<script type="text/plain" id="{name}">{b64encode(data).decode()}</script>\n'
