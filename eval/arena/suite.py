r"""The suite `planarena`: replies in, verdicts by actions, shape and measure out; and the loop that gets replies.

One output, the replies of an episode::

    {"id": "fcd0a78c33117cfd", "response": ["<plan>Find a flight.</plan>\n<tool_call>\n{\"name\": \"search_flights\", ...}",
     "<plan>Say so.</plan>\n<response>A place is held for you.</response>"]}
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import msgspec

from planarena import formats
from planarena.bench import (
    BENCH,
    KINDS,
    MEASURES,
    GoldPolicy,
    Played,
    Policy,
    Recorded,
    Task,
    bench_options,
    bench_path,
    load_tasks,
    measure,
    play,
    summarise,
)
from planarena.eval.config import EvalConfig
from planarena.eval.items import Shown
from planarena.eval.readings import reader_of
from planarena.eval.responses import Response, Responses
from planarena.eval.results import CategoryRow, Overall, SuiteResult, Verdict
from planarena.eval.tables import build_rows, finish, micro_average
from planarena.formats import Parsed, read_output
from planarena.llm import Budget
from planarena.users import Users

__all__ = ["describe", "generate", "result_of", "score"]

_FORMULAS = {
    "success": "share of all tasks: the goal predicate holds and the user has an answer; where no call is right, "
    "without any call",
    "with calls": "the same over the tasks that need calls",
    "no call": "the same over the requests that no call answers",
    "unseen tools": "the same over the tasks of the held-out namespaces",
}


def generate(
    policy: Policy,
    config: EvalConfig,
    *,
    done: Mapping[tuple[str, int], Sequence[str]] | None = None,
    keep: Callable[[Played], None] | None = None,
    tell: Callable[[str, int, int], None] | None = None,
    at_once: int = 512,
) -> Responses:
    """Let a policy play the bench and return its replies as `score` takes them.

    Args:
        policy: The policy; prompts are written for its format.
        config: For the data, the limit and the samples.
        done: Replies of episodes that an earlier run finished, by item and sample.
        keep: Given each episode as it ends; one with a `problem` is not to be kept as an answer.
        tell: Told the suite, the episodes ended and the episodes in all.
        at_once: Episodes under way at a time.
    """
    found = Responses()
    with ExitStack() as stack:
        tasks = _tasks(config, policy.format, stack)
        progress = None if tell is None else lambda ended, total: tell("planarena", ended, total)
        users = stack.enter_context(_users(config))
        for one in play(
            policy, tasks, samples=config.samples, at_once=at_once, done=done, tell=progress, users=users
        ):
            found.by_id.setdefault(one.task.id, []).append(_response(one))
            if keep is not None:
                keep(one)
    return found


def score(
    suite: str,
    config: EvalConfig,
    responses: Responses | None,
    tell: Callable[[str, int, int], None],
) -> tuple[SuiteResult, dict[str, list[Response]]]:
    """Score replies by carrying them out again; see `planarena.eval.run`.

    An output is the list of a policy's replies in one episode, or a text for an episode of one reply.
    """
    with ExitStack() as stack:
        reader = reader_of(config)
        form = config.format if config.format in formats.names() else "planarena"
        parse: Callable[[str], Parsed] | None = None
        tasks = _tasks(config, form, stack)
        users = stack.enter_context(_users(config))
        policy: Policy
        missing: dict[tuple[str, int], str] = {}
        if responses is None:
            policy = GoldPolicy(tasks, config.samples)
            given: dict[str, list[Response]] = {
                task.id: [Response(list(task.row.targets)) for _ in range(config.samples)] for task in tasks
            }
        else:
            given = responses.by_id
            texts: dict[tuple[str, int], list[str]] = {}
            for task in tasks:
                for sample in range(config.samples):
                    listed = given.get(task.id, [])
                    found, problem = _texts(listed[sample] if sample < len(listed) else None)
                    texts[task.id, sample] = found
                    if problem:
                        missing[task.id, sample] = problem
            policy = Recorded(texts, form)
            if config.model is None and config.format != form:
                parse = _reader(form, reader, texts.values())
        episodes = list(
            play(
                policy,
                tasks,
                samples=config.samples,
                tell=lambda done, total: tell(suite, done, total),
                parse=parse,
                users=users,
            )
        )
        for one in episodes:
            listed = given.get(one.task.id, [])
            one.tokens = listed[one.sample].tokens if one.sample < len(listed) else 0
        revision = _revision(config, tasks)
    return result_of(suite, episodes, given, revision=revision, missing=missing), given


def describe(suite: str, config: EvalConfig, ids: Sequence[str]) -> dict[str, Shown]:
    """Return what each task asked for, and the replies of its gold."""
    del suite, ids
    with ExitStack() as stack:
        form = config.format if config.format in formats.names() else "planarena"
        return {
            task.id: Shown(list(task.row.prompt), list(task.row.tools), list(task.row.targets))
            for task in _tasks(config, form, stack)
        }


def _reader(form: str, reader: str, outputs: Iterable[Sequence[str]]) -> Callable[[str], Parsed]:
    """How replies of unknown origin are read: in our own format where they keep it, else as whoever wrote them.

    Text without any mark is an answer where most episodes end otherwise than in our format.
    """
    ours = formats.get(form)
    ends = [listed[-1] for listed in outputs if listed]
    kept = sum(ours.parse(text).valid for text in ends)
    free = 2 * kept < len(ends)

    def parse(text: str) -> Parsed:
        parsed = ours.parse(text)
        if parsed.valid:
            return parsed
        reading = read_output(text, reader)
        if len(reading.calls) > len(parsed.calls):
            return Parsed(form, text, plan=reading.thought or None, calls=reading.calls)
        if free and reading.content and not reading.problem:
            return Parsed(form, text, plan=reading.thought or None, response=reading.content)
        return parsed

    return parse


def _users(config: EvalConfig) -> Users:
    made = config.generation
    budget = Budget(usd=made.budget_usd, tokens=made.budget_tokens, calls=made.budget_calls)
    return Users(made.bench_user, budget=budget, where="generation.bench_user")


def _tasks(config: EvalConfig, form: str, stack: ExitStack) -> list[Task]:
    path = config.data.get("planarena") or stack.enter_context(bench_path())
    made = config.generation
    chosen: dict[str, Any] = {"template": made.template, "signatures": made.signatures or None}
    if made.plan is not None:
        chosen["plan"] = "step" if made.plan else "none"
    options = bench_options(form, **{key: value for key, value in chosen.items() if value})
    return load_tasks(path, options, splits=config.splits, limit=config.limit)


def _revision(config: EvalConfig, tasks: Sequence[Task]) -> str:
    source = config.data.get("planarena")
    return f"{len(tasks)} held-out tasks of {source}" if source else f"{BENCH}, {len(tasks)} tasks"


def _response(one: Played) -> Response:
    if one.problem:
        return Response(None, problem=one.problem)
    return Response(list(one.texts), one.tokens or 0, counted=one.tokens is not None)


def _texts(response: Response | None) -> tuple[list[str], str]:
    if response is None:
        return [], "no response"
    if response.problem:
        return [], f"unreadable: {response.problem}"
    value = response.value if isinstance(response.value, list) else [response.value]
    value = [
        json.dumps(one) if isinstance(one, dict) else one for one in value
    ]  # messages as a server gives them
    if not all(isinstance(text, str) for text in value):
        return [], "unreadable: not a text or a list of texts"
    return value, ""


def result_of(
    suite: str,
    episodes: Sequence[Played],
    given: Mapping[str, list[Response]],
    *,
    revision: str,
    missing: Mapping[tuple[str, int], str] | None = None,
) -> SuiteResult:
    """Put the result of played episodes together.

    Args:
        suite: Its name.
        episodes: All of them.
        given: The outputs, for their lengths.
        revision: Which tasks they were.
        missing: By item and sample, why there was no readable output.
    """
    spoiled = Counter(one.spoiled for one in episodes if one.spoiled)
    episodes = [one for one in episodes if not one.spoiled]
    verdicts = [_verdict(one, (missing or {}).get((one.task.id, one.sample), "")) for one in episodes]
    by_item = {one.task.id: one.task for one in episodes}
    rows = _category_rows(verdicts, by_item.values())
    overall: list[Overall] = [
        micro_average(name, _FORMULAS[name], [one for one in verdicts if wanted(by_item[one.id])])
        for name, wanted in KINDS.items()
    ]
    played = [one for one in episodes if (one.task.id, one.sample) not in (missing or {})]
    measured = summarise(played)
    discarded = [
        f"{spoiled.total()} conversations were discarded, because their user spoiled them: "
        + ", ".join(f"{count} {kind}" for kind, count in sorted(spoiled.items()))
    ] * bool(spoiled)
    result = finish(
        suite=suite,
        revision=revision,
        headline="success",
        overall=[value for value in overall if value.value is not None],
        rows=rows,
        verdicts=verdicts,
        outputs={key: listed for key, listed in given.items() if key in by_item},
        notes=[
            "The rows by shape and by split are other cuts of the same tasks as the rows above them.",
            *discarded,
        ],
    )
    described = {name: (value, MEASURES[name]) for name, value in measured.items()}
    return msgspec.structs.replace(result, measures=described)


def _category_rows(verdicts: list[Verdict], tasks: Iterable[Task]) -> list[CategoryRow]:
    rows: list[CategoryRow] = []
    listed = sorted(tasks, key=lambda task: (task.actions == 0, task.actions, task.category))
    cuts: tuple[Callable[[Task], str], ...] = (
        lambda task: task.kind,
        lambda task: f"shape: {task.shape}" if task.actions else "",
        lambda task: f"split: {task.row.split}",
    )
    for cut in cuts:
        names = {task.id: cut(task) for task in listed}
        items: dict[str, int] = {}
        for name in names.values():
            if name:
                items[name] = items.get(name, 0) + 1
        renamed = [msgspec.structs.replace(one, category=names[one.id]) for one in verdicts if names[one.id]]
        rows += build_rows(renamed, items, {})
    return rows


def _verdict(one: Played, missing: str) -> Verdict:
    found = measure(one)
    success = one.success and not missing
    reason, detail = "", ""
    if missing:
        reason, detail = ("no response", "") if missing == "no response" else ("unreadable", missing)
    elif not success:
        reason, detail = _reason(one)
    return Verdict(
        id=one.task.id,
        category=one.task.kind,
        correct=success,
        reason=reason,
        detail=detail[:300],
        sample=one.sample,
        tokens=one.tokens or 0,
        marks={"goal": one.goal, "answered": one.answered},
        counts={
            "actions": one.task.actions,
            "calls": found.calls,
            "steps_done": found.done,
            "schema_errors": found.schema_errors,
            "tool_errors": found.tool_errors,
            "ungrounded": found.ungrounded,
        },
    )


def _reason(one: Played) -> tuple[str, str]:
    failed = next((call for call in one.calls if call.outcome.status != "ok"), None)
    words = ""
    if failed is not None and failed.outcome.error is not None:
        words = f"{failed.tool}: {failed.outcome.error['message']}"
    if not one.task.actions and one.calls:
        return "called where no call is right", one.calls[0].tool
    if one.goal:
        return "no answer", words
    if not one.answered:
        return "goal not reached, no answer", words
    return ("goal not reached after an error", words) if words else ("goal not reached", "")
