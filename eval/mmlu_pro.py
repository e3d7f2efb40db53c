r"""MMLU-Pro: 12,032 questions of up to ten options; what an output answers, in linear time.

Its own script tries three patterns in turn: the first `answer is (X)`; `.*[aA]nswer:\s*X`; the last letter
that stands alone; and guesses where all fail. Its second and third pattern take quadratic time. The functions
here give the same letters in linear time. One deviation: a guess is drawn from the seed and the question, where
the script draws from one generator in file order, so a guess does not depend on the questions before it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from planarena.errors import UserError
from planarena.eval.config import EvalConfig
from planarena.eval.mathematics import last_boxed
from planarena.eval.responses import Response, Responses, count_tokens, read_rows
from planarena.eval.results import SuiteResult, Verdict
from planarena.eval.tables import build_rows, finish, micro_average

__all__ = ["extract_boxed", "extract_first", "extract_letter", "score"]

LETTERS = "ABCDEFGHIJ"
_FIRST = re.compile(r"answer is \(?([A-J])\)?")
# Of zero width, so that "answer: Answer: B" shows both of its matches.
_SECOND = re.compile(r"(?=[aA]nswer:\s*([A-J]))")
_ALONE = re.compile(r"\b[A-J]\b")
_BOXED_TEXT = re.compile(r"\\text\{\s*\(?(\d+)\)?\s*\}")


def extract_first(text: str) -> str | None:
    """Rule 1, which lm-evaluation-harness uses alone: the first `answer is X`, the letter in brackets or not."""
    match = _FIRST.search(text)
    return match.group(1) if match else None


def extract_letter(text: str) -> str | None:
    """The three rules: what `compute_accuracy.py` of MMLU-Pro extracts, without its guess."""
    return extract_first(text) or _extract_second(text) or _extract_last(text)


def _extract_second(text: str) -> str | None:
    """The last match within the first line that has one: `.*` is greedy and does not cross a line's end."""
    found, end = None, None
    for match in _SECOND.finditer(text):
        if end is None:
            end = text.find("\n", match.start())
        elif end != -1 and match.start() > end:
            break
        found = match.group(1)
    return found


def _extract_last(text: str) -> str | None:
    found = None
    for match in _ALONE.finditer(text):
        found = match.group()
    return found


def extract_boxed(text: str, options: int) -> str | None:
    """Paper 003's variant: the last boxed number, counted from 0, as a letter."""
    inside = last_boxed(text)
    if inside is None:
        return None
    inside = _BOXED_TEXT.sub(r"\1", inside).strip().strip("().$ ")
    if (
        not inside.isascii()
        or not inside.isdigit()
        or len(inside) > 2
        or int(inside) >= min(options, len(LETTERS))
    ):
        return None
    return LETTERS[int(inside)]


def score(
    suite: str, config: EvalConfig, responses: Responses | None, progress: Callable[[str, int, int], None]
) -> tuple[SuiteResult, Mapping[str, list[Response]]]:
    """Score MMLU-Pro outputs, or the ground truth where `responses` is None."""
    questions, revision = _questions(suite, config, responses)
    outputs = responses.by_id if responses is not None else _gold(questions, config.extraction)
    guess = config.guess and config.extraction == "three-rules"
    listed: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for key, question in questions.items():
        listed.setdefault(str(question.get("category", "all")), []).append((key, question))
    listed = {category: rows[: config.limit] for category, rows in sorted(listed.items())}
    verdicts, skipped = [], {}
    for category, rows in listed.items():
        if not any(key in outputs for key, _ in rows):
            skipped[category] = "no outputs were given"
            continue
        for key, question in rows:
            for sample in range(config.samples):
                verdicts.append(_judge(key, category, question, outputs, sample, config, guess))
        progress(suite, len(verdicts), len(questions) * config.samples)
    guesses = sum(verdict.guessed for verdict in verdicts)
    notes = [f"answers were extracted by {config.extraction}"]
    if guess:
        notes.append(
            f"{guesses} outputs without an answer were given a random option (--no-guess leaves it out)"
        )
    result = finish(
        suite=suite,
        revision=revision,
        headline="micro",
        overall=[micro_average("micro", "share of all questions", verdicts)],
        rows=build_rows(verdicts, {category: len(rows) for category, rows in listed.items()}, skipped),
        verdicts=verdicts,
        outputs=outputs,
        notes=notes,
    )
    return result, outputs


def _questions(
    suite: str, config: EvalConfig, responses: Responses | None
) -> tuple[dict[str, dict[str, Any]], str]:
    """The questions by id: from --data, else from the outputs' own rows, as MMLU-Pro's result files have them."""
    found: dict[str, dict[str, Any]] = {}
    if suite in config.data:
        revision = f"the questions of {config.data[suite]}"
        for number, (row, problem) in enumerate(read_rows(Path(config.data[suite]))):
            key = None if row is None or problem else row.get("question_id", row.get("id"))
            if row is None or key is None or str(key) in found or not _is_question(row):
                raise UserError(
                    "holds a row that is no question, or one twice",
                    where=f"{config.data[suite]}, row {number + 1}",
                    fix='{"question_id": ..., "options": [up to ten], "answer": "A", "category": ...}',
                )
            found[str(key)] = row
    else:
        revision = "the questions of the outputs' file"
        rows = responses.rows if responses is not None else {}
        found = {key: row for key, row in rows.items() if _is_question(row)}
    if not found:
        raise UserError(
            "MMLU-Pro's questions are not shipped with planarena, and the outputs do not carry them",
            where=suite,
            fix="give them: --data mmlu-pro=FILE (JSON or JSON lines with question_id, options, answer, category)",
        )
    return found, revision


def _is_question(row: dict[str, Any]) -> bool:
    options, answer = row.get("options"), row.get("answer")
    if not isinstance(options, list) or not isinstance(answer, str) or len(options) > len(LETTERS):
        return False
    return answer in LETTERS[: len(options)] and len(answer) == 1


def _judge(
    key: str,
    category: str,
    question: dict[str, Any],
    outputs: Mapping[str, list[Response]],
    sample: int,
    config: EvalConfig,
    guess: bool,
) -> Verdict:
    listed = outputs.get(key, [])
    if sample >= len(listed):
        return Verdict(key, category, False, "no response", sample=sample)
    response = listed[sample]
    if response.problem or not isinstance(response.value, str):
        problem = response.problem or "not text"
        return Verdict(key, category, False, f"unreadable: {problem}", sample=sample)
    options = len(question["options"])
    if config.extraction == "boxed":
        answer = extract_boxed(response.value, options)
    else:
        answer = (extract_first if config.extraction == "lm-eval" else extract_letter)(response.value)
    guessed = answer is None and guess
    taken = answer
    if guessed:
        taken = LETTERS[random.Random(f"{config.seed}:{key}:{sample}").randrange(options)]
    correct = taken == question["answer"]
    reason = "" if correct else "nothing extracted" if answer is None else "wrong option"
    return Verdict(
        key, category, correct, reason, sample=sample, tokens=response.tokens, guessed=guessed, answer=answer
    )


def _gold(questions: dict[str, dict[str, Any]], extraction: str) -> dict[str, list[Response]]:
    found = {}
    for key, question in questions.items():
        letter = question["answer"]
        text = f"The answer is ({letter})."
        if extraction == "boxed":
            text = f"\\boxed{{{LETTERS.index(letter)}}}"
        found[key] = [Response(text, count_tokens(text))]
    return found
