"""The trajectories inside a report: all of them, exactly; an even sample where they are too many; bounded values."""

from __future__ import annotations

import json
import re
import shutil
import zlib
from base64 import b64decode
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planarena import Run
from planarena.errors import RunError
from planarena.export import JoinedTrajectory, join_trajectories
from planarena.records import read_rows, write_shard
from planarena.report import render_report, write_report
from planarena.report.embedding import Embedded, _assemble, embed_trajectories, prepare_fragment
from planarena.report.fragment_files import FragmentFile
from planarena.report.fragments import Deflate


class Blocks:
    """Reads a page's blocks as its script does."""

    def __init__(self, embedded: Embedded, elements: list[str]) -> None:
        self.lines: dict[str, list[str]] = {}
        for element in elements:
            found = re.fullmatch(r'<script type="text/plain" id="([\w-]+)">(.*)</script>\n', element)
            assert found is not None
            text = zlib.decompress(b64decode(found[2]), wbits=-15).decode()
            self.lines[found[1]] = text.split("\n") if text else []
        self.families = [
            (part, json.loads(line)) for part in range(embedded.parts) for line in self.lines[f"list-{part}"]
        ]

    def detail(self, part: int, listed: list[Any]) -> tuple[list[str], list[Any]]:
        lines = self.lines[f"block-{part}-{listed[1]}"]
        return lines, json.loads(lines[listed[2]])


def _embed(run: Run, **limits: int) -> tuple[Embedded, list[str]]:
    sink = StringIO()
    embedded = embed_trajectories(run, sink, **limits)
    return embedded, sink.getvalue().splitlines(keepends=True)


@pytest.fixture(scope="module")
def blocks(built_run: Run) -> Blocks:
    return Blocks(*_embed(built_run))


@pytest.fixture(scope="module")
def joined(built_run: Run) -> dict[str, JoinedTrajectory]:
    return {one.row.trajectory_id: one for one in join_trajectories(built_run)}


def test_every_trajectory_is_listed_once_in_the_order_of_the_run(
    blocks: Blocks, joined: dict[str, JoinedTrajectory]
) -> None:
    ordered = sorted(blocks.families, key=lambda pair: pair[1][0])
    assert [listed[0] for _, listed in ordered] == list(range(len(ordered)))
    rows = [row for _, listed in ordered for row in listed[-1]]
    assert sorted(row[0] for row in rows) == sorted(joined)
    firsts = [listed[-1][0][0] for _, listed in ordered]
    assert firsts == [name for name, one in joined.items() if one.row.kind == "gold"]
    for _, listed in ordered:
        one = joined[listed[-1][0][0]]
        assert listed[3:7] == [one.scenario.domain, one.scenario.split, one.task.category, listed[6]]
        assert listed[7] == list(one.turns)
        assert listed[8] == one.task.expression
        for name, kind, mutation, length, diverge, *_ in listed[-1]:
            row = joined[name].row
            assert (kind, mutation, length, diverge) == (
                row.kind,
                row.mutation,
                len(joined[name].actions),
                row.diverge_step,
            )


def test_details_say_what_the_tables_say(blocks: Blocks, joined: dict[str, JoinedTrajectory]) -> None:
    seen = 0
    for part, listed in blocks.families:
        lines, (scenario, before, plan, answers, _, order, _, steps, _, wrong) = blocks.detail(part, listed)
        for place, (name, *_) in enumerate(listed[-1]):
            one = joined[name]
            told = (plan, answers, steps)
            if place:
                own_plan, own_answers, own_steps = wrong[place - 1]
                told = (
                    own_plan or plan,
                    own_answers,
                    [steps[step] if isinstance(step, int) else step for step in own_steps],
                )
            assert told[0] == one.row.plan
            assert told[1] == list(one.responses)
            assert json.loads(lines[scenario])[0] == one.scenario.title
            if not place:
                assert order == [list(edge) for edge in one.order_edges]
                assert before == list(one.said_before)
            assert len(told[2]) == len(one.actions)
            for step, action in zip(told[2], one.actions, strict=True):
                tool, tool_line, group, turn, words, arguments, bound, execution = step
                assert (tool, group, turn, words) == (
                    action.tool.wire_name,
                    action.group,
                    action.turn,
                    action.plan,
                )
                assert json.loads(lines[arguments]) == action.arguments
                assert [tuple(item) for item in bound] == list(action.bound)
                status, kind, result = json.loads(lines[execution])
                assert (status, kind) == (action.status, action.execution_kind)
                assert json.loads(lines[result]) == action.observation
                assert (tool_line >= 0) == bool(action.tool.tool_id)
                seen += 1
    assert seen > 300


