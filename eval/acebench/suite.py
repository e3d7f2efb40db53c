r"""ACEBench: calls by rules, refusals by their words, agents by the state that they leave.

One item with its answer, shortened::

    {"id": "normal_atom_bool_0", "question": "user: Dinner for two, without meat.\n", "time": "...",
     "function": [{"name": "MealPlanner_make", "parameters": {"type": "object", "properties": {...}}}]}
    {"id": "normal_atom_bool_0", "ground_truth": {"MealPlanner_make": {"meal": "dinner", "vegetarian": true}}}

An output is a text such as `[MealPlanner_make(meal='dinner', vegetarian=True)]` or any other form of calls; of an
agent the list of its replies, or the final state and the process that the benchmark's own result files hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from planarena.eval.acebench.agent import final_state, open_pool
from planarena.eval.acebench.asking import ask
from planarena.eval.acebench.checker import (
    check_calls,
    check_state,
    check_words,
    exact,
    plain_name,
    process_share,
)
from planarena.eval.acebench.data import AGENT, MULTI_TURN, NORMAL, SPECIAL, WHOLE, AceItem, read_items
from planarena.eval.acebench.reading import Written, read_calls
from planarena.eval.config import EvalConfig
from planarena.eval.items import Shown
from planarena.eval.pool import Pool
from planarena.eval.readings import reader_of
from planarena.eval.responses import Response, Responses, count_tokens
from planarena.eval.results import Overall, SuiteResult, Verdict
from planarena.eval.tables import build_rows, finish, item_means, unjudged

__all__ = ["ask", "describe", "score", "shown_calls"]

_WEIGHTS = {"normal": (0.578, NORMAL), "special": (0.2676, SPECIAL), "agent": (0.1545, AGENT)}
_FORMULAS = {
    "summary": ".578 normal + .2676 special + .1545 agent, each the mean of its categories",
    "normal": "mean of the 12 categories; of dialogues the share that are right in all steps",
    "special": "mean of the three categories",
    "agent": "mean of both categories by final states",
}


def score(
    suite: str, config: EvalConfig, responses: Responses | None, progress: Callable[[str, int, int], None]
) -> tuple[SuiteResult, Mapping[str, list[Response]]]:
    """Score outputs, or the answers where `responses` is None."""
    path = _path(suite, config)
    items = {name: rows[: config.limit] for name, rows in read_items(path, config.language).items()}
    outputs = responses.by_id if responses is not None else _gold(items, config.samples)
    rows = responses.rows if responses is not None else {}
    skipped = {
        name: "no outputs were given"
        for name, listed in items.items()
        if not any(item.id in outputs for item in listed)
    }
    run = {name: listed for name, listed in items.items() if name not in skipped}
    total, verdicts, kind = config.samples * sum(map(len, run.values())), list[Verdict](), ""
    pool = open_pool(config, path) if _must_act(run, outputs) else None
    try:
        for listed in run.values():
            for item in listed:
                for sample in range(config.samples):
                    verdicts.append(_judge(item, outputs, sample, config, rows, pool, path))
                progress(suite, len(verdicts), total)
        kind = pool.kind if pool is not None else ""
    finally:
        if pool is not None:
            pool.close()
    made = build_rows(verdicts, {name: len(listed) for name, listed in items.items()}, skipped)
    shares = _shares(run, verdicts)
    result = finish(
        suite=suite,
        revision=f"{sum(map(len, items.values()))} items of {path}, {config.language}",
        headline="summary",
        overall=_overall(shares),
        rows=made,
        verdicts=verdicts,
        outputs=outputs,
        columns={**_columns(verdicts), **{f"whole dialogues: {name}": shares[name] for name in MULTI_TURN if name in shares}},
        notes=[
            "rules are the benchmark's own: a text is right that contains the expected one, of numbers and booleans the "
            "type alone is looked at; the column `exact` compares value by value"
        ],
        sandbox=kind,
        whole=WHOLE[config.language] or None,
        weighted=True,
    )  # fmt: skip
    return result, outputs


def _path(suite: str, config: EvalConfig) -> Path:
    return config.data_path(
        suite, "ACEBench is not shipped with planarena", "fetch it: --fetch, or --data acebench=FOLDER"
    )


def _must_act(items: Mapping[str, list[AceItem]], outputs: Mapping[str, list[Response]]) -> bool:
    """Whether any agent's output is its replies, which are carried out again."""
    return any(
        not _is_state(response.value)
        for name in AGENT
        for item in items.get(name, ())
        for response in outputs.get(item.id, ())
        if not response.problem
    )


def _is_state(value: Any) -> bool:
    """The benchmark's own result: one object a class, each with its fields."""
    return isinstance(value, list) and all(
        isinstance(one, dict) and "role" not in one and all(isinstance(inner, dict) for inner in one.values())
        for one in value
    )


