r"""NESTFUL: nested sequences of calls, by match and by what they return when they are carried out.

One item of the second release, shortened::

    {"sample_id": "a1", "input": "What is half of 3 plus 5?", "tools": [{"name": "add", "parameters": {...},
     "output_parameters": {"result": {"type": "float"}}}], "gold_answer": 4.0,
     "output": [{"name": "add", "label": "$var_1", "arguments": {"arg_0": 3, "arg_1": 5}},
                {"name": "divide", "label": "$var_2", "arguments": {"arg_0": "$var_1.result$", "arg_1": 2}}]}

An output wins when its calls return the gold's answer, whatever calls they are. The functions are the benchmark's own
and run in the sandbox. The first release (`executable-data.json` and so on) has nothing to carry out; there an output
is right when it matches in full.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from planarena.bench import Asked
from planarena.errors import UserError
from planarena.eval.acting import read_replies, server_tools
from planarena.eval.config import EvalConfig
from planarena.eval.conversation import Conversation
from planarena.eval.items import Shown
from planarena.eval.models.dialogues import Exchange, Item
from planarena.eval.nestful.matching import Labelled, macro_f1, partial_match, slots
from planarena.eval.pool import Pool
from planarena.eval.readings import reader_of
from planarena.eval.responses import Response, Responses, count_tokens, read_rows
from planarena.eval.results import SuiteResult, Verdict
from planarena.eval.tables import build_rows, finish, micro_average, unjudged
from planarena.llm import load_prompt
from planarena.records.foreign import read_json

__all__ = ["ask", "describe", "read_items", "read_sequence", "score"]

_ITEMS = 1_861
_LABEL = re.compile(r'\\?"label\\?"\s*:\s*\\?"\$?(\w{1,40})\$?\\?"')
_RESULT = ("var_result", "varResult")
_SERVICE = Path(__file__).with_name("_service.py")
_CHUNK = 50
_TYPES = {
    "int": "integer", "integer": "integer", "float": "number", "number": "number", "str": "string",
    "string": "string", "bool": "boolean", "boolean": "boolean", "list": "array", "array": "array", "dict": "object",
    "object": "object",
}  # fmt: skip


class Nested(NamedTuple):
    """One item.

    Attributes:
        id: Its own, or its file and position.
        category: By the number of calls, or the file it is from.
        query: What the user asks.
        calls: The gold.
        tools: In the benchmark's own form.
        answer: What the gold returns; None where nothing can be carried out.
    """

    id: str
    category: str
    query: str
    calls: list[Labelled]
    tools: list[dict[str, Any]]
    answer: Any


def read_items(folder: Path) -> tuple[list[Nested], Path | None]:
    """Read the items of either release, and say where their functions are.

    Raises:
        UserError: No such files, or a row that is no item.
    """
    files = [folder] if folder.is_file() else sorted(folder.rglob("nestful_data.jsonl"))
    if not files:
        files = sorted(folder.rglob("*executable*-data.json"))
    if not files:
        raise UserError(
            "holds no items of NESTFUL",
            where=str(folder),
            fix="give the repository's folder, or fetch it: planarena eval --fetch nestful",
        )
    found: list[Nested] = []
    for file in files:
        second = file.suffix == ".jsonl"
        tools = [] if second else _catalog(file)
        for number, (row, problem) in enumerate(read_rows(file)):
            try:
                if row is None:
                    raise ValueError(problem or "no object")
                found.append(_item(file, number, row, tools, second))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise UserError(
                    f"holds a row that is no item: {error}",
                    where=f"{file}, row {number + 1}",
                    fix="fetch it again: planarena eval --fetch nestful",
                ) from error
    functions = files[0].parent / "executable_functions"
    return found, functions if (functions / "func_file_map.json").is_file() else None


def _catalog(file: Path) -> list[dict[str, Any]]:
    spec = file.with_name(file.name.replace("-data.json", "-spec.json"))
    try:
        listed: list[dict[str, Any]] = read_json(spec)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read: {error}", where=str(spec), fix="complete the folder") from error
    return listed


def _item(file: Path, number: int, row: dict[str, Any], tools: list[dict[str, Any]], second: bool) -> Nested:
    calls = _calls(_loaded(row["output"]))
    if not second:
        name = file.name.removesuffix("-data.json")
        return Nested(f"{name}-{number}", name, str(row["input"]), calls, tools, None)
    return Nested(
        str(row["sample_id"]),
        f"{len(calls)} calls",
        str(row["input"]),
        calls,
        list(_loaded(row["tools"])),
        row["gold_answer"],
    )


def _loaded(value: Any) -> Any:
    """Files of results hold lists as JSON text."""
    return json.loads(value) if isinstance(value, str) else value


def _calls(listed: Sequence[Mapping[str, Any]]) -> list[Labelled]:
    """The calls of a gold sequence; a closing `var_result` only names what is asked for."""
    kept = [one for one in listed if one["name"] not in _RESULT]
    return [
        Labelled(
            str(one["name"]), dict(one.get("arguments") or {}), str(one.get("label", "")).replace("$", "")
        )
        for one in kept
    ]


def read_sequence(value: Any, form: str) -> tuple[list[Labelled], str]:
    """Read an output's calls with their labels, and why it could not be read.

    Calls without labels have the labels var_1, var_2 and so on, as the prompt says.
    """
    readings = read_replies(value, form)
    calls = [call for reading in readings for call in reading.calls]
    text = value if isinstance(value, str) else json.dumps(value)
    labels = _LABEL.findall(text[:1_000_000])
    if len(labels) != len(calls):
        labels = [f"var_{number}" for number in range(1, len(calls) + 1)]
    problem = next((reading.problem for reading in readings if reading.problem), "")
    found = [Labelled(call.name, call.arguments, label) for call, label in zip(calls, labels, strict=True)]
    return [call for call in found if call.name not in _RESULT], problem


def _limited(items: list[Nested], limit: int | None) -> list[Nested]:
    seen: dict[str, int] = {}
    kept = []
    for item in items:
        seen[item.category] = seen.get(item.category, 0) + 1
        if limit is None or seen[item.category] <= limit:
            kept.append(item)
    return kept


def _path(suite: str, config: EvalConfig) -> Path:
    return config.data_path(
        suite, "NESTFUL is not shipped with planarena", "fetch it: --fetch, or --data nestful=FOLDER_OR_FILE"
    )


def score(
    suite: str, config: EvalConfig, responses: Responses | None, progress: Callable[[str, int, int], None]
) -> tuple[SuiteResult, Mapping[str, list[Response]]]:
    """Score outputs, or the gold where `responses` is None."""
    path = _path(suite, config)
    every, functions = read_items(path)
    items = sorted(_limited(every, config.limit), key=lambda item: item.category)
    outputs = responses.by_id if responses is not None else _gold(items, config.samples)
    form = reader_of(config)
    read: dict[tuple[str, int], list[Labelled]] = {}
    verdicts: list[Verdict] = []
    partials: list[float] = []
    for item in items:
        for sample in range(config.samples):
            verdict = unjudged(item.id, item.category, outputs, sample, text=False)
            if verdict is None:
                response = outputs[item.id][sample]
                calls, problem = read_sequence(response.value, form)
                read[item.id, sample] = calls
                verdict = _matched(item, calls, problem, sample, response.tokens)
                partials.append(partial_match(item.calls, calls))
            else:
                partials.append(0.0)
            verdicts.append(verdict)
    kind = ""
    if functions is not None:
        verdicts, kind = _executed(suite, config, functions, items, read, verdicts, progress)
    progress(suite, len(verdicts), len(verdicts))
    counts = {
        name: sum(item.category == name for item in items)
        for name in dict.fromkeys(i.category for i in items)
    }
    full = [
        Verdict(one.id, one.category, one.marks.get("full match", False), sample=one.sample)
        for one in verdicts
    ]
    overall = [
        micro_average("full match", "share of items whose calls are the gold's, all and in order", full)
    ]
    if functions is not None:
        wins = micro_average("win rate", "share of items whose calls return the gold's answer", verdicts)
        overall.insert(0, wins)
    result = finish(
        suite=suite,
        revision=f"{len(every)} sequences of {path}"
        + ("" if functions else ", none of which can be carried out"),
        headline=overall[0].name,
        overall=overall,
        rows=build_rows(verdicts, counts, _skipped(items, outputs)),
        verdicts=verdicts,
        outputs=outputs,
        columns=_columns(items, read, partials, config.samples),
        notes=[]
        if len(every) == _ITEMS
        else [f"the published benchmark has {_ITEMS:,} sequences, these are {len(every):,}"],
        sandbox=kind,
    )
    return result, outputs


def _skipped(items: Sequence[Nested], outputs: Mapping[str, list[Response]]) -> dict[str, str]:
    there = {item.category for item in items if item.id in outputs}
    return {item.category: "no outputs were given" for item in items if item.category not in there}


def _matched(item: Nested, calls: list[Labelled], problem: str, sample: int, tokens: int) -> Verdict:
    full = partial_match(item.calls, calls) == 1.0
    reason = (
        "" if full else (problem and "a call that cannot be read") or ("other calls" if calls else "no call")
    )
    return Verdict(
        item.id, item.category, full, reason, problem[:300], sample, tokens, marks={"full match": full},
        counts={"calls": len(calls)},
    )  # fmt: skip


def _executed(
    suite: str,
    config: EvalConfig,
    functions: Path,
    items: Sequence[Nested],
    read: Mapping[tuple[str, int], list[Labelled]],
    verdicts: list[Verdict],
    progress: Callable[[str, int, int], None],
) -> tuple[list[Verdict], str]:
    """Carry what was read out in the sandbox; who won replaces who matched."""
    by_id = {item.id: item for item in items}
    entries = [
        [json.dumps(key), [list(call) for call in calls], _outputs(by_id[key[0]]), by_id[key[0]].answer]
        for key, calls in read.items()
        if calls
    ]
    pool = Pool(config, _SERVICE, readable=[functions.absolute()])
    ended = 0

    def done(count: int) -> None:
        nonlocal ended
        ended += count
        progress(suite, ended, len(entries))

    try:
        place = str(functions.absolute())
        requests: list[tuple[str, Any]] = [
            ("score", {"folder": place, "seconds": config.seconds, "items": entries[start : start + _CHUNK]})
            for start in range(0, len(entries), _CHUNK)
        ]
        answers = {one[0]: one for part in pool.map(requests, done) for one in part}
        kind = pool.kind
    finally:
        pool.close()
    made = []
    for one in verdicts:
        answer = answers.get(json.dumps((one.id, one.sample)))
        if answer is not None:
            _, won, reason, detail = answer
            one = Verdict(
                one.id, one.category, won, reason, detail, one.sample, one.tokens, marks=one.marks, counts=one.counts
            )  # fmt: skip
        made.append(one)
    return made, kind


def _outputs(item: Nested) -> dict[str, list[str]]:
    return {str(tool["name"]): list(tool.get("output_parameters") or {}) for tool in item.tools}


def _columns(
    items: Sequence[Nested],
    read: Mapping[tuple[str, int], list[Labelled]],
    partials: Sequence[float],
    samples: int,
) -> dict[str, float]:
    if not partials:
        return {}
    pairs = [(item.calls, read.get((item.id, sample), [])) for item in items for sample in range(samples)]
    names = [({call.name for call in gold}, {call.name for call in found}) for gold, found in pairs]
    return {
        "partial match": sum(partials) / len(partials),
        "F1 functions": macro_f1(names),
        "F1 arguments": macro_f1(pair for gold, found in pairs for pair in slots(gold, found)),
    }


def _gold(items: Sequence[Nested], samples: int) -> dict[str, list[Response]]:
    found = {}
    for item in items:
        listed = [
            {"name": call.name, "label": f"${call.label}", "arguments": call.arguments} for call in item.calls
        ]
        text = json.dumps(listed)
        found[item.id] = [Response(text, count_tokens(text))] * samples
    return found


def describe(suite: str, config: EvalConfig, ids: Sequence[str]) -> dict[str, Shown]:
    """Return what each item asked for, with the tools on offer and the gold."""
    wanted = set(ids)
    return {
        item.id: Shown(
            [{"role": "user", "content": item.query}], item.tools, [call._asdict() for call in item.calls]
        )
        for item in read_items(_path(suite, config))[0]
        if item.id in wanted
    }


# --- asking ------------------------------------------------------------------------------------------


@contextmanager
def ask(suite: str, config: EvalConfig) -> Iterator[Callable[[str], list[Item]]]:
    """Open the items for a model: one reply with all calls, which refer to each other's results by label."""
    items = _limited(read_items(_path(suite, config))[0], config.limit)

    def opened(form: str) -> list[Item]:
        return [Item(item.id, partial(_talk, config, form, item)) for item in items]

    yield opened


