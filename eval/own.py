"""A suite of one's own: a folder with items and a rule, run as `planarena eval suite:PATH`.

`suite.yaml` names the rule, `items.jsonl` holds one item a line::

    {"id": "rain", "category": "weather", "prompt": "Will it rain in Oslo tomorrow?",
     "tools": [{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}],
     "expected": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}

| rule | an output is right when |
|---|---|
| calls | its calls equal `expected` (`order: any` or `given`) |
| state | its calls leave the environment in the state that the calls of `expected` leave; `environment: env:PATH` or a built-in domain, each item with the `tables` and `facts` to begin with |
| regex | what it says matches the regular expression `expected` |
| python | the function `score(item, output, calls)` of `scorer.py` says so; it runs in the sandbox |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from planarena.bench import Asked
from planarena.errors import ConfigError, UserError
from planarena.eval.config import EvalConfig
from planarena.eval.conversation import Conversation
from planarena.eval.items import Shown
from planarena.eval.models.dialogues import Exchange, Item
from planarena.eval.own_rules import Rule, open_rule
from planarena.eval.readings import reader_of
from planarena.eval.responses import Response, Responses, count_tokens, read_rows
from planarena.eval.results import SuiteResult, Verdict
from planarena.eval.tables import build_rows, finish, micro_average, unjudged
from planarena.formats import Call, read_output, write_output
from planarena.records.foreign_yaml import MAX_YAML, load_yaml

__all__ = ["OwnSuite", "ask", "describe", "new_suite", "read_suite", "score"]

RULES = ("calls", "state", "regex", "python")


class OwnSuite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What suite.yaml says.

    Attributes:
        rule: One of calls, state, regex, python.
        name: For reports.
        order: Of calls: "any" or "given".
        environment: Of the rule state: `env:PATH` or the name of a built-in domain.
        system: What every prompt opens with.
        seconds: The time of one item.
    """

    rule: str
    name: str = ""
    order: str = "any"
    environment: str = ""
    system: str = ""
    seconds: float = 10.0


