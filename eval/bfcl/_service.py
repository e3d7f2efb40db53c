"""The BFCL worker: bfcl-eval's own checkers over decoded outputs, item by item.

Runs inside the sandbox, in bfcl-eval's environment. Every verdict is [id, correct, error type, detail]; an
item that raises, or that takes too long, is a verdict too.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))
import _ranking

os.environ.setdefault("BFCL_PROJECT_ROOT", "/tmp/bfcl")  # noqa: S108  importing bfcl-eval makes folders there
warnings.simplefilter("ignore")  # a model's text with an odd escape is no concern of ours


class _Naming:
    def __init__(self, underscore_to_dot: bool) -> None:
        self.underscore_to_dot = underscore_to_dot


def _install_model_config() -> None:
    """Stand in for the module that imports every vendor's client; the checkers read one flag of it."""
    module = types.ModuleType("bfcl_eval.constants.model_config")
    module.MODEL_CONFIG_MAPPING = {"dotted": _Naming(False), "underscored": _Naming(True)}  # type: ignore[attr-defined]
    sys.modules["bfcl_eval.constants.model_config"] = module


_install_model_config()
_ranking.install()

import _asking  # noqa: E402
import _executor  # noqa: E402
import _gold  # noqa: E402
import _memory  # noqa: E402
import bfcl_eval  # noqa: E402
from _calls import (  # noqa: E402
    MAX_CHARACTERS,
    NotACall,
    bracketed,
    decode_json_calls,
    decode_text,
    executable_json_calls,
    executable_text_calls,
    parse_calls,
)
from bfcl_eval.constants.enums import Language, ReturnFormat  # noqa: E402
from bfcl_eval.eval_checker.agentic_eval.agentic_checker import agentic_checker  # noqa: E402
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # noqa: E402
from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker as multi_turn  # noqa: E402
from bfcl_eval.utils import (  # noqa: E402
    get_all_format_sensitivity_configs,
    is_empty_output,
    is_function_calling_format_output,
)

multi_turn.execute_multi_turn_func_call = _executor.execute

_DATA = Path(bfcl_eval.__file__).parent / "data"
_ID = re.compile(rb'\{"id": ?"([^"]+)"')
_raw: dict[str, tuple[dict[str, bytes], dict[str, bytes]]] = {}


class _Slow(BaseException):
    """Not an Exception, so that no handler of the simulated systems takes it."""


def _alarm(_signal: int, _frame: Any) -> None:
    raise _Slow


signal.signal(signal.SIGALRM, _alarm)


# --- questions and answers ---------------------------------------------------------------------------


def _lines(path: Path, rename: Callable[[str], str] = str) -> dict[str, bytes]:
    """Index a JSON-lines file by id, leaving each line unparsed until it is asked for."""
    found = {}
    for line in path.read_bytes().splitlines():
        match = _ID.match(line)
        key = match.group(1).decode() if match else json.loads(line)["id"]
        found[rename(key)] = line
    return found


def _load(category: str) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The questions and the answers of a category by id; an answer follows its question's position."""
    if category == "format_sensitivity":
        return _load_formats()
    if category not in _raw:
        file = "memory" if category.startswith("memory") else category
        file = "web_search" if category.startswith("web_search") else file

        def rename(key: str) -> str:
            return category + key[len(file) :] if file != category else key

        questions = _lines(_DATA / f"BFCL_v4_{file}.json", rename)
        answers: dict[str, bytes] = {}
        if "relevance" not in category:
            listed = _lines(_DATA / "possible_answer" / f"BFCL_v4_{file}.json", rename)
            answers = dict(zip(questions, listed.values(), strict=True))
        _raw[category] = (questions, answers)
    return _raw[category]


def _load_formats() -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Items of other categories, once for each of the 26 prompt formats."""
    if "format_sensitivity" not in _raw:
        chosen = json.loads((_DATA / "BFCL_v4_format_sensitivity.json").read_bytes())
        questions: dict[str, bytes] = {}
        answers: dict[str, bytes] = {}
        for category, listed in chosen.items():
            wanted, loaded = set(listed), _load(category)
            for key in (key for key in loaded[0] if key in wanted):
                for config in get_all_format_sensitivity_configs():
                    name = f"format_sensitivity_{len(questions)}:{config}:{key}"
                    questions[name], answers[name] = loaded[0][key], loaded[1][key]
        _raw["format_sensitivity"] = (questions, answers)
    return _raw["format_sensitivity"]


def ids(category: str) -> list[str]:
    """The ids of a category's items, in the benchmark's order."""
    return list(_load(category)[0])


def gold(category: str) -> list[list[Any]]:
    """The ground truth of a category as [id, output] of a function-calling model."""
    questions, answers = _load(category)
    return [
        [
            key,
            _gold.response(
                category, key, json.loads(line), json.loads(answers[key]) if key in answers else None
            ),
        ]
        for key, line in questions.items()
    ]


def describe(request: dict[str, Any]) -> list[list[Any]]:
    """The items of a category as [id, question, answer], without the answers' execution."""
    questions, answers = _load(request["category"])
    found = []
    for key, line in questions.items():
        row = json.loads(line)  # the states that dialogues begin with, most of a row, are nothing to look at
        shown = {name: row[name] for name in ("question", "function") if name in row}
        found.append([key, shown, json.loads(answers[key])["ground_truth"] if key in answers else None])
    return found