def test_choices_and_outcomes_are_those_of_the_tables(built_run: Run, blocks: Blocks) -> None:
    points: dict[str, dict[int, Any]] = {}
    for row in built_run.table("decision_points").collect().to_dicts():
        place = row["step"] if row["turn"] < 0 else -1 - row["turn"]
        points.setdefault(row["trajectory_id"], {})[place] = json.loads(row["candidates"])
    executions = {row["execution_id"]: row for row in built_run.table("executions").collect().to_dicts()}
    for part, listed in blocks.families:
        lines, detail = blocks.detail(part, listed)
        stored = points.get(listed[-1][0][0], {})
        assert sorted(step for step, _ in detail[8]) == sorted(stored)
        for step, choices in detail[8]:
            for shown, choice in zip(choices, stored[step], strict=True):
                said = {"response": choice["response"]} if not choice["tool"] else choice["arguments"]
                assert [shown[0], json.loads(lines[shown[1]]), *shown[2:5]] == [
                    choice["tool"],
                    said,
                    *(choice[name] for name in ("outcome", "mutation", "relevance")),
                ]
                if choice["execution_id"]:
                    assert json.loads(lines[shown[5]])[0] == executions[choice["execution_id"]]["status"]
                else:
                    assert shown[5] == -1
        outcomes = {choice["outcome"] for choices in stored.values() for choice in choices}
        assert listed[-1][0][-1] == sorted(outcomes)
        for wrong in listed[-1][1:]:
            # A wrong trajectory takes one wrong choice.
            assert wrong[-1]
            assert set(wrong[-1]) <= {"diverges", "ungrounded", "error"}


