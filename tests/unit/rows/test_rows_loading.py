"""The one loader: what it accepts, in which order, and the one message for everything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planarena import Run
from planarena.errors import RunError, UserError
from planarena.export import ExportOptions, export
from planarena.rows import (
    EpisodeRow,
    RowOptions,
    TrainingRow,
    load_dialogues,
    load_episodes,
    load_pairs,
    load_rows,
    write_rows,
)

ALL = RowOptions(splits=())
SAMPLES: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("import_samples.json").read_text(encoding="utf-8")
)
GOOD = SAMPLES["openai"][0]
XLAM = SAMPLES["xlam"][0]


def lines(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_run_gives_the_same_rows_every_time(built_run: Run) -> None:
    rows = load_rows(built_run.path, ALL)
    once, again = list(rows), list(rows)
    assert once == again
    assert rows.counts["rows"] == len(once)
    parts = [
        row
        for split in ("train", "validation", "test")
        for row in load_rows(built_run.path, RowOptions(splits=(split,)), allow_empty=True)
    ]
    assert sorted(row.row_id for row in parts) == sorted(row.row_id for row in once)


@pytest.mark.parametrize("format", ["openai", "sharegpt", "hf"])
def test_exports_give_the_rows_of_their_run(built_run: Run, tmp_path: Path, format: str) -> None:
    export(built_run, format, tmp_path / "out", ExportOptions(context=False))
    plain = RowOptions(splits=(), plan="none", context=False)
    of_run = sorted((row.split, row.prompt_id, row.target) for row in load_rows(built_run.path, plain))
    of_export = sorted((row.split, row.prompt_id, row.target) for row in load_rows(tmp_path / "out", plain))
    assert of_export == of_run
    assert len(of_run) > 100


def test_stored_rows_come_back(built_run: Run, tmp_path: Path) -> None:
    rows = list(load_rows(built_run.path, ALL))
    episodes = list(load_episodes(built_run.path, ALL))
    pairs = list(load_pairs(built_run.path, ALL))
    for name, found, load in (
        ("r", rows, load_rows),
        ("e", episodes, load_episodes),
        ("p", pairs, load_pairs),
    ):
        path = tmp_path / f"{name}.jsonl"
        assert write_rows(path, found) == len(found)  # type: ignore[arg-type]
        assert list(load(path, ALL)) == found  # type: ignore[operator]
    validation = RowOptions(splits=("validation",))
    assert list(load_rows(tmp_path / "r.jsonl", validation, allow_empty=True)) == [
        row for row in rows if row.split == "validation"
    ]
    with pytest.raises(UserError, match="holds preference pairs"):
        load_rows(tmp_path / "p.jsonl")
    with pytest.raises(UserError, match="holds no preference pairs"):
        load_pairs(tmp_path / "r.jsonl")


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet"])
def test_files_of_every_ending(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"data.{ending}"
    records = [XLAM, SAMPLES["xlam"][1]]
    if ending == "jsonl":
        lines(path, *records)
    elif ending == "json":
        path.write_text(json.dumps(records))
    else:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), path)
    found = list(load_rows(path, RowOptions(format="toolupt")))
    assert [len(row.gold.calls) for row in found] == [2, 0]
    assert found[1].category == "tool_missing"
    assert [row.environment for row in found] == [None, None]


def test_lines_that_are_called_json(tmp_path: Path) -> None:
    path = lines(tmp_path / "data.json", XLAM, XLAM)
    assert len(list(load_rows(path))) == 2


def test_splits_come_from_the_names_of_files(tmp_path: Path) -> None:
    for name in ("train-00000.jsonl", "val.jsonl", "test.jsonl", "others.jsonl"):
        lines(tmp_path / name, XLAM)
    counts = {
        split: len(list(load_rows(tmp_path, RowOptions(splits=(split,)))))
        for split in ("train", "validation", "test")
    }
    assert counts == {"train": 2, "validation": 1, "test": 1}


def test_sets_of_one_family_may_look_different_from_record_to_record(tmp_path: Path) -> None:
    records = [SAMPLES["hermes"][0], SAMPLES["sharegpt"][0]]
    assert len(list(load_dialogues(lines(tmp_path / "a.jsonl", *records)))) == 2


def write_nothing(path: Path) -> Path:
    path.write_text("\n \n")
    return path


def one(path: Path) -> str:
    """Return the one message that loading ends in."""
    with pytest.raises(UserError) as error:
        list(load_rows(path))
    return str(error.value)


def test_an_empty_file(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.json"):
        assert f"{tmp_path / name}: is empty" in one(write_nothing(tmp_path / name))
    (tmp_path / "c.json").write_text("[]")
    assert "is empty" in one(tmp_path / "c.json")
    lines(tmp_path / "data" / "a.jsonl", GOOD)
    write_nothing(tmp_path / "data" / "z.jsonl")
    assert f"{tmp_path / 'data' / 'z.jsonl'}: is empty" in one(tmp_path / "data")  # before any row


def test_a_wrong_shape(tmp_path: Path) -> None:
    said = one(lines(tmp_path / "a.jsonl", {"text": "x", "label": 1}))
    assert f"{tmp_path / 'a.jsonl'}, line 1: has the keys label, text" in said
    assert "OpenAI messages" in said
    assert "line 2: is no JSON" in one(_broken(tmp_path / "b.jsonl"))
    assert "line 1: is list, not an object" in one(lines(tmp_path / "c.jsonl", [1]))
    (tmp_path / "d.json").write_text("3")
    assert "neither a list nor an object" in one(tmp_path / "d.json")
    (tmp_path / "e.parquet").write_bytes(b"PAR1 no")
    assert "no readable Parquet" in one(tmp_path / "e.parquet")
    (tmp_path / "f.csv").write_text("a,b")
    assert "has the ending .csv" in one(tmp_path / "f.csv")
    assert "there is no such file or folder" in one(tmp_path / "nowhere")
    (tmp_path / "void").mkdir()
    assert "holds no file ending in" in one(tmp_path / "void")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "ledger.sqlite").write_bytes(b"")
    with pytest.raises(RunError, match="the build is not finished"):
        load_rows(tmp_path / "half")


def _broken(path: Path) -> Path:
    path.write_text(json.dumps(GOOD) + "\n{\n")
    return path


def test_mixed_formats(tmp_path: Path) -> None:
    said = one(lines(tmp_path / "a.jsonl", GOOD, GOOD, XLAM))
    assert f"{tmp_path / 'a.jsonl'}, line 3: is of the format xlam" in said
    assert "line 1 is openai" in said
    lines(tmp_path / "data" / "a.jsonl", GOOD)
    lines(tmp_path / "data" / "b.jsonl", XLAM)
    with pytest.raises(UserError, match=r"b\.jsonl, line 1: is of the format xlam"):
        load_rows(tmp_path / "data")  # before a row is read


def test_a_row_without_gold(built_run: Run, tmp_path: Path) -> None:
    said = one(lines(tmp_path / "a.jsonl", GOOD, SAMPLES["openai"][1]))
    assert f"{tmp_path / 'a.jsonl'}, line 2: no action of the assistant" in said
    said = one(lines(tmp_path / "b.jsonl", XLAM, {**XLAM, "answers": None}))
    assert "line 2" in said
    path = tmp_path / "rows.jsonl"
    write_rows(path, list(load_rows(built_run.path, ALL))[:2])
    first, second = map(json.loads, path.read_text().splitlines())
    second["gold"] = {"calls": [], "response": None}
    assert "line 2: a row without gold" in one(lines(path, first, second))
    second["gold"] = {"calls": [{"name": 3}]}
    assert "line 2: is no row" in one(lines(path, first, second))


def test_no_row_at_all_says_why(built_run: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="gives no row"):
        list(load_rows(built_run.path, RowOptions(domains=("nowhere",), splits=())))
    with pytest.raises(UserError, match="gives no row .*unsayable: the format math knows no calls"):
        list(load_rows(lines(tmp_path / "a.jsonl", XLAM), RowOptions(format="math")))
    assert list(load_rows(built_run.path, RowOptions(domains=("nowhere",)), allow_empty=True)) == []


def test_an_export_for_verl_is_named(built_run: Run, tmp_path: Path) -> None:
    export(built_run, "verl", tmp_path / "out")
    assert "is an export for verl" in one(tmp_path / "out")


def test_a_format_that_is_told(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", SAMPLES["funreason-mt"][0])
    row = next(iter(load_rows(path, source_format="funreason-mt")))
    assert row.generator == "import:funreason-mt"
    with pytest.raises(UserError, match="did you mean toolace"):
        load_rows(path, source_format="toolac")


def test_kinds_of_rows_keep_their_types(built_run: Run) -> None:
    assert isinstance(next(iter(load_rows(built_run.path, ALL))), TrainingRow)
    assert isinstance(next(iter(load_episodes(built_run.path, ALL))), EpisodeRow)
