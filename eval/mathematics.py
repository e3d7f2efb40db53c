r"""Math: problems with integer or short answers, the answer in the last box, avg@k.

One problem, as JSON lines hold it::

    {"id": "aime-1", "category": "aime24", "problem": "Find the remainder when ...", "answer": "204"}

and an output that is right: `So the remainder is \boxed{204}.`
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from planarena.bench import Asked
from planarena.errors import UserError
from planarena.eval.config import EvalConfig
from planarena.eval.items import Shown
from planarena.eval.math_judge import MathJudge
from planarena.eval.models.dialogues import Exchange, Item
from planarena.eval.models.native_text import split_thought
from planarena.eval.responses import Response, Responses, count_tokens, read_rows
from planarena.eval.results import SuiteResult, Verdict
from planarena.eval.tables import build_rows, finish, micro_average, unjudged
from planarena.llm import load_prompt
from planarena.rows.templates import template

__all__ = ["answer_of", "answers_agree", "ask", "describe", "last_boxed", "math_opening", "score"]

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_WRAPPER = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox)\{([^{}]*)\}")
_FRACTION = re.compile(r"\\[dt]?frac\{?(-?\d+)\}?\{?(\d+)\}?")
_NOISE = re.compile(r"\\(?:left|right|displaystyle|,|;|!| )|[\s$]")
_NUMBER = re.compile(r"[+-]?\d{1,200}(?:\.\d{1,200})?(?:/\d{1,200})?")
_MAX_ANSWER = 10_000


def last_boxed(text: str) -> str | None:
    r"""The content of the last closed \boxed{...}, braces inside balanced; one pass, so linear time."""
    starts = {match.end() - 1 for match in _BOX.finditer(text)}
    if not starts:
        return None
    opened: list[int] = []
    found, found_start = None, -1
    for match in _BRACE.finditer(text, min(starts)):
        if match.group() == "{":
            opened.append(match.start())
        elif match.group() == "}" and opened:
            start = opened.pop()
            if start in starts and start > found_start:
                found, found_start = text[start + 1 : match.start()], start
    return found


def _normalise(answer: str) -> str:
    answer = _NOISE.sub("", _WRAPPER.sub(r"\1", answer[:_MAX_ANSWER]))
    answer = _FRACTION.sub(r"\1/\2", answer).rstrip(".").removesuffix("\\%").removesuffix("%")
    answer = answer.removesuffix("^\\circ").removesuffix("^{\\circ}")
    return re.sub(r"(?<=\d),(?=\d{3}(?:\D|$))", "", answer)


def _number(answer: str) -> Fraction | None:
    if _NUMBER.fullmatch(answer) is None:
        return None
    top, _, bottom = answer.partition("/")
    try:
        return Fraction(Decimal(top)) / Fraction(bottom or "1")
    except (InvalidOperation, ValueError, ZeroDivisionError):
        return None


def answers_agree(given: str, gold: str) -> bool:
    """Whether two short answers are the same: as numbers where both are, else as text without typesetting."""
    given, gold = _normalise(given), _normalise(gold)
    left, right = _number(given), _number(gold)
    if left is not None and right is not None:
        return left == right
    return bool(given) and given == gold


def score(
    suite: str, config: EvalConfig, responses: Responses | None, progress: Callable[[str, int, int], None]
) -> tuple[SuiteResult, Mapping[str, list[Response]]]:
    """Score math outputs, or the ground truth where `responses` is None; the headline is avg@k."""
    read = _problems(_path(suite, config))
    problems = {
        category: [(key, gold) for key, gold, _ in rows[: config.limit]] for category, rows in read.items()
    }
    outputs: Mapping[str, list[Response]]
    if responses is None:
        golds = [(key, f"\\boxed{{{gold}}}") for rows in problems.values() for key, gold in rows]
        outputs = {key: [Response(text, count_tokens(text))] * config.samples for key, text in golds}
    else:
        outputs = responses.by_id
    verdicts, skipped = [], {}
    total = config.samples * sum(map(len, problems.values()))
    with MathJudge(config.judge, answers_agree) as judge:
        for category, rows in problems.items():
            if not any(key in outputs for key, _ in rows):
                skipped[category] = "no outputs were given"
                continue
            for key, gold in rows:
                verdicts += [
                    _judge(key, category, gold, outputs, sample, judge) for sample in range(config.samples)
                ]
                progress(suite, len(verdicts), total)
    name = f"avg@{config.samples}"
    result = finish(
        suite=suite,
        revision=f"{sum(map(len, problems.values()))} problems of {config.data[suite]}",
        headline=name,
        overall=[
            micro_average(
                name, f"mean over problems of the share of {config.samples} outputs correct", verdicts
            )
        ],
        rows=build_rows(verdicts, {category: len(rows) for category, rows in problems.items()}, skipped),
        verdicts=verdicts,
        outputs=outputs,
        notes=[f"answers were compared by {judge.name}", *([judge.note] if judge.note else [])],
    )
    return result, outputs


def _judge(
    key: str,
    category: str,
    gold: str,
    outputs: Mapping[str, list[Response]],
    sample: int,
    judge: MathJudge,
) -> Verdict:
    if (absent := unjudged(key, category, outputs, sample)) is not None:
        return absent
    response = outputs[key][sample]
    inside = last_boxed(response.value)
    correct = inside is not None and judge.agree(inside, gold)
    reason = "" if correct else "no box" if inside is None else "wrong answer"
    answer = None if inside is None else inside[:200]
    return Verdict(key, category, correct, reason, sample=sample, tokens=response.tokens, answer=answer)


def _path(suite: str, config: EvalConfig) -> Path:
    return config.data_path(
        suite, "math has no problems of its own", "give them: --data math=FILE_OR_FOLDER (JSON lines)"
    )


def _problems(path: Path) -> dict[str, list[tuple[str, str, str]]]:
    """By category (a row's own, else its file's name) the id, the answer and the text of each problem."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    seen: set[str] = set()
    files = [path] if not path.is_dir() else sorted(file for file in path.iterdir() if file.is_file())
    for file in files:
        for number, (row, problem) in enumerate(read_rows(file)):
            answer: Any = None if row is None or problem else row.get("answer")
            if row is None or not isinstance(answer, (str, int, float)) or isinstance(answer, bool):
                raise UserError(
                    "holds a row without an answer",
                    where=f"{file}, row {number + 1}",
                    fix='{"id": ..., "answer": ...}',
                )
            category = str(row.get("category", file.name.split(".")[0]))
            key = str(row.get("id", f"{category}-{number}"))
            if key in seen:
                raise UserError(
                    f"holds the problem {key!r} a second time",
                    where=f"{file}, row {number + 1}",
                    fix="give each problem an id of its own",
                )
            seen.add(key)
            text = row.get("problem", row.get("question"))
            found.setdefault(category, []).append((key, str(answer), text if isinstance(text, str) else ""))
    if not found:
        raise UserError(
            "holds no problem", where=str(path), fix='give JSON lines of {"id": ..., "answer": ...}'
        )
    return found


