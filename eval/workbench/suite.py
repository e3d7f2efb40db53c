"""WorkBench: 690 tasks of an office, scored by the five tables that are left; side effects are counted.

One task, shortened, as a row of `data/processed/queries_and_answers/DOMAIN_queries_and_answers.csv`::

    query: "Cancel my last meeting on May 2"
    answer: ['calendar.delete_event.func(event_id="00000007")']
    domains: ['calendar']

An output is the list of a model's replies; the calls in them are carried out again on fresh tables. The benchmark's own
prediction files (`data/results/*/*.csv`) are read too: their actions are parsed, and never evaluated.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from planarena.errors import UserError
from planarena.eval.acting import act, plain_names, read_replies
from planarena.eval.config import EvalConfig
from planarena.eval.items import Shown
from planarena.eval.models.dialogues import Exchange, Item
from planarena.eval.readings import reader_of
from planarena.eval.responses import Response, Responses, count_tokens
from planarena.eval.results import SuiteResult, Verdict
from planarena.eval.tables import build_rows, finish, micro_average, unjudged
from planarena.eval.workbench.office import CHANGING, TOOLS, Office
from planarena.eval.workbench.tables import OfficeError, Table, load_tables, read_csv
from planarena.eval.workbench.toolkits import read_toolkits
from planarena.formats import Call
from planarena.llm import load_prompt
from planarena.records.foreign import fits

__all__ = ["WHOLE", "ask", "describe", "parse_action", "read_given", "score", "shown_calls"]

WHOLE = {
    "analytics": 120, "calendar": 110, "customer_relationship_manager": 80, "email": 90, "multi_domain": 210,
    "project_management": 80,
}  # fmt: skip
_FAILED = "Error during inference: "
_METHOD = re.compile(r"\.func$")
_MOST_STEPS = 20  # of the benchmark's own agent
_NAMES = plain_names(list(TOOLS))


class Task(NamedTuple):
    """One task.

    Attributes:
        id: The domain and the row in its file.
        domain: Its category.
        query: What the user asks.
        answer: The actions that are right, as the benchmark writes them.
        toolkits: The domains whose tools it needs.
    """

    id: str
    domain: str
    query: str
    answer: list[str]
    toolkits: list[str]


class Action(NamedTuple):
    """One call of an agent, with arguments by position where an action has any."""

    name: str
    arguments: dict[str, Any]
    positional: list[Any]


def parse_action(text: str) -> Action | None:
    """Read an action such as `email.delete_email.func(email_id="00000012")`; None where it is no such call.

    Names and literals alone are read, so that an action can do nothing but call one of the office's tools.
    """
    try:
        node = ast.parse(text.replace("\n", "\\n").strip(), mode="eval").body
        if not isinstance(node, ast.Call):
            return None
        named = {key.arg: ast.literal_eval(key.value) for key in node.keywords if key.arg is not None}
        if len(named) < len(node.keywords):
            return None
        listed = [ast.literal_eval(value) for value in node.args]
        name = _METHOD.sub("", ast.unparse(node.func))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return Action(name, named, listed) if name in TOOLS else None


def read_tasks(folder: Path) -> list[Task]:
    """Read the tasks, in the order of the domains' names.

    Raises:
        UserError: No such files, or a row that is no task.
    """
    place = folder / "data" / "processed" / "queries_and_answers"
    found = []
    for path in sorted(place.glob("*_queries_and_answers.csv")):
        domain = path.name.removesuffix("_queries_and_answers.csv")
        try:
            for number, row in enumerate(read_csv(path)[1]):
                answer, toolkits = (ast.literal_eval(row[name]) for name in ("answer", "domains"))
                found.append(Task(f"{domain}-{number}", domain, row["query"], list(answer), list(toolkits)))
        # MemoryError: Python's parser says so of what is nested too deep.
        except (ValueError, KeyError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
            raise UserError(
                f"holds a row that is no task: {error}",
                where=str(path),
                fix="planarena eval --fetch workbench",
            ) from error
    if not found:
        raise UserError(
            "holds no tasks of WorkBench",
            where=str(place),
            fix="give the repository's folder, or fetch it: planarena eval --fetch workbench",
        )
    return found


def _limited(tasks: list[Task], limit: int | None) -> list[Task]:
    seen: dict[str, int] = {}
    kept = []
    for task in tasks:
        seen[task.domain] = seen.get(task.domain, 0) + 1
        if limit is None or seen[task.domain] <= limit:
            kept.append(task)
    return kept


def _path(suite: str, config: EvalConfig) -> Path:
    return config.data_path(
        suite, "WorkBench is not shipped with planarena", "fetch it: --fetch, or --data workbench=FOLDER"
    )


def read_given(config: EvalConfig, suite: str) -> Responses | None:
    """Read the benchmark's own prediction files; None where these are none.

    Raises:
        UserError: Two files hold predictions of the same task.
    """
    path = Path(str(config.responses))
    files = sorted(path.rglob("*.csv")) if path.is_dir() else [path] if path.suffix == ".csv" else []
    if not files:
        return None
    by_query = {task.query: task.id for task in read_tasks(_path(suite, config))}
    found, origin = Responses(), dict[str, str]()
    for file in files:
        csv.field_size_limit(16 << 20)
        try:
            data = file.read_bytes()
            if not fits(data, table=True):
                raise OSError("it holds more rows or values than a file of outputs may hold")
            rows = list(csv.DictReader(io.StringIO(data.decode(errors="replace"), newline="")))
        except (OSError, csv.Error) as error:
            raise UserError(f"cannot be read: {error}", where=str(file), fix="give another file") from error
        for row in rows:
            query = row.get("query")
            if query is None or "function_calls" not in row:
                found.unreadable += 1
                found.fields.update(map(str, row))
                continue
            key = by_query.get(query, query[:80])
            if origin.setdefault(key, file.name) != file.name:
                raise UserError(
                    f"two files hold predictions of the same task: {origin[key]} and {file.name}",
                    where=str(path),
                    fix="name one model's file, or a folder of its files",
                )
            found.rows[key] = dict(row)
            found.by_id[key] = [_prediction(row)]
    return found


def _prediction(row: Mapping[str, str]) -> Response:
    try:
        actions = ast.literal_eval(row["function_calls"])
        actions = [str(action) for action in actions]
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return Response(None, problem="function_calls is no list")
    if error := row.get("error"):
        actions.append(_FAILED + error)
    return Response(actions, count_tokens(actions))


class _Scorer:
    """Compares final tables; the gold's are kept by answer."""

    def __init__(self, tables: dict[str, Table]) -> None:
        self._tables = tables
        self._untouched = Office(tables).state(folded=False)
        self._gold: dict[tuple[str, ...], tuple[Any, ...]] = {}

    def gold(self, answer: Sequence[str]) -> tuple[Any, ...]:
        """The tables that the right actions leave."""
        key = tuple(answer)
        if key not in self._gold:
            actions = [action for text in answer if (action := parse_action(text)) is not None]
            self._gold = {key: self._leave(actions).state(folded=True)}
        return self._gold[key]

    def _leave(self, actions: Sequence[Action]) -> Office:
        office = Office(self._tables)
        for action in actions:
            try:
                office.call(action.name, action.arguments, action.positional)
            except OfficeError:
                continue  # the benchmark passes over a call that its tools do not survive
        return office

    def judge(self, task: Task, actions: Sequence[Action], error: str) -> tuple[bool, dict[str, bool]]:
        """Return the verdict, and what stands beside it."""
        office = self._leave(actions)
        same = office.state(folded=True) == self.gold(task.answer)
        effects = not same and office.state(folded=False) != self._untouched
        return same and not error, {"side effects": effects}


