"""What the worlds of our domains are made with: days, moments, people and tables by id."""

from __future__ import annotations

from random import Random

import pytest

from planarena.environments import World
from planarena.environments.contract import Environment
from planarena.environments.domains import draw_seeds, load_domain
from planarena.environments.domains.shared import (
    caption,
    draw_moment,
    draw_people,
    first_working_day,
    keyed,
    keyed_by_content,
    later,
)


@pytest.mark.parametrize(
    ("day", "found"),
    [
        ("2026-05-01", "2026-05-01"),  # a Friday
        ("2026-05-02", "2026-05-04"),
        ("2026-05-03", "2026-05-04"),
        ("2026-02-28", "2026-03-02"),
    ],
)
def test_a_weekend_gives_way_to_its_monday(day: str, found: str) -> None:
    assert first_working_day(day) == found


def test_a_moment_may_lie_before_or_after() -> None:
    assert later("2026-12-31T23:30", 60) == "2027-01-01T00:30"
    assert later("2026-03-01T00:10", -24 * 60 - 11) == "2026-02-27T23:59"


def test_the_scenarios_moment_goes_before_and_costs_the_same_draws() -> None:
    alone, beside = Random(4), Random(4)
    drawn = draw_moment(alone, ("07:45", "16:00"), None)
    assert drawn[:5] == "2026-" and drawn[11:] in {"07:45", "16:00"}
    assert draw_moment(beside, ("07:45", "16:00"), {"now": "2026-08-01T10:00"}) == "2026-08-01T10:00"
    assert alone.random() == beside.random()


def test_people_are_different_and_those_known_come_first() -> None:
    names = draw_people(Random(2), 6)
    assert len(set(names)) == 6
    shared = {"user_name": "Ana Costa", "people": ["Ivo Brandt"]}
    assert draw_people(Random(2), 6, shared)[:3] == ["Ana Costa", "Ivo Brandt", names[0]]


def test_records_are_kept_under_their_ids() -> None:
    rows = [{"trip_id": "t1", "km": 3}, {"trip_id": "t2", "km": 4}]
    assert keyed("trip_id", iter(rows)) == {"t1": rows[0], "t2": rows[1]}


def test_records_without_an_id_are_kept_under_what_they_say() -> None:
    rows = [
        {"room": "study", "at": "2026-03-01T10:00", "lux": 3},
        {"at": "2026-03-01T11:00", "room": "study"},
    ]
    table = keyed_by_content("rd", "room at", iter(rows))
    assert list(table.values()) == rows
    assert list(table) == [Environment.new_id("rd", "study", row["at"]) for row in rows]


def test_a_situation_is_told_with_its_names() -> None:
    situation = {"title": "A week of {user}", "description": "{user} sees {first}."}
    assert caption(situation, {"user": "Ana", "first": "Ivo"}) == ("A week of Ana", "Ana sees Ivo.")


def test_a_light_is_no_thermostat():
    world = World([load_domain("smart_home")], draw_seeds(["smart_home"], Random("a house")))
    rows = world.store.dump()["smart_home.devices"]
    ids = {row["kind"]: key for key, row in rows.items()}
    call = {"thermostat_id": ids["light"], "temperature": 20.5}
    refused = world.call("set_target_temperature", call)
    assert refused.error is not None
    assert refused.error["code"] == "not_found"
    assert world.call("set_target_temperature", {**call, "thermostat_id": ids["thermostat"]}).status == "ok"


def test_a_room_that_somebody_has_booked_is_not_free():
    taken = 0
    for number in range(6):
        world = World([load_domain("calendar")], draw_seeds(["calendar"], Random(f"rooms {number}")))
        bookings = world.store.dump()["calendar.bookings"].values()
        for booking in bookings:
            if booking["event_id"]:
                continue
            asked = {"start": booking["start"], "duration": 30, "seats": 2}
            found = world.call("find_free_rooms", asked)
            if found.status == "ok":
                taken += 1
                offers = [row["offer_id"] for row in found.result["rooms"]]
                assert not [one for one in offers if one.startswith(booking["room_id"])]
    assert taken > 5
