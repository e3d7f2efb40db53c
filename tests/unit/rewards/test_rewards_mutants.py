"""Three deliberate mistakes per reward, each of which its reference values must expose.

The reference values are worked out by hand from the papers' formulas. A mutant is the module's own source
with one fragment replaced.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from planarena import formats
from planarena.formats import Call, Gold
from planarena.trainers.rewards import Context

CD = Call("cd", {"dir": "docs"})
CAT = Call("cat", {"file": "a.txt", "n": 3})
WRONG = Call("cat", {"file": "b.txt", "n": 3})
LS = Call("ls", {})
GOLD = (CD, CAT)
PREDICTIONS = {
    "exact": GOLD,
    "wrong": (CD, WRONG),
    "missing": (CD,),
    "extra": (*GOLD, LS),
    "swapped": (CAT, CD),
}
# Python floats, a handful of operations each: 1e-12 is thousands of roundings.
TOLERANCE = 1e-12


def equal(found: Any, want: Any) -> None:
    np.testing.assert_allclose(np.asarray(found, dtype=float), want, rtol=TOLERANCE, atol=TOLERANCE)


def check_dupo(module: Any) -> None:
    wanted = {
        "exact": (1, 1, 1),
        "wrong": (1, 2 / 4, 1),
        "missing": (1 / 2, 1 / 3, 1),
        "extra": (2 / 3, 1, 1),
        "swapped": (1, 1, 1),
    }
    for name, predicted in PREDICTIONS.items():
        equal(module.structure(predicted, GOLD, True), wanted[name])
    equal(module.structure((), GOLD, False), (0, 0, 0))
    equal(module.structure((LS,), (Call("pwd", {}),), True), (0, 0, 1))
    equal(module.structure((Call("f", {"dir": "docs"}),), (CD,), True), (0, 0, 1))
    equal([module.semantic(sim, 0.5) for sim in (1.0, 0.8, 0.0)], [0.0, -0.1, -0.5])
    equal([module.sequential_decay(n, 4) for n in (1, 2, 4)], [5**-0.25, 5**-0.5, 0.2])
    equal([module.sequential_decay(n, 7, "linear") for n in (1, 2, 7)], [2.0, 1.0, 2 / 7])
    equal(
        [module.sequential_decay(n, 9, "discrete") for n in range(1, 9)], [2, 1.5, 1, 0.5, 0.4, 0.3, 0.2, 0.2]
    )
    text = formats.get("planarena").render(calls=(CD, WRONG))
    score = module.DUPO().score(text, Gold(calls=GOLD), Context(similarity=0.8, step=2, steps=4))
    equal(score.total, (2.5 - 0.1) * 5**-0.5)


def check_awpo(module: Any) -> None:
    wanted = {
        "exact": (1, 2, 3, 6 / 6),
        "wrong": (1, 2, 2, 5 / 6),
        "missing": (1 / 2, 1, 1, 2.5 / 6),
        "extra": (2 / 3, 2, 3, (2 / 3 + 5) / 6),
        "swapped": (1, 2, 3, 1),
    }
    for name, predicted in PREDICTIONS.items():
        equal(module.execution(predicted, GOLD), wanted[name])
    equal(module.execution((), ())[3], 1)
    equal(module.execution((CD,), ())[3], 0)
    equal([module.snap(x) for x in (0.84, 0.1, 0.13, 0.625)], [0.9, 0.0, 0.25, 0.75])
    text = formats.get("toolrl").render(calls=(CD, WRONG))
    score = module.AWPO(channel="mixed").score(text, Gold(calls=GOLD), Context(reasoning=0.5))
    equal((score.parts["outcome"], score.total), (11 / 6, 11 / 6 + 0.5))


def check_toolupt(module: Any) -> None:
    wanted = {
        "exact": (1, 1, 1, 3),
        "wrong": (1, 1, (1 + 0.75) / 2, 2.75),
        "missing": (1, 1 / 2, 1 / 2, 1),
        "extra": (1, 2 / 3, 2 / 3, 5 / 3),
        "swapped": (1, 1, 1, 3),
    }
    for name, predicted in PREDICTIONS.items():
        equal(module.correctness(predicted, GOLD, True), wanted[name])
    equal(module.correctness((), GOLD, False), (0, 0, 0, -3))
    equal(module.token_rewards(np.array([True, False]), -0.5), [4.0, -0.5])
    text = formats.get("toolupt").render(calls=(CD, WRONG))
    context = Context(tokens=[1, 5, 9, 7], gold_tokens=[1, 5, 6])
    score = module.ToolUPT().score(text, Gold(calls=GOLD), context)
    equal(score.total, 3.75)
    equal(score.token_rewards, [4.0, 4.0, 3.75, 3.75])
    equal(module.ToolUPT().score("<answer>a</answer>", Gold(response="b")).total, 4.0)
    equal(module.ToolUPT().score("<answer><tool_call></answer>", Gold(response="b")).total, -2.0)


def check_alignment(module: Any) -> None:
    gold = [1, 5, 6, 7, 8, 2]
    equal(module.positional_flags([1, 9, 5, 6, 7, 8, 2], gold), [1, 0, 0, 0, 0, 0, 0])
    equal(module.positional_flags([1, 5, 9], gold), [1, 1, 0])
    equal(module.lcs_flags([1, 9, 5, 6, 7, 8, 2], gold), [1, 0, 1, 1, 1, 1, 1])
    equal(module.lcs_flags([3, 4], [4, 3]), [0, 1])
    equal(module.lcs_flags([5, 9, 9, 6], [4, 5, 6]), [1, 0, 0, 1])
    equal(module.lcs_flags([], gold), [])


def check_toolrl(module: Any) -> None:
    wanted = {"exact": 3, "wrong": 2, "missing": -0.5, "extra": 6 * (2 / 3 + 5) / 6 - 3, "swapped": 3}
    for name, predicted in PREDICTIONS.items():
        score = module.ToolRL().score(formats.get("toolrl").render(calls=predicted), Gold(calls=GOLD))
        equal(
            (score.parts["format"], score.parts["correct"], score.total), (1, wanted[name], 1 + wanted[name])
        )
    twice = Gold(calls=(CD, CD))
    score = module.ToolRL().score(formats.get("toolrl").render(calls=(CD,)), twice)
    # Names 1 of 2, the first gold call 2, the second has no prediction left: 2.5 of 5.
    equal(score.parts["correct"], 0.0)
    equal(
        module.ToolRL().score("<think>t</think>\n<tool_call>\n{oops}\n</tool_call>", Gold(calls=GOLD)).total,
        -2,
    )


def check_binary(module: Any) -> None:
    form = formats.get("chord")
    wanted = {"exact": 1, "wrong": 0, "missing": 0, "extra": 0, "swapped": 1}
    for name, predicted in PREDICTIONS.items():
        equal(module.Binary().score(form.render(calls=predicted), Gold(calls=GOLD)).total, wanted[name])
    equal(module.Binary().score(form.render(calls=(CD, CAT, CAT)), Gold(calls=(CD, CD, CAT))).total, 0)
    equal(module.Binary().score(form.render(calls=GOLD) + "!", Gold(calls=GOLD)).total, 0)


def check_math(module: Any) -> None:
    def total(text: str, truncated: bool = False) -> float:
        return float(module.MathAnswer().score(text, Gold(response="39"), Context(truncated=truncated)).total)

    head = "<think>t</think> "
    equal(
        [total(head + "\\boxed{39}"), total(head + "\\boxed{40}"), total("40"), total("40", True)],
        [1, 0, -0.1, -1],
    )
    equal([total(head + "\\boxed{039.0}"), total(head + "\\boxed{40}", True)], [1, 0])


def check_rubric(module: Any) -> None:
    equal(module.rubric_share([1, 0, 1], [3.0, 2.0, 1.0]), 4 / 6)
    equal(module.rubric_share([1, 1, 1], [3.0, 1.0, -1.0]), 3 / 4)
    equal(module.Rubric().score("", Gold(), Context(rubric=0.3)).total, 0.3)


def check_overlong(module: Any) -> None:
    lengths = (10, 16, 17, 18, 20, 21)
    equal([module.overlong_penalty(n, 20, 4) for n in lengths], [0, 0, -0.25, -0.5, -1, -1])
    equal(module.Overlong(max_length=20, cache=4).score("", Gold(), Context(length=18)).total, -0.5)


CHECKS: dict[str, tuple[str, Callable[[Any], None]]] = {
    "dupo": ("dupo", check_dupo),
    "awpo": ("awpo", check_awpo),
    "toolupt": ("toolupt", check_toolupt),
    "alignment": ("alignment", check_alignment),
    "toolrl": ("toolrl", check_toolrl),
    "binary": ("chord", check_binary),
    "math": ("chord", check_math),
    "rubric": ("rubric", check_rubric),
    "overlong": ("overlong", check_overlong),
}

MUTANTS = {
    "dupo": {
        "sign": ("1.0) - 1.0)", "1.0) + 1.0)"),
        "matching": ("(call.name, key, value_key(value))", "(key, value_key(value))"),
        "normaliser": ("math.log(steps + 1)", "math.log(steps)"),
    },
    "awpo": {
        "sign": ("outcome + given", "outcome - given"),
        "matching": ("match_by_name(gold, predicted, _similarity)", "range_match(gold, predicted)"),
        "normaliser": ("1 + len(gold) + sum", "len(gold) + sum"),
    },
    "toolupt": {
        "sign": ("6 * share - 3", "3 - 6 * share"),
        "mask": ("np.where(flags, ", "np.where(~flags, "),
        "normaliser": ("most = max(len(predicted), len(gold))", "most = len(gold)"),
    },
    "alignment": {
        "sign": ("below[:-1] >= row[1:]", "below[:-1] < row[1:]"),
        "mask": ("flags[head + i] = True", "flags[head + j] = True"),
        "normaliser": ("below[1:] + 1, 0", "below[1:] + 0, 0"),
    },
    "toolrl": {
        "sign": ("(high - low) * share + low", "(low - high) * share - low"),
        "matching": ("index in used or ", ""),
        "normaliser": ("most = 1.0\n", "most = 0.0\n"),
    },
    "binary": {
        "sign": ("1.0 if right and (", "1.0 if not right and ("),
        "matching": ("map(call_key, ", "map(lambda call: call.name, "),
        "normaliser": ("Counter(", "set("),
    },
    "math": {
        "sign": ('not in the format")] = -0.1', 'not in the format")] = 0.1'),
        "mask": ("context.truncated and not answered", "context.truncated"),
        "normaliser": ("_normal_answer(answer) == _normal_answer(gold)", "answer == gold"),
    },
    "rubric": {
        "sign": ("weight * float(verdict)", "-weight * float(verdict)"),
        "mask": ("for weight in weights if weight > 0", "for weight in weights"),
        "normaliser": ("share / whole", "share / len(met)"),
    },
    "overlong": {
        "sign": ("factor * (free - length)", "factor * (length - free)"),
        "mask": ("length <= free", "length < max_length"),
        "normaliser": ("/ cache", "/ max_length"),
    },
}


def range_match(gold: Any, predicted: Any) -> list[int | None]:
    """Match by place instead of by name."""
    return [index if index < len(predicted) else None for index in range(len(gold))]


def mutated(name: str, old: str, new: str) -> types.ModuleType:
    source = inspect.getsource(importlib.import_module(f"planarena.trainers.rewards.{name}"))
    assert old in source, f"the fragment {old!r} is no longer in {name}.py: write the mutant anew"
    module = types.ModuleType(f"mutant_{name}")
    module.__dict__["range_match"] = range_match
    # Struct fields are resolved through the module that defines them.
    sys.modules[module.__name__] = module
    try:
        exec(compile(source.replace(old, new), f"mutant_{name}.py", "exec"), module.__dict__)
    finally:
        del sys.modules[module.__name__]
    return module


@pytest.mark.parametrize("reward", CHECKS)
def test_the_reference_values_hold(reward: str) -> None:
    name, check = CHECKS[reward]
    check(importlib.import_module(f"planarena.trainers.rewards.{name}"))


@pytest.mark.parametrize(
    ("reward", "mistake"), [(reward, kind) for reward in MUTANTS for kind in MUTANTS[reward]]
)
def test_a_mutant_is_caught(reward: str, mistake: str) -> None:
    name, check = CHECKS[reward]
    mutant = mutated(name, *MUTANTS[reward][mistake])
    with pytest.raises(AssertionError):
        check(mutant)


def test_every_reward_has_three_mutants() -> None:
    assert set(MUTANTS) == set(CHECKS)
    assert all(len(found) == 3 for found in MUTANTS.values())
