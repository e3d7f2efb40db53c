"""BFCL's categories: which there are, which group they are in, which version scores them."""

from __future__ import annotations

__all__ = [
    "AGENTIC",
    "COUNTS",
    "FORMATS",
    "LIVE",
    "LIVE_AST",
    "MEMORY",
    "MULTI_TURN",
    "NON_LIVE",
    "REVISION",
    "SIMPLE",
    "asked_categories",
    "categories_of",
    "current_id",
    "current_name",
]

REVISION = "the questions of bfcl-eval 2026.3.23 (v4's: 16 live relevance and 884 live irrelevance items)"

SIMPLE = ("simple_python", "simple_java", "simple_javascript")
NON_LIVE = (*SIMPLE, "multiple", "parallel", "parallel_multiple", "irrelevance")
LIVE_AST = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
LIVE = (*LIVE_AST, "live_irrelevance", "live_relevance")
MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
FORMATS = ("format_sensitivity",)  # 200 items in 26 prompt formats each; in no overall value
MEMORY = ("memory_kv", "memory_rec_sum")  # those that a model can be asked here
AGENTIC = ("web_search_base", "web_search_no_snippet", "memory_kv", "memory_vector", "memory_rec_sum")

# Items by category, for the weights of the formulas where a category was not run or was limited.
COUNTS = {
    "simple_python": 400, "simple_java": 100, "simple_javascript": 50, "multiple": 200, "parallel": 200,
    "parallel_multiple": 200, "irrelevance": 240, "live_simple": 258, "live_multiple": 1053, "live_parallel": 16,
    "live_parallel_multiple": 24, "live_irrelevance": 884, "live_relevance": 16,
    **dict.fromkeys(MULTI_TURN, 200), **dict.fromkeys(AGENTIC[:2], 100), **dict.fromkeys(AGENTIC[2:], 155),
    "format_sensitivity": 5200,
}  # fmt: skip

# What older files call a category.
_OLD_NAMES = {
    "simple": "simple_python",
    "java": "simple_java",
    "javascript": "simple_javascript",
    "multiple_function": "multiple",
    "parallel_function": "parallel",
    "parallel_multiple_function": "parallel_multiple",
    "relevance": "irrelevance",  # v1's name for the test that no function fits
}


def categories_of(suite: str) -> tuple[str, ...]:
    """The categories that a suite scores, in its order."""
    return NON_LIVE + LIVE + MULTI_TURN + (AGENTIC + FORMATS if suite == "bfcl-v4" else ())


def asked_categories(suite: str, form: str, formats: bool) -> tuple[str, ...]:
    """The categories of a suite that a model can be asked here: all but the agentic ones (see `MEMORY`).

    Args:
        suite: "bfcl-v3" or "bfcl-v4".
        form: The format of the policy's replies; the prompt formats are for models that call in text.
        formats: Ask the category of prompt formats, too.
    """
    return (
        NON_LIVE
        + LIVE
        + MULTI_TURN
        + (FORMATS if formats and suite == "bfcl-v4" and form != "native" else ())
    )


def current_id(key: str) -> str:
    """The id today of an item of version 3 ("simple_7" is "simple_python_7")."""
    prefix, _, number = key.rpartition("_")
    return f"{_OLD_NAMES[prefix]}_{number}" if prefix in ("simple", "java", "javascript") else key


def current_name(name: str) -> str:
    """The category's name today."""
    return _OLD_NAMES.get(name, name)
