"""tau2-bench and tau-bench: an episode is right when the database is, and what had to be said was said.

One task of tau2-bench, shortened::

    {"id": "0", "user_scenario": {"instructions": {"reason_for_call": "You want to cancel ..."}},
     "evaluation_criteria": {"actions": [{"name": "cancel_reservation", "arguments": {"reservation_id": "X1"}}],
                             "communicate_info": ["180"], "reward_basis": ["DB", "COMMUNICATE"]}}

An output is the episode's messages: the agent's replies in any form, the user's words and calls between them. They are
carried out again in the sandbox, on the benchmark's own tools and databases.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from planarena.eval.config import EvalConfig
from planarena.eval.items import Shown
from planarena.eval.pool import Pool
from planarena.eval.readings import reader_of
from planarena.eval.responses import Response, Responses, count_tokens
from planarena.eval.results import SuiteResult, Verdict
from planarena.eval.tables import build_rows, finish, micro_average, unjudged
from planarena.eval.tau2.asking import ask
from planarena.eval.tau2.data import WHOLE, TauTask, read_runs
from planarena.eval.tau2.domains import open_pool, place_of, read_tasks, user_words
from planarena.eval.users import STOPS
from planarena.formats import Call, read_output, write_output

__all__ = ["ask", "describe", "read_given", "score"]

_CHUNK = 20
_TRANSFER = "transfer_to_human_agents"
_recorded: dict[str, dict[str, dict[str, Any]]] = {}


def read_given(config: EvalConfig, suite: str) -> Responses | None:
    """Read a file of runs that either benchmark published; None where it is another file."""
    del suite
    read = read_runs(Path(str(config.responses)))
    if read is None:
        return None
    _recorded[str(config.responses)] = read[1]
    return read[0]


def score(
    suite: str, config: EvalConfig, responses: Responses | None, progress: Callable[[str, int, int], None]
) -> tuple[SuiteResult, Mapping[str, list[Response]]]:
    """Score episodes, or the right actions where `responses` is None."""
    path, first = place_of(suite, config)
    pool = open_pool(config, path, first)
    try:
        tasks = {name: listed[: config.limit] for name, listed in read_tasks(pool, path, first).items()}
        # A run is judged by the task as it was when it was made.
        then = _recorded.pop(str(config.responses), {}) if responses is not None else {}
        tasks = {
            name: [one._replace(task=then.get(one.id, one.task)) for one in listed]
            for name, listed in tasks.items()
        }
        outputs = responses.by_id if responses is not None else _gold(tasks, first, config.samples)
        skipped = {
            name: "no outputs were given"
            for name, listed in tasks.items()
            if not any(one.id in outputs for one in listed)
        }
        kept = [one for name, listed in tasks.items() if name not in skipped for one in listed]
        verdicts = _verdicts(suite, config, pool, path, first, kept, outputs, progress)
        kind = pool.kind
    finally:
        pool.close()
    result = finish(
        suite=suite,
        revision=f"{sum(map(len, tasks.values()))} tasks of {path} ({'tau-bench' if first else 'tau2-bench'})",
        headline="reward",
        overall=[
            micro_average(
                "reward", "mean reward of all episodes: 1 where every check that counts holds", verdicts
            )
        ],
        rows=build_rows(verdicts, {name: len(listed) for name, listed in tasks.items()}, skipped),
        verdicts=verdicts,
        outputs=outputs,
        columns=_columns(verdicts),
        notes=_notes(kept, first),
        sandbox=kind,
        whole=None if first else {name: count for name, count in WHOLE.items() if name in tasks} or None,
        units="tasks",
    )
    return result, outputs


def _notes(tasks: Sequence[TauTask], first: bool) -> list[str]:
    if first:
        return []
    judged = [
        one
        for one in tasks
        if "NL_ASSERTION" in _basis(one.task) and _criteria(one.task).get("nl_assertions")
    ]
    if not judged:
        return []
    return [
        f"WARNING: {len(judged)} tasks also have statements that a judge would have to confirm; no judge was asked, they "
        "are scored by their other checks and may come out too well"
    ]


def _criteria(task: Mapping[str, Any]) -> dict[str, Any]:
    return dict(task.get("evaluation_criteria") or {})


def _basis(task: Mapping[str, Any]) -> list[str]:
    if "evaluation_criteria" not in task:
        return ["DB", "COMMUNICATE"]
    stated = _criteria(task).get("reward_basis")
    return list(stated) if stated else ["DB", "COMMUNICATE"]


def _verdicts(
    suite: str,
    config: EvalConfig,
    pool: Pool,
    path: Path,
    first: bool,
    tasks: Sequence[TauTask],
    outputs: Mapping[str, list[Response]],
    progress: Callable[[str, int, int], None],
) -> list[Verdict]:
    form = reader_of(config)
    verdicts: list[Verdict | None] = []
    requests: dict[str, list[list[Any]]] = {}
    places: dict[str, tuple[int, TauTask, int, bool]] = {}
    for one in tasks:
        for sample in range(config.samples):
            absent = unjudged(one.id, one.domain, outputs, sample, text=False)
            verdicts.append(absent)
            if absent is None:
                key = json.dumps([one.id, sample])
                calls, said, ended = read_episode(outputs[one.id][sample].value, form, first)
                requests.setdefault(one.domain, []).append([key, one.task, calls, said])
                places[key] = (len(verdicts) - 1, one, sample, ended)
    total, ended_count = len(places), 0

    def done(count: int) -> None:
        nonlocal ended_count
        ended_count += count
        progress(suite, ended_count, total)

    common = {"folder": str(path.absolute()), "first": first, "seconds": config.seconds}
    listed: list[tuple[str, Any]] = [
        ("score", {**common, "domain": domain, "items": items[start : start + _CHUNK]})
        for domain, items in requests.items()
        for start in range(0, len(items), _CHUNK)
    ]
    for answers in pool.map(listed, done):
        for answer in answers:
            place, one, sample, ended = places[answer[0]]
            response = outputs[one.id][sample]
            verdicts[place] = _verdict(one, sample, response.tokens, ended, answer)
    return [one for one in verdicts if one is not None]


def _verdict(one: TauTask, sample: int, tokens: int, ended: bool, answer: list[Any]) -> Verdict:
    """From the worker's [id, checks, problem], or [id, False, kind, detail] where an item killed it."""
    if len(answer) == 4:
        return Verdict(
            one.id, one.domain, False, str(answer[2]), " ".join(str(answer[3]).split())[:300], sample, tokens
        )
    _, checks, problem = answer
    counted = [name for name in _basis(one.task) if name in checks]
    failed = [name for name in counted if not checks[name]]
    reason = problem.partition(": ")[0] if problem else "not ended" if not ended else ""
    reason = reason or (f"{failed[0]} does not hold" if failed else "")
    return Verdict(
        one.id, one.domain, not reason, reason, " ".join(problem.split())[:300], sample, tokens, marks={**checks, "ended": ended}
    )  # fmt: skip


