"""A scenario offers tools that can be called: each with a producer of what it needs, which can start without it."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import pytest

from planarena.environments.domains import DOMAINS, load_domain
from planarena.environments.sources import draw_tools, startable
from planarena.environments.wording import offers
from planarena.environments.world import operations


def tool(*needs: str) -> SimpleNamespace:
    parameters = {need: {"x-hidden": True, "x-semantic": need} for need in needs}
    return SimpleNamespace(tool=SimpleNamespace(required=tuple(needs), parameters=parameters))


def offer(*semantics: str) -> tuple[SimpleNamespace, ...]:
    return tuple(SimpleNamespace(semantic=semantic) for semantic in semantics)


# `pay` and `bill` need each other's results; only `list` gives an account without asking for one.
TOOLS = {"pay": tool("account"), "bill": tool("payment"), "list": tool(), "lost": tool("nowhere")}
OFFERS = {"pay": offer("payment"), "bill": offer("account"), "list": offer("account"), "lost": ()}


def test_of_two_tools_that_need_each_other_neither_is_the_others_producer() -> None:
    assert startable(TOOLS, OFFERS) == {"list": 0, "pay": 1, "bill": 2}
    for seed in range(20):
        assert draw_tools(["pay"], TOOLS, OFFERS, 1, Random(seed)) == ("pay", "list")
        assert draw_tools(["bill"], TOOLS, OFFERS, 1, Random(seed)) == ("pay", "bill", "list")


def test_what_nothing_gives_is_not_startable_and_is_drawn_as_it_is() -> None:
    assert draw_tools(["lost", "list"], TOOLS, OFFERS, 1, Random(0)) == ("lost",)
    without = {name: one for name, one in TOOLS.items() if name != "list"}
    assert startable(without, OFFERS) == {}


@pytest.mark.parametrize("name", DOMAINS)
def test_every_set_drawn_from_a_domain_can_be_started(name: str) -> None:
    available, offered = dict(operations(load_domain(name))), offers(load_domain(name))
    usable = startable(available, offered)
    for seed in range(10):
        rng = Random(seed)
        names = sorted(usable, key=lambda _: rng.random())
        drawn = draw_tools(names, available, offered, 4, rng)
        assert len(drawn) >= 4
        assert set(startable({one: available[one] for one in drawn}, offered)) == set(drawn)
