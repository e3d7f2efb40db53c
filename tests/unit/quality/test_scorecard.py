"""The scorecard: equal to another program's figures on a real run, and to counting by hand on small cases."""

from __future__ import annotations

import importlib.util
import math
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from planarena import Run
from planarena.export.card_scorecard import render_scorecard as card_section
from planarena.quality import measure_run
from planarena.quality.conversations import Call, Conversation, Point, read_chunks
from planarena.quality.figures import figures_of, refused_references, wrong_kinds
from planarena.quality.language import measure_language, repeats_a_phrase
from planarena.quality.scorecard import (
    measure_answers,
    measure_contrast,
    measure_dialogue,
    measure_emulated,
)
from planarena.report.scorecard import render_scorecard as report_section


def call(step: int, effect: str = "read", **changed: Any) -> Call:
    base = Call(step, 0, f"tool_{effect}", effect, {}, (), True, "ok", "{}", "real")
    return base._replace(**changed)


def talk(*calls: Call, turns: tuple[str, ...] = ("Do it.",), **changed: Any) -> Conversation:
    return Conversation(turns, (), calls, Counter(), "2026-11-03T09:00")._replace(**changed)


def test_the_figures_equal_those_of_another_program(built_run: Run, shared: Path) -> None:
    spec = importlib.util.spec_from_file_location("measure", shared / "quality" / "measure.py")
    assert spec is not None
    assert spec.loader is not None
    measure = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(measure)
    tables = measure.Tables(str(built_run.path))
    own = measure_run(built_run)
    said = [text for one in tables.gold for text in tables.turns(one)]
    assert own["gold"] == len(tables.gold) == 60
    assert own["language"] | measure.language(said, 12_000) == own["language"]
    assert list(own["phrases"].values()) == list(measure.phrases(tables).values())
    told = measure.answers(tables)
    assert own["answers"] == {"untold": told["untold"], "gold_with_untold": told["gold_with_one"]}
    assert list(own["dialogue"].values()) == list(measure.dialogue(tables).values())
    assert own["emulated"]["gold"] == measure.emulated(tables)["gold"] == 0
    # It was written before look-ups of no use counted as wrong and harmless ones as right.
    points = [point for chunk in read_chunks(built_run, 10**6) for point in chunk.points]
    found = measure_contrast(points, ("frontier", "equivalent"), ("diverges", "error", "ungrounded"))
    theirs = measure.contrast(tables)
    assert found["wrong_choices"] == theirs["wrong_choices"] > 100
    assert found["wrong_kinds"] == theirs["kinds"]
    assert found["without_execution"] == theirs["without_execution"]
    assert found["relevance_reversed"] == theirs["relevance"].get("wrong above", 0.0)
    assert found["relevance_tied"] == theirs["relevance"].get("tie", 0.0)
    assert own["contrast"] == measure_contrast(points)


def test_likeness_is_that_of_each_text_against_all_others() -> None:
    rng = random.Random(3)
    texts = [
        " ".join(rng.choices("send the book a cat to my old friend today".split(), k=9)) for _ in range(30)
    ]

    def grams(text: str, order: int) -> Counter[tuple[str, ...]]:
        words = text.split()
        return Counter(zip(*(words[start:] for start in range(order)), strict=False))

    scores = []
    for place, text in enumerate(texts):
        others = texts[:place] + texts[place + 1 :]
        parts = []
        for order in range(1, 5):
            own = grams(text, order)
            hits = sum(
                min(count, max(grams(other, order)[gram] for other in others)) for gram, count in own.items()
            )
            parts.append(max(hits, 0.1) / own.total())
        scores.append(math.exp(sum(map(math.log, parts)) / 4))
    assert measure_language(texts)["self_bleu_4"] == pytest.approx(sum(scores) / 30, abs=6e-4)


def test_language_counts_words_pairs_and_masked_shapes() -> None:
    found = measure_language(["Please write to Ann Lee about 3 boxes", "Please write to Bob about 44 boxes"])
    assert found["messages"] == 2
    assert found["tokens"] == 15
    assert found["vocabulary"] == 10
    assert found["distinct_2"] == round(11 / 13, 3)
    # Both read "please write to e about n boxes" once names and numbers are masked; one pair spans the border.
    assert found["unique_masked_4grams"] == round(7 / 11, 3)
    assert measure_language([]) == {
        "messages": 0, "tokens": 0, "vocabulary": 0, "distinct_2": None, "self_bleu_4": None,
        "unique_masked_4grams": None,
    }  # fmt: skip


def test_a_phrase_is_repeated_when_it_stands_three_times() -> None:
    twice = ["the meter in Tower Loft", "and the meter in Tower again"]
    assert not repeats_a_phrase(twice)
    assert repeats_a_phrase([*twice, "The METER, in tower!"])