def read_episode(value: Any, form: str, first: bool) -> tuple[list[list[Any]], list[str], bool]:
    """Read an episode: calls as [who, name, arguments], what the agent said, and whether it came to an end.

    An agent of tau-bench makes one call a message and says nothing beside it.
    """
    calls: list[list[Any]] = []
    said: list[str] = []
    ended = False
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, (str, dict)):
            continue
        user = False
        if isinstance(part, dict) and part.get("role") == "user":
            user = True
            ended = ended or any(sign in str(part.get("content") or "") for sign in STOPS)
            part = {**part, "role": "assistant"}
        reading = read_output(part, "native" if user else form)
        made = list(reading.calls)[:1] if first else list(reading.calls)
        calls += [["user" if user else "assistant", call.name, call.arguments] for call in made]
        if not user and reading.content and not (first and made):
            said.append(reading.content)
        ended = ended or (first and not user and any(call.name == _TRANSFER for call in made))
    return calls, said, ended


def _columns(verdicts: Sequence[Verdict]) -> dict[str, float]:
    names = sorted({name for verdict in verdicts for name in verdict.marks})
    found = {}
    for name in names:
        marks = [verdict.marks[name] for verdict in verdicts if name in verdict.marks]
        found[name] = sum(marks) / len(marks)
    return found


def _gold(tasks: Mapping[str, list[TauTask]], first: bool, samples: int) -> dict[str, list[Response]]:
    found = {}
    for listed in tasks.values():
        for one in listed:
            value = _right(one.task, first)
            found[one.id] = [Response(value, count_tokens(value))] * samples
    return found


def _right(task: Mapping[str, Any], first: bool) -> list[Any]:
    """An episode that does what is right and says what has to be said."""
    criteria = task if first else _criteria(task)
    messages: list[Any] = []
    for action in criteria.get("actions") or ():
        call = Call(str(action["name"]), dict(action.get("kwargs" if first else "arguments") or {}))
        message = json.loads(write_output("native", [call]))
        messages.append({**message, "role": action.get("requestor") or "assistant"})
    wanted = criteria.get("outputs" if first else "communicate_info") or ()
    messages.append({"role": "assistant", "content": "; ".join(map(str, wanted)) or "Done."})
    return [*messages, {"role": "user", "content": STOPS[0]}]


def describe(suite: str, config: EvalConfig, ids: Sequence[str]) -> dict[str, Shown]:
    """Return what each user wanted, and the actions that are right."""
    path, first = place_of(suite, config)
    wanted = set(ids)
    pool = open_pool(config, path, first)
    try:
        tasks = read_tasks(pool, path, first)
    finally:
        pool.close()
    return {
        one.id: Shown(
            [{"role": "system", "content": user_words(one.task)}],
            [],
            one.task.get("actions") if first else _criteria(one.task),
        )
        for listed in tasks.values()
        for one in listed
        if one.id in wanted
    }
