"""The output folder: whole or untouched, never somebody else's, nothing deleted outside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planarena.errors import UserError
from planarena.export.folder import MARKER, OutputFolder


def _export(path: Path, *names: str) -> None:
    with OutputFolder(path) as folder:
        for name in names:
            folder.new_file(name).write_text(name)


def _files(path: Path) -> list[str]:
    return sorted(item.relative_to(path).as_posix() for item in path.rglob("*") if item.is_file())


def test_a_later_export_replaces_an_earlier_one_and_keeps_other_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    _export(out, "a.txt", "data/b.txt")
    (out / "notes.md").write_text("mine")
    _export(out, "data/c.txt")
    assert _files(out) == ["data/c.txt", MARKER, "notes.md"]
    assert json.loads((out / MARKER).read_text())["files"] == ["data/c.txt"]
    assert [item.name for item in tmp_path.iterdir()] == ["out"]


def test_another_export_is_replaced_only_when_asked(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = {"format": "hf", "options": {"kinds": ("gold",)}, "run": {"seed": 1}}
    with OutputFolder(out, first) as folder:
        folder.new_file("a.txt").write_text("1")
    with OutputFolder(out, first) as folder:
        folder.new_file("a.txt").write_text("2")
    assert (out / "a.txt").read_text() == "2"
    for name, value in (
        ("format", "verl"),
        ("options", {"kinds": ("gold", "contrastive")}),
        ("run", {"seed": 2}),
    ):
        other = first | {name: value}
        with pytest.raises(UserError, match=f"other {name}") as caught:
            OutputFolder(out, other)
        assert "--replace" in caught.value.fix
        assert _files(out) == ["a.txt", MARKER]
    with OutputFolder(out, first | {"format": "verl"}, replace=True) as folder:
        folder.new_file("b.txt").write_text("3")
    assert _files(out) == ["b.txt", MARKER]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="no export wrote"):
        OutputFolder(tmp_path / "thesis", first, replace=True)


def test_an_error_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    _export(out, "a.txt")
    with pytest.raises(ZeroDivisionError), OutputFolder(out) as folder:
        folder.new_file("b.txt").write_text("half")
        raise ZeroDivisionError
    assert _files(out) == ["a.txt", MARKER]
    assert [item.name for item in tmp_path.iterdir()] == ["out"]


def test_other_peoples_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="no export wrote"):
        OutputFolder(tmp_path)
    with pytest.raises(UserError, match="is a file"):
        OutputFolder(tmp_path / "thesis.tex")
    for text in ("{", "[]", '{"planarena_export": 2, "files": []}', '{"planarena_export": 1}'):
        (tmp_path / MARKER).write_text(text)
        with pytest.raises(UserError, match="is not one of this planarena"):
            OutputFolder(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "x"


def test_a_forged_marker_deletes_nothing_outside(tmp_path: Path) -> None:
    outside = tmp_path / "precious.txt"
    outside.write_text("x")
    inner = tmp_path / "elsewhere"
    inner.mkdir()
    (inner / "kept.txt").write_text("x")
    out = tmp_path / "out"
    out.mkdir()
    (out / "link").symlink_to(inner)
    listed = ["../precious.txt", str(outside), "link/kept.txt", "data/../../precious.txt", "."]
    (out / MARKER).write_text(json.dumps({"planarena_export": 1, "files": listed}))
    _export(out, "a.txt")
    assert outside.exists()
    assert (inner / "kept.txt").exists()
    assert (out / "a.txt").exists()


def test_an_empty_folder_is_welcome(tmp_path: Path) -> None:
    _export(tmp_path, "a.txt")
    assert _files(tmp_path) == ["a.txt", MARKER]
