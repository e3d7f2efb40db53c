"""What a model's words must show before they are used: every value stated, the graph kept, nothing made up.

A check reads the task and the proposal and nothing else: what a text claims about itself counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planarena.environments.wording import parse_pointer
from planarena.formats import Call
from planarena.generate.checks import QueryFaultError, check_query
from planarena.generate.clauses import Mention, StepContext
from planarena.generate.mentions import name_of
from planarena.generate.model_brief import TaskBrief, parts_of, references, ways_to_say
from planarena.generate.model_texts import (
    TextFaultError,
    check_text,
    content_words,
    find_stated,
    foreign_numbers,
    hidden_in,
    refuse_values,
    texts_in,
)
from planarena.generate.naming import naming_phrases
from planarena.generate.offline import write_plan_line
from planarena.generate.spelling import Style
from planarena.generate.surfaces import MANNERS, surface
from planarena.judges.overlap import mentioned, words
from planarena.records.canonical import CanonicalError, canonical_bytes
from planarena.tasks.atoms import resolve

__all__ = [
    "check_call",
    "check_plan",
    "check_rationales",
    "check_responses",
    "check_trajectory",
    "check_written_query",
]

# Most characters; of a query and an answer, besides twice what they have to state [ours].
_QUERY, _LINE, _RESPONSE, _RATIONALE, _ARGUMENTS = 1500, 400, 1500, 2000, 8192
# A long text of a result may be told in other words; then so many of its own must be there [ours].
_LONG, _OWN_WORDS = 80, 0.5
# Share of a reference's words that a query must have [ours].
_REFERENCE = 0.34


# -- query -------------------------------------------------------------------------------------


def check_written_query(brief: TaskBrief, turns: Sequence[str]) -> tuple[list[str], dict[str, Any], float]:
    """Check a query: every literal is stated by the message that needs it, every reference is told, no id is.

    A reference to what an implied look-up gives may be left out where it can mean one thing only.

    Returns:
        The messages, the passed checks with where each value is grounded, and how good it is in [0, 1]: the share
        of the references' words that it tells [ours].

    Raises:
        TextFaultError: `wrong_messages`, `empty_text`, `too_long`, `markup`, `ungrounded`, `reference_lost`,
            `hidden_value`, `tool_name`, `leftover_template` or `invented_number`.
    """
    if len(turns) != len(brief.turns):
        raise TextFaultError("wrong_messages", f"{len(turns)} messages instead of {len(brief.turns)}")
    most = _QUERY + 2 * sum(map(len, brief.turns))
    texts = [check_text(turn, f"message {n}", most, lines=True) for n, turn in enumerate(turns, 1)]
    whole = " ".join(texts)
    literal = {part for step in brief.steps for part in _literal_texts(step)}
    refuse_values(
        whole,
        (value for value in hidden_in(brief.steps) if value not in literal),
        "hidden_value",
        "the query",
    )
    said: list[Mention] = []
    told: list[float] = []
    for step in brief.steps:
        heard = " ".join(texts[: brief.turn_of[step.number] + 1])
        said += _stated(brief, step, heard)
        told += [
            1.0 if _named(brief, step, name, heard) else _refers(brief, step, name, heard)
            for name in step.bound
        ]
    try:
        checks = check_query(whole, brief.steps, said, brief.facts, brief.tools, brief.told)
    except QueryFaultError as fault:
        raise TextFaultError(fault.reason, fault.detail) from None
    invented = foreign_numbers(whole, _sayable(brief))
    if invented:
        raise TextFaultError("invented_number", f"the query: {invented[0]} belongs to no step")
    coverage = sum(told) / len(told) if told else 1.0
    return texts, {**checks, "stated_in_time": True}, round(coverage, 6)


def _sayable(brief: TaskBrief) -> list[str]:
    """Return the texts whose numbers a query may hold: every way to say its values, and what was said already."""
    sources = [*brief.turns, *brief.told, *texts_in(dict(brief.facts))]
    for step in brief.steps:
        for name in step.arguments:
            if name not in step.bound:
                sources += ways_to_say(step, name, brief.year)
        for source, pointer in step.bound.values():
            sources += references(brief.steps, source, pointer)
        # Earlier answers told what their steps gave: a later message may speak of it.
        sources += _spoken(step.operation.tool.output_schema, step.result)
    return sources


def _literal_texts(step: StepContext) -> set[str]:
    return {
        text for name in step.arguments if name not in step.bound for text in texts_in(step.arguments[name])
    }


def _stated(brief: TaskBrief, step: StepContext, heard: str) -> Iterator[Mention]:
    known = {repr(value) for value in brief.facts.values()}
    notes = " ".join(brief.told)
    for name, value in step.arguments.items():
        if name in step.bound or repr(value) in known:
            continue
        schema = step.operation.tool.parameters[name]
        parts = parts_of(value, schema, step.wording.values.get(name), brief.year)
        found = [find_stated(heard, ways) or find_stated(notes, ways) for ways in parts]
        if None in found:
            missing = parts[found.index(None)][0]
            raise TextFaultError("ungrounded", f"step {step.number + 1}: {name} = {missing!r} is not stated")
        # A value without words (a bare truth value, an empty text) is the step's meaning: any of its words stand for it.
        phrases = [phrase for phrase in found if phrase] or [heard.split(maxsplit=1)[0]]
        yield from (Mention(step.number, name, phrase) for phrase in phrases)


def _named(brief: TaskBrief, step: StepContext, name: str, heard: str) -> bool:
    """Say whether a value of an earlier result is called what an answer called it, or a record by a name of its own."""
    source, pointer = step.bound[name]
    producer = brief.steps[source]
    # After a failed call the same look-up may be made once more: its answer was given before.
    told = any(
        brief.turn_of[other.number] < brief.turn_of[step.number]
        and other.operation.tool.wire_name == producer.operation.tool.wire_name
        and other.arguments == producer.arguments
        for other in brief.steps
    )
    if not told and not naming_phrases(
        producer.operation.tool, producer.wording, pointer, producer.arguments, producer.result
    ):
        return False
    styles = (Style(manner=manner, year=brief.year) for manner in range(MANNERS))
    names = (name_of(brief.steps[source], pointer, style) for style in styles)
    # At the start of a sentence a name may have a capital that it has not elsewhere.
    return any(
        one is not None and all(find_stated(heard, (value,)) is not None for value in one.values)
        for one in names
    )


def _refers(brief: TaskBrief, step: StepContext, name: str, heard: str) -> float:
    """Return the share of a reference's words that a text tells; 1 where none is needed.

    Raises:
        TextFaultError: `reference_lost`: nothing tells which of the producer's values is meant.
    """
    steps = brief.steps
    source, pointer = step.bound[name]
    if _is_clear(brief, source, pointer):
        return 1.0
    known = steps[source].wording.refer.get(pointer)
    said = known.said if known is not None else ()
    phrases = [content_words(phrase) for phrase in (*references(steps, source, pointer), *said)]
    phrases = [phrase for phrase in phrases if phrase]
    if not phrases:
        return 1.0
    spoken = set(words(heard))
    others: set[str] = set()
    for other in steps[source].wording.refer:
        if other != pointer:
            others |= set().union(*(content_words(phrase) for phrase in references(steps, source, other)))
    # The words that other values' references lack tell which one is meant: "second", where there is a cheapest too.
    told = [
        len(phrase & spoken) / len(phrase)
        for phrase in phrases
        if phrase <= others or (phrase - others) & spoken
    ]
    best = max(told, default=0.0)
    if best < _REFERENCE:
        meant = references(steps, source, pointer)[0]
        raise TextFaultError(
            "reference_lost", f"step {step.number + 1}: nothing says that {name} is {meant!r}"
        )
    return best


def _is_clear(brief: TaskBrief, source: int, pointer: str) -> bool:
    """Say whether a value of an implied look-up is the only one it can be: no list that it was picked from."""
    if source in brief.reported[brief.turn_of[source]]:
        return False
    path = parse_pointer(pointer)
    for depth in range(len(path)):
        around = resolve(brief.steps[source].result, path[:depth])
        if isinstance(around, list) and len(around) > 1:
            return False
    return True


# -- plan --------------------------------------------------------------------------------------


def check_plan(brief: TaskBrief, lines: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[str, ...]]:
    """Check a plan against the graph and write it down: every step once, in a legal order, with its true needs.

    Returns:
        The global plan, whose notes come from the graph, and one line per step.

    Raises:
        TextFaultError: `plan_coverage`, `plan_order`, `plan_needs`, or a fault of a text.
    """
    steps = brief.steps
    listed = [line["step"] - 1 for line in lines]
    if sorted(listed) != list(range(len(steps))):
        raise TextFaultError(
            "plan_coverage", f"it lists the steps {[n + 1 for n in listed]}, not 1 to {len(steps)}"
        )
    reached = _closure(brief.before)
    done = 0
    for number in listed:
        if brief.before[number] & ~done:
            raise TextFaultError("plan_order", f"step {number + 1} comes before a step that it depends on")
        done |= 1 << number
    hidden = set(hidden_in(steps))
    written: dict[int, tuple[str, str]] = {}
    for line in lines:
        number = line["step"] - 1
        needs = {need - 1 for need in line["needs"]}
        sources = {source for source, _ in steps[number].bound.values()}
        if not sources <= needs or any(
            not 0 <= need < len(steps) or not reached[number] >> need & 1 for need in needs
        ):
            true = sorted(source + 1 for source in sources)
            raise TextFaultError("plan_needs", f"step {number + 1} takes values from the steps {true}")
        outline = check_text(line["outline"], f"outline of step {number + 1}", _LINE).rstrip(".")
        now = check_text(line["now"], f"line of step {number + 1}", _LINE)
        if not content_words(outline) & _words_of(steps[number]):
            raise TextFaultError("plan_coverage", f"the outline of step {number + 1} does not speak of it")
        for text in (outline, now):
            refuse_values(text, hidden, "hidden_value", f"step {number + 1}")
        written[number] = outline, now
    plan = [
        write_plan_line(steps, brief.order_edges, brief.groups, number, written[number][0])
        for number in range(len(steps))
    ]
    return "\n".join(plan), tuple(written[number][1] for number in range(len(steps)))


def _closure(before: Sequence[int]) -> list[int]:
    reached: list[int] = []
    for mask in before:
        whole = mask
        for earlier in range(len(reached)):
            if mask >> earlier & 1:
                whole |= reached[earlier]
        reached.append(whole)
    return reached


def _words_of(step: StepContext) -> set[str]:
    tool = step.operation.tool
    texts = [tool.wire_name, tool.description, *step.wording.plan, *step.wording.ask]
    return set().union(*map(content_words, texts))


# -- answers -----------------------------------------------------------------------------------


def check_responses(brief: TaskBrief, turns: Sequence[str], answers: Sequence[str]) -> tuple[str, ...]:
    """Check the answers: one per message, each tells what its steps gave, and no number is made up.

    Raises:
        TextFaultError: `wrong_messages`, `missing_output`, `invented_number`, `hidden_value`, or a fault of a text.
    """
    if len(answers) != len(brief.turns):
        raise TextFaultError("wrong_messages", f"{len(answers)} answers instead of {len(brief.turns)}")
    hidden = set(hidden_in(brief.steps))
    known = [*turns, *brief.turns, *brief.told, *texts_in(dict(brief.facts))]
    for step in brief.steps:
        known += [*texts_in(step.arguments), *_spoken(step.operation.tool.output_schema, step.result)]
        known += list(_spoken({"properties": step.operation.tool.parameters}, step.arguments))
    texts = []
    for number, answer in enumerate(answers):
        told = sum(
            len(ways[0]) for reported in brief.reported[number] for _, ways in brief.to_report(reported)
        )
        text = check_text(answer, f"answer {number + 1}", _RESPONSE + 2 * told, lines=True)
        refuse_values(text, hidden, "hidden_value", f"answer {number + 1}")
        for reported in brief.reported[number]:
            for pointer, ways in brief.to_report(reported):
                if find_stated(text, ways) is None and not _retold(text, ways):
                    what = f"answer {number + 1} does not tell {ways[0]!r} (step {reported + 1}, {pointer})"
                    raise TextFaultError("missing_output", what)
        invented = foreign_numbers(text, known)
        if invented:
            raise TextFaultError("invented_number", f"answer {number + 1}: {invented[0]} stands nowhere")
        texts.append(text)
    return tuple(texts)


def _retold(text: str, ways: Sequence[str]) -> bool:
    own = set(words(ways[0]))
    return len(ways[0]) > _LONG and len(own & set(words(text))) >= _OWN_WORDS * len(own)


def _spoken(schema: Any, value: Any) -> Iterator[str]:
    """Yield every scalar of a value in every manner of writing it."""
    stack = [(schema, value)]
    while stack:
        part, item = stack.pop()
        part = part if isinstance(part, dict) else {}
        if isinstance(item, dict):
            properties = part.get("properties", {})
            stack.extend((properties.get(key), inner) for key, inner in item.items())
        elif isinstance(item, list):
            yield str(len(item))
            stack.extend((part.get("items"), inner) for inner in item)
        elif isinstance(item, str | int | float):
            yield str(item)
            try:
                yield from (surface(item, part, manner) for manner in range(MANNERS))
            except ValueError:  # a source that calls something a date that is none
                continue


# -- rationales --------------------------------------------------------------------------------


def check_rationales(brief: TaskBrief, lines: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Check reference rationales: one per step, about its call, with nothing that is only known later.

    Raises:
        TextFaultError: `rationale_coverage`, `foresight`, or a fault of a text.
    """
    steps = brief.steps
    by_step = {line["step"] - 1: line["text"] for line in lines}
    if len(lines) != len(steps) or by_step.keys() != set(range(len(steps))):
        raise TextFaultError("rationale_coverage", f"it has {len(lines)} rationales for {len(steps)} steps")
    texts = []
    for step in steps:
        what = f"rationale of step {step.number + 1}"
        text = check_text(by_step[step.number], what, _RATIONALE, lines=True)
        seen = set(hidden_in(steps[: step.number])) | set(texts_in(step.arguments))
        refuse_values(text, set(hidden_in(steps[step.number :])) - seen, "foresight", what)
        call = Call(step.operation.tool.wire_name, step.arguments)
        if not mentioned(text, [call]) and not content_words(text) & _words_of(step):
            raise TextFaultError("rationale_coverage", f"the {what} does not speak of its call")
        texts.append(text)
    return tuple(texts)


