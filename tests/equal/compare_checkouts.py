"""Whether two checkouts do the same: tables of three builds, and the first steps of every algorithm.

`python tests/equal/compare_checkouts.py OLD NEW [--gold 3000] [--openapi 200] [--python 100] [--steps] [--keep DIR]`

Each checkout runs in processes of its own (`PYTHONPATH`). Tables are compared row by row in their order. Ids that hash
where a tool's source lies may differ, so every id is replaced by the number of its first appearance; what hashes to
equal ids in one checkout must do so in the other. Columns that name source files are left out. Exit 1 on a difference.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars

_SOURCE_COLUMNS = ("source_ref", "source_version", "source_sha256")
_ID = re.compile(r"\b[0-9a-f]{32}\b")

_PYTHON_SOURCE = '''"""A tool shed: things that can be lent, and who has them."""

from __future__ import annotations

from typing import TypedDict


class Thing(TypedDict):
    """One thing of the shed."""

    thing_id: str
    name: str
    lent_to: str


_things: dict[str, Thing] = {}

EFFECTS = {"find_thing": "read", "lend_thing": "update", "add_thing": "create", "remove_thing": "delete"}
EXAMPLES = {
    "find_thing": [{"name": name} for name in ("saw", "ladder", "drill", "rake")],
    "lend_thing": [{"thing_id": f"thing-{name}", "person": who}
                   for name in ("saw", "ladder") for who in ("Ida", "Tom", "Ravi")],
    "add_thing": [{"name": name} for name in ("hammer", "spade", "hose", "axe")],
    "remove_thing": [{"thing_id": "thing-rake"}, {"thing_id": "thing-drill"}],
}


def find_thing(name: str) -> Thing:
    """Look up a thing by its name.

    Args:
        name: The thing's name.
    """
    return _things[f"thing-{name}"]


def lend_thing(thing_id: str, person: str) -> Thing:
    """Lend a thing to a person.

    Args:
        thing_id: The thing's id.
        person: Who takes it.
    """
    if _things[thing_id]["lent_to"]:
        raise ValueError("it is lent already")
    _things[thing_id] = {**_things[thing_id], "lent_to": person}
    return _things[thing_id]


def add_thing(name: str) -> Thing:
    """Add a thing to the shed.

    Args:
        name: The thing's name.
    """
    thing: Thing = {"thing_id": f"thing-{name}", "name": name, "lent_to": ""}
    if thing["thing_id"] in _things:
        raise ValueError(f"there is a {name} already")
    _things[thing["thing_id"]] = thing
    return thing


def remove_thing(thing_id: str) -> Thing:
    """Take a thing out of the shed for good.

    Args:
        thing_id: The thing's id.
    """
    return _things.pop(thing_id)


def snapshot() -> dict[str, Thing]:
    """Return the whole state as JSON."""
    return {key: dict(thing) for key, thing in _things.items()}  # type: ignore[misc]


def restore(state: dict[str, Thing]) -> None:
    """Go back to a state."""
    _things.clear()
    _things.update(state)


def seed(number: int) -> None:
    """Make the initial state."""
    _things.clear()
    for name in ("saw", "ladder", "drill", "rake"):
        _things[f"thing-{name}"] = {"thing_id": f"thing-{name}", "name": name, "lent_to": ""}


seed(0)
'''


# Things that people speak of: what has no name in everyday words, nobody asks for.
_THINGS = "Project Course Restaurant Recipe Event Task Book Hotel Store Product Song Album"


def api_description() -> dict[str, Any]:
    """Return an API of twelve resources with five operations each."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for name in _THINGS.split():
        fields = {
            "name": {"type": "string"},
            "status": {"type": "string", "enum": ["open", "closed"]},
            "rating": {"type": "integer", "minimum": 1, "maximum": 5},
        }
        schemas[name] = {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "string"}, **fields},
        }
        schemas[f"New{name}"] = {"type": "object", "required": ["name"], "properties": fields}
        one = {"$ref": f"#/components/schemas/{name}"}
        answer = {"200": {"description": "", "content": {"application/json": {"schema": one}}}}
        many = {"type": "array", "items": one}
        listed = {"200": {"description": "", "content": {"application/json": {"schema": many}}}}
        sent = {"schema": {"$ref": f"#/components/schemas/New{name}"}}
        body = {"required": True, "content": {"application/json": sent}}
        stem = name.lower() + "s"
        paths[f"/{stem}"] = {
            "post": {"summary": f"Create a {name.lower()}", "requestBody": body, "responses": answer},
            "get": {"summary": f"List the {stem}", "responses": listed},
        }
        paths[f"/{stem}/{{id}}"] = {
            "get": {"summary": f"Show a {name.lower()}", "responses": answer},
            "patch": {"summary": f"Change a {name.lower()}", "requestBody": body, "responses": answer},
            "delete": {"summary": f"Delete a {name.lower()}", "responses": {"204": {"description": ""}}},
        }
    info = {"title": "Depot", "version": "1"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _environment(checkout: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}


def build(checkout: Path, source: str, gold: int, out: Path) -> Path:
    """Build with one checkout, and return the run's folder."""
    command = [sys.executable, "-m", "planarena", "build", source, "--out", str(out), "--seed", "3"]
    command += ["--trajectories", str(gold), "--workers", "2"]
    done = subprocess.run(
        command, env=_environment(checkout), cwd=out.parent, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{checkout} cannot build {source}:\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    return out


def rows(run: Path) -> Iterator[tuple[str, int, str]]:
    """Yield every row of every table as canonical JSON, with ids numbered by first appearance."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"id{len(numbers)}")

    for table in sorted(path.name for path in (run / "tables").iterdir()):
        files = sorted(str(path) for path in (run / "tables" / table).glob("*.parquet"))
        frame = polars.concat([polars.read_parquet(file) for file in files], how="diagonal_relaxed")
        frame = frame.drop([column for column in _SOURCE_COLUMNS if column in frame.columns])
        for place, row in enumerate(frame.iter_rows(named=True)):
            yield table, place, _ID.sub(number, json.dumps(row, sort_keys=True, default=str))


def compare_runs(old: Path, new: Path) -> list[str]:
    """Return up to five differences between two runs' tables."""
    differences = []
    before, after = list(rows(old)), list(rows(new))
    if len(before) != len(after):
        differences.append(f"{len(before)} rows in all, then {len(after)}")
    for mine, other in zip(before, after, strict=False):
        if mine != other:
            differences.append(f"{mine[0]} row {mine[1]}:\n    {mine[2][:600]}\n    {other[2][:600]}")
        if len(differences) >= 5:
            break
    return differences


def first_steps(checkout: Path, run: Path) -> list[str]:
    """Return the metrics of every algorithm's first three steps on a run, a JSON line each."""
    command = [sys.executable, str(Path(__file__).parent / "first_steps.py"), str(run)]
    done = subprocess.run(command, env=_environment(checkout), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{checkout} cannot take the first steps:\n{done.stderr[-3000:]}")
    return done.stdout.splitlines()


def main() -> int:
    """Compare, print what differs, and return 1 if anything does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--gold", type=int, default=3000, help="builtin gold")
    parser.add_argument("--openapi", type=int, default=200, help="gold from an API description")
    parser.add_argument("--python", type=int, default=100, help="gold from a Python module, in the sandbox")
    parser.add_argument("--steps", action="store_true", help="train every algorithm three steps, too")
    parser.add_argument("--keep", type=Path, help="where the runs are written and kept")
    options = parser.parse_args()
    root = options.keep or Path(tempfile.mkdtemp(prefix="compare-"))
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o755)
    (root / "api.json").write_text(json.dumps(api_description()))
    (root / "shed.py").write_text(_PYTHON_SOURCE)
    (root / "shed.py").chmod(0o644)
    plan = [
        ("builtin", "builtin", options.gold),
        ("openapi", f"openapi:{root / 'api.json'}", options.openapi),
        ("python", f"python:{root / 'shed.py'}", options.python),
    ]
    failed = False
    for name, source, gold in plan:
        if gold == 0:
            continue
        runs = [build(path.resolve(), source, gold, root / f"{name}-{side}") for side, path in
                (("old", options.old), ("new", options.new))]  # fmt: skip
        found = compare_runs(*runs)
        count = sum(1 for _ in rows(runs[0]))
        print(f"{name}: {gold} gold asked for, {count} rows, {'equal' if not found else 'DIFFERENT'}")
        print("".join(f"  {line}\n" for line in found), end="")
        failed |= bool(found)
    if options.steps:
        # Both train on what the old one builds: what they build is compared above.
        run = build(options.old.resolve(), "builtin", 60, root / "steps")
        before, after = (first_steps(path.resolve(), run) for path in (options.old, options.new))
        wrong = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
        same = len(before) == len(after) and not wrong
        print(f"first steps: {len(before)} lines, {'equal' if same else 'DIFFERENT'}")
        print("".join(f"  {a[:400]}\n  {b[:400]}\n" for a, b in wrong[:3]), end="")
        failed |= not same
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
