"""Reading outputs: every shape, and damage that costs one item."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from planarena.errors import UserError
from planarena.eval.responses import count_tokens, nests_deeper, read_responses


def write(path: Path, rows: list[object]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def test_rows_of_every_source_are_read(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "response": "one two"},
        {"id": "b", "result": [{"f": "{}"}], "output_token_count": [[3, 4], [5]]},
        {"question_id": 17, "model_outputs": "x", "tokens": 9},
        {"id": "c", "error": "timed out"},
        {"id": "d"},
        {"id": "e", "response": "other", "suite": "math"},
    ]
    found = read_responses(write(tmp_path / "r.jsonl", rows), "bfcl-v4").by_id
    assert found["a"][0].value == "one two"
    assert (found["a"][0].tokens, found["a"][0].counted) == (2, False)
    assert (found["b"][0].tokens, found["b"][0].counted) == (12, True)
    assert (found["17"][0].value, found["17"][0].tokens) == ("x", 9)
    assert found["c"][0].problem == "the request failed"
    assert found["d"][0].problem == "the row has no output"
    assert "e" not in found


def test_files_folders_gzip_zip_and_lists(tmp_path: Path) -> None:
    rows = [{"id": str(number), "response": "x"} for number in range(3)]
    lines = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "BFCL_v4_x_result.json").write_text(lines)
    (tmp_path / "list.json").write_text(
        "\ufeff " + json.dumps([{"id": "l", "response": "x"}]), encoding="utf-8"
    )
    (tmp_path / "g.jsonl.gz").write_bytes(gzip.compress(json.dumps({"id": "g", "response": "x"}).encode()))
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("inside.json", json.dumps([{"id": "z", "response": "x"}]))
    (tmp_path / "notes.md").write_text("not a result")
    assert set(read_responses(tmp_path, "math").by_id) == {"0", "1", "2", "l", "g", "z"}


def test_the_later_row_wins_and_samples_are_kept_apart(tmp_path: Path) -> None:
    rows = [{"id": "a", "response": str(number)} for number in range(3)]
    path = write(tmp_path / "r.jsonl", rows)
    one = read_responses(path, "math")
    assert [response.value for response in one.by_id["a"]] == ["2"]
    assert one.repeated == 2
    assert [response.value for response in read_responses(path, "math", samples=2).by_id["a"]] == ["0", "1"]
    numbered = write(
        tmp_path / "n.jsonl",
        [{"id": "a", "sample": 1, "response": "1"}, {"id": "a", "sample": 0, "response": "0"}],
    )
    assert [response.value for response in read_responses(numbered, "math", samples=2).by_id["a"]] == [
        "0",
        "1",
    ]


def test_damaged_lines_keep_their_item(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(
        b'{"id": "utf8", "response": "\xff"}\n{"id": "cut", "response": "abc\n{"id": "deep", "response": '
        + b"[" * 20_000 + b"]" * 20_000 + b'}\n{"question_id": 5, "response": \nnonsense\n\n{"id": "good", "response": "x"}\n'
        b'{"id": "half", "response": "\\ud800"}\n{"id": "nan", "response": "x", "latency": NaN}\n'
    )  # fmt: skip
    found = read_responses(path, "math")
    problems = {key: listed[0].problem for key, listed in found.by_id.items()}
    assert problems == {
        "utf8": "not UTF-8",
        "cut": "not JSON, or cut off",
        "deep": "nested too deep",
        "5": "not JSON, or cut off",
        "good": "",
        "half": "",
        "nan": "",
    }
    assert found.unreadable == 1


@pytest.mark.parametrize("depth", [150, 500, 1000])  # beyond 1,024 the parser itself refuses
def test_values_that_nest_deep_cost_their_own_item(tmp_path: Path, depth: int) -> None:
    lists, objects = "[" * depth + "]" * depth, '{"a": ' * depth + "1" + "}" * depth
    rows = [
        f'{{"id": "list", "sample": 0, "response": {lists}}}',
        f'{{"id": "object", "response": {objects}}}',
        f'{{"id": "tokens", "response": "x", "tokens": {lists}}}',
        f'{{"id": {lists}, "response": "x"}}',
        f'{{"id": "text", "response": {json.dumps(objects)}}}',
    ]
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(rows))
    found = read_responses(path, "math")
    problems = {key: listed[0].problem for key, listed in found.by_id.items()}
    deep = "nested too deep"
    assert problems == {"list": deep, "object": deep, "tokens": deep, "text": ""}
    assert found.unreadable == 1
    path.write_text(f'[{{"id": "list", "response": {lists if depth < 500 else "[]"}}}]')
    assert read_responses(path, "math").by_id["list"][0].problem == (deep if depth < 500 else "")


def test_depth_is_counted_exactly() -> None:
    value = json.loads('[{"a": [1, {}]}, "[[[[[["]')
    assert [nests_deeper(value, limit) for limit in (3, 4)] == [True, False]
    assert not nests_deeper("[", 0)
    assert not nests_deeper(7, 0)


def test_lengths_that_are_no_count_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    stated = [
        "1e999",
        "-Infinity",
        "NaN",
        "-5",
        '"5"',
        "true",
        "null",
        "{}",
        "[]",
        "[[NaN]]",
        "[[7, -1], [2]]",
    ]
    path.write_text(
        "\n".join(
            f'{{"id": "{number}", "response": "one two", "tokens": {value}}}'
            for number, value in enumerate(stated)
        )
    )
    found = read_responses(path, "math").by_id
    lengths = [(found[str(number)][0].tokens, found[str(number)][0].counted) for number in range(len(stated))]
    assert lengths == [(2, False)] * 10 + [(9, True)]


def test_damaged_archives_are_one_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "good.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.jsonl", "\n".join(f'{{"id": "{n}", "response": "{n * 7}"}}' for n in range(400)))
    packed = (tmp_path / "good.zip").read_bytes()
    entry = packed.rfind(b"PK\x01\x02")
    folded = bytearray(gzip.compress(b'{"id": "a", "response": "x"}' * 100))
    folded[14:18] = b"\xff" * 4
    damaged = {
        "torn.zip": packed[:60] + b"\xff" * 60 + packed[120:],
        "locked.zip": packed[:6] + b"\x01" + packed[7 : entry + 8] + b"\x01" + packed[entry + 9 :],
        "packed-otherwise.zip": packed[:8]
        + b"\x63"
        + packed[9 : entry + 10]
        + b"\x63"
        + packed[entry + 11 :],
        "torn.jsonl.gz": bytes(folded),
        "cut.jsonl.gz": gzip.compress(b'{"id": "a", "response": "x"}' * 100)[:-12],
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match="cannot be read"):
            read_responses(tmp_path / name, "math")


def test_what_cannot_be_read_at_all_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_responses(tmp_path / "absent", "math")
    with pytest.raises(UserError, match="holds no result file"):
        read_responses(tmp_path, "math")
    with pytest.raises(UserError, match="holds no output"):
        read_responses(
            write(tmp_path / "r.jsonl", [{"id": "a", "suite": "math", "response": ""}]), "mmlu-pro"
        )
    (tmp_path / "bad.zip").write_bytes(b"PK nothing")
    with pytest.raises(UserError, match="cannot be read"):
        read_responses(tmp_path / "bad.zip", "math")
    (tmp_path / "list.json").write_text("[{")
    with pytest.raises(UserError, match="is not JSON"):
        read_responses(tmp_path / "list.json", "math")


def test_words_and_signs_are_counted() -> None:
    assert count_tokens("Hello, world!") == 4
    assert count_tokens("") == 0
    assert count_tokens([{"f": "{}"}]) > 0
    assert count_tokens("ab " * 1_000_000) == pytest.approx(
        1_000_000, rel=0.01
    )  # extrapolated from the first part
