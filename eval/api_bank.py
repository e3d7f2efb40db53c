r"""API-Bank: one call a sample, in three levels; the 597 samples that the papers score.

Soft match, as the papers' script has it: of the JSON lines after the last `<tool_call>`, any that equals the
gold call in name and parameters makes the sample correct. Strict match: there is exactly one call, and it is
equal. Overall is the share of all samples.

One sample, shortened::

    {"system": "... 1. Name: GetUserToken\nDescription: Gets the token ...\nParameters: {'username': {'type': 'str'}}",
     "user": "**Dialogue Records History**\n<user>Can you book a table?</user>",
     "answer": [{"name": "GetUserToken", "parameters": {"username": "ada"}}]}

Outputs without the tags are read as whoever wrote them (`planarena.formats.read_output`).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from planarena import formats
from planarena.bench import Asked
from planarena.errors import UserError
from planarena.eval.config import EvalConfig
from planarena.eval.conversation import Conversation, calls_of_reply
from planarena.eval.items import Shown
from planarena.eval.models.dialogues import Exchange, Item
from planarena.eval.readings import reader_of
from planarena.eval.responses import Response, Responses, count_tokens
from planarena.eval.results import SuiteResult, Verdict
from planarena.eval.tables import build_rows, finish, micro_average, unjudged
from planarena.eval.tagged import tagged_calls
from planarena.formats import Call, read_output
from planarena.records.foreign import read_json

__all__ = ["ask", "describe", "match", "read_samples", "score"]

_TOOL = re.compile(
    r"^\d+\. (?:Name: )?(?P<name>[^\n:]+)(?:: (?P<short>[^\n]*))?\n(?:Description: (?P<long>[^\n]*)\n)?"
    r"Parameters: (?P<parameters>\{[^\n]*\})$",
    re.MULTILINE,
)
_PART = re.compile(r"<(user|obs|think|tool_call|response)>(.*?)</\1>", re.DOTALL)
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}
_LEVEL = re.compile(r"level[-_ ]?(\d)", re.IGNORECASE)
# Ways that write JSON between the tags which the script looks for.
_TAGGED = ("auto", "native", "hermes", "qwen", *formats.names())
_WHOLE = {"level-1": 399, "level-2": 67, "level-3": 131}
_FORMULAS = {
    "soft": "share of samples of all levels of which any call equals the gold call",
    "strict": "share of samples of all levels with exactly one call, which equals the gold call",
}


def match(text: Any, gold: list[dict[str, Any]], form: str = "auto") -> tuple[bool, bool, str]:
    """Compare an output with the gold calls.

    Args:
        text: The output.
        gold: {"name", "parameters"} of each accepted call; the samples have one.
        form: How the output is written, a name of `planarena.formats.READERS`.

    Returns:
        The soft and the strict verdict, and why not.
    """
    if not isinstance(text, (str, dict)):
        return False, False, "not text"
    calls = _calls(text, form)
    if not calls:
        return False, False, "no call"
    wanted = [{"name": call["name"], "arguments": call["parameters"]} for call in gold]
    soft = any(call in wanted for call in calls)
    if soft:
        return True, len(calls) == 1, "" if len(calls) == 1 else "more than one call"
    right_name = {call["name"] for call in calls} & {call["name"] for call in wanted}
    return False, False, "wrong parameters" if right_name else "wrong name"


def _calls(output: str | dict[str, Any], form: str) -> list[dict[str, Any]]:
    """The script's own reading of tagged text; for what it does not know, the reading of whoever wrote it."""
    if isinstance(output, str) and "<tool_call>" in output and form in _TAGGED:
        calls = tagged_calls(output)
        if calls:
            return calls
    reading = read_output(output, form)
    if reading.written == "hermes" and isinstance(output, str) and not output.lstrip().startswith("{"):
        return []  # a last block without a call: the script looks at no other
    return [{"name": call.name, "arguments": call.arguments} for call in reading.calls]


def read_samples(path: Path) -> dict[str, list[tuple[str, list[dict[str, Any]]]]]:
    """Read the gold calls of every level.

    Args:
        path: A folder of `level-N-*.json` files, or one such file: lists of {"system", "user", "answer"}.

    Returns:
        By level, ("level-N-POSITION", gold calls) in the files' order.

    Raises:
        UserError: No such file, or not these samples.
    """
    return {
        level: [(key, _gold_calls(row["answer"])) for key, row in rows]
        for level, rows in _read_rows(path).items()
    }


