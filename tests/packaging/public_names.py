"""Write public_names.json, the pinned list of public names, from the packages' own `__all__`.

Run it after a change of the public names was meant: `python tests/packaging/public_names.py`.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PINNED = Path(__file__).with_suffix(".json")
FOLDERS = {"planarena": "planarena"} | {
    name: f"planarena.{name}" for name in ("trainers", "eval", "annotation", "data")
}


def read_public_names() -> dict[str, list[str]]:
    """Return `__all__` of every package that has one, sorted; read from the source, so nothing is imported."""
    names = {}
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("__init__.py")):  # rglob does not follow the links
            inner = path.parent.relative_to(ROOT / folder).parts
            listed = _read_all(path)
            if listed and not any(part.startswith("_") for part in inner):
                names[".".join((package, *inner))] = sorted(listed)
    return dict(sorted(names.items()))


def _read_all(path: Path) -> list[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return list(ast.literal_eval(node.value))
    return []


if __name__ == "__main__":
    PINNED.write_text(json.dumps(read_public_names(), indent=2) + "\n", encoding="utf-8")
