"""Pushing a run to annotators and bringing their answers back; the same steps with a server and without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from planarena.annotation.answers import (
    audit_folder,
    checked_values,
    replace_answers,
    write_lines,
)
from planarena.annotation.argilla import Argilla, Place
from planarena.annotation.corrections import Outcome, correct_run, offered_schemas
from planarena.annotation.forms import Answer, Form, FormName, Item, form
from planarena.annotation.labels import agreement_of, audit_rows, judge, judge_decisions
from planarena.annotation.offering import (
    choose,
    decision_ids,
    decision_items,
    longest,
    most_choices,
    trajectory_ids,
    trajectory_items,
)
from planarena.annotation.readings import answers_of_reading, is_reading
from planarena.annotation.sheet import read_sheet, write_sheet
from planarena.errors import RunError, UserError
from planarena.records import Run, read_rows, write_shard
from planarena.records.shards import write_durably
from planarena.records.tables import DecisionPointRow

__all__ = ["Plan", "Pulled", "Pushed", "export_run", "import_answers", "pull_run", "push_run"]

SHARD = "audit"
"""The name of the shard of the tables `audits` and `labels`."""

Progress = Callable[[str, int, int], None]
"""Called with the form's name, what is done and what there is to do."""


class Plan(NamedTuple):
    """What annotators shall get.

    Attributes:
        overlap: How many people judge each item.
        blind: The share of items without suggestions.
        limit: Most trajectories and most decision points; None for all.
        dataset: The datasets' common name; empty for the name of the run's folder.
        adjudicate: The trajectories that people disagree about, instead of everything.
    """

    overlap: int = 2
    blind: float = 0.2
    limit: int | None = None
    dataset: str = ""
    adjudicate: bool = False


class Pushed(NamedTuple):
    """What a push did to one dataset."""

    dataset: str
    items: int
    new: int
    changed: int


class Pulled(NamedTuple):
    """What the answers of a run come to.

    Attributes:
        answers: How many, by form.
        refused: Answers that cannot be used, and why.
        labels: Trajectories by label.
        waiting: Trajectories with fewer answers than wanted.
        disagreements: Trajectories that people disagree about and nobody has decided.
        repairable: Trajectories whose query was judged wrong.
        corrections: What became of corrected calls.
        agreement: As `labels.agreement_of` returns it.
    """

    answers: dict[str, int]
    refused: list[str]
    labels: dict[str, int]
    waiting: int
    disagreements: int
    repairable: int
    corrections: list[Outcome]
    agreement: dict[str, Any]


class _State(msgspec.Struct):
    """What `RUN/audit/state.json` remembers of pushes and exports."""

    overlap: int = 2
    dataset: str = ""


def _read_state(run: Run) -> _State:
    path = audit_folder(run) / "state.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=_State)
    except FileNotFoundError:
        return _State()
    except msgspec.MsgspecError as error:
        raise RunError(
            f"is damaged: {error}", where=str(path), fix="delete it and push or export again"
        ) from error


def _write_state(run: Run, plan: Plan) -> None:
    state = _State(plan.overlap, plan.dataset)
    write_durably(audit_folder(run) / "state.json", msgspec.json.encode(state) + b"\n")


def _check_plan(plan: Plan) -> None:
    if plan.overlap < 1:
        raise UserError("must be 1 or more", where="--overlap", fix="write --overlap 2")
    if not 0 <= plan.blind <= 1:
        raise UserError("must be from 0 to 1", where="--blind", fix="write --blind 0.2 for a fifth")
    if plan.limit is not None and plan.limit < 1:
        raise UserError("must be 1 or more", where="--limit", fix="leave it out for everything")


