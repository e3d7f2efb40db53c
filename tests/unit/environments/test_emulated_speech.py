"""What is said of the things of an API that nobody wrote words for: names, labels, states, moments, and what is left out."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

import planarena
from planarena.config import BuildConfig, ExecutionConfig
from planarena.environments.sources.field_kinds import in_place, kind_of_text
from planarena.environments.sources.openapi.coherence import aligned
from planarena.environments.sources.openapi.labels import choice_words, is_label, label_of
from planarena.environments.sources.openapi.naming import is_person, names_of
from planarena.environments.sources.openapi.source import Family, families, left_out_of, usage_of
from planarena.environments.sources.things import topic_of
from planarena.environments.sources.vocabulary import Vocabulary
from planarena.generate.surfaces import surface
from planarena.tools.openapi import convert_openapi

sys.path.insert(0, str(Path(__file__).parents[2]))
from emulated_api import DAY, MOMENT, TEXT, WHOLE, collection, one_of

ADDRESS = {"type": "object", "properties": {"street": TEXT, "city": TEXT, "state": TEXT, "zip": TEXT}}


def lettings() -> dict[str, Any]:
    """An agency that lets flats: people by two names, flats by numbers, repairs with states."""
    return {
        "openapi": "3.0.3",
        "info": {"title": "Hearthside Lettings", "version": "1"},
        "paths": {
            **collection("/tenants", {"firstName": TEXT, "lastName": TEXT, "email": {"type": "string", "format": "email"}, "moveInDate": DAY, "billingAddress": ADDRESS, "gender": one_of("female", "male")}, ("firstName", "lastName")),
            **collection("/properties", {"name": TEXT, "category": one_of("house", "flat"), "notes": TEXT}, ("name",), shown={"unitCount": WHOLE, "fooIndex": TEXT}),
            **collection("/properties/{propertyId}/units", {"unitNumber": TEXT, "bedrooms": WHOLE, "rent": {"type": "number"}}),
            **collection("/work-orders", {"title": TEXT, "priority": one_of("Low", "Normal", "High"), "dueDate": DAY, "notes": TEXT}, ("title",), ("complete", "cancel", "pause", "frobnicate"), {"status": one_of("New", "InProgress", "Completed", "Cancelled")}),
            **collection("/events", {"title": TEXT, "startsAt": MOMENT, "endsAt": MOMENT, "state": one_of("on_hold", "confirmed")}, ("title", "startsAt")),
            "/archive/tenants": {"get": collection("/tenants", {"firstName": TEXT, "lastName": TEXT})["/tenants"]["get"] | {"operationId": "oldTenants"}},
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> list[Family]:
    file = tmp_path_factory.mktemp("api") / "lettings.json"
    file.write_text(json.dumps(lettings()))
    return families(convert_openapi(file))


def family(units: list[Family], shape: str) -> Family:
    return next(unit for unit in units if unit.shape == shape)


def texts(unit: Family) -> Iterator[str]:
    for words in unit.wording.values():
        yield from (*words.ask, *words.aims, *words.report)


def test_people_go_by_both_names_flats_by_numbers_and_repairs_by_titles(units: list[Family]) -> None:
    api = units[0].api
    assert is_person(api, "/tenants")
    assert names_of(api, "/tenants").fields == ("firstName", "lastName")  # type: ignore[union-attr]
    tenants = family(units, "/tenants").wording
    assert tenants["listTenants"].refer["/items/1/id"].full == (
        "the tenant {/items/1/firstName} {/items/1/lastName}",
    )
    assert tenants["createTenants"].ask[0].startswith("add a tenant named {firstName} {lastName}")
    flats = family(units, "/properties/{}/units")
    assert flats.wording["listUnits"].refer["/items/0/id"].full == ("unit {/items/0/unitNumber}",)
    assert flats.wording["listProperties"].refer["/items/0/id"].full == ('the property "{/items/0/name}"',)
    world = flats.world("salt")
    first = world.call("listProperties", {}).result["items"][0]
    numbers = [
        row["unitNumber"] for row in world.call("listUnits", {"propertyId": first["id"]}).result["items"]
    ]
    assert numbers == sorted(set(numbers))
    assert all(re.fullmatch(r"\d{3}", number) for number in numbers)


def test_the_state_beside_a_city_is_a_region_and_any_other_is_a_status(units: list[Family]) -> None:
    assert kind_of_text("", in_place("state", ["street", "city", "zip"])) == "region"
    assert kind_of_text("", in_place("state", ["name", "owner"])) == "status"
    assert kind_of_text("", in_place("licenseState", [], "Two-letter state of issue")) == "region"
    assert kind_of_text("", in_place("billing_state", ["billing_city", "name"])) == "region"
    world = family(units, "/tenants").world("salt")
    regions = {
        Vocabulary("2026-01-01T00:00").about(str(number)).text("", "province", "", Random(0))
        for number in range(300)
    }
    for row in world.call("listTenants", {}).result["items"]:
        assert row["billingAddress"]["state"] in regions
    assert not any("address" in text for text in texts(family(units, "/tenants")))


def test_fields_have_everyday_labels_or_are_not_spoken_of(units: list[Family]) -> None:
    assert [label_of(name, "discount", moment=True) for name in ("startsOn", "ends_on", "expires_at", "birthdate")] == [
        "start date", "end date", "expiry date", "date of birth",
    ]  # fmt: skip
    assert label_of("unitCount", "property") == "number of units"
    for name in ("vfdDriverState", "provenance", "sla_assignment", "clusterUuid", "totalCatch"):
        assert not is_label(label_of(name, "host")), name
    assert [choice_words(one) for one in ("InProgress", "on_hold", "OUT_FOR_DELIVERY", "n/a", "NotSet", "x86")] == [
        "in progress", "on hold", "out for delivery", "", "", "",
    ]  # fmt: skip
    for unit in units:
        for text in texts(unit):
            assert not re.search(r"foo|index|[a-z][A-Z]|_", re.sub(r"\{[^}]*\}", "", text)), text


def test_what_a_title_says_is_not_contradicted_and_what_is_given_is_not_changed(units: list[Family]) -> None:
    houses = family(units, "/properties").wording
    assert not any("category" in text for words in houses.values() for text in (*words.ask, *words.report))
    update = family(units, "/tenants").wording["updateTenants"]
    assert "gender" not in update.ask[0]
    assert "{moveInDate}" in update.ask[0]
    viewing = family(units, "/events").wording
    assert "start time {startsAt}" in viewing["createEvents"].ask[0]
    assert "start time" not in viewing["updateEvents"].ask[0], "its end would have to move with it"
    assert viewing["createEvents"].dates["startsAt"] == "future"


def test_an_action_needs_a_state_that_allows_it_and_shows_what_it_did(units: list[Family]) -> None:
    unit = family(units, "/work-orders")
    left = unit.left_out
    assert left["pauseWorkOrders"] == "what it changes cannot be seen", "no state is called paused"
    assert left["frobnicateWorkOrders"] == "no everyday word for what it does"
    done = refused = 0
    for number in range(12):
        world = unit.world(f"salt {number}")
        for row in world.call("listWorkOrders", {}).result["items"]:
            key = {"workOrderId": row["id"]}
            outcome = world.call("cancelWorkOrders", key)
            if row["status"] in {"Completed", "Cancelled"}:
                assert outcome.status == "tool_error"
                refused += 1
            else:
                assert outcome.result["status"] == "Cancelled"
                assert world.call("completeWorkOrders", key).status == "tool_error", "it is cancelled"
                done += 1
    assert done > 10
    assert refused


def test_dates_fit_the_state_that_something_is_in() -> None:
    now = datetime.fromisoformat("2026-05-05T10:00")
    ahead = {"startDate": "2026-06-01", "endDate": "2026-08-01"}
    begun = aligned({"status": "active", **ahead}, now)
    assert begun["startDate"] < "2026-05-05" < begun["endDate"] == "2026-08-01"
    over = aligned({"status": "Completed", **ahead}, now)
    assert over["startDate"] < over["endDate"] < "2026-05-05"
    assert aligned({"status": "draft", **ahead}, now) == {"status": "draft", **ahead}
    late = aligned({"status": "overdue", "due_date": "2026-05-20"}, now)
    assert late["due_date"] < "2026-05-05"
    assert aligned({"status": "active", "renewal_date": "2026-06-01"}, now)["renewal_date"] == "2026-06-01"


def test_what_begins_at_an_hour_ends_on_that_day(units: list[Family]) -> None:
    for number in range(10):
        for row in family(units, "/events").world(str(number)).call("listEvents", {}).result["items"]:
            assert row["startsAt"][:10] == row["endsAt"][:10]
            assert row["startsAt"] < row["endsAt"]


def test_values_of_results_are_written_as_people_write_them(units: list[Family]) -> None:
    unit = family(units, "/work-orders")
    fields = unit.tools["getWorkOrders"].output_schema["properties"]  # type: ignore[index]
    assert surface("InProgress", fields["status"]) == "in progress"
    assert surface("2026-05-07", fields["dueDate"]) == "7 May 2026"
    listed = unit.tools["listWorkOrders"].output_schema["properties"]["items"]["items"]["properties"]  # type: ignore[index]
    assert surface("2026-05-07", listed["dueDate"]) == "7 May 2026"
    assert unit.tools["createWorkOrders"].parameters["dueDate"]["x-surface"] == "date"


def test_a_noun_means_what_the_api_is_about() -> None:
    assert "Hilltop" in topic_of("station", "weather station observation")
    assert "Central Station" in topic_of("station", "train departure line")
    assert topic_of("group", "kubernetes cluster group") == ()
    assert topic_of("client", "oauth token client") == ()
    assert topic_of("client", "invoice client") == "person"
    assert topic_of("account", "deal opportunity account") == "company"
    assert topic_of("network service", "network") == (), "unknown words make another thing of it"
    assert "Lentil soup" in topic_of("menu item")
    assert topic_of("fileset") == ()


def test_what_is_asked_for_in_the_same_words_is_offered_once_and_all_is_counted(units: list[Family]) -> None:
    found = usage_of(units)
    assert found["operations"] == 30
    assert found["asked_for"] + sum(found["left_out"].values()) == found["operations"]
    assert found["left_out"] == dict(left_out_of(units))
    assert "its path does not tell whose it is" not in found["left_out"], (
        "what archives holds are tenants too"
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> planarena.Run:
    folder = tmp_path_factory.mktemp("build")
    (folder / "lettings.json").write_text(json.dumps(lettings()))
    config = BuildConfig(
        sources=(f"openapi:{folder / 'lettings.json'}",),
        trajectories=40,
        out=str(folder / "run"),
        execution=ExecutionConfig(workers=1),
    )
    return planarena.build(config)


def test_a_build_says_what_it_left_out(run: planarena.Run) -> None:
    (found,) = run.info["descriptions"].values()
    assert found["left_out"]["what it changes cannot be seen"] == 1
    assert found["operations"] == found["asked_for"] + sum(found["left_out"].values())
    card = (Path(run.path) / "README.md").read_text()
    assert "## Operations left out" in card
    assert "| what it changes cannot be seen | 1 |" in card


def test_no_id_no_identifier_and_no_data_is_said(run: planarena.Run) -> None:
    queries = run.table("queries").collect().to_dicts()
    answers = run.table("trajectories").collect().filter(kind="gold").to_dicts()
    said = [turn for row in queries for turn in json.loads(row["turns"])]
    said += [
        text for row in answers for text in (*json.loads(row["turn_responses"] or "[]"), row["response"])
    ]
    assert len(said) > 60
    for text in said:
        assert not re.search(r"_[0-9a-f]{8}|[a-z][A-Z][a-z]|\b\w+_\w+\b|T\d\d:\d\d|\{|None", text), text
