"""Exports opened by those who read them: `datasets` offline, the openai package's own types."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from planarena import Run
from planarena.errors import RunError, UserError
from planarena.export import (
    ExportOptions,
    JoinedTrajectory,
    export,
    join_trajectories,
    render_messages,
)
from planarena.export.folder import OutputFolder
from planarena.export.hugging_face import COLUMNS, write_hugging_face
from planarena.records import write_shard
from planarena.records.tables import LabelRow
from planarena.tools import strip_annotations


@pytest.fixture(scope="module")
def hf_folder(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    everything = ExportOptions(kinds=("gold", "contrastive"))
    return export(built_run, "hf", tmp_path_factory.mktemp("hf") / "out", everything).path


def _lines(folder: Path) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Each line of the OpenAI export with its row of metadata."""
    with (folder / "metadata.csv").open(encoding="utf-8", newline="") as handle:
        rows = {(row["split"], row["line"]): row for row in csv.DictReader(handle)}
    found = [
        (json.loads(line), rows.pop((file.stem, str(number))))
        for file in sorted(folder.glob("*.jsonl"))
        for number, line in enumerate(file.read_text().splitlines(), 1)
    ]
    assert rows == {}
    return found


def _load(folder: Path, cache: Path) -> Any:
    import datasets

    assert os.environ["HF_HUB_OFFLINE"] == "1"
    return datasets.load_dataset(str(folder), cache_dir=str(cache))


def test_datasets_opens_the_folder_and_finds_every_value(
    built_run: Run, hf_folder: Path, tmp_path: Path
) -> None:
    loaded = _load(hf_folder, tmp_path)
    rows = {row["trajectory_id"]: row for split in loaded.values() for row in split}
    joined = list(join_trajectories(built_run))
    assert list(rows) != []
    assert len(rows) == len(joined)
    for one in joined:
        row = rows[one.row.trajectory_id]
        assert set(row) == set(COLUMNS)
        assert row["split"] == one.scenario.split
        assert row["query"] == "\n\n".join(one.turns)
        assert row["plan"] == one.row.plan
        assert row["response"] == one.row.response
        assert row["goal"] == one.task.goal
        context = json.loads(row["context"])
        assert context.pop("said_before", []) == list(one.said_before)
        assert context == one.context
        steps = json.loads(row["steps"])
        assert [step["arguments"] for step in steps] == [action.arguments for action in one.actions]
        assert [step["observation"] for step in steps] == [action.observation for action in one.actions]
        assert row["messages"] == render_messages(one, style="template")
        roles = Counter(message["role"] for message in row["messages"])
        assert roles["tool"] == one.row.n_actions


def test_hostile_messages_come_back_as_they_were(built_run: Run, hostile_run: Run, tmp_path: Path) -> None:
    loaded = _load(export(hostile_run, "hf", tmp_path / "out").path, tmp_path / "cache")
    rows = {row["trajectory_id"]: row["messages"] for split in loaded.values() for row in split}
    joined = [one for one in join_trajectories(hostile_run) if one.row.kind == "gold"]
    assert len(joined) == len(rows) == _gold(built_run)
    assert all(rows[one.row.trajectory_id] == render_messages(one, style="template") for one in joined)


def test_every_reader_of_parquet_reads_the_text_files(hf_folder: Path, tmp_path: Path) -> None:
    import datasets

    objects = _load(hf_folder, tmp_path)
    text = datasets.load_dataset(str(hf_folder), "text", cache_dir=str(tmp_path))
    for split, rows in objects.items():
        # No type but those that any reader knows.
        assert {str(kind.dtype) for kind in text[split].features.values()} == {"string", "int64"}
        assert [json.loads(row["messages"]) for row in text[split]] == rows["messages"]
        frame = pl.read_parquet(hf_folder / "text" / f"{split}-*.parquet")
        assert frame["messages"].to_list() == text[split]["messages"][:]
        assert {str(kind) for kind in frame.schema.values()} == {"String", "Int64"}


def test_no_null_key_appears_in_messages_or_steps(hf_folder: Path, tmp_path: Path) -> None:
    for split in _load(hf_folder, tmp_path).values():
        for row in split:
            for message in row["messages"]:
                expected = {
                    "system": {"role", "content"},
                    "user": {"role", "content"},
                    "tool": {"role", "content", "tool_call_id", "name"},
                    "assistant": {"role", "content", "tool_calls"}
                    if "tool_calls" in message
                    else {"role", "content"},
                }
                assert set(message) == expected[message["role"]]