def _judge(
    item: AceItem,
    outputs: Mapping[str, list[Response]],
    sample: int,
    config: EvalConfig,
    rows: Mapping[str, dict[str, Any]],
    pool: Pool | None,
    path: Path,
) -> Verdict:
    if (absent := unjudged(item.id, item.category, outputs, sample, text=False)) is not None:
        return absent
    response, detail, marks = outputs[item.id][sample], "", dict[str, bool]()
    shares: dict[str, int] = {}
    if item.category in AGENT:
        reason, shares = _judge_agent(item, response.value, config, rows.get(item.id, {}), pool, path)
    elif item.category in SPECIAL:
        text = (
            response.value
            if isinstance(response.value, str)
            else json.dumps(response.value, ensure_ascii=False)
        )
        reason = check_words(item.category, text, item.answer)
    else:
        calls, detail = read_calls(response.value, reader_of(config))
        reason, marks = _judge_calls(item, calls)
    return Verdict(
        item.id, item.category, not reason, reason, detail[:300], sample, response.tokens, marks=marks, counts=shares
    )  # fmt: skip


def _judge_calls(item: AceItem, calls: Written | None) -> tuple[str, dict[str, bool]]:
    if calls is None:
        return "no call", {"exact": False}
    answers = item.answer if isinstance(item.answer, list) else [item.answer]
    reasons = [check_calls(item.row["function"], calls, answer) for answer in answers]
    reason = "" if "" in reasons else reasons[0]
    return reason, {"exact": any(exact(calls, answer) for answer in answers)}


def _judge_agent(
    item: AceItem, value: Any, config: EvalConfig, row: dict[str, Any], pool: Pool | None, path: Path
) -> tuple[str, dict[str, int]]:
    if _is_state(value):
        state, process = value, [str(one) for one in row.get("process") or ()]
    elif pool is not None:
        state, process, problem = final_state(pool, path, item, value, config)
        if problem:
            return problem, {}
    reason = check_state(state, item.answer)
    share = 1.0 if not reason else process_share(process, item.milestones)
    return reason, {"process (per mille)": round(1000 * share)}


def _shares(items: Mapping[str, list[AceItem]], verdicts: Sequence[Verdict]) -> dict[str, float]:
    """The accuracy of each category; of dialogues the share that are right in every step."""
    means = item_means(list(verdicts))
    found = {}
    for name, listed in items.items():
        dialogues: dict[str, float] = {}
        for item in listed:
            dialogues[item.dialogue] = min(dialogues.get(item.dialogue, 1.0), means[item.id])
        if dialogues:
            found[name] = sum(dialogues.values()) / len(dialogues)
    return found


def _overall(shares: Mapping[str, float]) -> list[Overall]:
    parts: dict[str, Overall] = {}
    for name, (_, categories) in _WEIGHTS.items():
        there = [shares[one] for one in categories if one in shares]
        lacking = tuple(one for one in categories if one not in shares)
        value = sum(there) / len(categories) if there else None
        parts[name] = Overall(name, _FORMULAS[name], value, not_run=lacking)
    # The benchmark's weights add up to 1.0001.
    whole = min(1.0, sum(weight * (parts[name].value or 0.0) for name, (weight, _) in _WEIGHTS.items()))
    lacking = tuple(one for part in parts.values() for one in part.not_run)
    summary = Overall("summary", _FORMULAS["summary"], whole if shares else None, not_run=lacking)
    return [summary, *parts.values()]


def _columns(verdicts: Sequence[Verdict]) -> dict[str, float]:
    exacts = [verdict.marks["exact"] for verdict in verdicts if "exact" in verdict.marks]
    process = [verdict.counts["process (per mille)"] / 1000 for verdict in verdicts if verdict.counts]
    found = {}
    if exacts:
        found["exact"] = sum(exacts) / len(exacts)
    if process:
        found["process of agents"] = sum(process) / len(process)
    return found


def _gold(items: Mapping[str, list[AceItem]], samples: int) -> dict[str, list[Response]]:
    found = {}
    for listed in items.values():
        for item in listed:
            value = _right(item)
            found[item.id] = [Response(value, count_tokens(value))] * samples
    return found


def _right(item: AceItem) -> Any:
    """An output that is right, in the benchmark's own words."""
    if item.category in AGENT:
        return item.answer if isinstance(item.answer, list) else [item.answer]
    answer = item.answer[0] if isinstance(item.answer, list) else item.answer
    if item.category == "special_irrelevant":
        return json.dumps([answer], ensure_ascii=False)
    if item.category == "special_error_param":
        said = [
            f"There is incorrect value ({', '.join(map(str, values))}) for the parameters ({name})"
            for name, values in answer.items()
        ]
        return "; ".join(said)  # fmt: skip
    if item.category == "special_incomplete":
        said = [
            f"Missing necessary parameters ({', '.join(values)}) for the api ({name})"
            for name, values in answer.items()
        ]
        return "; ".join(said)  # fmt: skip
    return json.dumps([{"name": plain_name(name), "arguments": values} for name, values in answer.items()])


def shown_calls(value: Any) -> list[dict[str, Any]]:
    """Calls that the benchmark reads and Python's own syntax does not, for looking at."""
    calls, _ = read_calls(value, "auto") if isinstance(value, str) else (None, "")
    return [{"name": name, "arguments": arguments} for name, arguments in calls or ()]


def describe(suite: str, config: EvalConfig, ids: Sequence[str]) -> dict[str, Shown]:
    """Return what each item asked for, with the functions on offer and the answer."""
    wanted = set(ids)
    return {
        item.id: Shown(
            [{"role": "user", "content": str(item.row["question"])}],
            list(item.row.get("function") or ()),
            item.answer,
        )
        for listed in read_items(_path(suite, config), config.language).values()
        for item in listed
        if item.id in wanted
    }
