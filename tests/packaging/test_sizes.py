"""What keeps the house readable: lengths of files, functions and domains, and no import in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("planarena", "trainers", "eval", "annotation")
MOST_OF_A_FILE, MOST_OF_A_FUNCTION = 450, 80
# Of a domain of twelve tools; each further tool has its share.
MOST_OF_A_DOMAIN, TOOLS = 450, 12
# The oldest ones hold more in their worlds and have more preconditions a tool than any other; they may shrink, not grow.
LARGER = {"banking": 510, "calendar": 521, "smart_home": 525, "travel": 571}
# These folders are one package with the first, under its name.
UNDER = {name: f"planarena.{name}" for name in PACKAGES[1:]}
DOMAINS = ROOT / "planarena" / "environments" / "domains"


@cache
def _files() -> dict[Path, str]:
    return {
        path: path.read_text()
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if not path.is_symlink() and "template" not in path.parts
    }


def test_no_file_is_long() -> None:
    long = {str(path.relative_to(ROOT)): text.count("\n") for path, text in _files().items()}
    assert {name: lines for name, lines in long.items() if lines > MOST_OF_A_FILE} == {}


def test_no_function_is_long() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{one.name}": one.end_lineno - one.lineno + 1
        for path, text in _files().items()
        for one in ast.walk(ast.parse(text))
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.end_lineno is not None
    }
    assert {name: lines for name, lines in long.items() if lines >= MOST_OF_A_FUNCTION} == {}


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in DOMAINS.glob("*/environment.py")))
def test_no_domain_is_long(folder: str) -> None:
    lines = sum(path.read_text().count("\n") for path in (DOMAINS / folder).glob("*.py"))
    tree = ast.parse((DOMAINS / folder / "environment.py").read_text())
    tools = sum(
        isinstance(one, ast.FunctionDef) and any("tool" in ast.dump(mark) for mark in one.decorator_list)
        for one in ast.walk(tree)
    )
    assert lines <= LARGER.get(folder, MOST_OF_A_DOMAIN * max(tools, TOOLS) / TOOLS)


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    first, _, rest = name.partition(".")
    return ".".join(filter(None, (UNDER.get(first, first), rest)))


def _imports(nodes: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of what is imported when a module is: nothing inside functions or for checkers alone."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.Try) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test)
        ):
            yield from _imports(node.body)


def _circles(graph: dict[str, set[str]]) -> list[str]:
    """Return a module of every circle (depth first, three colours)."""
    done: set[str] = set()
    open_: list[str] = []
    found: list[str] = []

    def visit(name: str) -> None:
        if name in done:
            return
        if name in open_:
            found.append(" -> ".join([*open_[open_.index(name) :], name]))
            return
        open_.append(name)
        for other in sorted(graph.get(name, ())):
            visit(other)
        open_.pop()
        done.add(name)

    for name in sorted(graph):
        visit(name)
    return found


def test_no_file_imports_itself_by_way_of_others() -> None:
    modules = {_name(path) for path in _files()}
    graph: dict[str, set[str]] = {}
    for path, text in _files().items():
        name = _name(path)
        targets = {
            f"{module}.{one}" if f"{module}.{one}" in modules else module
            for module, one in _imports(ast.parse(text).body)
        }
        graph[name] = {one for one in targets if one in modules and one != name}
    assert sum(map(len, graph.values())) > 1000
    assert _circles(graph) == []


def test_a_circle_is_found() -> None:
    assert _circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b -> c -> b"]
