"""The memories of BFCL's agentic categories: what a dialogue begins with, and what its calls make of it.

Runs inside the sandbox, in bfcl-eval's environment. The words, the functions and the memories are bfcl-eval's own; what
it keeps in files between the dialogues of a chain goes in and out here as a value.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import bfcl_eval
from _asking import _tools
from _calls import NotACall, executable_json_calls
from _executor import _as_text, load_class
from bfcl_eval.constants.default_prompts import (
    ADDITIONAL_SYSTEM_PROMPT_FOR_AGENTIC_RESPONSE_FORMAT,
    MAXIMUM_STEP_LIMIT,
)

_DATA = Path(bfcl_eval.__file__).parent / "data"
_FIELDS = ("core_memory", "archival_memory", "memory")


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _instance(category: str, memory: dict[str, Any]) -> Any:
    instance = load_class(f"MemoryAPI_{category.removeprefix('memory_')}")()
    for name, value in copy.deepcopy(memory).items():
        if name in _FIELDS:
            setattr(instance, name, value)
    return instance


def _kept(instance: Any) -> dict[str, Any]:
    return {name: getattr(instance, name) for name in _FIELDS if hasattr(instance, name)}


def open_chain(category: str, underscored: bool) -> dict[str, Any]:
    """Return the dialogues of every scenario, its questions, and the functions.

    Returns:
        `scenarios`: by name `chain`, the dialogues that fill the memory as lists of turns, and `questions`, as [id,
        turns]; `tools` in the OpenAI shape; `most_steps`: steps of one turn after which a dialogue ends.
    """
    functions = _rows(_DATA / "multi_turn_func_doc" / f"{category}.json")
    scenarios: dict[str, dict[str, list[Any]]] = {}
    for row in _rows(_DATA / "BFCL_v4_memory.json"):
        turns = copy.deepcopy(row["question"])
        turns[0].insert(
            0, {"role": "system", "content": ADDITIONAL_SYSTEM_PROMPT_FOR_AGENTIC_RESPONSE_FORMAT}
        )
        place = scenarios.setdefault(row["scenario"], {"chain": [], "questions": []})
        place["questions"].append([row["id"].replace("memory", category, 1), turns])
    for name, place in scenarios.items():
        file = _DATA / "memory_prereq_conversation" / f"memory_{name}.json"
        place["chain"] = [row["question"] for row in _rows(file)]
    return {
        "scenarios": scenarios,
        "tools": _tools(functions, underscored),
        "most_steps": MAXIMUM_STEP_LIMIT + 1,
    }


def instruct(category: str, scenario: str, memory: dict[str, Any]) -> str:
    """Return what a dialogue of a scenario is told first, with the memory as far as it is always shown."""
    from bfcl_eval.model_handler.utils import add_memory_instruction_system_prompt

    turns = [[{"role": "user", "content": ""}]]
    shown = add_memory_instruction_system_prompt(turns, category, scenario, _instance(category, memory))
    return str(shown[0][0]["content"])


def use(category: str, memory: dict[str, Any], step: Any) -> dict[str, Any] | None:
    """Carry a step's calls out on a memory.

    Returns:
        `results`, [name, text] of each call, and `memory` as it is then; None where the step holds no call.
    """
    try:
        calls = executable_json_calls(step)
    except NotACall:
        return None
    if not calls:
        return None
    instance = _instance(category, memory)
    results = []
    for call in calls:
        method = None if call.name.startswith("_") else getattr(instance, call.name, None)
        try:
            if not callable(method):
                raise NameError(f"name {call.name!r} is not defined")
            results.append([call.name, _as_text(method(**call.arguments))])
        except Exception as error:
            results.append([call.name, f"Error during execution: {error}"])
    return {"results": results, "memory": _kept(instance)}
