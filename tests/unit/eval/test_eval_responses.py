"""Reading outputs: every shape, and damage that costs one item."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from planarena.errors import UserError
from planarena.eval.responses import count_tokens, read_responses


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