def _read_rows(path: Path) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    if not path.exists():
        raise UserError("there is no such file or folder", where=str(path), fix="check the path")
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for file in files:
        if (level := _LEVEL.search(file.name)) is None:
            continue
        try:
            rows = read_json(file)
            name = f"level-{level.group(1)}"
            for row in rows:
                _gold_calls(row["answer"])
            found[name] = [(str(row.get("id", f"{name}-{number}")), row) for number, row in enumerate(rows)]
        except OSError as error:
            raise UserError(
                f"cannot be read: {error.strerror}", where=str(file), fix="check the path"
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"is not a list of samples with an answer: {error}",
                where=str(file),
                fix="give the processed samples",
            ) from error
    keys = [key for rows in found.values() for key, _ in rows]
    if len(set(keys)) < len(keys):
        raise UserError(
            "holds two samples of one id", where=str(path), fix="give each sample an id of its own"
        )
    if not keys:
        raise UserError(
            "holds no API-Bank samples",
            where=str(path),
            fix="give the folder of level-1, level-2 and level-3 files",
        )
    return dict(sorted(found.items()))


def _gold_calls(answer: Any) -> list[dict[str, Any]]:
    calls = answer if isinstance(answer, list) else [answer]
    for call in calls:
        if not isinstance(call["name"], str) or not isinstance(call["parameters"], dict):
            raise TypeError("an answer is no call with a name and parameters")
    if not calls:
        raise ValueError("a sample without a call")
    return calls


def score(
    suite: str, config: EvalConfig, responses: Responses | None, progress: Callable[[str, int, int], None]
) -> tuple[SuiteResult, Mapping[str, list[Response]]]:
    """Score API-Bank outputs, or the ground truth where `responses` is None."""
    levels = {name: rows[: config.limit] for name, rows in read_samples(_path(suite, config)).items()}
    outputs = responses.by_id if responses is not None else _gold(levels)
    verdicts, skipped = [], {}
    for level, rows in levels.items():
        if not any(key in outputs for key, _ in rows):
            skipped[level] = "no outputs were given"
            continue
        for key, gold in rows:
            verdicts += [
                _judge(key, level, gold, outputs, sample, config) for sample in range(config.samples)
            ]
    progress(suite, len(verdicts), len(verdicts))
    rows_made = build_rows(verdicts, {level: len(rows) for level, rows in levels.items()}, skipped)
    overall = []
    for name, formula in _FORMULAS.items():
        marked = [Verdict(v.id, v.category, v.marks.get(name, False), sample=v.sample) for v in verdicts]
        overall.append(micro_average(name, formula, marked))
    overall.sort(key=lambda value: value.name != config.matching)
    result = finish(
        suite=suite,
        revision=f"{sum(map(len, levels.values()))} samples of {config.data[suite]}",
        headline=config.matching,
        overall=overall,
        rows=rows_made,
        verdicts=verdicts,
        outputs=outputs,
        notes=[f"a call is correct by the {config.matching} match"],
        whole=_WHOLE,
        units="samples",
    )
    return result, outputs


def _judge(
    key: str,
    level: str,
    gold: list[dict[str, Any]],
    outputs: Mapping[str, list[Response]],
    sample: int,
    config: EvalConfig,
) -> Verdict:
    if (absent := unjudged(key, level, outputs, sample, text=False)) is not None:
        return absent
    response = outputs[key][sample]
    soft, strict, reason = match(response.value, gold, reader_of(config))
    correct = soft if config.matching == "soft" else strict
    marks = {"soft": soft, "strict": strict}
    return Verdict(
        key, level, correct, "" if correct else reason, sample=sample, tokens=response.tokens, marks=marks
    )


def _gold(levels: dict[str, list[tuple[str, list[dict[str, Any]]]]]) -> dict[str, list[Response]]:
    found = {}
    for rows in levels.values():
        for key, gold in rows:
            text = "<tool_call>\n" + "\n".join(json.dumps(call) for call in gold) + "\n</tool_call>"
            found[key] = [Response(text, count_tokens(text))]
    return found


def _path(suite: str, config: EvalConfig) -> Path:
    return config.data_path(
        suite, "API-Bank is not shipped with planarena", "give its folder: --data api-bank=FOLDER"
    )


