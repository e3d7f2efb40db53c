"""WorkBench's tools as a model is shown them: read from the benchmark's own files, none of which is executed."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from planarena.errors import UserError
from planarena.eval.workbench.office import TOOLS

__all__ = ["read_toolkits"]

_PARAMETER = re.compile(r"(\w+) ?: ")


def read_toolkits(folder: Path) -> list[dict[str, Any]]:
    """Return the tools in the OpenAI shape, in the order of the office.

    Args:
        folder: The repository's layout; `src/tools/*.py` hold names, arguments and docstrings.

    Raises:
        UserError: A file is missing, or tools are.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((folder / "src" / "tools").glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError, RecursionError) as error:
            raise UserError(f"cannot be read: {error}", where=str(path), fix="fetch it again") from error
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and (name := _name(node)):
                found[name] = _tool(name, node)
    if missing := [name for name in TOOLS if name not in found]:
        raise UserError(
            f"has no description of {missing[0]}, which a model needs",
            where=str(folder / "src" / "tools"),
            fix="planarena eval --fetch workbench, or --data workbench=FOLDER with the repository's src/tools",
        )
    return [found[name] for name in TOOLS]


def _name(node: ast.FunctionDef) -> str:
    """The name that the decorator gives a function."""
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and mark.args and isinstance(mark.args[0], ast.Constant):
            return str(mark.args[0].value)
    return ""


def _tool(name: str, node: ast.FunctionDef) -> dict[str, Any]:
    words, stated = _docstring(ast.get_docstring(node) or "")
    properties = {
        argument.arg: {"type": "string", "description": stated.get(argument.arg, "")}
        for argument in node.args.args
    }
    schema = {"type": "object", "properties": properties, "required": []}
    return {"type": "function", "function": {"name": name, "description": words, "parameters": schema}}


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """What a docstring in NumPy's style says of a function, and of each parameter."""
    opening, _, rest = text.partition("\nParameters\n")
    stated: dict[str, str] = {}
    name = ""
    for line in rest.partition("\nReturns\n")[0].splitlines()[1:]:
        if match := _PARAMETER.match(line):
            name = match[1]
            stated[name] = ""
        elif name:
            stated[name] = f"{stated[name]} {line.strip()}".strip()
    return " ".join(opening.split()), stated
