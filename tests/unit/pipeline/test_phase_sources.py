"""A phase's key covers all the source and data that its product is made from, and nothing that only later phases use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import msgspec
import pytest

from planarena.config import BuildConfig, ModelsConfig
from planarena.pipeline import phases
from planarena.pipeline.phases import PHASES, phase_keys, source_digest, sources_of

CONFIG = BuildConfig(sources=("builtin:banking",), models=ModelsConfig(proposers=("m",)))
ROOT = Path(phases.__file__).parent.parent
# What a phase may import without declaring it.
NEUTRAL = {
    "planarena.config",  # in the key by value, field by field
    "planarena.data",  # an empty package: the files in it are declared one by one
}


def lies_in(module: str, name: str) -> bool:
    return module == f"planarena.{name}" or module.startswith(f"planarena.{name}.")


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("planarena", exclude_type_checking_imports=True, cache_dir=None)


def needed(graph: grimp.ImportGraph, phase: str) -> set[str]:
    """Return all that a phase's folder imports, by however many steps."""
    own = {module for module in graph.modules if lies_in(module, PHASES[phase][0])}
    return own.union(*(graph.find_upstream_modules(module) for module in own))


def test_what_a_phase_imports_is_declared_by_it_or_before_it(graph: grimp.ImportGraph) -> None:
    declared: list[str] = []
    for phase, names in PHASES.items():
        declared += names
        missing = {
            module
            for module in needed(graph, phase)
            if not any(lies_in(module, name) for name in declared)
            and not any(module == name or module.startswith(f"{name}.") for name in NEUTRAL)
        }
        assert missing == set(), (
            f"{phase} imports what no key covers: declare it in planarena/pipeline/phases.py"
        )


def test_nothing_is_declared_that_is_not_imported_or_not_there(graph: grimp.ImportGraph) -> None:
    for phase, names in PHASES.items():
        imported = needed(graph, phase)
        for name in names:
            assert list(sources_of([name])), f"{phase} declares {name}, which is not there"
            if not name.startswith("data/"):
                assert any(lies_in(module, name) for module in imported), f"{phase} does not need {name}"


def test_no_phase_imports_a_later_one_or_the_run() -> None:
    graph = grimp.build_graph("planarena", cache_dir=None)  # imports for the sake of types among them
    rooms = [*(names[0] for names in PHASES.values()), "pipeline.run"]
    for place, room in enumerate(rooms):
        own = [module for module in graph.modules if lies_in(module, room)]
        later = {
            found
            for module in own
            for found in graph.find_modules_directly_imported_by(module)
            if any(lies_in(found, other) for other in rooms[place + 1 :])
        }
        assert later == set(), room


def test_no_file_of_the_pipeline_imports_itself_by_way_of_others() -> None:
    graph = grimp.build_graph("planarena", cache_dir=None)
    files = {module for module in graph.modules if lies_in(module, "pipeline")}
    left = {module: graph.find_modules_directly_imported_by(module) & files for module in files}
    while free := {module for module, imported in left.items() if not imported & left.keys()}:
        left = {module: imported for module, imported in left.items() if module not in free}
    assert left == {}


def every_source() -> Iterator[tuple[str, Path]]:
    for name, file in sources_of(
        path.name for path in ROOT.iterdir() if path.is_dir() and not path.is_symlink()
    ):
        yield name, file
    for file in sorted(ROOT.glob("*.py")):
        yield file.name, file
    yield from sources_of(["data/prompts"])


