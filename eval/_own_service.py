"""The worker of a suite of one's own: its Python scorer, or a regular expression. Runs inside the sandbox."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

_scorers: dict[str, Any] = {}


def regex(request: dict[str, Any]) -> list[Any]:
    """Say whether the output matches the item's expression."""
    found = re.search(request["item"]["expected"], request["output"])
    return [found is not None, "no match"]


def python(request: dict[str, Any]) -> list[Any]:
    """Call the scorer; it returns whether, or (whether, why not)."""
    path = request["scorer"]
    if path not in _scorers:
        spec = spec_from_file_location("scorer", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        _scorers[path] = module.score
    found = _scorers[path](request["item"], request["output"], request["calls"])
    correct, reason = found if isinstance(found, (tuple, list)) else (found, "the scorer says no")
    return [bool(correct), str(reason)]


METHODS = {"python": python, "regex": regex}
