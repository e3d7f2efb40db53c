"""What a model is shown of an item, and what its calls return. Runs inside the sandbox, in bfcl-eval's environment.

Tools and words are bfcl-eval's own: the functions as its OpenAI handler states them (names without dots, types of
JSON Schema, hints about Java and JavaScript). The state of a scenario is made anew for each step from all the calls
before it, so that no step depends on which worker ran the last one, or on whether that worker still lives.
"""

from __future__ import annotations

import copy
from typing import Any

import _executor
from _calls import NotACall, executable_json_calls
from bfcl_eval.constants.default_prompts import (
    DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC,
    MAXIMUM_STEP_LIMIT,
)
from bfcl_eval.constants.enums import ModelStyle
from bfcl_eval.constants.type_mappings import GORILLA_TO_OPENAPI
from bfcl_eval.utils import (
    add_language_specific_hint_to_function_doc,
    populate_test_cases_with_predefined_functions,
)


def prepare(entry: dict[str, Any], underscored: bool, prompt_format: str = "") -> dict[str, Any]:
    """Return an item as a model is asked it.

    Args:
        entry: The question as it is published.
        underscored: Write function names as servers take them, without dots.
        prompt_format: One of bfcl-eval's 26: the first message then states tools and what to write in it.

    Returns:
        `turns`: messages of each turn; `tools` in the OpenAI shape; `added`: by turn, tools that come with it;
        `most_steps`: steps of one turn after which the item ends.
    """
    entry = copy.deepcopy(entry)
    if entry.get("involved_classes"):
        (entry,) = populate_test_cases_with_predefined_functions([entry])
    withheld = {str(turn): tools for turn, tools in (entry.get("missed_function") or {}).items()}
    add_language_specific_hint_to_function_doc([entry])
    turns = [list(messages) for messages in entry["question"]]
    if prompt_format:
        from bfcl_eval.model_handler.utils import formulate_system_prompt

        words = formulate_system_prompt(prompt_format, entry["function"])
        if turns[0][0]["role"] == "system":
            words += "\n\n" + turns[0].pop(0)["content"]
        turns[0].insert(0, {"role": "system", "content": words})
    for turn in withheld:
        turns[int(turn)] = [{"role": "user", "content": DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC}]
    return {
        "turns": turns,
        "tools": _tools(entry["function"], underscored),
        "added": {turn: _tools(functions, underscored) for turn, functions in withheld.items()},
        "most_steps": MAXIMUM_STEP_LIMIT + 1,
    }


def _tools(functions: list[dict[str, Any]], underscored: bool) -> list[dict[str, Any]]:
    from bfcl_eval.model_handler.utils import convert_to_tool

    tools: list[dict[str, Any]] = convert_to_tool(
        functions, GORILLA_TO_OPENAPI, ModelStyle.OPENAI_COMPLETIONS
    )
    if not underscored:
        for tool, function in zip(tools, functions, strict=True):
            tool["function"]["name"] = function["name"]
    return tools


def execute(category: str, entry: dict[str, Any], steps: list[Any]) -> list[list[str]] | None:
    """Execute the steps of a dialogue from the start and return what the last one's calls returned.

    Args:
        category: Of the item.
        entry: The question as it is published.
        steps: Lists of {name: arguments}; all but the last have been executed before.

    Returns:
        [name, result] of each call of the last step; None where it holds no call.
    """
    try:
        last = executable_json_calls(steps[-1])
    except NotACall:
        return None
    if not last:
        return None
    _executor.forget()
    results: list[str] = []
    try:
        for step in steps:
            results, _ = _executor.execute(
                executable_json_calls(step),
                entry.get("initial_config") or {},
                entry["involved_classes"],
                "model",
                "",
                long_context="long_context" in category,
            )
    finally:
        _executor.forget()
    return [[call.name, result] for call, result in zip(last, results, strict=True)]
