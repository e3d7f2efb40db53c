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


class _Form(NamedTuple):
    """What wishes for a tool have in common; `{known}` and `{0}` stand for their values.

    Attributes:
        known: The argument that is said at once: its name, which is that of its pool.
        name: The other argument.
        values: Its values, or None where it is drawn from the pool of its name.
        words: The request.
        bare: The request without the other argument.
        question: What the assistant asks then.
        answer: What the user says to that.
    """

    known: str
    name: str
    values: Sequence[object] | None
    words: str
    bare: str
    question: str
    answer: str


_FORMS = {
    "carry": _Form(
        "item", "room", None,
        "Carry the {known} to the {0}.", "Carry the {known} to another room.", "To which room?", "To the {0}.",
    ),
    "give": _Form(
        "item", "person", None,
        "Give the {known} to {0}.", "Give the {known} to somebody.", "To whom?", "To {0}.",
    ),
    "lamp": _Form(
        "room", "level", LEVELS,
        "Set the {known} lamp to {0}.", "Change the {known} lamp.", "To which level?", "To {0}.",
    ),
    "heat": _Form(
        "room", "degrees", range(15, 25),
        "Heat the {known} to {0}.", "Heat the {known}.", "To how many degrees?", "To {0}.",
    ),
    "order": _Form(
        "item", "count", range(2, 10),
        "Order {0} of the {known}.", "Order some of the {known}.", "How many?", "Order {0}.",
    ),
    "call": _Form(
        "person", "hour", range(2, 10),
        "Call {known} at {0}.", "Call {known}.", "At which hour?", "At {0}.",
    ),
}  # fmt: skip


def _wish(tool: str, pools: Pools) -> _Wish:
    form = _FORMS[tool]
    known = pools.take(form.known)
    values = form.values
    value = pools.take(form.name) if values is None else pools.rng.choice(values)

    def other() -> object:
        if values is None:
            return pools.take(form.name)
        return pools.rng.choice([one for one in values if one != value])

    return _Wish(
        tool=tool,
        known={form.known: known},
        name=form.name,
        value=value,
        words=form.words.replace("{known}", known),
        bare=form.bare.replace("{known}", known),
        question=form.question,
        answer=form.answer,
        other=other,
    )


# What is ordered or planned twice stands there twice.
_CORRECTABLE = ("carry", "give", "lamp", "heat")


def _plain(kind: str, pools: Pools, _: World) -> tuple[Exchange, ...]:
    return (_said(_wish(kind, pools)),)


def _said(wish: _Wish) -> Exchange:
    text = wish.words.format(wish.value)
    return Exchange(Message(calls=True, text=text), ((wish.call(wish.value),),))


def _missing(kind: str, pools: Pools, _: World) -> tuple[Exchange, ...]:
    wish = _wish(kind, pools)
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
    wish = _wish(kind, pools)
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
    **{kind: (kind, _plain) for kind in _FORMS},
    **{f"{kind} what?": (kind, _missing) for kind in _FORMS},
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