def test_too_many_leave_an_even_sample_of_whole_scenarios_and_say_so(built_run: Run) -> None:
    whole, elements = _embed(built_run)
    assert (whole.parts, whole.listed) == (16, whole.total)
    size = sum(map(len, elements))
    for limit in (size * 3 // 4, size // 3):
        some, fewer = _embed(built_run, most_characters=limit)
        assert sum(map(len, fewer)) <= limit
        assert 0 < some.parts < 16
        assert some.total == whole.total
        families = Blocks(some, fewer).families
        assert some.listed == sum(len(listed[-1]) for _, listed in families)
        # Parts are dealt scenario by scenario, so each kept part is the same as before.
        assert families == [pair for pair in Blocks(whole, elements).families if pair[0] < some.parts]
        text = render_report(built_run, limit)
        assert f"A sample: {some.listed} of the {some.total} trajectories of this run" in text
    assert f"All {whole.total} trajectories" in render_report(built_run)
    few, _ = _embed(built_run, most_families=20)
    assert few.parts < 16


def test_a_run_too_large_even_for_one_part_shows_some_of_its_shards(built_run: Run, tmp_path: Path) -> None:
    prepare_fragment(built_run, built_run.shards("trajectories")[0], tmp_path / "0.bin")
    many = [FragmentFile(tmp_path / "0.bin")] * 160  # as shards of a run of thousands of scenarios
    sink = StringIO()
    whole = _assemble(many, sink, 10**9, 10**9)
    assert (whole.parts, whole.listed) == (16, whole.total)
    sink = StringIO()
    some = _assemble(many, sink, 10**9, whole.total // 200)
    shown = Blocks(some, sink.getvalue().splitlines(keepends=True)).families
    assert some.parts == 1
    assert whole.total // 400 < len(shown) <= whole.total // 200
    # From all of it, not from its beginning: of few shards taken evenly the last stands beyond the middle.
    assert max(listed[0] for _, listed in shown) > 0.5 * sum(file.families for file in many)
    small = StringIO()
    _assemble(many, small, len(sink.getvalue()) // 4, 10**9)
    assert 0 < len(small.getvalue()) <= len(sink.getvalue()) // 2


def test_prepared_fragments_and_a_streamed_page_give_the_same_bytes(built_run: Run, tmp_path: Path) -> None:
    text = render_report(built_run).encode()
    assert (
        built_run.path / "report.html"
    ).read_bytes() == text  # written by a build, from its workers' fragments
    for number, shard in enumerate(built_run.shards("trajectories")):
        if number % 2 == 0:
            prepare_fragment(built_run, shard, tmp_path / f"{shard.stem}.bin")

    def prepared(shard: Path) -> Path | None:
        path = tmp_path / f"{shard.stem}.bin"
        return path if path.is_file() else None

    page = tmp_path / "report.html"
    write_report(built_run, page, prepared=prepared)
    assert page.read_bytes() == text
    before = page.stat().st_mtime_ns
    write_report(built_run, page, prepared=prepared)
    assert page.stat().st_mtime_ns == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    damaged = tmp_path / f"{built_run.shards('trajectories')[0].stem}.bin"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    page.unlink()
    write_report(built_run, page, prepared=prepared)  # the damaged one is made again
    assert page.read_bytes() == text


@pytest.mark.parametrize("sizes", [[], [5], [40_000], [5, 40_000], [40_000, 5], [20_000] * 5])
def test_lines_are_parted_by_newlines_wherever_deflate_is_fed(sizes: list[int]) -> None:
    lines = [b"x" * size for size in sizes]
    made = Deflate()
    assert [made.add(line) for line in lines] == list(range(len(lines)))
    assert zlib.decompress(made.finish(), wbits=-15) == b"\n".join(lines)


def _copy(run: Run, root: Path) -> Path:
    shutil.copytree(run.path / "tables", root / "tables")
    shutil.copy(run.path / "run.json", root)
    return root


def test_long_values_are_cut_and_say_so(built_run: Run, tmp_path: Path) -> None:
    root = _copy(built_run, tmp_path / "run")
    path = built_run.shards("executions")[0]
    rows = read_rows(path, "executions")
    long = msgspec.json.encode({"text": "x" * 300_000}).decode()
    changed = [msgspec.structs.replace(row, result=long) if row.status == "ok" else row for row in rows]
    write_shard(root, "executions", path.stem, changed)
    embedded = Blocks(*_embed(Run.open(root)))
    values = [line for lines in embedded.lines.values() for line in lines if "\0" in line]
    assert values
    for line in values:
        shown, rest = line.split("\0")
        assert len(shown) == 12_000
        assert len(shown) + int(rest) == len(long)


def test_damage_is_one_clear_error(built_run: Run, tmp_path: Path) -> None:
    root = _copy(built_run, tmp_path / "run")
    (root / "tables/executions/00000.parquet").unlink()
    with pytest.raises(RunError, match="is incomplete"):
        render_report(Run.open(root))
    (root / "tables/steps/00000.parquet").write_bytes(b"PAR1 not at all")
    with pytest.raises(RunError, match="damaged"):
        render_report(Run.open(root))


def test_an_unfinished_build_without_a_trajectory_has_a_report(built_run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes((built_run.path / "run.json").read_bytes())
    assert "All 0 trajectories" in render_report(Run.open(tmp_path))