def _entry(category: str, key: str, given: dict[str, Any] | None) -> tuple[dict[str, Any], Any]:
    if given is not None:
        return given["question"], given["answer"]
    questions, answers = _load(category)
    return json.loads(questions[key]), json.loads(answers[key])["ground_truth"] if key in answers else None


# --- verdicts ----------------------------------------------------------------------------------------


def score(request: dict[str, Any]) -> list[list[Any]]:
    """Score items of one category.

    The request holds `category`; `items`, a list of [id, output, question and answer or null, how it writes its
    calls: "json" or "text"]; `names`, "underscored" where the model was shown function names
    with `_` for `.`, else "dotted"; `seconds`, the time of one item.
    """
    category, verdicts = request["category"], []
    for key, output, given, calls in request["items"]:
        try:
            # Repeated, for the case that some handler in between swallows the first.
            signal.setitimer(signal.ITIMER_REAL, request["seconds"], 0.1)
            try:
                verdict = _verdict(category, key, output, given, calls, request["names"])
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except _Slow:
            verdict = (False, "limit:time", f"took longer than {request['seconds']} seconds")
        except (Exception, RecursionError) as error:
            verdict = (False, f"checker_error:{type(error).__name__}", str(error))
        correct, kind, detail = verdict
        verdicts.append([key, correct, kind, detail[:400].encode("utf-8", "replace").decode()])
    return verdicts


def _verdict(
    category: str, key: str, output: Any, given: dict[str, Any] | None, calls: str, names: str
) -> tuple[bool, str, str]:
    if isinstance(output, str) and len(output) > MAX_CHARACTERS:
        return False, "limit:length", f"the output has {len(output)} characters"
    question, answer = _entry(category, key, given)
    if "relevance" in category:
        return _judge_relevance(category, output, calls)
    if category.startswith("multi_turn"):
        return _judge_multi_turn(category, output, question, answer, calls)
    if category.startswith(("memory", "web_search")):
        return _judge_agentic(output, answer, calls)
    if category == "format_sensitivity":
        _, calls, category = key.split(":")
        names = "dotted"
    return _judge_calls(category, output, question["function"], answer, calls, names)


def _judge_relevance(category: str, output: Any, calls: str) -> tuple[bool, str, str]:
    why = ""
    try:
        decoded = _decode(output, calls, "python")
        called = not is_empty_output(decoded)
    except NotACall as error:
        called, why = False, str(error)
    if "irrelevance" in category:
        return (
            not called,
            "" if not called else "irrelevance_error:decoder_success",
            "calls a function" if called else "",
        )
    return called, "" if called else "relevance_error:decoder_failed", why


def _judge_calls(
    category: str, output: Any, functions: list[dict[str, Any]], answer: Any, calls: str, names: str
) -> tuple[bool, str, str]:
    language = "javascript" if "javascript" in category else "java" if "java" in category else "python"
    try:
        decoded = _decode(output, calls, language)
    except NotACall as error:
        return False, "ast_decoder:decoder_failed", str(error)
    if not is_function_calling_format_output(decoded):
        return False, "ast_decoder:decoder_wrong_output_format", "not a list of calls"
    result = ast_checker(functions, decoded, answer, Language(language), category, names)
    return result["valid"], "" if result["valid"] else result["error_type"], _text(result.get("error"))


def _text(error: Any) -> str:
    return "; ".join(item if isinstance(item, str) else json.dumps(item, default=str) for item in error or [])


def _decode(output: Any, calls: str, language: str) -> Any:
    if calls == "json":
        return decode_json_calls(output)
    if not isinstance(output, str):
        raise NotACall(f"the output is {type(output).__name__}, not text")
    if calls != "text":
        return _decode_format(output, calls)
    if language == "python":
        return decode_text(output)
    from bfcl_eval.model_handler.parser.java_parser import parse_java_function_call
    from bfcl_eval.model_handler.parser.js_parser import parse_javascript_function_call

    parse = parse_java_function_call if language == "java" else parse_javascript_function_call
    try:
        return parse(bracketed(output)[1:-1])
    except Exception as error:  # whatever the parsers raise, bfcl-eval counts it as undecodable
        raise NotACall(str(error)) from error


