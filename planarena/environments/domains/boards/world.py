"""Making project boards: three boards of one team, with cards in four columns, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from random import Random
from typing import Any, cast

from planarena.environments.contract import BOUND, Environment, Seed, proposals
from planarena.environments.domains.shared import (
    Shared,
    beside,
    cast_people,
    keep,
    load_people,
    mail_of,
    meet,
)
from planarena.environments.state import Record

__all__ = ["BoardsScenario"]

Table = dict[str, Record]
_COLUMNS = ("backlog", "backlog", "backlog", "backlog", "in progress", "in progress", "in progress",
            "review", "review", "done", "done")  # fmt: skip
_new_id = Environment.new_id


def working_days(today: date, number: int) -> list[str]:
    """Return the next working days, tomorrow's or the first after it at the head."""
    days: list[str] = []
    while len(days) < number:
        today += timedelta(days=1)
        if today.weekday() < 5:
            days.append(today.isoformat())
    return days


def make_boards(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make three boards of one team, a pure function of `rng` and `shared`."""
    people = load_people()
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), rng.randint(8, 11), 30)
    now = datetime.fromisoformat(keep(shared, "now", now.isoformat()))
    days = working_days(now.date(), 10)
    given, family = rng.sample(people["given"], 11), rng.sample(people["family"], 11)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user, *team = cast_people(names, shared)
    # The first three belong to every board, the last two to none.
    core, others = team[:3], team[3:8]
    themes = rng.sample(sorted(texts["themes"]), 3)
    boards: Table = {}
    cards: Table = {}
    items: Table = {}
    for theme in themes:
        members = [user, *core, *rng.sample(others, 2)]
        boards[theme] = {"name": theme, "members": members}
        titles = rng.sample(texts["themes"][theme]["cards"], 11)
        for title, column in zip(titles, _COLUMNS, strict=True):
            card_id = _new_id("crd", theme, title)
            held = column != "backlog" or rng.random() < 0.3
            late = column != "done" and rng.random() < 0.12
            cards[card_id] = {
                "card_id": card_id,
                "title": title,
                "board": theme,
                "column": column,
                "creator": rng.choice(members[1:]),
                "assignee": rng.choice(members) if held else "nobody",
                "due": (now.date() - timedelta(days=rng.randint(1, 6))).isoformat()
                if late
                else rng.choice(days),
            }
            for text in rng.sample(texts["themes"][theme]["steps"], rng.randint(1, 2)):
                item_id = _new_id("itm", card_id, text)
                done = column == "done" or rng.random() < 0.2
                items[item_id] = {"item_id": item_id, "card_id": card_id, "text": text, "done": done}
    situation = rng.choice(texts["situations"])
    told = {"user": user, "board": themes[0], "person": core[0]}
    return Seed(
        {"boards": boards, "cards": cards, "items": items, "comments": {}},
        situation["title"].format(**told),
        situation["description"].format(**told),
        {"now": now.isoformat(timespec="minutes"), "user_name": user},
        {
            "boards": themes,
            "core": core,
            "outsiders": team[8:],
            "days": days,
            **meet(shared, team[:6], {name: mail_of(name, "example.com", shared) for name in team}),
        },
    )


class BoardsScenario(Environment):
    """A team's boards, and what whoever runs the projects would ask for."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make three boards of one team."""
        return make_boards(cls.seeds(), rng, shared)

    def _steps(self, rng: Random, number: int) -> list[str]:
        """Return lines for checklists that suit a card of any board."""
        return rng.sample(cast(list[str], self.seeds()["new_steps"]), number)

    @proposals("list_board_cards")
    def _propose_list(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample(self.story["boards"], 2)
        yield {"board": first, "column": rng.choice(("backlog", "in progress"))}
        yield {"board": second, "column": "review"}

    @proposals("list_due_cards")
    def _propose_due(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample(self.story["days"][2:7], 2)
        yield {"until": first}
        yield {"until": second, "board": rng.choice(self.story["boards"])}

    @proposals("open_board_card")
    def _propose_open(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("create_board_card")
    def _propose_create(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample(self.story["boards"], 2)
        yield {"board": first, "title": rng.choice(self.seeds()["themes"][first]["new"]), "due": BOUND}
        title = rng.choice(self.seeds()["themes"][second]["new"])
        yield {"board": second, "title": title, "due": rng.choice(self.story["days"][3:])}

    @proposals("move_board_card")
    def _propose_move(self, rng: Random) -> Iterator[dict[str, Any]]:
        # Not both of the first two: what has just been begun is not reviewed in the same breath.
        yield {"column": rng.choice(("in progress", "review"))}
        yield {"column": "done"}

    @proposals("assign_board_card")
    def _propose_assign(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"member": rng.choice(self.story["core"])}
        yield {"member": BOUND}

    @proposals("find_least_busy_member")
    def _propose_busy(self, rng: Random) -> Iterator[dict[str, Any]]:
        for board in rng.sample(self.story["boards"], 2):
            yield {"board": board}

    @proposals("add_board_member")
    def _propose_member(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = self.story["outsiders"][:2]
        board, other = rng.sample(self.story["boards"], 2)
        yield {"board": board, "name": first}
        yield {"board": other, "name": BOUND if beside(self.story, "calendar") else second}

    @proposals("set_card_due_date")
    def _propose_due_date(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"due": rng.choice(self.story["days"][4:])}
        yield {"due": BOUND}

    @proposals("add_checklist_item")
    def _propose_item(self, rng: Random) -> Iterator[dict[str, Any]]:
        for text in self._steps(rng, 2):
            yield {"text": text}

    @proposals("tick_checklist_item")
    def _propose_tick(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("comment_on_card")
    def _propose_comment(self, rng: Random) -> Iterator[dict[str, Any]]:
        # One only: nobody leaves two remarks on a card in one go.
        yield {"text": rng.choice(self.seeds()["comments"]).format(day=rng.choice(self.seeds()["days"]))}