def describe(suite: str, config: EvalConfig, ids: Sequence[str]) -> dict[str, Shown]:
    """Return what each sample asked for; its tools stand in its prompt."""
    del ids
    return {
        key: Shown(
            [{"role": role, "content": str(row[role])} for role in ("system", "user") if role in row],
            [],
            row["answer"],
        )
        for rows in _read_rows(_path(suite, config)).values()
        for key, row in rows
    }


# --- asking ------------------------------------------------------------------------------------------


@contextmanager
def ask(suite: str, config: EvalConfig) -> Iterator[Callable[[str], list[Item]]]:
    """Open the samples for a model: one reply each.

    In the format toolrl, whose prompts the samples have, they are asked as they are. For other formats tools and
    history are read out of the sample and written in the format's own prompt.

    Raises:
        UserError: No such file, not these samples, or samples without a prompt.
    """
    path = _path(suite, config)
    rows = [pair for listed in _read_rows(path).values() for pair in listed[: config.limit]]
    for key, row in rows:
        if not isinstance(row.get("system"), str) or not isinstance(row.get("user"), str):
            raise UserError(
                f"the sample {key} has no system and user text",
                where=str(path),
                fix="give the processed samples: lists of system, user and answer",
            )

    def items(form: str) -> list[Item]:
        return [Item(key, partial(_talk, config, form, key, row)) for key, row in rows]

    yield items


def _talk(config: EvalConfig, form: str, key: str, row: dict[str, Any], sample: int) -> Exchange:
    tools = None if form == "toolrl" else _tools(row["system"])
    if tools is None:
        messages: tuple[dict[str, Any], ...] = (
            {"role": "system", "content": row["system"]},
            {"role": "user", "content": row["user"]},
        )
        reply = yield Asked(id=key, messages=messages, sample=sample)
    else:
        conversation = _conversation(form, tools, row["user"], config)
        offered = tuple(conversation.tools) if conversation.native else ()
        reply = yield Asked(id=key, messages=conversation.messages(), tools=offered, sample=sample)
    if form != "native":
        return reply.text
    return _tagged(reply.text)


def _tagged(text: str) -> str:
    """Native calls in the form that is scored, behind what was said."""
    lines = []
    for call in calls_of_reply("native", text):
        try:
            arguments = json.loads(call["function"]["arguments"] or "{}")
        except (ValueError, RecursionError):
            arguments = call["function"]["arguments"]
        lines.append(json.dumps({"name": call["function"]["name"], "parameters": arguments}))
    try:
        content = json.loads(text).get("content") or ""
    except (ValueError, AttributeError, RecursionError):
        return text
    if not lines:
        return str(content)
    written = "\n".join(lines)
    return f"{content}\n<tool_call>\n{written}\n</tool_call>".lstrip()


def _tools(system: str) -> list[dict[str, Any]] | None:
    """The tools that a sample's text offers, in the OpenAI shape; None where they cannot be read."""
    tools = []
    for match in _TOOL.finditer(system):
        try:
            stated = ast.literal_eval(match["parameters"])
            properties = {str(name): _schema(about) for name, about in stated.items()}
        except (ValueError, SyntaxError, TypeError, AttributeError, RecursionError, MemoryError):
            return None
        function = {
            "name": match["name"].strip(),
            "description": (match["long"] or match["short"] or "").strip(),
            "parameters": {"type": "object", "properties": properties, "required": list(properties)},
        }
        tools.append({"type": "function", "function": function})
    return tools or None


def _schema(about: dict[str, Any]) -> dict[str, Any]:
    kind, _, inner = str(about.get("type", "str")).partition("(")
    schema: dict[str, Any] = {"type": _TYPES.get(kind, "string")}
    if schema["type"] == "array":
        schema["items"] = {"type": _TYPES.get(inner.rstrip(")"), "string")}
    return schema | {"description": str(about.get("description", ""))}


def _conversation(form: str, tools: list[dict[str, Any]], history: str, config: EvalConfig) -> Conversation:
    """The history of a sample in a format's own prompt."""
    conversation = Conversation(form, tools, config)
    calls: tuple[Call, ...] = ()
    for match in _PART.finditer(history):
        kind, body = match[1], match[2].strip()
        if kind == "user":
            conversation.user(body)
        elif kind == "obs":
            conversation.returned([(call.name, body) for call in calls[:1]])
        elif kind == "response":
            conversation.said(conversation.write(response=body))
        elif kind == "tool_call":
            found = tagged_calls(f"<tool_call>{body}</tool_call>")
            calls = tuple(Call(call["name"], call["arguments"]) for call in found)
            conversation.said(conversation.write(calls=calls))
    return conversation