def _talk(config: EvalConfig, form: str, item: Nested, sample: int) -> Exchange:
    tools = server_tools([_function(tool) for tool in item.tools], form)
    conversation = Conversation(form, tools, config, {"instructions": load_prompt("eval_nestful").system()})
    conversation.user(item.query)
    offered = tuple(conversation.tools) if conversation.native else ()
    reply = yield Asked(id=item.id, messages=conversation.messages(), tools=offered, sample=sample)
    return reply.text


def _function(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool of the benchmark in the OpenAI shape; what it returns stands in its description."""
    stated = tool.get("parameters") or tool.get("query_parameters") or {}
    properties = {}
    for name, about in stated.items():
        kind = str(about.get("type", ""))
        schema = {"description": f"{about.get('description', '')} ({kind})".strip()}
        if (known := _TYPES.get(re.split(r"[\[ ]", kind, maxsplit=1)[0].lower())) is not None:
            schema["type"] = known
        properties[str(name)] = schema
    returned = "; ".join(
        f"{name} ({about.get('type', '')}): {about.get('description', '')}"
        if isinstance(about, dict)
        else str(name)
        for name, about in (tool.get("output_parameters") or {}).items()
    )
    function = {
        "name": tool["name"],
        "description": f"{tool.get('description', '')} Returns {returned}",
        "parameters": {"type": "object", "properties": properties},
    }
    return {"type": "function", "function": function}
