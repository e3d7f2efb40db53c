r"""MMLU-Pro: 12,032 questions of up to ten options; what an output answers, in linear time.

Its own script tries three patterns in turn: the first `answer is (X)`; `.*[aA]nswer:\s*X`; the last letter
that stands alone; and guesses where all fail. Its second and third pattern take quadratic time. The functions
here give the same letters in linear time. One deviation: a guess is drawn from the seed and the question, where
the script draws from one generator in file order, so a guess does not depend on the questions before it.

One question, as published::

    {"question_id": 70, "question": "Typical advertising regulatory bodies suggest ...", "options": ["Safe practices, Fear",
     "..."], "answer": "I", "answer_index": 8, "category": "business", "cot_content": "", "src": "..."}

A result file's row is the question with the output under `model_outputs`, `generated_text` or `response`, and `pred`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from planarena.bench import Asked
from planarena.errors import UserError
from planarena.eval.config import EvalConfig
from planarena.eval.items import Shown
from planarena.eval.mathematics import answer_of, last_boxed, math_opening
from planarena.eval.models.dialogues import Exchange, Item
from planarena.eval.responses import ENDINGS, Response, Responses, count_tokens, read_responses, read_rows
from planarena.eval.results import SuiteResult, Verdict
from planarena.eval.tables import build_rows, finish, micro_average, unjudged
from planarena.llm import load_prompt

__all__ = ["ask", "describe", "extract_boxed", "extract_first", "extract_letter", "score"]

LETTERS = "ABCDEFGHIJ"
_WHOLE = {
    "biology": 717, "business": 789, "chemistry": 1132, "computer science": 410, "economics": 844, "engineering": 969,
    "health": 818, "history": 381, "law": 1101, "math": 1351, "other": 924, "philosophy": 499, "physics": 1299,
    "psychology": 798,
}  # fmt: skip
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
    """CHORD's variant: the last boxed number, counted from 0, as a letter."""
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
        whole=_WHOLE,
        units="questions",
    )
    return result, outputs


def _questions(
    suite: str, config: EvalConfig, responses: Responses | None
) -> tuple[dict[str, dict[str, Any]], str]:
    """The questions by id: from --data, else from the outputs' own rows, as MMLU-Pro's result files have them."""
    found: dict[str, dict[str, Any]] = {}
    if suite in config.data:
        revision = f"the questions of {config.data[suite]}"
        for file in _files(Path(config.data[suite]))[0]:
            for number, (row, problem) in enumerate(read_rows(file)):
                key = None if row is None or problem else row.get("question_id", row.get("id"))
                if row is None or key is None or str(key) in found or not _is_question(row):
                    raise UserError(
                        "holds a row that is no question, or one twice",
                        where=f"{file}, row {number + 1}",
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


def _files(path: Path) -> tuple[list[Path], list[Path]]:
    """The files of questions, and those of worked examples: of a folder, which have validation in their names."""
    if not path.is_dir():
        return [path], []
    files = sorted(file for file in path.rglob("*") if file.name.endswith((*ENDINGS, ".parquet")))
    if not files:
        raise UserError("holds no file of questions", where=str(path), fix="give test and validation files")
    examples = [file for file in files if "validation" in file.name]
    return [file for file in files if file not in examples], examples


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
    if (absent := unjudged(key, category, outputs, sample)) is not None:
        return absent
    response = outputs[key][sample]
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


def show_question(question: dict[str, Any]) -> Shown:
    """Return what a question asked for."""
    text = f"{question.get('question', '')}\n{_lettered(question)}"
    return Shown([{"role": "user", "content": text}], [], question.get("answer"))


def describe(suite: str, config: EvalConfig, ids: Sequence[str]) -> dict[str, Shown]:
    """Return what each question asked for; questions in the outputs' own rows are read there again."""
    if suite not in config.data:
        if config.responses in (None, "gold"):
            return {}
        rows = read_responses(Path(str(config.responses)), suite, config.samples).rows
        return {key: show_question(rows[key]) for key in ids if key in rows}
    questions, _ = _questions(suite, config, None)
    return {key: show_question(questions[key]) for key in ids if key in questions}


# --- asking ------------------------------------------------------------------------------------------


@contextmanager
def ask(suite: str, config: EvalConfig) -> Iterator[Callable[[str], list[Item]]]:
    """Open the questions for a model: one reply each, after worked examples of the same category.

    With the extraction `boxed` there are no examples, options are numbered from 0 and the answer goes into a box,
    as CHORD has it.

    Raises:
        UserError: No questions, or too few worked examples of a category.
    """
    if suite not in config.data:
        raise UserError(
            "MMLU-Pro is not shipped with planarena",
            where=suite,
            fix="give its folder of test and validation files: --data mmlu-pro=FOLDER",
        )
    questions, _ = _questions(suite, config, None)
    listed: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for key, question in questions.items():
        if not isinstance(question.get("question"), str):
            raise UserError(
                f"the question {key} has no text",
                where=config.data[suite],
                fix='{"question_id": ..., "question": ..., "options": [...], "answer": "A", "category": ...}',
            )
        listed.setdefault(str(question.get("category", "all")), []).append((key, question))
    shots = 0 if config.extraction == "boxed" else config.generation.shots
    examples = _examples(suite, config, shots, listed)

    def items(form: str) -> list[Item]:
        return [
            Item(key, partial(_talk, config, form, key, question, examples.get(category, "")))
            for category, rows in sorted(listed.items())
            for key, question in rows[: config.limit]
        ]

    yield items


def _examples(suite: str, config: EvalConfig, shots: int, wanted: Mapping[str, object]) -> dict[str, str]:
    """The worked examples of each category as text; each is a row of the validation file with `cot_content`."""
    if not shots:
        return {}
    found: dict[str, list[str]] = {}
    for file in _files(Path(config.data[suite]))[1]:
        for row, problem in read_rows(file):
            if row is None or problem or not _is_question(row):
                continue
            thought = str(row.get("cot_content") or "").removeprefix("A: ")
            if thought:
                text = f"Question:\n{row.get('question')}\nOptions:\n{_lettered(row)}\nAnswer: {thought}\n\n"
                found.setdefault(str(row.get("category", "all")), []).append(text)
    lacking = sorted(category for category in wanted if len(found.get(category, [])) < shots)
    if lacking:
        raise UserError(
            f"there are not {shots} worked examples of {lacking[0]}"
            + (f" and {len(lacking) - 1} other categories" if len(lacking) > 1 else ""),
            where=config.data[suite],
            fix="give a folder with the test file and the validation file (rows with cot_content), "
            "or ask without examples: --set generation.shots=0",
        )
    return {category: "".join(texts[:shots]) for category, texts in found.items()}


def _lettered(question: dict[str, Any]) -> str:
    return "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, question["options"], strict=False))


def _talk(
    config: EvalConfig, form: str, key: str, question: dict[str, Any], examples: str, sample: int
) -> Exchange:
    if config.extraction == "boxed":
        numbered = "\n".join(f"{place}. {text}" for place, text in enumerate(question["options"]))
        text = load_prompt("eval_mmlu_pro_boxed").user(question=question["question"], options=numbered)
    else:
        text = load_prompt("eval_mmlu_pro").user(
            category=str(question.get("category", "all")),
            examples=examples,
            question=question["question"],
            options=_lettered(question),
        )
    opening = math_opening(form) if config.extraction == "boxed" else ()
    reply = yield Asked(id=key, messages=(*opening, {"role": "user", "content": text}), sample=sample)
    return answer_of(form, reply.text)
