"""What a source is that was given without its kind: a Python file, an API description, a list of servers, a list of tools."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["Recognised", "recognise"]

_HEAD = 200_000
_SAID = {
    "python": "a Python file: its public functions are the tools",
    "openapi": "an OpenAPI description: an emulator answers its operations",
    "mcp": "a list of MCP servers: they are started in sandboxes",
    "http": "the settings of a live HTTP API",
    "json": "a list of tool schemas: nothing here can execute them without --simulate MODEL",
    "env": "an environment folder",
}


class Recognised(NamedTuple):
    """What a source was taken for.

    Attributes:
        kind: As it stands before the colon.
        rest: What stands after it.
        said: One line that says so; empty where the kind was given.
    """

    kind: str
    rest: str
    said: str

    @property
    def text(self) -> str:
        """The source with its kind."""
        return f"{self.kind}:{self.rest}"


def recognise(text: str) -> Recognised | None:
    """Look at a file or a folder that was given without its kind; None where it is neither.

    Args:
        text: A path.
    """
    place = Path(text)
    kind = _of_folder(place) if place.is_dir() else _of_file(place) if place.is_file() else ""
    if not kind:
        return None
    others = [one for one in ("python", "openapi", "mcp") if one != kind]
    hint = f"; if it is not, write {' or '.join(f'{one}:{text}' for one in others[:2])}"
    return Recognised(kind, text, f"{text} is taken for {_SAID[kind]}{hint}")


def _of_folder(place: Path) -> str:
    if (place / "environment.py").is_file():
        return "env"
    described = [*place.glob("*.yaml"), *place.glob("*.yml"), *place.glob("*.json")]
    return "openapi" if any(_of_file(file) == "openapi" for file in sorted(described)[:20]) else ""


def _of_file(place: Path) -> str:
    if place.suffix == ".py":
        return "python"
    try:
        with place.open(encoding="utf-8", errors="replace") as file:
            head = file.read(_HEAD)
    except OSError:
        return ""
    if re.search(r"""^\s*\{?\s*["']?(openapi|swagger)["']?\s*:\s*["']?[23]\.\d""", head, re.MULTILINE):
        return "openapi"
    if re.search(r"""["']?mcpServers["']?\s*:""", head):
        return "mcp"
    if place.suffix in {".yaml", ".yml"}:
        return "http" if re.search(r"^openapi\s*:\s*\S+\.(ya?ml|json)", head, re.MULTILINE) else ""
    try:
        value = json.loads(place.read_text(encoding="utf-8")) if len(head) < _HEAD else None
    except (ValueError, RecursionError, OSError):
        return "json" if place.suffix == ".json" else ""
    if isinstance(value, dict) and isinstance(value.get("openapi"), str) and "paths" not in value:
        return "http"
    return "json" if place.suffix == ".json" or isinstance(value, list) else ""
