"""What every conversation of a build keeps: asked is told, one meaning, no phrase three times, names after they are told."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from planarena.config import BuildConfig, CompositionConfig
from planarena.environments.catalog import goals_of, restore_world, wording_of
from planarena.environments.wording import parse_pointer
from planarena.episodes import Episode
from planarena.generate.words import repeated_phrase
from planarena.pipeline.execute.chunk import execute_chunk
from planarena.pipeline.language.describe import describe_chunk, steps_of
from planarena.pipeline.products import Discard
from planarena.tasks.atoms import resolve

DOMAINS = ("banking", "boards", "inventory", "travel", "files", "support", "calendar", "music")


class Told:
    """A task, its words and its steps."""

    def __init__(self, scenario: Any, task: Any, said: Any, steps: Any) -> None:
        self.scenario, self.task, self.said, self.steps = scenario, task, said, steps
        self.answers = [*said.turn_responses, said.response]


@pytest.fixture(scope="module")
def told() -> list[Told]:
    found = []
    for domain in DOMAINS:
        config = BuildConfig(
            sources=(f"builtin:{domain}",),
            chunk_scenarios=2,
            seed=72,
            composition=CompositionConfig(per_scenario=12),
        )
        executed = execute_chunk(config, 0, None)
        for scenario, words in zip(executed.scenarios, describe_chunk(config, executed).items, strict=True):
            world = restore_world(scenario.domains, {}, scenario.facts)
            wording = {name: one for part in scenario.domains for name, one in wording_of(part).items()}
            for task, said in zip(scenario.items, words, strict=True):
                if not isinstance(task, Discard) and not isinstance(said, Discard):
                    steps = steps_of(scenario, task, world.operations, wording)
                    found.append(Told(scenario, task, said, steps))
    assert len(found) > 100
    return found


def is_read(step: Any) -> bool:
    return bool(step.operation.tool.effects == "read")


def test_what_is_asked_is_required_and_what_is_not_is_implied(told: list[Told]) -> None:
    implied = 0
    for one in told:
        reads = Counter(
            one.steps[step].operation.tool.wire_name for step in one.task.reported if is_read(one.steps[step])
        )
        required = [output for output in one.task.goal.required_outputs if not output.error]
        assert Counter(output.tool for output in required) == reads
        failed = [
            act.step for act in one.task.talk.acts if act.what == "fails" and act.argument == "for good"
        ]
        errors = [output.tool for output in one.task.goal.required_outputs if output.error]
        assert errors == [one.steps[step].operation.tool.wire_name for step in failed]
        for step in range(len(one.steps)):
            # What failed is told, or made again; what it needs is looked up again.
            again = [act.step for act in one.task.talk.acts if act.what == "again"]
            if step in one.task.reported or one.task.steps[step].status != "ok" or step in again:
                continue
            implied += 1
            # An aim may need a card before it can be given to somebody; in composed requests a write is always asked for.
            assert is_read(one.steps[step]) or one.task.aims
            turn = one.said.turn_of[step]
            takers = [
                later
                for later, words in enumerate(one.steps)
                if one.said.turn_of[later] == turn
                and any(source == step for source, _ in words.bound.values())
            ]
            told_elsewhere = any(
                number == step and name in goals_of(aimed.domain)[aimed.name].told_by
                for aimed in one.task.aims
                for number, name, _ in aimed.calls
            )
            assert takers or told_elsewhere, "what nobody of the message takes up is asked for"
    assert implied > 50


def test_what_is_asked_is_told_by_the_answer_of_its_message(told: list[Told]) -> None:
    from planarena.generate.surfaces import MANNERS, surface

    for one in told:
        year = str(one.scenario.facts.get("now", ""))[:4]
        for step in one.task.reported:
            words = one.steps[step]
            answer = one.answers[one.said.turn_of[step]]
            for pointer in words.wording.outputs:
                value = resolve(words.result, parse_pointer(pointer))
                schema: Any = words.operation.tool.output_schema
                for word in parse_pointer(pointer):
                    schema = schema["items"] if isinstance(word, int) else schema["properties"][word]
                ways = {surface(value, schema, manner, None, year) for manner in range(MANNERS)}
                assert any(way in answer for way in ways) or (
                    value == 0 and " no " in f" {answer.lower()}"
                ), (
                    pointer,
                    value,
                    answer,
                )


def test_references_mean_the_same_when_they_are_used(told: list[Told]) -> None:
    """Looked up again in the state at the moment of use, by code of its own."""
    import msgspec

    judged = 0
    for one in told:
        world = restore_world(
            one.scenario.domains, msgspec.json.decode(one.scenario.seed_state), one.scenario.facts
        )

        def again(step: int, one: Told = one, world: Any = world) -> Any:
            words = one.steps[step]
            if not is_read(words):
                return words.result
            arguments = dict(words.arguments)
            for name, (source, pointer) in words.bound.items():
                arguments[name] = resolve(again(source), parse_pointer(pointer))
            mark = world.mark()
            result = Episode(world).act(words.operation.tool.wire_name, arguments).outcome.result
            world.rollback(mark)
            return result

        for words in one.steps:
            for name, (source, pointer) in words.bound.items():
                judged += 1
                assert resolve(again(source), parse_pointer(pointer)) == words.arguments[name]
            Episode(world).act(words.operation.tool.wire_name, words.arguments)
    assert judged > 100


def test_no_phrase_stands_three_times_and_no_name_of_a_tool_leaks(told: list[Told]) -> None:
    for one in told:
        text = " ".join(one.said.turns)
        assert repeated_phrase(text) == ""
        assert not set("{}[]") & set(text)
        assert "  " not in text


def test_later_messages_call_what_was_told_by_its_name(told: list[Told]) -> None:
    """An id that an earlier answer's record is named by: the message has the name, or points back at it."""
    named = pointed = 0
    for one in told:
        for step in one.task.reported:
            words = one.steps[step]
            for _, (source, pointer) in words.bound.items():
                if one.said.turn_of[source] >= one.said.turn_of[step]:
                    continue
                path = parse_pointer(pointer)[:-1]
                place = path[:-1] if path and isinstance(path[-1], int) else path
                record = one.steps[source].wording.records.get("".join(f"/{word}" for word in place))
                value = resolve(one.steps[source].result, path)
                fields = [
                    field
                    for field in ("title", "name", "hotel")
                    if isinstance(value, dict) and field in value
                ]
                if (
                    record is None
                    or not fields
                    or value[fields[0]] not in one.answers[one.said.turn_of[source]]
                ):
                    continue
                message = one.said.turns[one.said.turn_of[step]]
                # Colleagues are called by their first name once they were named in full.
                if value[fields[0]] in message or value[fields[0]].split()[0] in message.split():
                    named += 1
                else:
                    pointed += 1
    assert named > 10
    assert named >= pointed


def test_several_registers_lengths_and_both_spellings(told: list[Told]) -> None:
    registers = Counter(one.said.register for one in told)
    assert len(registers) >= 7
    assert max(registers.values()) < 0.5 * len(told)
    lengths = Counter(len(one.said.turns) for one in told)
    assert lengths[1] > 0.3 * len(told)
    assert sum(lengths[n] for n in (2, 3, 4)) > 0.25 * len(told)
