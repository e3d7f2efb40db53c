"""The study's tasks: one, two or three errands in a house, drawn and split by what the request shows.

A pair of errands that follow each other in a held-out composition occurs in no training set; requests of a test set occur
in none either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from planarena.environments import World
from planarena.environments.domains.errands.environment import ITEMS, LEVELS, PEOPLE, ROOMS, Errands
from planarena.errors import UserError
from planarena.formats import Call
from planarena.records import content_id
from planarena.users import Message

__all__ = [
    "KINDS",
    "Exchange",
    "House",
    "Made",
    "Pools",
    "StudyTask",
    "composition_is_held_out",
    "draw",
    "draw_tasks",
    "look",
    "of_one_errand",
    "single_requests",
    "spoil",
]

_TASKS_PER_HOUSE = 8
_HELD_OUT_SHARE = 0.3
# The rarest request of one errand comes once in some 2,500 draws: so many in a row without a new one mean that there
# is none.
_MOST_MISSES = 25_000


class Errand(NamedTuple):
    """One errand: its words, and calls of which a later one takes the room that the first one shows."""

    words: str
    calls: tuple[Call, ...]
    asks: bool = False


class Exchange(NamedTuple):
    """A message of the user and what the assistant does until the next.

    Attributes:
        message: What the user says, and when.
        groups: Calls; those of one group go in one turn.
        answer: What the assistant says then: an answer, or a question back.
        instead: What a careless assistant calls in their place and then says to be done; None where nothing tempts it.
    """

    message: Message
    groups: tuple[tuple[Call, ...], ...]
    answer: str = "Done."
    instead: tuple[tuple[Call, ...], ...] | None = None


class Made(NamedTuple):
    """What is said and done, before it was executed; results of the calls in `asked` have to be seen."""

    exchanges: tuple[Exchange, ...]
    asked: tuple[Call, ...]


class StudyTask(NamedTuple):
    """A task with its gold.

    Attributes:
        kinds: Kinds of its errands in order: its composition.
        exchanges: The conversation; most tasks are one request.
        outputs: (tool, result) that the goal requires to have been seen.
        house: Number of its house.
    """

    kinds: tuple[str, ...]
    exchanges: tuple[Exchange, ...]
    outputs: tuple[tuple[str, dict[str, Any]], ...]
    house: int

    @property
    def query(self) -> str:
        """What the user says."""
        return " ".join(exchange.message.text for exchange in self.exchanges)

    @property
    def groups(self) -> tuple[tuple[Call, ...], ...]:
        """Gold calls; those of one group go in one turn."""
        return tuple(group for exchange in self.exchanges for group in exchange.groups)

    @property
    def actions(self) -> int:
        """The number of calls."""
        return sum(map(len, self.groups))

    def with_calls(self, groups: tuple[tuple[Call, ...], ...]) -> StudyTask:
        """Return the same request with other calls."""
        (request,) = self.exchanges
        return self._replace(exchanges=(request._replace(groups=groups),))


class House:
    """One initial state.

    Args:
        seed: Of the study.
        number: Of the house; with the seed it fixes everything.
    """

    def __init__(self, seed: int, number: int) -> None:
        self.number = number
        self.drawn = Errands.seed(_rng(seed, "house", number))
        self.world = World([Errands], [self.drawn])
        self.scenario_id = content_id("study house", self.world.digest(), number)


class Pools:
    """Names of which each occurs once in a task.

    Args:
        rng: Draws.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._left = {"item": list(ITEMS), "room": list(ROOMS), "person": list(PEOPLE)}

    def take(self, kind: str) -> str:
        """Return a name that was not taken yet.

        Args:
            kind: `item`, `room` or `person`.
        """
        left = self._left[kind]
        return left.pop(self.rng.randrange(len(left)))

    def claim(self, kind: str, name: str) -> bool:
        """Take a certain name; return whether it was there.

        Args:
            kind: As in `take`.
            name: Which one.
        """
        left = self._left[kind]
        if name not in left:
            return False
        left.remove(name)
        return True


def _rng(*key: Any) -> Random:
    return Random(int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest(), "big"))


def _carry(pools: Pools, _: World) -> Errand:
    item, room = pools.take("item"), pools.take("room")
    return Errand(f"carry the {item} to the {room}", (Call("carry", {"item": item, "room": room}),))