def test_a_changed_file_changes_the_key_of_its_phase_and_of_no_earlier_one(
    graph: grimp.ImportGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[Path, bytes] = {}
    real = Path.read_bytes
    changed: Path | None = None

    def read(path: Path) -> bytes:
        if path not in kept:
            kept[path] = real(path)
        return kept[path] + b"\n" if path == changed else kept[path]

    def keys() -> list[str]:
        source_digest.cache_clear()
        found = phase_keys(CONFIG)
        return [getattr(found, phase) for phase in PHASES]

    imported = [needed(graph, phase) for phase in PHASES]
    monkeypatch.setattr(Path, "read_bytes", read)
    before, count = keys(), dict.fromkeys(PHASES, 0)
    for name, file in every_source():
        changed = file
        differs = [one != other for one, other in zip(before, keys(), strict=True)]
        module = f"planarena.{name.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"
        declares = [
            any(name == one or name.startswith(f"{one}/") or lies_in(module, one) for one in names)
            for names in PHASES.values()
        ]
        first = declares.index(True) if any(declares) else len(PHASES)
        assert differs == [place >= first for place in range(len(PHASES))], name
        if first < len(PHASES):
            count[list(PHASES)[first]] += 1
        elif not any(module == one or module.startswith(f"{one}.") for one in NEUTRAL):
            assert not any(module in found for found in imported), name
    source_digest.cache_clear()
    assert min(count.values()) > 5, count


_TRACED = """
import json, sys
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
from planarena.config import BuildConfig
from planarena.pipeline.execute.chunk import execute_chunk
from planarena.pipeline.language.describe import describe_chunk
config = BuildConfig(sources=("builtin:banking", "builtin:calendar"))
executed = execute_chunk(config, 0, 1)
half = len(opened)
describe_chunk(config, executed)
print(json.dumps([opened[:half], opened[half:]]))
"""


def test_the_data_that_a_phase_opens_is_declared() -> None:
    done = subprocess.run([sys.executable, "-c", _TRACED], capture_output=True, text=True, check=True)
    data = ROOT / "data"
    declared: set[Path] = set()
    for phase, paths in zip(PHASES, json.loads(done.stdout), strict=False):
        declared |= {file.resolve() for _, file in sources_of(PHASES[phase])}
        opened = {Path(path).resolve() for path in paths}
        inside = {
            path
            for path in opened
            if path.suffix in {".yaml", ".json", ".lock"}
            and any(path.is_relative_to(top.resolve()) for top in (ROOT, data))
        }
        # What is read of the words is in the keys by value.
        undeclared = {path for path in inside - declared if path.name != "words.yaml"}
        assert undeclared == set(), phase
        if phase == "execute":
            assert any("seeds" in path.as_posix() for path in inside), "the trace saw no data at all"


def test_the_prompts_that_execution_loads_are_declared(graph: grimp.ImportGraph) -> None:
    """Tools that a model plays: `--simulate`."""
    modules = [
        module for module in needed(graph, "execute") if not any(module.startswith(one) for one in NEUTRAL)
    ]
    names = set()
    for module in modules:
        place = ROOT.parent / module.replace(".", "/")
        text = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text()
        names |= {part.partition('"')[0] for part in text.split('load_prompt("')[1:]}
    assert {f"data/prompts/{name}.yaml" for name in names} <= set(PHASES["execute"])
    assert names


def test_products_of_another_assignment_are_made_again(tmp_path: Path) -> None:
    """Which chunk draws from where follows from decisions that later phases take part in: no key covers those."""
    from planarena.config import QuotaConfig
    from planarena.pipeline.products import Assignment, ExecutedChunk, ProductStore
    from planarena.pipeline.run import jobs

    config = msgspec.structs.replace(
        BuildConfig(sources=("builtin",)), quotas=QuotaConfig(vendor_share=1.0), out=str(tmp_path)
    )
    keys = phase_keys(config)
    store = ProductStore(tmp_path, keys)
    found = []
    for first in (0, 1, 1):
        job = jobs.Job("produce", 0, assignment=Assignment("builtin", first, 1))
        reply = jobs.Worker(tmp_path, config, keys).answer(job)
        assert isinstance(reply, jobs.ProduceReply)
        product = store.load("execute", 0, ExecutedChunk)
        assert product is not None
        assert product.assignment == job.assignment
        found.append((reply.executed, product.scenarios[0].scenario_id))
    # A scenario may bring conversations in scenarios of their own, which count too.
    assert [executed > 0 for executed, _ in found] == [True, True, False]
    assert found[0][1] != found[1][1] == found[2][1]
