"""Environments are folders: they open wherever they lie, and one that is broken is refused with what to do."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from planarena.environments import World, operations
from planarena.environments.domains import DOMAINS, STUDY, load_domain
from planarena.environments.folders import open_folder
from planarena.environments.wording import load_wording, offers
from planarena.errors import SchemaError, SourceError, UserError

SHED = """
from planarena.environments import Environment, Seed, tool

class Shed(Environment):
    \"\"\"A shed.\"\"\"

    domain = "shed"
    summary = "A shed."

    @classmethod
    def seed(cls, rng, shared=None):
        rows = {name: {"out": False} for name in cls.seeds()["tools"]}
        return Seed({"tools": rows}, "A shed", "A shed with tools.", {"now": "2026-05-04T09:00"})

    @tool("update")
    def take_out(self, name: str) -> str:
        \"\"\"Take a tool out.

        Args:
            name: Its name.
        \"\"\"
        self.require("tools", name, "tool")
        self.state.patch("tools", name, out=True)
        return name
"""


def make_shed(folder: Path, code: str = SHED, seeds: str = "tools: [rake, spade]\n") -> Path:
    shed = folder / "shed"
    shed.mkdir(parents=True)
    (shed / "environment.py").write_text(code)
    (shed / "seeds.yaml").write_text(seeds)
    return shed


@pytest.mark.parametrize("domain", [*DOMAINS, STUDY])
def test_a_copied_domain_is_the_same_environment(domain: str, tmp_path: Path) -> None:
    """Nothing of a domain hangs on where its folder lies: what it is can be copied and changed."""
    original = load_domain(domain)
    copied = open_folder(Path(shutil.copytree(original.folder(), tmp_path / domain)))
    assert copied is not original
    assert copied.folder() == tmp_path / domain
    assert {name: one.tool.tool_id for name, one in operations(copied).items()} == {
        name: one.tool.tool_id for name, one in operations(original).items()
    }
    seeds = [environment.seed(Random("copied")) for environment in (original, copied)]
    assert seeds[0] == seeds[1]
    worlds = [World([one], [seed]) for one, seed in zip((original, copied), seeds, strict=True)]
    for name in operations(original):
        assert worlds[0].propose(name, Random(1)) == worlds[1].propose(name, Random(1))
    if domain != STUDY:
        assert offers(copied) == offers(original)


def test_two_folders_of_one_name_keep_apart(tmp_path: Path) -> None:
    one = open_folder(make_shed(tmp_path / "one"))
    other = open_folder(make_shed(tmp_path / "other", seeds="tools: [axe]\n"))
    assert (one.seeds(), other.seeds()) == ({"tools": ["rake", "spade"]}, {"tools": ["axe"]})
    world = World([other], [other.seed(Random(0))])
    assert world.call("take_out", {"name": "axe"}).result == "axe"
    assert world.call("take_out", {"name": "rake"}).error == {
        "code": "not_found",
        "message": "There is no tool with id rake.",
    }
    assert open_folder(tmp_path / "one" / "shed") is one


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import nowhere_at_all\n" + SHED, "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("class Shed(:\n", "SyntaxError"),
        ("raise ValueError('on purpose')\n", "ValueError: on purpose"),
        ("x = 1\n", "defines 0 environments"),
        (SHED + "class Other(Shed):\n    pass\n", "defines 2 environments (Shed, Other)"),
        (
            SHED.replace('domain = "shed"', 'domain = "barn"'),
            "the domain of Shed is 'barn', its folder is 'shed'",
        ),
        (SHED.replace('    domain = "shed"\n', ""), "the domain of Shed is None"),
    ],
)
def test_broken_code_is_one_clear_error(code: str, says: str, tmp_path: Path) -> None:
    folder = make_shed(tmp_path, code)
    with pytest.raises(SourceError) as caught:
        open_folder(folder)
    assert says in caught.value.what
    assert caught.value.where == str(folder / "environment.py")
    assert caught.value.fix


def test_a_folder_without_code_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="has no environment.py"):
        open_folder(tmp_path)


@pytest.mark.parametrize(("seeds", "says"), [("[a", "cannot be read"), ("- a\n", "holds no mapping")])
def test_seeds_that_cannot_be_read_are_one_clear_error(seeds: str, says: str, tmp_path: Path) -> None:
    shed = open_folder(make_shed(tmp_path, seeds=seeds))
    with pytest.raises(SourceError, match=says) as caught:
        shed.seed(Random(0))
    assert caught.value.where == str(tmp_path / "shed" / "seeds.yaml")


@pytest.mark.parametrize(
    ("words", "kind", "says"),
    [
        (None, SourceError, "cannot be read: No such file"),
        ("domain: shed\n", SchemaError, "missing required field `tools`"),
        ("{", SchemaError, "flow node"),
    ],
)
def test_words_that_cannot_be_read_are_one_clear_error(
    words: str | None, kind: type[UserError], says: str, tmp_path: Path
) -> None:
    shed = open_folder(make_shed(tmp_path))
    if words is not None:
        (shed.folder() / "words.yaml").write_text(words)
    with pytest.raises(kind, match=says) as caught:
        load_wording(shed.folder() / "words.yaml")
    assert caught.value.where == str(tmp_path / "shed" / "words.yaml")
