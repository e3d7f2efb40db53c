"""The study's conversations: something is missing, a change of mind, a reference to an answer; and what spoils them.

A user of such a conversation is scripted (`planarena.users`): what is left out is said only when the assistant asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from planarena.environments import World
from planarena.environments.domains.errands.environment import LEVELS
from planarena.eval.algorithms.data import (
    Exchange,
    Made,
    Pools,
    StudyTask,
    composition_is_held_out,
    draw,
    look,
)
from planarena.formats import Call
from planarena.users import Message

__all__ = ["AIMS", "draw_conversations", "spoil_conversation"]

_DONE = "Done."


class _Wish(NamedTuple):
    """A call with one value that may be left out or corrected.

    Attributes:
        tool: Its tool.
        known: Arguments that are said at once.
        name: The other argument.
        value: Its value.
        words: The request with `{0}` for the value.
        bare: The request without it.
        question: What the assistant asks then.
        answer: What the user says to that, with `{0}`.
        other: Draws another value.
    """

    tool: str
    known: Mapping[str, object]
    name: str
    value: object
    words: str
    bare: str
    question: str
    answer: str
    other: Callable[[], object]

    def call(self, value: object) -> Call:
        return Call(self.tool, {**self.known, self.name: value})


def _carry(pools: Pools) -> _Wish:
    item = pools.take("item")
    return _Wish(
        tool="carry",
        known={"item": item},
        name="room",
        value=pools.take("room"),
        words=f"Carry the {item} to the {{0}}.",
        bare=f"Carry the {item} to another room.",
        question="To which room?",
        answer="To the {0}.",
        other=lambda: pools.take("room"),
    )


def _give(pools: Pools) -> _Wish:
    item = pools.take("item")
    return _Wish(
        tool="give",
        known={"item": item},
        name="person",
        value=pools.take("person"),
        words=f"Give the {item} to {{0}}.",
        bare=f"Give the {item} to somebody.",
        question="To whom?",
        answer="To {0}.",
        other=lambda: pools.take("person"),
    )


def _lamp(pools: Pools) -> _Wish:
    room, level = pools.take("room"), pools.rng.choice(LEVELS)
    return _Wish(
        tool="lamp",
        known={"room": room},
        name="level",
        value=level,
        words=f"Set the {room} lamp to {{0}}.",
        bare=f"Change the {room} lamp.",
        question="To which level?",
        answer="To {0}.",
        other=lambda: pools.rng.choice([one for one in LEVELS if one != level]),
    )


def _heat(pools: Pools) -> _Wish:
    room, degrees = pools.take("room"), pools.rng.randint(15, 24)
    others = [one for one in range(15, 25) if one != degrees]
    return _Wish(
        tool="heat",
        known={"room": room},
        name="degrees",
        value=degrees,
        words=f"Heat the {room} to {{0}}.",
        bare=f"Heat the {room}.",
        question="To how many degrees?",
        answer="To {0}.",
        other=lambda: pools.rng.choice(others),
    )


def _order(pools: Pools) -> _Wish:
    item, count = pools.take("item"), pools.rng.randint(2, 9)
    others = [one for one in range(2, 10) if one != count]
    return _Wish(
        tool="order",
        known={"item": item},
        name="count",
        value=count,
        words=f"Order {{0}} of the {item}.",
        bare=f"Order some of the {item}.",
        question="How many?",
        answer="Order {0}.",
        other=lambda: pools.rng.choice(others),
    )


def _call(pools: Pools) -> _Wish:
    person, hour = pools.take("person"), pools.rng.randint(2, 9)
    others = [one for one in range(2, 10) if one != hour]
    return _Wish(
        tool="call",
        known={"person": person},
        name="hour",
        value=hour,
        words=f"Call {person} at {{0}}.",
        bare=f"Call {person}.",
        question="At which hour?",
        answer="At {0}.",
        other=lambda: pools.rng.choice(others),
    )


_WISHES: dict[str, Callable[[Pools], _Wish]] = {
    "carry": _carry,
    "give": _give,
    "lamp": _lamp,
    "heat": _heat,
    "order": _order,
    "call": _call,
}
# What is ordered or planned twice stands there twice.
_CORRECTABLE = ("carry", "give", "lamp", "heat")


def _plain(kind: str, pools: Pools, _: World) -> tuple[Exchange, ...]:
    return (_said(_WISHES[kind](pools)),)


def _said(wish: _Wish) -> Exchange:
    text = wish.words.format(wish.value)
    return Exchange(Message(calls=True, text=text), ((wish.call(wish.value),),))


def _missing(kind: str, pools: Pools, _: World) -> tuple[Exchange, ...]:
    wish = _WISHES[kind](pools)
    given = Message(
        when="asked",
        label=wish.name,
        calls=True,
        text=wish.answer.format(wish.value),
        values=(str(wish.value),),
    )
    wrong = wish.call(wish.other())
    return (
        Exchange(Message(text=wish.bare), (), wish.question, instead=((wrong,),)),
        Exchange(given, ((wish.call(wish.value),),)),
    )


def _corrected(kind: str, pools: Pools, _: World) -> tuple[Exchange, ...]:
    wish = _WISHES[kind](pools)
    other = wish.other()
    words = wish.answer.format(other)
    text = f"No, {words[0].lower()}{words[1:]}"
    corrects = Message(calls=True, text=text, values=(str(other),))
    return (_said(wish), Exchange(corrects, ((wish.call(other),),), instead=()))


def _followed(kind: str, pools: Pools, world: World) -> tuple[Exchange, ...]:
    item = pools.take("item")
    # What another wish does there would hide what is missed here.
    while not pools.claim("room", room := look(world, "find", {"item": item})):
        item = pools.take("item")
    find = Call("find", {"item": item})
    if kind == "heat":
        degrees = pools.rng.randint(15, 24)
        words, then = f"Heat that room to {degrees}.", Call("heat", {"room": room, "degrees": degrees})
    elif kind == "lamp":
        level = pools.rng.choice(LEVELS)
        words, then = f"Set the lamp there to {level}.", Call("lamp", {"room": room, "level": level})
    else:
        other = pools.take("item")
        words, then = f"Carry the {other} there too.", Call("carry", {"item": other, "room": room})
    return (
        Exchange(Message(calls=True, text=f"Where is the {item}?"), ((find,),), f"In the {room}."),
        Exchange(Message(calls=True, text=words), ((then,),)),
    )


# The name of an aim -> the kind of its errand, and what makes it.
AIMS: dict[str, tuple[str, Callable[[str, Pools, World], tuple[Exchange, ...]]]] = {
    **{kind: (kind, _plain) for kind in _WISHES},
    **{f"{kind} what?": (kind, _missing) for kind in _WISHES},
    **{f"{kind}, no": (kind, _corrected) for kind in _CORRECTABLE},
    **{f"find, {kind}": (kind, _followed) for kind in ("heat", "lamp", "carry")},
}
# A conversation has several messages of the user.
_OF_SEVERAL = tuple(name for name, (_, make) in AIMS.items() if make is not _plain)


def draw_conversations(
    number: int,
    *,
    seed: int,
    first_house: int,
    aims: Sequence[int] = (1, 2, 2, 3),
    unseen: bool = False,
    without: frozenset[str] = frozenset(),
) -> list[StudyTask]:
    """Draw conversations of two and more messages of the user, which all differ.

    Args:
        number: How many.
        seed: Of the study.
        first_house: Number of the first house; sets with other houses share no initial state.
        aims: Numbers of aims in equal shares.
        unseen: Only compositions of which two aims follow each other in no training set; otherwise none.
        without: Conversations that are not to be drawn.
    """

    def choose(rng: Random, size: int) -> tuple[str, ...]:
        while True:
            names = tuple(rng.choice(tuple(AIMS)) for _ in range(size))
            if any(name in _OF_SEVERAL for name in names) and composition_is_held_out(names) == unseen:
                return names

    sizes = [size for size in aims if size > 1 or not unseen]
    key = ("conversations", first_house, number, unseen)
    return draw(
        number,
        seed=seed,
        key=key,
        first_house=first_house,
        sizes=sizes,
        choose=choose,
        make=_make,
        without=without,
    )


def _make(names: tuple[str, ...], pools: Pools, world: World) -> Made:
    found: list[Exchange] = []
    for name in names:
        kind, maker = AIMS[name]
        found += maker(kind, pools, world)
    looks = (call for exchange in found for group in exchange.groups for call in group if call.name == "find")
    return Made(tuple(found), tuple(looks))


def spoil_conversation(task: StudyTask, share: float, rng: Random) -> StudyTask:
    """Return a conversation as a careless assistant leads it.

    Each question back is left out with a probability, and a value that nobody told is taken; each correction is
    answered without being carried out with the same probability.

    Args:
        task: The conversation.
        share: That probability.
        rng: Draws.
    """
    exchanges: list[Exchange] = []
    unsaid = False
    for exchange in task.exchanges:
        if unsaid:
            # Nobody asked.
            unsaid = False
            continue
        if exchange.instead is not None and rng.random() < share:
            exchanges.append(exchange._replace(groups=exchange.instead, answer=_DONE))
            unsaid = bool(exchange.instead)
        else:
            exchanges.append(exchange)
    return task._replace(exchanges=tuple(exchanges))