def _give(pools: Pools, _: World) -> Errand:
    item, person = pools.take("item"), pools.take("person")
    return Errand(f"give the {item} to {person}", (Call("give", {"item": item, "person": person}),))


def _lamp(pools: Pools, _: World) -> Errand:
    room, level = pools.take("room"), pools.rng.choice(LEVELS)
    return Errand(f"set the {room} lamp to {level}", (Call("lamp", {"room": room, "level": level}),))


def _lock(pools: Pools, _: World) -> Errand:
    room = pools.take("room")
    return Errand(f"lock the {room}", (Call("door", {"room": room, "state": "locked"}),))


def _heat(pools: Pools, _: World) -> Errand:
    room, degrees = pools.take("room"), pools.rng.randint(15, 24)
    return Errand(f"heat the {room} to {degrees}", (Call("heat", {"room": room, "degrees": degrees}),))


def _order(pools: Pools, _: World) -> Errand:
    item, count = pools.take("item"), pools.rng.randint(2, 9)
    return Errand(f"order {count} of the {item}", (Call("order", {"item": item, "count": count}),))


def _call(pools: Pools, _: World) -> Errand:
    person, hour = pools.take("person"), pools.rng.randint(2, 9)
    return Errand(f"call {person} at {hour}", (Call("call", {"person": person, "hour": hour}),))


def _where(pools: Pools, _: World) -> Errand:
    item = pools.take("item")
    return Errand(f"tell me where the {item} is", (Call("find", {"item": item}),), asks=True)


def _bring(pools: Pools, world: World) -> Errand:
    item, person = pools.take("item"), pools.take("person")
    room = look(world, "locate", {"person": person})
    calls = (Call("locate", {"person": person}), Call("carry", {"item": item, "room": room}))
    return Errand(f"bring the {item} to where {person} is", calls)


def _light(pools: Pools, world: World) -> Errand:
    item, level = pools.take("item"), pools.rng.choice(LEVELS)
    room = look(world, "find", {"item": item})
    calls = (Call("find", {"item": item}), Call("lamp", {"room": room, "level": level}))
    return Errand(f"set the lamp where the {item} is to {level}", calls)


def look(world: World, tool: str, arguments: dict[str, Any]) -> str:
    """Return the room that a tool shows."""
    return str(world.call(tool, arguments).result["room"])


KINDS: dict[str, Callable[[Pools, World], Errand]] = {
    "carry": _carry,
    "give": _give,
    "lamp": _lamp,
    "lock": _lock,
    "heat": _heat,
    "order": _order,
    "call": _call,
    "where": _where,
    "bring": _bring,
    "light": _light,
}


def single_requests() -> int:
    """Return how many requests of one errand there are; those of two are tens of thousands."""
    items, rooms, people, levels = len(ITEMS), len(ROOMS), len(PEOPLE), len(LEVELS)
    degrees, counts, hours = 10, 8, 8
    of_items = items * (
        rooms + people + counts + 1 + people + levels
    )  # carry, give, order, where, bring, light
    return of_items + rooms * (levels + 1 + degrees) + people * hours  # lamp, lock, heat; call


def of_one_errand(number: int, errands: Sequence[int]) -> int:
    """Return how many of so many tasks are of one errand."""
    whole, rest = divmod(number, len(errands))
    return whole * errands.count(1) + errands[:rest].count(1)


def composition_is_held_out(kinds: Sequence[str]) -> bool:
    """Say whether two errands follow each other that do so in no training set."""
    for left, right in pairwise(kinds):
        digest = blake2b(f"{left}>{right}".encode(), digest_size=4).digest()
        if int.from_bytes(digest, "big") / 2**32 < _HELD_OUT_SHARE:
            return True
    return False


def draw_tasks(
    number: int,
    *,
    seed: int,
    first_house: int,
    errands: Sequence[int] = (1, 2, 2, 3),
    unseen: bool = False,
    without: frozenset[str] = frozenset(),
) -> list[StudyTask]:
    """Draw tasks with requests that all differ.

    Args:
        number: How many.
        seed: Of the study.
        first_house: Number of the first house; sets with other houses share no initial state.
        errands: Numbers of errands in equal shares.
        unseen: Only held-out compositions; otherwise none.
        without: Requests that are not to be drawn.

    Raises:
        UserError: There are not so many requests.
    """

    def choose(rng: Random, size: int) -> tuple[str, ...]:
        while True:
            kinds = tuple(rng.choice(list(KINDS)) for _ in range(size))
            if composition_is_held_out(kinds) == unseen:
                return kinds

    # Tasks of one errand have no composition that could be held out.
    sizes = [size for size in errands if size > 1 or not unseen]
    key = ("tasks", first_house, number, unseen)
    return draw(
        number,
        seed=seed,
        key=key,
        first_house=first_house,
        sizes=sizes,
        choose=choose,
        make=_request,
        without=without,
    )


