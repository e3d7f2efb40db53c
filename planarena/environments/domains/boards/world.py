"""Making project boards: three boards of one team, with cards in four columns, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as scenes
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_boards"]

_COLUMNS = ("backlog", "backlog", "backlog", "backlog", "in progress", "in progress", "in progress",
            "review", "review", "done", "done")  # fmt: skip
_new_id = Environment.new_id


def make_boards(texts: Any, rng: Random, shared: scenes.Shared | None = None) -> Seed:
    """Make three boards of one team, a pure function of `rng` and `shared`."""
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), rng.randint(8, 11), 30)
    now = datetime.fromisoformat(scenes.keep(shared, "now", now.isoformat()))
    days = [scenes.working_day(now.isoformat(), ahead) for ahead in range(1, 11)]
    user, *team = scenes.draw_people(rng, 11, shared)
    # The first three belong to every board, the last two to none.
    core, others = team[:3], team[3:8]
    themes = rng.sample(sorted(texts["themes"]), 3)
    tables: dict[str, dict[str, Record]] = {"boards": {}, "cards": {}, "items": {}, "comments": {}}
    for theme in themes:
        members = [user, *core, *rng.sample(others, 2)]
        tables["boards"][theme] = {"name": theme, "members": members}
        _fill_board(tables, theme, members, texts["themes"][theme], (now.date(), days), rng)
    situation = rng.choice(scenes.in_season(texts["situations"], now.isoformat()))
    told = {"user": user, "board": themes[0], "person": core[0]}
    mails = {name: scenes.mail_of(name, "example.com", shared) for name in team}
    return Seed(
        tables,
        situation["title"].format(**told),
        situation["description"].format(**told),
        {"now": now.isoformat(timespec="minutes"), "user_name": user},
        {
            "boards": themes,
            "core": core,
            "outsiders": team[8:],
            "days": days,
            **scenes.meet(shared, team[:6], mails),
        },
    )


def _fill_board(
    tables: dict[str, dict[str, Record]],
    theme: str,
    members: list[str],
    texts: Mapping[str, Any],
    when: tuple[date, list[str]],
    rng: Random,
) -> None:
    """Put cards with their checklists on a board; some are late, and most of the backlog belongs to nobody."""
    today, days = when
    for title, column in zip(rng.sample(texts["cards"], 11), _COLUMNS, strict=True):
        card_id = _new_id("crd", theme, title)
        held = column != "backlog" or rng.random() < 0.3
        late = column != "done" and rng.random() < 0.12
        tables["cards"][card_id] = {
            "card_id": card_id,
            "title": title,
            "board": theme,
            "column": column,
            "creator": rng.choice(members[1:]),
            "assignee": rng.choice(members) if held else "nobody",
            "due": str(today - timedelta(days=rng.randint(1, 6))) if late else rng.choice(days),
        }
        for text in rng.sample(texts["steps"], rng.randint(1, 2)):
            item_id = _new_id("itm", card_id, text)
            done = column == "done" or rng.random() < 0.2
            tables["items"][item_id] = {"item_id": item_id, "card_id": card_id, "text": text, "done": done}


def _columns(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["boards"], 2)
    yield {"board": first, "column": rng.choice(("backlog", "in progress"))}
    yield {"board": second, "column": "review"}


def _due(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    board = rng.choice(env.story["boards"])
    cards = [card for card in env.state.scan("cards") if card["column"] != "done"]
    own = [card for card in cards if card["board"] == board]
    yield {"until": _readable(cards, env.story["days"][:7], rng)}
    yield {"until": _readable(own, env.story["days"][:7], rng), "board": board}


def _readable(cards: list[Record], days: list[str], rng: Random) -> str:
    """Return a day until which so few cards are due that all can be read out: five, or as few as there can be."""
    few = [day for day in days if 0 < sum(card["due"] <= day for card in cards) <= 5]
    return str(rng.choice(few or days[:1]))


def _new_cards(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["boards"], 2)
    themes = env.seeds()["themes"]
    # The day of another card may be meant, but not that of a task in a calendar, which has nothing to do with it.
    due = rng.choice(env.story["days"][2:]) if scenes.beside(env.story, "calendar") else BOUND
    yield {"board": first, "title": rng.choice(themes[first]["new"]), "due": due}
    title = rng.choice(themes[second]["new"])
    yield {"board": second, "title": title, "due": rng.choice(env.story["days"][3:])}


def _new_members(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = env.story["outsiders"][:2]
    board, other = rng.sample(env.story["boards"], 2)
    yield {"board": board, "name": first}
    yield {"board": other, "name": BOUND if scenes.beside(env.story, "calendar") else second}


def _comments(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    # One only: nobody leaves two remarks on a card in one go.
    yield {"text": rng.choice(env.seeds()["comments"]).format(day=rng.choice(env.seeds()["days"]))}


PROPOSALS: dict[str, Proposer] = {
    "list_board_cards": _columns,
    "list_due_cards": _due,
    "open_board_card": lambda _env, _rng: [{}],
    "create_board_card": _new_cards,
    # Not both of the first two: what has just been begun is not reviewed in the same breath.
    "move_board_card": lambda _env, rng: [
        {"column": rng.choice(("in progress", "review"))},
        {"column": "done"},
    ],
    "assign_board_card": lambda env, rng: [{"member": rng.choice(env.story["core"])}, {"member": BOUND}],
    "find_least_busy_member": lambda env, rng: [{"board": one} for one in rng.sample(env.story["boards"], 2)],
    "add_board_member": _new_members,
    "set_card_due_date": lambda env, rng: [{"due": rng.choice(env.story["days"][4:])}, {"due": BOUND}],
    "add_checklist_item": lambda env, rng: [
        {"text": text} for text in rng.sample(env.seeds()["new_steps"], 2)
    ],
    "tick_checklist_item": lambda _env, _rng: [{}],
    "comment_on_card": _comments,
}