# -- proposals that are executed ---------------------------------------------------------------


def check_call(arguments: Any) -> dict[str, Any]:
    """Return the arguments of a proposed call, or refuse what no executor should be given.

    Raises:
        TextFaultError: `bad_arguments`.
    """
    if not isinstance(arguments, dict):
        raise TextFaultError("bad_arguments", "the arguments are no JSON object")
    try:
        size = len(canonical_bytes(arguments))
    except CanonicalError as error:
        raise TextFaultError("bad_arguments", str(error)) from None
    if size > _ARGUMENTS:
        raise TextFaultError("bad_arguments", f"{size} bytes of arguments, at most {_ARGUMENTS} are allowed")
    return arguments


def check_trajectory(brief: TaskBrief, calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Check the form of a proposed trajectory; what it is worth is found by executing it.

    Returns:
        `[{tool, arguments, plan}]`; `{"$from": STEP, "pointer": POINTER}` in arguments takes an earlier result.

    Raises:
        TextFaultError: `too_many_calls`, `bad_arguments`, `bad_reference`, or a fault of a text.
    """
    if len(calls) > brief.most_calls:
        raise TextFaultError("too_many_calls", f"{len(calls)} calls, at most {brief.most_calls} are allowed")
    checked = []
    for number, call in enumerate(calls):
        arguments = check_call(call["arguments"])
        for reference in _references_in(arguments):
            source, pointer = reference.get("$from"), reference.get("pointer", "")
            good = isinstance(source, int) and not isinstance(source, bool) and 1 <= source <= number
            if not good or not isinstance(pointer, str) or set(reference) - {"$from", "pointer"}:
                raise TextFaultError("bad_reference", f"call {number + 1}: {reference} names no earlier call")
        tool = check_text(call["tool"], f"tool of call {number + 1}", 128)
        plan = check_text(call.get("plan") or tool, f"plan of call {number + 1}", _LINE)
        checked.append({"tool": tool, "arguments": arguments, "plan": plan})
    return checked


def _references_in(value: Any) -> Iterator[dict[str, Any]]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if "$from" in item:
                yield item
            else:
                stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