def test_what_only_feeds_may_stay_untold_unless_it_is_asked_for() -> None:
    feeder, last = call(0), call(1, "update", feeding=(0,))
    silent = talk(feeder, last)
    assert measure_answers([silent])["untold"] == {"read": 1.0, "update": 0.0}
    assert measure_answers([silent])["gold_with_untold"] == 1.0
    implied = talk(feeder._replace(asked=False), last)
    told = silent._replace(required=Counter({"tool_read": 1}))
    assert measure_answers([implied, told])["gold_with_untold"] == 0.0
    # The output that the goal wants is that of the look-up which feeds nothing.
    other = talk(feeder, last, call(2), required=Counter({"tool_read": 1}))
    assert measure_answers([other])["untold"]["read"] == 0.5
    # In a later message it was told before it was used.
    assert measure_answers([talk(feeder, last._replace(turn=1))])["gold_with_untold"] == 0.0
    # A write that feeds another is confirmed by no output of the goal.
    assert measure_answers([talk(call(0, "create"), last)])["untold"]["create"] == 1.0


def test_choices_are_compared_without_the_gold_call() -> None:
    def choice(tool: str, outcome: str, relevance: float, **more: Any) -> dict[str, Any]:
        base = {"tool": tool, "arguments": {}, "outcome": outcome, "relevance": relevance}
        return base | {"mutation": "", "execution_id": "e"} | more

    point = Point(
        ("gold", {}),
        [
            choice("gold", "frontier", 0.1),
            choice("a", "equivalent", 0.5),
            choice("b", "harmless", 0.7),
            choice("c", "diverges", 0.5, mutation="near_tool"),
            choice("d", "useless", 0.6, mutation="wrong_lookup"),
            choice("e", "error", 0.2, mutation="hallucinated_tool", execution_id=""),
            choice("f", "error", 0.2, model="some-model"),
        ],
    )
    found = measure_contrast([point])
    assert found["wrong_choices"] == 4
    assert found["wrong_kinds"] == dict.fromkeys(
        ("hallucinated_tool", "model", "near_tool", "wrong_lookup"), 0.25
    )
    assert found["trivial"] == 0.25
    assert found["without_execution"] == round(1 / 7, 3)
    assert (found["pairs"], found["relevance_reversed"], found["relevance_tied"]) == (8, 0.125, 0.125)


def test_conversations_are_counted() -> None:
    one = talk(*map(call, range(8)))
    two = talk(call(0, status="tool_error"), turns=("a", "b"), replies=("Which one?",))
    three = talk(call(0), turns=("a", "b"), replies=("Done.", "Which one?"))
    assert measure_dialogue([one, two, three]) == {
        "messages": 1.67, "several_messages": 0.667, "failed_call": 0.333, "question_back": 0.333,
        "above_7_actions": 0.333,
    }  # fmt: skip


def test_emulated_answers_are_held_against_what_was_sent_and_when() -> None:
    sent = {"post_id": "p1", "id": "x", "userId": 7}
    result = '{"postId":"p2","id":"y","user_id":7,"created_at":"2027-01-01","creationDate":"2026-11-01"}'
    emulated = call(0, "create", arguments=sent, result=result, kind="emulated")
    found = measure_emulated([talk(emulated), talk(emulated._replace(kind="real"))])
    assert found == {"gold": 1, "ids_echoed": 2, "with_another_value": 1, "created": 2, "in_the_future": 1}
    read = measure_emulated(
        [talk(emulated._replace(effect="read", result="[]")), talk(emulated._replace(result=""))]
    )
    assert read == {"gold": 2, "ids_echoed": 0, "with_another_value": 0, "created": 0, "in_the_future": 0}


def test_the_build_stores_what_its_tables_give(built_run: Run, tmp_path: Path) -> None:
    shutil.copytree(built_run.path / "tables", tmp_path / "tables")
    assert measure_run(Run(tmp_path)) == built_run.info["scorecard"]


def test_a_large_run_is_measured_in_chunks_spread_over_all_of_it(built_run: Run) -> None:
    chunks = list(read_chunks(built_run, 10**6))
    sizes = [len(chunk.conversations) for chunk in chunks]
    assert sum(sizes) == 60
    assert len(sizes) >= 3
    some = [len(chunk.conversations) for chunk in read_chunks(built_run, 30)]
    assert 0 < len(some) < len(sizes)
    assert some[0] == sizes[0]
    assert measure_run(built_run, 30) == measure_run(built_run, 30)
    assert measure_run(built_run, 1)["gold"] == sizes[0]


def test_card_and_report_say_what_was_measured(built_run: Run) -> None:
    info = built_run.info
    card, report = card_section(info), report_section(info)
    figures = figures_of(info["scorecard"])
    assert len({figure.name for figure in figures}) == len(figures) >= 15
    for figure in figures:
        assert f"| {figure.name} | {figure.value} |" in card
        assert f'<dt>{figure.name}</dt><dd class="value">{figure.value}</dd>' in report
    shares = [share for _, share, _ in wrong_kinds(info["scorecard"])]
    assert shares == sorted(shares, key=lambda text: -float(text[:-2]))
    assert "measured on 60 of the gold trajectories" in card
    assert report_section({"counts": {}}) == ""


def test_refused_references_are_counted_by_reason() -> None:
    counts = {"discard": {"reference:changed": 3, "reference:tied": 5, "sense:no_change": 9}}
    assert refused_references(counts) == {"tied": 5, "changed": 3}
    assert refused_references({}) == {}