def _offers(run: Run, plan: Plan) -> Iterator[tuple[Form, int, int, Iterator[Item]]]:
    """Yield (form, overlap, number of items, items) of everything that a plan offers.

    Forms are as large as the whole run needs, so that a later push of more of it fits them.
    """
    steps = longest(run)
    if plan.adjudicate:
        told = _open_disagreements(run)
        if not told:
            raise UserError(
                "nobody disagrees",
                where=str(run.path),
                fix="pull the answers first: `planarena audit pull RUN`",
            )
        yield form("adjudication", steps), 1, len(told), trajectory_items(run, told, 0.0, told)
        return
    chosen = choose(trajectory_ids(run), plan.limit)
    yield form("trajectories", steps), plan.overlap, len(chosen), trajectory_items(run, chosen, plan.blind)
    points = choose(decision_ids(run), plan.limit)
    if points:
        yield (
            form("decisions", choices=most_choices(run)),
            plan.overlap,
            len(points),
            decision_items(run, points, plan.blind),
        )


def _open_disagreements(run: Run) -> dict[str, list[dict[str, Any]]]:
    path = audit_folder(run) / "disagreements.jsonl"
    if not path.is_file():
        return {}
    try:
        rows = [msgspec.json.decode(line, type=_Disagreement) for line in path.read_bytes().splitlines()]
    except msgspec.MsgspecError as error:
        raise RunError(
            f"the disagreements are damaged: {error}",
            where=str(path),
            fix="delete the file and pull or import again",
        ) from error
    return {row.trajectory_id: row.answers for row in rows if not row.settled}


class _Disagreement(msgspec.Struct):
    trajectory_id: str
    settled: bool
    answers: list[dict[str, Any]]


def dataset_name(run: Run, plan_name: str, asked: FormName) -> str:
    """Return the name of a run's dataset: letters that Argilla takes, and what it holds."""
    name = plan_name or run.path.resolve().name
    plain = "".join(one if one.isascii() and (one.isalnum() or one in "-_ ") else "-" for one in name)
    return f"{plain.strip('-_ ') or 'run'}-{asked}"


def push_run(run: Run, place: Place, plan: Plan, progress: Progress | None = None) -> list[Pushed]:
    """Push a run; what is there already and the same is not sent again.

    Args:
        run: The run.
        place: The Argilla.
        plan: What to push.
        progress: Told after each request.

    Raises:
        UserError: Argilla does not answer, refuses the key, or has a dataset of another schema.
        RunError: A shard is damaged.
    """
    _check_plan(plan)
    done = []
    with Argilla(place) as argilla:
        argilla.check()
        if not plan.adjudicate:
            _write_state(run, plan)
        for asked, overlap, number, items in _offers(run, plan):
            dataset = argilla.ensure_dataset(dataset_name(run, plan.dataset, asked.name), asked, overlap)
            new, changed = argilla.push(dataset, items, _telling(progress, asked.name, number))
            done.append(Pushed(dataset.name, number, new, changed))
    return done


def _telling(progress: Progress | None, name: str, number: int) -> Callable[[int], None] | None:
    return (lambda seen: progress(name, seen, number)) if progress else None


def pull_run(
    run: Run, place: Place, dataset: str = "", min_answers: int | None = None, *, correct: bool = True
) -> Pulled:
    """Pull the answers of a run, write its tables `audits` and `labels` and the reports in `RUN/audit`.

    Args:
        run: The run.
        place: The Argilla.
        dataset: The datasets' common name, where the push named one.
        min_answers: How many people a label needs; by default the overlap that was pushed.
        correct: Execute corrected calls.

    Raises:
        UserError: Argilla does not answer, refuses the key, or has no dataset of this run.
        RunError: The run is damaged.
    """
    state = _read_state(run)
    found: list[Answer] = []
    overlap = None
    seen = False
    with Argilla(place) as argilla:
        argilla.check()
        for name in ("trajectories", "decisions", "adjudication"):
            asked = form(name, 1, 1)  # the smallest: any dataset of the form has all that it asks
            there = argilla.find_dataset(dataset_name(run, dataset or state.dataset, asked.name), asked)
            if there is None:
                continue
            seen = True
            overlap = there.overlap if name == "trajectories" else overlap
            found += argilla.answers(there, asked)
    if not seen:
        raise UserError(
            f"there is no dataset {dataset_name(run, dataset or state.dataset, 'trajectories')!r}",
            where=place.url,
            fix=f"`planarena audit push {run.path}` makes it; --dataset names another",
        )
    return _take(
        run,
        f"argilla:{place.url}",
        found,
        min_answers or overlap or state.overlap,
        keep=False,
        correct=correct,
    )