def describe(suite: str, config: EvalConfig, ids: Sequence[str]) -> dict[str, Shown]:
    """Return what each problem asked for."""
    del ids
    rows = [row for listed in _problems(_path(suite, config)).values() for row in listed]
    return {
        key: Shown([{"role": "user", "content": text}] if text else [], [], gold) for key, gold, text in rows
    }


# --- asking ------------------------------------------------------------------------------------------


@contextmanager
def ask(suite: str, config: EvalConfig) -> Iterator[Callable[[str], list[Item]]]:
    """Open the problems for a model: one reply each. The format math brings its own instructions (CHORD, A.3).

    Raises:
        UserError: No problems, or one without its text.
    """
    path = _path(suite, config)
    listed = [row for rows in _problems(path).values() for row in rows[: config.limit]]
    for key, _, text in listed:
        if not text:
            raise UserError(
                f"the problem {key!r} has no text",
                where=str(path),
                fix='{"id": ..., "problem": ..., "answer": ...}',
            )

    def items(form: str) -> list[Item]:
        return [Item(key, partial(_talk, form, key, text)) for key, _, text in listed]

    yield items


def _talk(form: str, key: str, problem: str, sample: int) -> Exchange:
    opening = math_opening(form)
    words = problem if opening else load_prompt("eval_math").user(problem=problem)
    reply = yield Asked(id=key, messages=(*opening, {"role": "user", "content": words}), sample=sample)
    return answer_of(form, reply.text)


def math_opening(form: str) -> tuple[dict[str, Any], ...]:
    """Return the system message that the format math was trained with; nothing for others."""
    if form != "math":
        return ()
    return ({"role": "system", "content": template("math", "math").system.strip()},)


def answer_of(form: str, text: str) -> str:
    """Return what a reply says once it has thought: rules that look for an answer are not to find one in thoughts.

    A reply that never stops thinking says nothing.
    """
    if form == "native":
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            read = None
        if isinstance(read, dict):
            text = str(read.get("content") or "")
    return split_thought(text)[1]