def read_suite(path: Path) -> tuple[OwnSuite, list[dict[str, Any]]]:
    """Read a suite's folder.

    Raises:
        UserError: No such folder, or something in it must be corrected; the message names the line.
    """
    import yaml

    try:
        with (path / "suite.yaml").open("rb") as handle:
            about = msgspec.convert(load_yaml(handle.read(MAX_YAML + 1).decode()), OwnSuite)
    except OSError as error:
        raise UserError(
            "is no suite: it has no suite.yaml", where=str(path), fix=f"planarena eval new {path}"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise ConfigError(
            f"cannot be used: {error}", where=str(path / "suite.yaml"), fix="see `planarena eval new`"
        ) from error
    if about.rule not in RULES or about.order not in ("any", "given"):
        raise ConfigError(
            f"the rule {about.rule!r} (order {about.order!r}) is none",
            where=str(path / "suite.yaml"),
            fix=f"rule: one of {', '.join(RULES)}; order: any or given",
        )
    items: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, (row, problem) in enumerate(read_rows(path / "items.jsonl"), 1):
        fault = problem or _fault(row, about, seen)
        if fault or row is None:
            raise UserError(
                f"holds an item that cannot be used: {fault}",
                where=f"{path / 'items.jsonl'}, row {number}",
                fix='{"id": ..., "prompt": ..., "tools": [...], "expected": ...}',
            )
        seen.add(str(row["id"]))
        items.append(row)
    if not items:
        raise UserError("holds no item", where=str(path / "items.jsonl"), fix="write one JSON object a line")
    return about, items


def _fault(row: dict[str, Any] | None, about: OwnSuite, seen: set[str]) -> str:
    if row is None or not isinstance(row.get("id"), (str, int)):
        return "it has no id"
    if str(row["id"]) in seen:
        return f"the id {row['id']!r} a second time"
    if not isinstance(row.get("prompt"), (str, list)):
        return "it has no prompt (a text or chat messages)"
    if isinstance(row["prompt"], list) and not all(isinstance(one, dict) for one in row["prompt"]):
        return "a message of its prompt is no object with a role and content"
    tools = row.get("tools") or []
    if not isinstance(tools, list) or not all(isinstance(one, dict) for one in tools):
        return "its tools are no list of objects, each with a name and parameters"
    if about.rule != "python" and "expected" not in row:
        return "it has no expected"
    if about.rule in ("calls", "state"):
        try:
            expected_calls(row)
        except (TypeError, KeyError, ValueError) as error:
            return f"expected is no list of calls ({error})"
    if about.rule == "regex":
        try:
            re.compile(row["expected"])
        except (re.error, TypeError) as error:
            return f"expected is no regular expression ({error})"
    return ""


def expected_calls(row: Mapping[str, Any]) -> list[Call]:
    """The gold calls of an item."""
    return [Call(str(one["name"]), dict(one["arguments"])) for one in row["expected"]]


def _path(suite: str) -> Path:
    return Path(suite.partition(":")[2]).expanduser()


def score(
    suite: str, config: EvalConfig, responses: Responses | None, progress: Callable[[str, int, int], None]
) -> tuple[SuiteResult, Mapping[str, list[Response]]]:
    """Score outputs by the suite's rule, or its own gold where `responses` is None."""
    about, rows = read_suite(_path(suite))
    items = _limited(rows, config.limit)
    outputs = responses.by_id if responses is not None else _gold(suite, about, items, config.samples)
    form = reader_of(config)
    verdicts: list[Verdict] = []
    with ExitStack() as stack:
        rule = stack.enter_context(open_rule(about, _path(suite), config.unsafe_no_sandbox))
        for row in items:
            for sample in range(config.samples):
                verdicts.append(_judge(row, outputs, sample, rule, form))
            progress(suite, len(verdicts), config.samples * len(items))
    counts: dict[str, int] = {}
    for row in items:
        category = str(row.get("category", "all"))
        counts[category] = counts.get(category, 0) + 1
    result = finish(
        suite=suite,
        revision=f"{len(rows)} items of {_path(suite)}, rule {about.rule}",
        headline="accuracy",
        overall=[micro_average("accuracy", "share of all items", verdicts)],
        rows=build_rows(verdicts, counts, {}),
        verdicts=verdicts,
        outputs=outputs,
        sandbox=rule.sandbox,
    )
    return result, outputs


def _limited(rows: list[dict[str, Any]], limit: int | None) -> list[dict[str, Any]]:
    seen: dict[str, int] = {}
    kept = []
    for row in rows:
        category = str(row.get("category", "all"))
        seen[category] = seen.get(category, 0) + 1
        if limit is None or seen[category] <= limit:
            kept.append(row)
    return kept


def _judge(
    row: dict[str, Any], outputs: Mapping[str, list[Response]], sample: int, rule: Rule, form: str
) -> Verdict:
    key, category = str(row["id"]), str(row.get("category", "all"))
    if (absent := unjudged(key, category, outputs, sample, text=False)) is not None:
        return absent
    response = outputs[key][sample]
    parts = response.value if isinstance(response.value, list) else [response.value]
    readings = [read_output(part, form) for part in parts if isinstance(part, (str, dict))]
    calls = [call for reading in readings for call in reading.calls]
    said = readings[-1].content if readings else ""
    correct, reason, detail = rule.judge(row, said, calls)
    problem = next((reading.problem for reading in readings if reading.problem), "")
    if not correct and problem and not calls:
        reason, detail = "a call that cannot be read", problem
    return Verdict(key, category, correct, reason, detail[:400], sample, response.tokens)


def _gold(
    suite: str, about: OwnSuite, items: Sequence[dict[str, Any]], samples: int
) -> dict[str, list[Response]]:
    if about.rule not in ("calls", "state"):
        raise UserError(
            f"the rule {about.rule} states no right output, so there is no gold to score",
            where=suite,
            fix="give --responses FILE or --model",
        )
    found = {}
    for row in items:
        text = write_output("hermes", expected_calls(row))
        found[str(row["id"])] = [Response(text, count_tokens(text))] * samples
    return found


def describe(suite: str, config: EvalConfig, ids: Sequence[str]) -> dict[str, Shown]:
    """Return what each item asked for."""
    del config, ids
    about, rows = read_suite(_path(suite))
    return {
        str(row["id"]): Shown(_messages(about, row), list(row.get("tools") or ()), row.get("expected"))
        for row in rows
    }


def _messages(about: OwnSuite, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    opening = [{"role": "system", "content": about.system}] if about.system else []
    prompt = row["prompt"]
    return opening + ([{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt))


@contextmanager
def ask(suite: str, config: EvalConfig) -> Iterator[Callable[[str], list[Item]]]:
    """Open the items for a model: one reply each."""
    about, rows = read_suite(_path(suite))

    def items(form: str) -> list[Item]:
        return [
            Item(str(row["id"]), partial(_talk, config, about, form, row))
            for row in _limited(rows, config.limit)
        ]

    yield items


def _talk(config: EvalConfig, about: OwnSuite, form: str, row: dict[str, Any], sample: int) -> Exchange:
    tools = [_function(tool) for tool in row.get("tools") or ()]
    if form == "native" or not tools:
        reply = yield Asked(
            id=str(row["id"]), messages=tuple(_messages(about, row)), tools=tuple(tools), sample=sample
        )
        return reply.text
    known = {"instructions": about.system} if about.system else {}
    conversation = Conversation(form, tools, config, known)
    for message in _messages(about, row):
        if message.get("role") == "user":
            conversation.user(str(message.get("content") or ""))
        elif message.get("role") == "assistant":
            conversation.said(str(message.get("content") or ""))
    reply = yield Asked(id=str(row["id"]), messages=conversation.messages(), sample=sample)
    return reply.text


def _function(tool: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(tool.get("function"), dict):
        return dict(tool)
    schema = tool.get("parameters") or {"type": "object", "properties": {}}
    function = {"name": tool.get("name"), "description": tool.get("description", ""), "parameters": schema}
    return {"type": "function", "function": function}


_SUITE = """# A suite of your own; `planarena eval suite:THIS_FOLDER --responses gold --out OUT` scores its gold.
name: {name}
rule: calls        # calls, state, regex or python: docs/evaluation.md describes them
order: any         # of several calls: any or given
system: ""         # what every prompt opens with
"""
_ITEMS = (
    '{"id": "rain", "category": "weather", "prompt": "Will it rain in Oslo tomorrow?", "tools": [{"name": "get_weather", '
    '"description": "The weather of a city.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, '
    '"day": {"type": "string"}}, "required": ["city"]}}], "expected": [{"name": "get_weather", "arguments": {"city": "Oslo", '
    '"day": "tomorrow"}}]}\n'
)
_SCORER = '''"""Used with `rule: python`. Runs in the sandbox; only the standard library is there."""


def score(item, output, calls):
    """Return whether an output is right, or (whether, why not).

    item is the line of items.jsonl, output what was said, calls a list of {"name", "arguments"}.
    """
    wanted = item["expected"]
    return calls == wanted, "other calls than expected"
'''


def new_suite(path: Path) -> list[Path]:
    """Write a suite to begin with.

    Raises:
        UserError: The folder holds something already, or cannot be written.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError("holds something already", where=str(path), fix="name a folder that is not there yet")
    files = {"suite.yaml": _SUITE.format(name=path.name), "items.jsonl": _ITEMS, "scorer.py": _SCORER}
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (path / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror}", where=str(path), fix="name another folder"
        ) from error
    return [path / name for name in files]