def _decode_format(output: str, config: str) -> Any:
    """Decode what one of the 26 prompt formats asks for; as bfcl-eval, with our reading of Python's syntax."""
    from bfcl_eval.model_handler.utils import ast_parse, parse_prompt_variation_params

    written, tagged, *_ = parse_prompt_variation_params(config)
    text = bracketed(output)
    if tagged:
        if (match := re.search(r"<TOOLCALL>(.*?)</TOOLCALL>", text, re.DOTALL)) is None:
            raise NotACall("no <TOOLCALL> tag")
        text = match.group(1).strip()
    if written == "python":
        return parse_calls(text)
    try:
        return ast_parse(text, ReturnFormat(written))
    except Exception as error:  # whatever the parsers raise, bfcl-eval counts it as undecodable
        raise NotACall(str(error)) from error


def _judge_agentic(output: Any, answer: list[str], calls: str) -> tuple[bool, str, str]:
    if type(output) is not list or len(output) != 1:
        return False, "agentic:inference_error", "not a list of one turn"
    last = None
    for step in output[0]:
        try:
            if not _executable(step, calls):
                last = step
        except NotACall:
            last = step
    if not last:
        return False, "agentic:no_last_message", "no message without a call"
    result = agentic_checker(last, answer)
    return result["valid"], "" if result["valid"] else result["error_type"], result.get("error_message", "")


def _executable(step: Any, calls: str) -> list[Any]:
    found: list[Any] = executable_json_calls(step) if calls == "json" else executable_text_calls(step)
    return found


def _judge_multi_turn(
    category: str, output: Any, question: dict[str, Any], answer: list[list[str]], calls: str
) -> tuple[bool, str, str]:
    if type(output) is not list:
        return False, "multi_turn:inference_error", "not a list of turns"
    if len(output) != len(answer):
        return False, "multi_turn:force_terminated", f"{len(output)} turns where {len(answer)} were asked"
    turns = []
    for turn in output:
        steps = []
        for step in turn:
            try:
                if decoded := _executable(step, calls):
                    steps.append(decoded)
            except NotACall:  # chat, or a step that bfcl-eval skips as well
                continue
        turns.append(steps)
    _executor.forget()
    try:
        result = multi_turn.multi_turn_checker(turns, answer, question, category, "model")
    finally:
        _executor.forget()
    return (
        result["valid"],
        "" if result["valid"] else result["error_type"],
        str(result.get("error_message", "")),
    )


def naming(request: dict[str, Any]) -> tuple[int, int]:
    """Count outputs that write a dotted function name with dots, and with underscores."""
    dotted = underscored = 0
    for key, output, given, calls in request["items"]:
        try:
            used = {name for item in _decode(output, calls, "python") for name in item}
        except NotACall:
            continue
        question, _ = _entry(request["category"], key, given)
        known = {function["name"] for function in question["function"] if "." in function["name"]}
        dotted += bool(known & used)
        underscored += bool({name.replace(".", "_") for name in known} & used)
    return dotted, underscored


# --- asking ------------------------------------------------------------------------------------------


def prepare(request: dict[str, Any]) -> dict[str, Any]:
    """One item as a model is asked it; see `_asking.prepare`."""
    question, _ = _entry(request["category"], request["id"], request["given"])
    form = request["id"].split(":")[1] if request["category"] == "format_sensitivity" else ""
    shown: dict[str, Any] = _asking.prepare(question, request["underscored"], form)
    return shown


def execute(request: dict[str, Any]) -> list[list[str]] | None:
    """What the calls of a dialogue's last step return; see `_asking.execute`."""
    question, _ = _entry(request["category"], request["id"], request["given"])
    returned: list[list[str]] | None = _asking.execute(request["category"], question, request["steps"])
    return returned


def open_chain(request: dict[str, Any]) -> dict[str, Any]:
    """The dialogues and questions of a memory; see `_memory.open_chain`."""
    opened: dict[str, Any] = _memory.open_chain(request["category"], request["underscored"])
    return opened


def instruct(request: dict[str, Any]) -> str:
    """What a dialogue with a memory is told first."""
    return str(_memory.instruct(request["category"], request["scenario"], request["memory"]))


def use(request: dict[str, Any]) -> dict[str, Any] | None:
    """What a step's calls make of a memory; see `_memory.use`."""
    used: dict[str, Any] | None = _memory.use(request["category"], request["memory"], request["step"])
    return used


METHODS = {
    "describe": describe,
    "execute": execute,
    "gold": gold,
    "ids": ids,
    "instruct": instruct,
    "naming": naming,
    "open_chain": open_chain,
    "prepare": prepare,
    "score": score,
    "use": use,
}
