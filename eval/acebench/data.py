"""The items of ACEBench: 17 categories in two languages, each with its answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from planarena.errors import UserError
from planarena.eval.responses import read_rows

__all__ = ["AGENT", "MULTI_TURN", "NORMAL", "SPECIAL", "WHOLE", "AceItem", "read_items"]

_ATOMS = tuple(
    f"normal_atom_{name}" for name in ("bool", "enum", "number", "list", "object_deep", "object_short")
)
MULTI_TURN = ("normal_multi_turn_user_switch", "normal_multi_turn_user_adjust")
NORMAL = (
    "normal_single_turn_single_function", "normal_single_turn_parallel_function", *MULTI_TURN, "normal_similar_api",
    "normal_preference", *_ATOMS,
)  # fmt: skip
SPECIAL = ("special_incomplete", "special_error_param", "special_irrelevant")
AGENT = ("agent_multi_turn", "agent_multi_step")
WHOLE = {
    "en": {
        "normal_single_turn_single_function": 100, "normal_single_turn_parallel_function": 100,
        "normal_multi_turn_user_switch": 100, "normal_multi_turn_user_adjust": 123, "normal_similar_api": 50,
        "normal_preference": 50, **dict.fromkeys(_ATOMS, 50), **dict.fromkeys(SPECIAL, 50), "agent_multi_turn": 30,
        "agent_multi_step": 20,
    },
    "zh": {},
}  # fmt: skip


class AceItem(NamedTuple):
    """One item.

    Attributes:
        id: As the benchmark names it.
        category: One of the 17.
        row: The question with its functions, and of agents the classes and what they begin with.
        answer: What is right.
        milestones: Of agents, the calls on the way.
    """

    id: str
    category: str
    row: dict[str, Any]
    answer: Any
    milestones: list[Any]

    @property
    def dialogue(self) -> str:
        """Of a step in a dialogue, the dialogue; else the item itself."""
        return self.id.rpartition("_")[0] if self.category in MULTI_TURN else self.id


def read_items(folder: Path, language: str) -> dict[str, list[AceItem]]:
    """Read the items of a language by category.

    Raises:
        UserError: No such files, or an item without an answer.
    """
    place = folder / "data_all" / f"data_{language}"
    place = place if place.is_dir() else folder
    found: dict[str, list[AceItem]] = {}
    for category in (*NORMAL, *SPECIAL, *AGENT):
        file = place / f"data_{category}.json"
        if file.is_file():
            answers = {
                str(row["id"]): row for row in _rows(place / "possible_answer" / file.name, "ground_truth")
            }
            rows = _rows(file, "question")
            if missing := [row["id"] for row in rows if str(row["id"]) not in answers]:
                raise UserError(
                    f"the item {missing[0]} has no answer", where=str(file), fix="complete possible_answer/"
                )
            found[category] = [_item(category, row, answers[str(row["id"])]) for row in rows]
    if not found:
        raise UserError(
            "holds no items of ACEBench",
            where=str(place),
            fix="give the repository's folder, or fetch it: planarena eval --fetch acebench",
        )
    return found


def _item(category: str, row: dict[str, Any], answer: dict[str, Any]) -> AceItem:
    return AceItem(
        str(row["id"]), category, row, answer["ground_truth"], list(answer.get("mile_stone") or ())
    )


def _rows(file: Path, needed: str) -> list[dict[str, Any]]:
    rows = []
    for number, (row, problem) in enumerate(read_rows(file)):
        if row is None or problem or "id" not in row or needed not in row:
            raise UserError(
                f"holds a row that cannot be used: {problem or f'it has no id or no {needed}'}",
                where=f"{file}, row {number + 1}",
                fix="fetch it again: planarena eval --fetch acebench",
            )
        rows.append(row)
    return rows
