"""Making libraries: branches, books of four kinds, events, and what a household has borrowed, reserved and owes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import (
    Shared,
    beside,
    best_later,
    cast_people,
    day_after,
    first_working_day,
    in_season,
    keep,
    load_people,
    meet,
)  # fmt: skip
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_branches"]

Table = dict[str, Record]
_new_id = Environment.new_id
_AUDIENCES = ("children", "teenagers", "adults", "families")


def _open_day(now: str, ahead: int) -> str:
    """Return a working day about so many days from now: nothing is due on a weekend."""
    return first_working_day(day_after(now, ahead))


def make_branches(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a library, a pure function of `rng` and `shared`; the user looks after the cards of three relatives."""
    people = load_people()
    moment = (
        f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(('08:10', '12:30', '17:45'))}"
    )
    now = keep(shared, "now", moment)
    given, family = rng.sample(people["given"], 24), rng.sample(people["family"], 18)
    user = cast_people([f"{given[0]} {family[0]}"], shared)[0]
    readers = [f"{one} {user.rsplit(' ', 1)[-1]}" for one in given[1:6] if not user.startswith(f"{one} ")][:3]
    authors = [f"{first} {last}" for first, last in zip(given[7:], family[1:], strict=False)]
    branches: Table = {}
    for place, name in enumerate(rng.sample(texts["branches"], 4)):
        branches[name] = {
            "branch": name, "address": f"{rng.choice(texts['streets'])} {rng.randint(2, 90)}",
            "closes": rng.choice(("18:00", "18:30", "19:00", "20:00", "21:00")),
            "closed_on": rng.choice(("Monday", "Wednesday", "Friday", "Sunday")),
            "metres": 400 + 900 * place + rng.randrange(0, 500, 50),
        }  # fmt: skip
    books = _books(rng, texts, authors, list(branches))
    situation = rng.choice(in_season(texts["situations"], now))
    details = {"user": user, "first": readers[0], "second": readers[1], "branch": next(iter(branches))}
    loans, holds = _cards(rng, readers, books, list(branches), now)
    tables: dict[str, Table] = {
        "branches": branches, "books": books, "loans": loans, "holds": holds, "places": {},
        "cards": {reader: {"reader": reader} for reader in (user, *readers)},
        "fines": _fines(rng, texts, readers), "events": _events(rng, texts, list(branches), now),
    }  # fmt: skip
    story = {
        "readers": readers, "branches": list(branches), "audiences": rng.sample(_AUDIENCES, 2),
        "subjects": rng.sample(sorted({book["subject"] for book in books.values()}), 3),
        "soon": day_after(now, rng.randint(9, 14)), **meet(shared),
    }  # fmt: skip
    facts = {"now": now, "user_name": user, "household": readers}
    title, description = (situation[part].format(**details) for part in ("title", "description"))
    return Seed(tables, title, description, facts, story)


def _books(rng: Random, texts: Any, authors: list[str], branches: list[str]) -> Table:
    """Sixteen books of four kinds, each on the shelf in some branches; for some of them others wait."""
    books: Table = {}
    lent = rng.sample(range(12, 400), 16)
    for subject in rng.sample(sorted(texts["books"]), 4):
        years, lent = sorted(rng.sample(range(1996, 2026), 4), reverse=True), lent[4:] + lent[:4]
        titles = rng.sample(texts["books"][subject], 4)
        for title, year, times in zip(titles, years, best_later(lent[:4]), strict=True):
            book_id = _new_id("bok", title)
            some = rng.sample(branches, rng.choice((0, 1, 1, 2, 2, 3)))
            shelved = [
                {"branch": one, "shelf": f"{rng.choice('ABCDEFGHK')}{rng.randint(2, 48)}"} for one in some
            ]
            books[book_id] = {
                "book_id": book_id, "title": title, "author": rng.choice(authors), "subject": subject,
                "year": year, "lent": times, "shelved": shelved,
                "waiting": rng.randint(1, 6) if not some and rng.random() < 0.6 else 0,
            }  # fmt: skip
    return books