def _gold(run: Run) -> int:
    """Gold rows, requests without a call among them."""
    counts = run.info["counts"]
    return int(counts["gold"] + counts["no_call"])


def test_split_files_hold_whole_scenarios(built_run: Run, tmp_path: Path) -> None:
    splits = dict(built_run.table("scenarios").select("scenario_id", "split").collect().iter_rows())
    written = export(built_run, "openai", tmp_path / "out")
    found: dict[str, set[str]] = {}
    everything = _lines(tmp_path / "out")
    for split, number in written.rows.items():
        lines = (tmp_path / "out" / f"{split}.jsonl").read_text().splitlines()
        assert len(lines) == number
        found[split] = {row["scenario_id"] for _, row in everything if row["split"] == split}
        assert {splits[name] for name in found[split]} == {split}
    assert sum(written.rows.values()) == _gold(built_run)


def _many_tools(one: JoinedTrajectory, number: int) -> JoinedTrajectory:
    """The trajectory with tools whose schemas share hardly a key: nulls, unions, nesting, odd names."""
    rng = random.Random(5)
    values: list[Any] = [None, True, 0, -1.5, "", "ü", [None, {"a": None}], {"x": []}]
    tools = []
    for place in range(number):
        properties = {
            f"arg_{rng.randrange(10**6)}": rng.choice(
                [
                    {"type": "string", "default": None},
                    {"type": ["integer", "null"], "enum": [1, None]},
                    {"anyOf": [{"type": "object", "properties": {f"p{place}": {}}}, {"type": "null"}]},
                    {"type": "array", "items": {"type": "array", "items": {"const": rng.choice(values)}}},
                    {"default": rng.choice(values), "x": 1},
                ]
            )
            for _ in range(rng.randrange(5))
        }
        schema = {"type": "object", "properties": properties, f"$comment{place}": rng.choice(values)}
        tools.append(
            msgspec.structs.replace(
                one.tools[0],
                wire_name=f"tool_{place}",
                input_schema=msgspec.json.encode(schema, order="deterministic").decode(),
            )
        )
    return one._replace(tools=tuple(tools))


def test_two_hundred_different_schemas_come_back_exactly_equal(built_run: Run, tmp_path: Path) -> None:
    trajectories = list(join_trajectories(built_run))[:8]
    many = _many_tools(trajectories[0], 200)
    parts = [
        one._replace(tools=many.tools[25 * place : 25 * (place + 1)])
        for place, one in enumerate(trajectories)
    ]
    with OutputFolder(tmp_path / "out") as folder:
        write_hugging_face(built_run, parts, ExportOptions(), folder, lambda _: None)
    loaded = _load(tmp_path / "out", tmp_path / "cache")
    shown = {
        tool["function"]["name"]: tool["function"]["parameters"]
        for split in loaded.values()
        for row in split
        for tool in json.loads(row["tools"])
    }
    assert len(shown) == 200
    for tool in many.tools:
        # As text, for 1 == 1.0 == True in Python.
        expected = strip_annotations(msgspec.json.decode(tool.input_schema))
        assert json.dumps(shown[tool.wire_name], sort_keys=True) == json.dumps(expected, sort_keys=True)


def test_openai_lines_fit_the_types_of_the_openai_package(built_run: Run, tmp_path: Path) -> None:
    from openai.types.chat import (
        ChatCompletionAssistantMessageParam,
        ChatCompletionMessageFunctionToolCall,
        ChatCompletionSystemMessageParam,
        ChatCompletionToolMessageParam,
        ChatCompletionToolUnionParam,
        ChatCompletionUserMessageParam,
    )
    from pydantic import TypeAdapter

    types: dict[str, Any] = {
        "system": ChatCompletionSystemMessageParam,
        "user": ChatCompletionUserMessageParam,
        "assistant": ChatCompletionAssistantMessageParam,
        "tool": ChatCompletionToolMessageParam,
    }
    adapters = {role: TypeAdapter(kind) for role, kind in types.items()}
    tool_adapter: TypeAdapter[Any] = TypeAdapter(ChatCompletionToolUnionParam)
    export(built_run, "openai", tmp_path / "out")
    lines = _lines(tmp_path / "out")
    assert len(lines) == _gold(built_run)
    for line, _ in lines:
        # What OpenAI's files for fine-tuning hold, and no other key.
        assert set(line) == {"messages", "tools", "parallel_tool_calls"}
        for message in line["messages"]:
            adapters[message["role"]].validate_python(message, strict=True)
            assert set(message) <= set(types[message["role"]].__annotations__)
            for call in message.get("tool_calls", ()):
                parsed = ChatCompletionMessageFunctionToolCall.model_validate(call, strict=True)
                assert isinstance(json.loads(parsed.function.arguments), dict)
        for tool in line["tools"]:
            tool_adapter.validate_python(tool)
            assert set(tool["function"]) == {"name", "description", "parameters"}


