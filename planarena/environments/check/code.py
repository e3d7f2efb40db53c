"""What can be seen in a folder's code without running it: clocks, randomness, files and the network.

It is advice, not a guard: code that means harm is contained by the sandbox.
"""

from __future__ import annotations

import ast
from pathlib import Path

from planarena.environments.check.findings import Findings

__all__ = ["check_code"]

_CLOCK = "use `self.now` or `self.today`: a scenario has one moment, and a call makes no time pass"
_CHANCE = "draw in `seed` or in proposals, from the `rng` that they are given"
_OUTSIDE = "keep everything in `self.state`; what the world starts with comes from seeds.yaml"
# Module -> the names that are asked for, None for any, and what to write instead.
_UNWANTED: dict[str, tuple[frozenset[str] | None, str, str]] = {
    "time": (None, "reads the clock", _CLOCK),
    "uuid": (None, "makes ids by chance", "make ids of content: `self.new_id(prefix, *content)`"),
    "secrets": (None, "makes values by chance", _CHANCE),
    "os": (None, "reaches outside of the environment", _OUTSIDE),
    "subprocess": (None, "reaches outside of the environment", _OUTSIDE),
    "socket": (None, "reaches outside of the environment", _OUTSIDE),
    "urllib": (None, "reaches outside of the environment", _OUTSIDE),
    "requests": (None, "reaches outside of the environment", _OUTSIDE),
    "httpx": (None, "reaches outside of the environment", _OUTSIDE),
    "ctypes": (None, "reaches outside of the environment", _OUTSIDE),
    "random": (frozenset({"Random"}), "draws from the process's own random source", _CHANCE),
}
_CLOCK_CALLS = {"now", "utcnow", "today"}


def check_code(folder: Path, findings: Findings) -> bool:
    """Look through the modules of a folder; say whether all of them are Python.

    Args:
        folder: The folder.
        findings: Where findings are added.
    """
    readable = True
    for file in sorted(folder.rglob("*.py")):
        name = str(file.relative_to(folder))
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError, RecursionError, OSError) as error:
            findings.add("code", name, f"cannot be read: {error}", "correct it")
            readable = False
            continue
        for node in ast.walk(tree):
            for module, names in _imports(node):
                allowed, what, fix = _UNWANTED.get(module.partition(".")[0], (None, "", ""))
                if what and not (allowed is not None and names and names <= allowed):
                    findings.add("code", f"{name}:{getattr(node, 'lineno', 0)}", f"{what} ({module})", fix)
            if isinstance(node, ast.Call):
                _check_call(node, name, findings)
    return readable


def _imports(node: ast.AST) -> list[tuple[str, set[str]]]:
    if isinstance(node, ast.Import):
        return [(alias.name, set()) for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [(node.module, {alias.name for alias in node.names})]
    return []


def _check_call(node: ast.Call, name: str, findings: Findings) -> None:
    where = f"{name}:{node.lineno}"
    called = node.func
    if (
        isinstance(called, ast.Attribute)
        and called.attr in _CLOCK_CALLS
        and isinstance(called.value, ast.Name)
    ):
        if called.value.id in {"datetime", "date"}:
            findings.add("code", where, f"reads the clock ({called.value.id}.{called.attr})", _CLOCK)
    elif isinstance(called, ast.Name) and called.id in {"open", "exec", "eval", "__import__", "input"}:
        findings.add("code", where, f"reaches outside of the environment ({called.id})", _OUTSIDE)
    elif isinstance(called, ast.Name) and called.id == "hash":
        findings.add(
            "code",
            where,
            "hash() of text differs between processes",
            "make ids of content: `self.new_id(prefix, *content)`",
        )