def _cards(
    rng: Random, readers: list[str], books: Table, branches: list[str], now: str
) -> tuple[Table, Table]:
    """Three loans and two reservations a reader; what is reserved is on no shelf, and others wait for it, too."""
    loans, holds = Table(), Table()
    wanted = rng.sample(sorted(books), 6)
    for book_id in wanted:
        books[book_id].update(shelved=[], waiting=rng.randint(3, 8))
    free = rng.sample(sorted(set(books) - set(wanted)), 10)
    for place, reader in enumerate(readers):
        chosen = free[3 * place : 3 * place + 3]
        ages = rng.sample(range(9, 40), 3)
        for book_id, days, age in zip(chosen, rng.sample((2, 6, 9, 13, 16, 20), 3), ages, strict=True):
            loan_id = _new_id("lon", book_id, reader)
            loans[loan_id] = {
                "loan_id": loan_id, "book_id": book_id, "title": books[book_id]["title"], "reader": reader,
                "branch": rng.choice(branches), "borrowed": _open_day(now, -age - 3),
                "due": _open_day(now, days), "renewals": rng.choice((0, 0, 0, 1, 2)),
            }  # fmt: skip
        for book_id, position in zip(wanted[2 * place :][:2], rng.sample(range(1, 5), 2), strict=True):
            hold_id = _new_id("hld", book_id, reader)
            holds[hold_id] = {
                "hold_id": hold_id, "book_id": book_id, "title": books[book_id]["title"], "reader": reader,
                "branch": rng.choice(branches[:3]), "position": position,
            }  # fmt: skip
    return loans, holds


def _fines(rng: Random, texts: Any, readers: list[str]) -> Table:
    """Two or three fines a reader, for things that were returned long ago."""
    fines: Table = {}
    titles = iter(rng.sample(sorted(title for kind in texts["books"].values() for title in kind), 9))
    for reader in readers:
        for cents in rng.sample(range(80, 1500, 20), rng.randint(2, 3)):
            fine_id = _new_id("fin", reader, title := next(titles))
            causes = texts["causes"]["small" if cents < 500 else "large"]
            fine = {"fine_id": fine_id, "reader": reader, "title": title, "cause": rng.choice(causes)}
            fines[fine_id] = {**fine, "amount": cents / 100}
    return fines


def _events(rng: Random, texts: Any, branches: list[str], now: str) -> Table:
    """Three events for each audience on different days; some are full."""
    events: Table = {}
    for audience in _AUDIENCES:
        hours = ("18:30", "19:00", "19:30") if audience == "adults" else ("10:30", "15:00", "16:30")
        titles = rng.sample(texts["events"][audience], 3)
        for title, ahead in zip(titles, rng.sample(range(3, 24), 3), strict=True):
            event_id = _new_id("evt", title, audience)
            events[event_id] = {
                "event_id": event_id, "title": title, "audience": audience, "branch": rng.choice(branches),
                "start": f"{day_after(now, ahead)}T{rng.choice(hours)}",
                "places_left": rng.choice((0, 1, 2, 3, 5, 8, 12)),
            }  # fmt: skip
    return events


def _holds(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for reader in rng.sample(env.story["readers"], 2):
        yield {"reader": reader, "branch": rng.choice(env.story["branches"][:2])}
    yield {"reader": env.story["readers"][0], "branch": BOUND}


def _outings(env: Any, _rng: Random) -> Iterator[dict[str, Any]]:
    first, second = env.story["audiences"]
    yield {"audience": first}
    yield {"audience": second, "before": BOUND if beside(env.story, "travel") else env.story["soon"]}


def _each_reader(env: Any, rng: Random) -> list[dict[str, Any]]:
    return [{"reader": reader} for reader in rng.sample(env.story["readers"], 2)]


PROPOSALS: dict[str, Proposer] = {
    "find_library_books": lambda env, _rng: [{"subject": subject} for subject in env.story["subjects"]],
    "check_book_copies": lambda _env, _rng: [{}], "list_borrowed_books": _each_reader,
    "renew_book_loan": lambda _env, rng: [{}, {"weeks": rng.choice((1, 2, 4))}], "place_book_hold": _holds,
    "list_book_holds": _each_reader,
    "change_hold_branch": lambda env, _rng: [{"branch": env.story["branches"][3]}],
    "cancel_book_hold": lambda _env, _rng: [{}], "list_library_fines": _each_reader,
    "pay_library_fine": lambda _env, _rng: [{}],
    "get_library_branch": lambda env, _rng: [{"branch": env.story["branches"][0]}, {"branch": BOUND}],
    "list_library_events": _outings, "join_library_event": _each_reader,
}  # fmt: skip
