"""User requests from the environments' wording: several registers, one or more turns, facts told before.

Registers: `plain`, `terse`, `chatty` (small talk around the request), `indirect` (wondering, hoping), `detail`
(with a remark that has nothing to do with it) and `noted` (one value is in the context, not in the query).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from planarena.generate.clauses import Clause, Said, StepWords, Voice
from planarena.generate.surfaces import MANNERS, surface
from planarena.tasks.algebra import PARALLEL, SERIAL, Expression, Node, leaves, serial

__all__ = ["REGISTERS", "Query", "write_query"]

# Share of each register [ours].
REGISTERS: tuple[tuple[str, float], ...] = (
    ("plain", 0.3), ("terse", 0.16), ("chatty", 0.16), ("indirect", 0.16), ("detail", 0.12), ("noted", 0.1),
)  # fmt: skip
# Share of the tasks that allow it that are asked for in several turns [ours].
_SEVERAL_TURNS = 0.25

# How a request opens; "?" marks the ones that end with a question mark.
_OPENERS: dict[str, tuple[tuple[str, str], ...]] = {
    "plain": (
        ("", "."), ("Please ", "."), ("Could you ", "?"), ("Can you ", "?"), ("I need you to ", "."),
        ("I'd like you to ", "."), ("Would you ", "?"), ("Hi, please ", "."), ("Hello! Could you ", "?"),
        ("I want you to ", "."), ("Help me out: ", "."), ("Quick one: ", "."), ("Your next job: ", "."),
    ),
    "terse": (("", "."),),
    "chatty": (
        ("could you ", "?"), ("can you please ", "?"), ("I'd love it if you could ", "."), ("please ", "."),
        ("would you mind helping? I need you to ", "."), ("I need a hand: ", "."),
    ),
    "indirect": (
        ("I was wondering if you could ", "."), ("It would be great if you could ", "."),
        ("Would it be possible for you to ", "?"), ("I'd be grateful if you could ", "."),
        ("Perhaps you could ", "."), ("I was hoping that you could ", "."), ("Any chance that you could ", "?"),
        ("It would help me a lot if you could ", "."),
    ),
}  # fmt: skip
_THEN = {
    "plain": ("Then ", "After that, ", "Next, ", "Once that is done, ", "With that done, ", "From there, "),
    "terse": ("Then ", "Next: ", "After that: "),
    "chatty": ("Then ", "Once you have that, ", "When that's done, please ", "And then ", "After that, please "),
    "indirect": (
        "After that, perhaps you could ", "Once that is done, it would be nice if you could ",
        "Then I would ask you to ", "From there, could you also ",
    ),
}  # fmt: skip
_ALSO = {
    "plain": (
        "Also, ",
        "Separately, ",
        "On top of that, ",
        "In addition, ",
        "Besides that, ",
        "And please also ",
    ),
    "terse": ("Also: ", "Plus: ", "And "),
    "chatty": ("Oh, and please ", "While you're at it, ", "And could you also ", "One more thing: "),
    "indirect": (
        "It would also help if you could ",
        "Maybe you could also ",
        "I'd also be glad if you could ",
    ),
}
_LAST = {
    "plain": ("Finally, ", "To finish, ", "Last of all, "),
    "terse": ("Last: ", "Finally "),
    "chatty": ("And last but not least, ", "Finally, please ", "To round it off, "),
    "indirect": ("Finally, I'd be glad if you could ", "As a last thing, perhaps you could "),
}
_JOIN_THEN = (", then ", " and then ", ", after that ", ", and next ")
_JOIN_AND = (" and ", ", and also ")
_GREETINGS = (
    "Hey there, ", "Hi, hope you're well! ", "Good morning! ", "Hello, me again, ", "Hi there! It's one of those days, ",
    "Hey, I'm about to run into a meeting, so ", "Hi! I keep putting this off, ", "Hello! Busy week over here, ",
    "Hey, quick favour before I leave: ", "Hi, I'm a bit lost with all this, ", "Good afternoon! ", "Hey! ",
)  # fmt: skip
_THANKS = (
    "Thanks a lot!", "Thank you so much!", "Much appreciated.", "Thanks, you're a great help.", "Cheers!",
    "Thanks in advance.", "That would save my day.", "Thank you, talk soon.",
)  # fmt: skip
_REMARKS = (
    "My neighbour's dog has been barking all morning.", "I still haven't had breakfast.",
    "The coffee machine here is broken again.", "It has been raining since I got up.",
    "I slept badly, so bear with me.", "My phone battery is almost empty.", "The lift is out of order once more.",
    "I just got back from a run.", "The office is unusually quiet today.", "I'm typing this on the train.",
    "My sister is visiting at the moment.", "The heating took ages to start this morning.",
    "I found an old photo album yesterday.", "Somebody parked in front of our gate.", "I'm learning to bake bread.",
    "The kids are finally asleep.", "My desk is covered in paper.", "There is roadwork right outside the window.",
    "I spilled tea on my keyboard.", "A colleague brought cake today.", "My glasses broke, so I type slowly.",
    "The cat is sitting on my papers.", "I've been humming the same song all day.", "Lunch was far too heavy.",
)  # fmt: skip
_FOLLOW_UP = (
    "Thanks. Now ",
    "Good. Now ",
    "Great, and now ",
    "Perfect. Next, ",
    "Okay, now ",
    "All right. Please ",
)

# What a value can be called once it was mentioned: by surface or semantic type; and how it was mentioned.
_NOTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "date": ("the date I mentioned", ("The date I have in mind is {}.", "Keep in mind that the date is {}.")),
    "time": ("the time I mentioned", ("The time I have in mind is {}.", "For later: the time is {}.")),
    "money": ("the amount I mentioned", ("The amount I have in mind is {}.", "For later: the amount is {}.")),
    "city": ("the city I mentioned", ("The city I'm talking about is {}.", "For context, the city is {}.")),
    "person": ("the person I mentioned", ("The person I'm talking about is {}.", "It concerns {}.")),
}


class Query(NamedTuple):
    """A request.

    Attributes:
        turns: The user's messages.
        said: The literals that they and the context state.
        context: What the user had told before.
        register: The manner of speaking.
        turn_of: The turn of each step.
    """

    turns: tuple[str, ...]
    said: tuple[Said, ...]
    context: tuple[str, ...]
    register: str
    turn_of: tuple[int, ...]


class _Move(NamedTuple):
    relation: str  # "start", "then" or "and"
    step: int


def _moves(expression: Expression, rng: Random, relation: str = "start") -> list[_Move]:
    """Flatten an expression of step numbers into the order in which a person would tell it."""
    if not isinstance(expression, Node):
        return [_Move(relation, expression)]  # type: ignore[arg-type]
    parts = list(expression.parts)
    if expression.op == PARALLEL:
        rng.shuffle(parts)
    moves: list[_Move] = []
    for place, part in enumerate(parts):
        link = relation if place == 0 else ("then" if expression.op == SERIAL else "and")
        moves += _moves(part, rng, link)
    return moves


def _pick(choices: Sequence[Any], rng: Random) -> Any:
    return choices[rng.randrange(len(choices))]


def _draw_register(rng: Random) -> str:
    place = rng.random() * sum(share for _, share in REGISTERS)
    for name, share in REGISTERS:
        place -= share
        if place < 0:
            return name
    return REGISTERS[0][0]


def _split_turns(expression: Expression, rng: Random) -> list[Expression]:
    """Split a task into user turns, at its outermost ","."""
    if not isinstance(expression, Node) or expression.op != SERIAL or rng.random() >= _SEVERAL_TURNS:
        return [expression]
    parts = expression.parts
    if len(leaves(expression)) < 3:
        return [expression]
    cuts = sorted(rng.sample(range(1, len(parts)), min(len(parts) - 1, 1 + (rng.random() < 0.3))))
    bounds = [0, *cuts, len(parts)]
    return [serial(*parts[start:end]) for start, end in pairwise(bounds)]


def _note(steps: list[StepWords], manner: int, rng: Random) -> tuple[tuple[int, str], str, str] | None:
    """Choose a literal to tell beforehand: its place, what it is called then, and the note; None if none fits."""
    found: dict[str, list[tuple[StepWords, str]]] = {}
    for step in steps:
        for name, value in step.arguments.items():
            schema = step.operation.tool.parameters[name]
            kind = schema.get("x-surface", "")
            kind = kind if kind in _NOTED else schema.get("x-semantic", "")
            if name not in step.bound and kind in _NOTED and isinstance(value, str | int | float):
                found.setdefault(kind, []).append((step, name))
    # Two dates in one task would make "the date I mentioned" ambiguous.
    single = [places[0] for places in found.values() if len(places) == 1]
    if not single:
        return None
    step, name = _pick(single, rng)
    schema = step.operation.tool.parameters[name]
    kind = schema["x-surface"] if schema.get("x-surface") in _NOTED else schema["x-semantic"]
    phrase, notes = _NOTED[kind]
    text = surface(step.arguments[name], schema, manner, step.wording.values.get(name))
    return (step.number, name), phrase, _pick(notes, rng).format(text)


def write_query(expression: Expression, steps: list[StepWords], rng: Random) -> Query:
    """Write the user's request.

    Args:
        expression: Over step numbers.
        steps: In unrolled order.
        rng: Chooses among words.
    """
    register = _draw_register(rng)
    manner = rng.randrange(MANNERS)
    noted = _note(steps, manner, rng) if register == "noted" else None
    if register == "noted" and noted is None:
        register = "plain"
    turns, said = [], []
    turn_of = [0] * len(steps)
    tools = [step.operation.tool.wire_name for step in steps]
    repeated = {name for name in tools if tools.count(name) > 1}
    for number, part in enumerate(_split_turns(expression, rng)):
        moves = _moves(part, rng)
        clauses: list[Clause] = []
        previous: int | None = None
        for move in moves:
            turn_of[move.step] = number
            step = steps[move.step]
            # "the cheapest one" is clear only right after its search, and only if there was one search.
            near = previous if previous is not None and tools[previous] not in repeated else None
            voice = Voice(steps, rng.randrange(1000), manner, near, noted=noted[:2] if noted else None)
            clauses.append(step.clause(_pick(step.wording.ask, rng), voice))
            previous = move.step
        said += [one for clause in clauses for one in clause.said]
        turns.append(_message(moves, [clause.text for clause in clauses], register, number, rng))
    context: tuple[str, ...] = ()
    if noted is not None:
        (step_number, name), _, note = noted
        context = (note,)
        value = steps[step_number].arguments[name]
        schema = steps[step_number].operation.tool.parameters[name]
        text = surface(value, schema, manner, steps[step_number].wording.values.get(name))
        said.append(Said(step_number, name, text))
    return Query(tuple(turns), tuple(said), context, register, tuple(turn_of))


def _message(moves: Sequence[_Move], clauses: Sequence[str], register: str, turn: int, rng: Random) -> str:
    style = register if register in _OPENERS else "plain"
    sentences = _sentences(moves, clauses, style, turn, rng)
    if register == "chatty":
        if turn == 0:
            greeting = _pick(_GREETINGS, rng)
            first = sentences[0]
            sentences[0] = greeting + (
                first if greeting.rstrip()[-1] in "!." else first[0].lower() + first[1:]
            )
            if first.startswith(("I ", "I'")) and greeting.rstrip()[-1] not in "!.":
                sentences[0] = greeting + first
        if rng.random() < 0.7:
            sentences.append(_pick(_THANKS, rng))
    elif register == "detail" and turn == 0:
        sentences.insert(rng.randrange(len(sentences) + 1), _pick(_REMARKS, rng))
    return " ".join(sentences)


def _sentences(
    moves: Sequence[_Move], clauses: Sequence[str], style: str, turn: int, rng: Random
) -> list[str]:
    """Pack clauses into sentences of one to three, joined by what relates them."""
    sentences: list[str] = []
    place = 0
    while place < len(clauses):
        size = min(len(clauses) - place, _sentence_size(clauses, place, style, rng))
        opening, stop = _opening(moves, place, size, len(clauses), style, turn, rng)
        words = opening + clauses[place]
        for offset in range(1, size):
            joins = _JOIN_THEN if moves[place + offset].relation == "then" else _JOIN_AND
            # "After that, ... and then ... after that": one such word a sentence is enough.
            words += (
                joins[0 if opening in _THEN[style] else rng.randrange(len(joins))] + clauses[place + offset]
            )
        sentences.append(words[0].upper() + words[1:] + stop)
        place += size
    return sentences


def _sentence_size(clauses: Sequence[str], place: int, style: str, rng: Random) -> int:
    size = 1 + (rng.random() < (0.35 if style == "terse" else 0.65)) + (rng.random() < 0.25)
    while size > 1 and sum(map(len, clauses[place : place + size])) > 220:
        size -= 1
    return size


def _opening(
    moves: Sequence[_Move], place: int, size: int, total: int, style: str, turn: int, rng: Random
) -> tuple[str, str]:
    if place == 0:
        if turn > 0:
            return _pick(_FOLLOW_UP, rng), "."
        opening, stop = _pick(_OPENERS[style], rng)
        return opening, stop
    if moves[place].relation == "and":
        return _closed(_pick(_ALSO[style], rng))
    if place + size == total and total > 2 and rng.random() < 0.6:
        return _closed(_pick(_LAST[style], rng))
    return _closed(_pick(_THEN[style], rng))


def _closed(opening: str) -> tuple[str, str]:
    question = opening.lower().startswith(("and could you", "from there, could you"))
    return opening, "?" if question else "."