def test_the_native_format_reads_the_turns_back(built_run: Run, tmp_path: Path) -> None:
    from planarena.formats import get

    native = get("native")
    export(built_run, "openai", tmp_path / "out")
    joined = {one.row.trajectory_id: one for one in join_trajectories(built_run)}
    for line, row in _lines(tmp_path / "out"):
        said = [message for message in line["messages"] if message["role"] == "assistant"]
        parsed = [native.parse(json.dumps(message)) for message in said]
        assert all(one.reason == "" for one in parsed)
        calls = [call for one in parsed for call in one.calls]
        actions = joined[row["trajectory_id"]].actions
        assert [(call.name, dict(call.arguments)) for call in calls] == [
            (action.tool.wire_name, action.arguments) for action in actions
        ]


def test_options_reach_the_messages(built_run: Run, tmp_path: Path) -> None:
    options = ExportOptions(one_call_per_turn=True, system="Use the tools.", context=False)
    export(built_run, "openai", tmp_path / "out", options)
    for line, _ in _lines(tmp_path / "out"):
        assert line["messages"][0] == {"role": "system", "content": "Use the tools."}
        assert line["parallel_tool_calls"] is False
        assert all(len(message.get("tool_calls", [0])) == 1 for message in line["messages"])


@pytest.mark.parametrize("name", ["hf", "openai"])
def test_same_run_same_bytes(built_run: Run, tmp_path: Path, name: str) -> None:
    first = export(built_run, name, tmp_path / "a").path
    second = export(built_run, name, tmp_path / "b").path
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
    assert all((first / path).read_bytes() == (second / path).read_bytes() for path in files)


@pytest.mark.parametrize("name", ["hf", "openai", "sharegpt", "preference", "verl"])
def test_what_people_judged_wrong_is_in_no_export(built_run: Run, tmp_path: Path, name: str) -> None:
    root = tmp_path / "run"
    shutil.copytree(built_run.path, root)
    gold = [
        row["trajectory_id"]
        for row in built_run.table("trajectories").collect().to_dicts()
        if row["kind"] == "gold" and row["n_actions"] > 1
    ]
    wrong, right, disputed = gold[:5], gold[5:10], gold[10]
    labels = [LabelRow(one, "negative", "agreed", 1.0) for one in wrong]
    labels += [LabelRow(one, "positive", "agreed", 1.0) for one in right]
    write_shard(root, "labels", "00000", labels)
    export(Run.open(root), name, tmp_path / "out")
    ids: set[str] = set()
    for file in (tmp_path / "out").rglob("*"):
        if file.suffix == ".parquet":
            ids.update(re.findall(r"[0-9a-f]{32}", str(pl.read_parquet(file).to_dicts())))
        elif file.suffix in (".jsonl", ".csv"):
            ids.update(re.findall(r"[0-9a-f]{32}", file.read_text()))
    assert ids.isdisjoint(wrong)
    assert ids.issuperset(right)
    assert disputed in ids  # nobody judged it: it stays


def test_unknown_formats_and_empty_kinds_are_refused(built_run: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean openai"):
        export(built_run, "openia", tmp_path / "out")
    no_gold = ExportOptions(kinds=())
    with pytest.raises(RunError, match="holds no"):
        export(built_run, "openai", tmp_path / "out", no_gold)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_run_is_one_clear_error(built_run: Run, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "run"
    shutil.copytree(built_run.path, copy)
    shard = next((copy / "tables/executions").glob("*.parquet"))
    shard.unlink()
    with pytest.raises(RunError, match="is incomplete"):
        export(Run.open(copy), "openai", tmp_path / "out")
    shard.write_bytes(b"PAR1 not parquet PAR1")
    with pytest.raises(RunError, match="is damaged"):
        export(Run.open(copy), "openai", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_run_itself_opens_as_a_dataset(built_run: Run, tmp_path: Path) -> None:
    import datasets

    for name in built_run.tables:
        loaded = datasets.load_dataset(str(built_run.path), name, cache_dir=str(tmp_path))
        assert loaded["train"].num_rows == built_run.table(name).collect().height