def shown_calls(value: Any) -> list[dict[str, Any]]:
    """The calls of a published prediction, for looking at."""
    actions = (
        [parse_action(part) for part in value if isinstance(part, str)] if isinstance(value, list) else []
    )
    return [{"name": one.name, "arguments": one.arguments} for one in actions if one is not None]


def _actions(value: Any, form: str) -> tuple[list[Action], list[str], str]:
    """The calls of an output, their written form for the exact match, and the error that ended it."""
    actions, written, error = [], [], ""
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, str) and part.startswith(_FAILED):
            error = part.removeprefix(_FAILED)
        elif isinstance(part, str) and ".func(" in part[:120]:
            written.append(part.replace("\n", "\\n"))
            if (action := parse_action(part)) is not None:
                actions.append(action)
        else:
            for reading in read_replies(part, form):
                for call in reading.calls:
                    action = Action(_NAMES.get(call.name, call.name), call.arguments, [])
                    actions.append(action)
                    written.append(_write(action))
    return actions, written, error


def _write(action: Action) -> str:
    inside = ", ".join(f'{key}="{value}"' for key, value in action.arguments.items())
    return f"{action.name}.func({inside})"


def score(
    suite: str, config: EvalConfig, responses: Responses | None, progress: Callable[[str, int, int], None]
) -> tuple[SuiteResult, Mapping[str, list[Response]]]:
    """Score outputs, or the right actions where `responses` is None."""
    folder = _path(suite, config)
    tasks = _limited(read_tasks(folder), config.limit)
    scorer = _Scorer(load_tables(folder))
    outputs = (
        responses.by_id
        if responses is not None
        else {
            task.id: [Response(list(task.answer), count_tokens(task.answer))] * config.samples
            for task in tasks
        }
    )
    form, verdicts, skipped = reader_of(config), [], {}
    counts = {
        domain: sum(task.domain == domain for task in tasks)
        for domain in dict.fromkeys(t.domain for t in tasks)
    }
    for domain in counts:
        if not any(task.id in outputs for task in tasks if task.domain == domain):
            skipped[domain] = "no outputs were given"
    for task in tasks:
        if task.domain not in skipped:
            verdicts += [_judge(task, outputs, sample, scorer, form) for sample in range(config.samples)]
            progress(suite, len(verdicts), config.samples * len(tasks))
    result = finish(
        suite=suite,
        revision=f"{len(tasks)} tasks of {folder}",
        headline="accuracy",
        overall=[micro_average("accuracy", "share of tasks that leave the tables that are right", verdicts)],
        rows=build_rows(verdicts, counts, skipped),
        verdicts=verdicts,
        outputs=outputs,
        columns=_columns(verdicts),
        notes=[
            "actions are parsed and carried out on tables of planarena; nothing of an output is evaluated"
        ],
        whole=WHOLE,
        units="tasks",
    )
    return result, outputs


