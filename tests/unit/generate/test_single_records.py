"""Of a single record nobody says that it comes first, and what is only shown is asked for before what changes it."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any

from planarena.environments import World
from planarena.environments.catalog import wording_of
from planarena.environments.domains import draw_seeds, load_domain
from planarena.generate.answers import write_response
from planarena.generate.clauses import StepContext
from planarena.generate.queries import Conversation
from planarena.generate.spelling import PLAIN
from planarena.generate.tellings import Telling


def step(world: World, number: int, tool: str, arguments: dict[str, Any], bound: Any = None) -> StepContext:
    domain = tool_domain(world, tool)
    result = world.call(tool, arguments).result
    return StepContext(
        number, world.operations[tool], wording_of(domain)[tool], arguments, bound or {}, result
    )


def tool_domain(world: World, tool: str) -> str:
    return world.operations[tool].tool.namespace


def test_one_absence_is_not_the_first() -> None:
    read = 0
    for seed in range(12):
        seeds = draw_seeds(("hr",), Random(seed))
        world = World([load_domain("hr")], seeds)
        for team in seeds[0].story["teams"]:
            one = step(world, 0, "list_team_absences", {"team": team, "date": seeds[0].story["today"]})
            if one.result is None or len(one.result["absences"]) != 1:
                continue
            # Whether the request asked for the list or for a number.
            for wanted in ({}, {0: ()}):
                for draw in range(6):
                    answer = write_response([one], [0], Random(draw), PLAIN, (), wanted)
                    read += 1
                    assert not re.search(r"\bfirst\b", answer), answer
    assert read > 20


def test_a_message_is_read_before_it_is_answered() -> None:
    seeds = draw_seeds(("email",), Random(3))
    world = World([load_domain("email")], seeds)
    found = step(world, 0, "search_emails", {"sender": seeds[0].story["people"][0]})
    message = found.result["messages"][0]["message_id"]
    place = {"message_id": (0, "/messages/0/message_id")}
    reply = {"message_id": message, "body": "Noted, thank you."}
    steps = [
        found,
        step(world, 1, "draft_email_reply", reply, place),
        step(world, 2, "open_email", {"message_id": message}, place),
    ]
    telling = Telling([0, 0, 0], [1, 2], [0, 0b1, 0b1])
    for draw in range(8):
        conversation = Conversation(steps, telling, "plain", PLAIN, Counter(), Random(draw))
        assert conversation.in_order([1, 2]) == [2, 1]
