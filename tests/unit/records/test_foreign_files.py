"""Files of others: bombs, depth and density are refused before they cost memory."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from planarena.errors import UserError
from planarena.records.foreign import ForeignError, decode_json, nests_deeper, read_foreign


@pytest.mark.parametrize(
    ("filling", "said_first"),
    [(b"[", "more values than"), (b"x", "times its size"), (b"x\n", "more lines than")],
)
def test_a_gzip_bomb_is_one_error_and_costs_little_memory(
    tmp_path: Path, filling: bytes, said_first: str
) -> None:
    bomb = tmp_path / "bomb.jsonl.gz"
    packed = gzip.compress(filling * ((32 << 20) // len(filling)), compresslevel=9)
    bomb.write_bytes(packed * 64)  # members of one file: 2 GiB unpacked
    assert bomb.stat().st_size < 7 << 20
    program = (
        "import sys; from pathlib import Path\n"
        "from planarena.errors import UserError; from planarena.records.foreign import read_foreign\n"
        "try:\n    for row in read_foreign(Path(sys.argv[1])): pass\n"
        "except UserError as error:\n    print(error)\n"
        # The peak of this program alone: what getrusage tells is inherited from the process that started it.
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(bomb)], capture_output=True, text=True, timeout=60, check=True
    )
    *said, peak = done.stdout.splitlines()
    assert said_first in said[0]
    assert int(peak) < 1 << 20  # KiB: 1 GiB


def test_a_zip_bomb_is_one_error(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for number in range(4):
            archive.writestr(f"{number}.jsonl", b"x" * (100 << 20))
    with pytest.raises(UserError, match="times its size"):
        list(read_foreign(bomb))


def test_lines_that_hold_nothing_but_brackets_cost_their_own_item(tmp_path: Path) -> None:
    packed = tmp_path / "dense.jsonl.gz"
    dense = b'{"id": "dense", "response": [' + b"[]," * 3_000_000 + b"1]}\n"
    packed.write_bytes(gzip.compress(dense + b'{"id": "good", "response": "x"}\n'))
    rows = list(read_foreign(packed))
    assert [(row and row["id"], problem) for row, problem in rows] == [
        ("dense", "more values than a file of this size may hold"),
        ("good", ""),
    ]


def test_ordinary_compressed_files_are_read(tmp_path: Path) -> None:
    lines = [json.dumps({"id": str(n), "response": f"answer {n} " * 40}) for n in range(5000)]
    packed = tmp_path / "r.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert len(list(read_foreign(packed))) == 5000


def test_a_line_longer_than_the_limit_keeps_its_id(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(
        b'{"id": "long", "response": "' + b"x" * (65 << 20) + b'"}\n{"id": "b", "response": "y"}'
    )
    rows = list(read_foreign(path))
    assert rows[0][0] == {"id": "long"}
    assert "longer than" in rows[0][1]
    assert rows[1] == ({"id": "b", "response": "y"}, "")


@pytest.mark.parametrize("depth", [101, 1_000, 100_000])
def test_deep_values_are_no_crash(depth: int) -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        with pytest.raises(ForeignError, match="nests deeper"):
            decode_json((opening * depth + "1" + closing * depth).encode())
        with pytest.raises(ForeignError):
            decode_json((opening * depth).encode())
    assert decode_json(b"[" * 100 + b"]" * 100) is not None


def test_depth_is_exact() -> None:
    assert [nests_deeper(json.loads('[{"a": [1, {}]}]'), limit) for limit in (3, 4)] == [True, False]


def test_import_of_a_deep_file_is_one_clear_error(tmp_path: Path) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    program = (
        "import sys; from planarena.cli import main; code = main(sys.argv[1:])\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
        "sys.exit(code)"
    )
    command = [sys.executable, "-c", program, "import", str(deep), "--format", "openai"]
    for text in ("[" * 100_000, '{"messages": ' + "[" * 100_000, "[" * 100_000 + "]" * 100_000):
        deep.write_text(text)
        done = subprocess.run(
            [*command, "--out", str(tmp_path / "run")], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, done.stderr
        assert "nests deeper than 100" in done.stderr
        assert "Traceback" not in done.stderr
        assert int(done.stdout.split()[-1]) < 1 << 20