def _columns(verdicts: Sequence[Verdict]) -> dict[str, float]:
    if not verdicts:
        return {}
    return {
        name: sum(verdict.marks.get(name, False) for verdict in verdicts) / len(verdicts)
        for name in ("side effects", "exact match")
    }


def _judge(
    task: Task, outputs: Mapping[str, list[Response]], sample: int, scorer: _Scorer, form: str
) -> Verdict:
    if (absent := unjudged(task.id, task.domain, outputs, sample, text=False)) is not None:
        return absent
    response = outputs[task.id][sample]
    actions, written, error = _actions(response.value, form)
    correct, marks = scorer.judge(task, actions, error)
    changing = sorted(
        text.lower() for text in written if ".".join(text.split("(")[0].split(".")[:2]) in CHANGING
    )
    marks["exact match"] = changing == sorted(text.replace("\n", "\\n").lower() for text in task.answer)
    reason = ""
    if not correct:
        reason = (
            "the run ended in an error"
            if error
            else "side effects"
            if marks["side effects"]
            else "no call"
            if not written
            else "the tables are as before"
        )
    return Verdict(
        task.id, task.domain, correct, reason, error[:300], sample, response.tokens, marks=marks,
        counts={"calls": len(written)},
    )  # fmt: skip


def describe(suite: str, config: EvalConfig, ids: Sequence[str]) -> dict[str, Shown]:
    """Return what each task asked for, with the actions that are right."""
    wanted = set(ids)
    return {
        task.id: Shown([{"role": "user", "content": task.query}], [], task.answer)
        for task in read_tasks(_path(suite, config))
        if task.id in wanted
    }


# --- asking ------------------------------------------------------------------------------------------


@contextmanager
def ask(suite: str, config: EvalConfig) -> Iterator[Callable[[str], list[Item]]]:
    """Open the tasks for a model, which acts with all tools until it says something."""
    folder = _path(suite, config)
    tools, tables = read_toolkits(folder), load_tables(folder)
    people = folder / "data" / "raw" / "email_addresses.csv"
    addresses = tuple(people.read_text(encoding="utf-8").split()) if people.is_file() else ()
    tasks = _limited(read_tasks(folder), config.limit)

    def items(form: str) -> list[Item]:
        return [Item(task.id, partial(_talk, config, form, task, tools, tables, addresses)) for task in tasks]

    yield items


def _talk(
    config: EvalConfig,
    form: str,
    task: Task,
    tools: list[dict[str, Any]],
    tables: dict[str, Table],
    addresses: tuple[str, ...],
    sample: int,
) -> Exchange:
    office = Office(tables, addresses)

    def execute(calls: list[Call]) -> list[str]:
        return [_carry_out(office, call) for call in calls]

    return (
        yield from act(
            key=task.id,
            sample=sample,
            form=form,
            tools=tools,
            config=config,
            known={"instructions": load_prompt("eval_workbench").system()},
            opening=task.query,
            execute=execute,
            most_replies=_MOST_STEPS + 1,
        )
    )


def _carry_out(office: Office, call: Call) -> str:
    try:
        found = office.call(_NAMES.get(call.name, call.name), call.arguments)
    except OfficeError as error:
        return f"Error: {error}"
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