def export_run(run: Run, folder: Path, plan: Plan) -> list[Path]:
    """Write the sheets of a run for people without a server.

    Args:
        run: The run.
        folder: Made where it is absent.
        plan: What to write.

    Returns:
        The files: a page and JSON lines for each form.

    Raises:
        RunError: A shard is damaged.
    """
    _check_plan(plan)
    if not plan.adjudicate:
        _write_state(run, plan)
    written = []
    for asked, _, _, items in _offers(run, plan):
        written += write_sheet(folder, asked, list(items), f"{run.path.resolve().name}: {asked.name}")
    return written


def import_answers(
    run: Run,
    paths: Sequence[Path],
    annotator: str = "",
    min_answers: int | None = None,
    *,
    correct: bool = True,
) -> Pulled:
    """Take answers from files; everything else is as after a pull.

    Args:
        run: The run.
        paths: Files that the sheet saved, or readings: see `answers_of_reading`.
        annotator: Whose answers they are, where the lines do not say.
        min_answers: How many people a label needs; by default the overlap of the export.
        correct: Execute corrected calls.

    Raises:
        UserError: A file is damaged or incomplete.
    """
    readings = [path for path in paths if is_reading(path)]
    sheets = [path for path in paths if path not in readings]
    found = [answer for path in readings for answer in answers_of_reading(path, annotator)]
    found += [answer for path in sheets for answer in read_sheet(path, annotator)]
    wanted = min_answers or _read_state(run).overlap
    return _take(run, "sheet", found, wanted, keep=True, correct=correct)


def _take(
    run: Run, source: str, found: Iterable[Answer], overlap: int, *, keep: bool, correct: bool
) -> Pulled:
    """Store answers, then derive everything from all answers of the run."""
    known = set(trajectory_ids(run))
    points = _points(run)
    usable, refused = [], []
    for answer in found:
        if answer.item_id not in (points if answer.form == "decisions" else known):
            refused.append(f"{answer.form} {answer.item_id}: not of this run")
            continue
        try:
            usable.append(checked_values(answer))
        except UserError as error:
            refused.append(f"{error.where}: {error.what}")
    every = replace_answers(run, source, usable, keep=keep)
    folder = audit_folder(run)
    judged = judge(every, overlap)
    about = {one.item_id for one in every if one.form != "decisions"}
    write_shard(run.path, "audits", SHARD, audit_rows(every, offered_schemas(run, about)))
    write_shard(run.path, "labels", SHARD, judged.labels)
    write_lines(folder / "disagreements.jsonl", judged.disagreements)
    write_lines(folder / "repairable.jsonl", judged.repairable)
    write_lines(folder / "decisions.jsonl", judge_decisions(every, points))
    agreement = agreement_of(every, points)
    write_durably(
        folder / "agreement.json", msgspec.json.format(msgspec.json.encode(agreement), indent=2) + b"\n"
    )
    outcomes = correct_run(run, every) if correct else []
    if correct:
        write_lines(folder / "corrections.jsonl", (one._asdict() for one in outcomes))
    counts: dict[str, int] = {}
    for row in judged.labels:
        counts[row.label] = counts.get(row.label, 0) + 1
    by_form: dict[str, int] = {}
    for one in every:
        by_form[one.form] = by_form.get(one.form, 0) + 1
    return Pulled(
        answers=by_form,
        refused=refused,
        labels=counts,
        waiting=len(judged.waiting),
        disagreements=sum(not one["settled"] for one in judged.disagreements),
        repairable=len(judged.repairable),
        corrections=outcomes,
        agreement=agreement,
    )


def _points(run: Run) -> dict[str, DecisionPointRow]:
    rows = (row for path in run.shards("decision_points") for row in read_rows(path, "decision_points"))
    return {row.decision_point_id: row for row in rows}