def draw(
    number: int,
    *,
    seed: int,
    key: tuple[Any, ...],
    first_house: int,
    sizes: Sequence[int],
    choose: Callable[[Random, int], tuple[str, ...]],
    make: Callable[[tuple[str, ...], Pools, World], Made],
    without: frozenset[str],
) -> list[StudyTask]:
    """Draw tasks whose calls all succeed and whose words all differ.

    Args:
        number: How many.
        seed: Of the study.
        key: With the seed it fixes what is drawn.
        first_house: Number of the first house.
        sizes: Numbers of parts in equal shares.
        choose: Draws a composition of so many parts.
        make: Makes a task of a composition.
        without: What is not to be said.

    Raises:
        UserError: There are not so many.
    """
    rng = _rng(seed, *key)
    found: list[StudyTask] = []
    seen = set(without)
    house = House(seed, first_house)
    misses = 0
    while len(found) < number:
        if misses > _MOST_MISSES:
            raise UserError(
                f"of {number} tasks only {len(found)} can be drawn: no further request of "
                f"{sizes[len(found) % len(sizes)]} errand(s) differs from all before",
                where="tasks of the study",
                fix="ask for fewer tasks or demonstrations",
            )
        misses += 1
        if house.number != first_house + len(found) // _TASKS_PER_HOUSE:
            house = House(seed, first_house + len(found) // _TASKS_PER_HOUSE)
        kinds = choose(rng, sizes[len(found) % len(sizes)])
        task = _executed(kinds, make(kinds, Pools(rng), house.world), house)
        if task is not None and task.query not in seen:
            seen.add(task.query)
            found.append(task)
            misses = 0
    return found


def _request(kinds: tuple[str, ...], pools: Pools, world: World) -> Made:
    drawn = [KINDS[kind](pools, world) for kind in kinds]
    words = drawn[0].words
    groups: list[tuple[Call, ...]] = [(call,) for call in drawn[0].calls]
    for before, errand in pairwise(drawn):
        together = pools.rng.random() < 0.5
        words += (" and " if together else ", then ") + errand.words
        if together and len(before.calls) == len(errand.calls) == 1:
            groups[-1] = (*groups[-1], *errand.calls)
        else:
            groups += [(call,) for call in errand.calls]
    message = Message(calls=True, text=words[0].upper() + words[1:] + ".")
    asked = tuple(errand.calls[0] for errand in drawn if errand.asks)
    return Made((Exchange(message, tuple(groups)),), asked)


def _executed(kinds: tuple[str, ...], made: Made, house: House) -> StudyTask | None:
    """Return a task with what it requires to be seen; None where a call of it fails."""
    outputs: list[tuple[str, dict[str, Any]]] = []
    world, start = house.world, house.world.mark()
    for exchange in made.exchanges:
        for call in (call for group in exchange.groups for call in group):
            outcome = world.call(call.name, call.arguments)
            if outcome.status != "ok":
                world.rollback(start)
                return None
            if call in made.asked:
                outputs.append((call.name, outcome.result))
    world.rollback(start)
    return StudyTask(kinds, made.exchanges, tuple(outputs), house.number)


def spoil(task: StudyTask, rng: Random) -> tuple[tuple[Call, ...], ...]:
    """Return the calls of a faulty demonstration: it stops early, or leaves one call out; one call is left as it is."""
    calls = [call for group in task.groups for call in group]
    if len(calls) < 2:
        return task.groups
    if rng.random() < 0.5:
        kept = calls[: rng.randrange(1, len(calls))]
        return tuple((call,) for call in kept)
    # Without its look a chain still does what it should: the faulty demonstration would know what nobody said.
    acting = [place for place, call in enumerate(calls) if call.name not in ("find", "locate")]
    gone = rng.choice(acting or range(len(calls)))
    return tuple(
        tuple(call for call in group if call is not calls[gone])
        for group in task.groups
        if any(call is not calls[gone] for call in group)
    )
