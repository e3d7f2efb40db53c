"""What belongs together in emulated worlds: fields and their things, dates and states, parts and lists, words and people."""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planarena.environments.sources.field_kinds import in_place, kind_of_text, moment_for
from planarena.environments.sources.openapi.belonging import acts_on, has_content, is_moved_alone, suits
from planarena.environments.sources.openapi.coherence import aligned
from planarena.environments.sources.openapi.emulator import EmulatedWorld
from planarena.environments.sources.openapi.labels import choice_words, label_of
from planarena.environments.sources.openapi.naming import names_of
from planarena.environments.sources.openapi.source import Family, families
from planarena.environments.sources.things import topic_of
from planarena.environments.sources.vocabulary import Vocabulary
from planarena.generate.surfaces import surface
from planarena.tools.openapi import convert_openapi

sys.path.insert(0, str(Path(__file__).parents[2]))
from emulated_api import DAY, MOMENT, TEXT, WHOLE, collection, one_of

NUMBER, FLAG = {"type": "number"}, {"type": "boolean"}
SLUG = {"type": "string", "pattern": "^[a-z0-9]{5}$"}


def _answer(schema: Any) -> dict[str, Any]:
    return {"responses": {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}}


def _list_of(**fields: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "data": {"type": "array", "items": {"type": "object", "properties": fields}},
            "total": WHOLE,
        },
    }


def _shown(operation: dict[str, Any]) -> Any:
    """Return the properties of the items that an operation shows."""
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    found = schema["properties"]
    return found["items"]["items"]["properties"] if "items" in found else found


def workshop() -> dict[str, Any]:
    """A community workshop: tools, courses, people, invoices, and what lists show of each other."""
    key = [{"name": "projectsId", "in": "path", "required": True, "schema": TEXT}]
    tool = {"type": "object", "properties": {"id": TEXT, "name": TEXT, "color": TEXT}}
    paths = {
        **collection("/tasks", {"title": TEXT, "desc": TEXT, "updated_at": MOMENT, "status": one_of("open", "done")}, ("title",), ("retry", "complete"), {"description": TEXT}),
        **collection("/projects", {"name": TEXT, "email": TEXT, "release_date": DAY, "budget": NUMBER, "currency": one_of("ILS", "SEK", "NOK")}, ("name",), shown={"milestone_count": WHOLE, "slug": TEXT}),
        **collection("/projects/{projectId}/milestones", {"title": TEXT, "due_date": DAY}, ("title",)),
        **collection("/projects/{projectId}/members", {"firstName": TEXT, "lastName": TEXT, "email": TEXT, "groupName": TEXT}, ("firstName", "lastName", "email")),
        **collection("/photos", {"title": TEXT, "caption": TEXT}, ("title",)),
        **collection("/artists", {"name": TEXT, "bio": TEXT}, ("name",)),
        **collection("/students", {"first_name": TEXT, "last_name": TEXT, "birth_date": DAY, "grade_level": WHOLE}, ("first_name", "last_name")),
        **collection("/customers", {"company_name": TEXT, "contact_name": TEXT, "billing_address_state": TEXT, "billing_address_city": TEXT}, ("company_name",)),
        **collection("/stores", {"name": TEXT, "city": TEXT, "phone": TEXT}, ("name",)),
        **collection("/invoices", {"invoice_number": TEXT, "customer_name": TEXT, "due_date": DAY}, ("customer_name",)),
        **collection("/teams", {"name": TEXT}, ("name",), shown={"sessions_count": WHOLE}),
        **collection("/halls", {"name": TEXT, "capacity": WHOLE, "seat_count": WHOLE}, ("name",)),
        **collection("/halls/{hallId}/seats", {"name": TEXT}, ("name",)),
        **collection("/gizmos", {"name": SLUG}, ("name",)),
        **collection("/task-types", {"name": TEXT}, ("name",)),
        **collection("/accounts", {"name": TEXT, "balance": NUMBER}, ("name",)),
        "/projects/{projectsId}/tasks": {"parameters": key, "get": {"operationId": "projectTasks", **_answer(_list_of(id=TEXT, title=TEXT, status=TEXT))}},
        "/widgets": {"get": {"operationId": "listWidgets", **_answer(_list_of(name=TEXT))}},
        "/tools": {"get": {"operationId": "listTools", **_answer({"type": "array", "items": tool})}},
    }  # fmt: skip
    _shown(paths["/tasks"]["get"]).pop(
        "desc"
    )  # what requests call otherwise than results; one schema for all
    # One service answers a deletion with a list of one.
    listed = {
        "type": "object",
        "properties": {
            "Accounts": {
                "type": "array",
                "items": {"type": "object", "properties": {"id": TEXT, "name": TEXT}},
            }
        },
    }
    paths["/accounts/{accountsId}"] = paths.pop("/accounts/{accountId}")
    for verb in ("get", "patch", "delete"):
        paths["/accounts/{accountsId}"][verb] |= _answer(listed)
    paths["/accounts/{accountsId}"]["parameters"][0]["name"] = "accountsId"
    return {"openapi": "3.0.3", "info": {"title": "Bench and Yard", "version": "1"}, "paths": paths}


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> list[Family]:
    file = tmp_path_factory.mktemp("api") / "workshop.json"
    file.write_text(json.dumps(workshop()))
    return families(convert_openapi(file))


def family(units: list[Family], shape: str) -> Family:
    return next(unit for unit in units if unit.shape == shape)


def texts(unit: Family) -> list[str]:
    return [text for words in unit.wording.values() for text in (*words.ask, *words.aims, *words.report)]


def ok(world: EmulatedWorld, tool: str, **arguments: Any) -> Any:
    outcome = world.call(tool, arguments)
    assert outcome.status == "ok", outcome.error
    return outcome.result


# -- what belongs to what ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "noun", "person", "company", "fits"),
    [
        ("release date", "album", False, False, True),
        ("release date", "file", False, False, False),
        ("email", "folder", False, False, False),
        ("email", "supplier", False, True, True),
        ("role", "store", False, False, False),
        ("role", "member", True, False, True),
        ("city", "shop", False, False, True),
        ("city", "document", False, False, False),
        ("number of shares", "store", False, False, False),
        ("amount", "sponsor", False, True, False),
        ("status", "anything", False, False, True),
    ],
)
def test_fields_are_spoken_of_for_what_has_them(
    label: str, noun: str, person: bool, company: bool, fits: bool
) -> None:
    assert suits(label, noun, person=person, company=company) is fits


def test_actions_and_changes_make_sense_for_their_things() -> None:
    assert acts_on("retry", "payment")
    assert not acts_on("retry", "subscription")
    assert acts_on("cancel", "subscription"), "nothing is said of it"
    assert has_content("profile photo")
    assert not has_content("photo album")
    assert not is_moved_alone("city", "city", "store")
    assert not is_moved_alone("rating", "rating", "product")
    assert is_moved_alone("rating", "rating", "review")


def test_the_words_of_a_family_follow(units: list[Family]) -> None:
    project = family(units, "/projects")
    own = [project.wording[name] for name in project.usable if name.endswith("Projects")]
    assert len(own) > 3
    for words in own:
        assert not re.search(r"email|release date", " ".join((*words.ask, *words.aims, *words.report)))
    assert "retryTasks" in family(units, "/tasks").left_out
    assert family(units, "/photos").left_out["createPhotos"] == "nobody could say what is in it"
    assert "listTask" not in " ".join(family(units, "/task-types").usable), (
        "nobody knows what they are called"
    )
    assert not any("gizmo" in text for text in texts(family(units, "/gizmos"))), "codes are no names"
    assert "no longer need" not in " ".join(texts(family(units, "/artists")))
    assert family(units, "/tasks").wording["completeTasks"].ask == ("mark {taskId} as completed",)


def test_people_are_added_and_removed_and_things_are_for_people_and_in_towns(units: list[Family]) -> None:
    people = " ".join(texts(family(units, "/students")))
    assert "get rid of" not in people
    assert "created" not in people
    assert "has been removed" in people
    members = family(units, "/projects/{}/members").wording
    assert members["deleteMembers"].ask == ("remove {memberId} from {projectId}",)
    assert " for {customer_name}" in family(units, "/invoices").wording["createInvoices"].ask[0]
    stores = family(units, "/stores").wording
    assert "[ in {city}]" in stores["createStores"].ask[0]
    assert "{city}" not in stores["updateStores"].ask[0], "a town goes with its street"
    customer = names_of(units[0].api, "/customers")
    assert customer is not None
    assert (customer.fields, customer.kind) == (("company_name",), "title")


# -- dates, numbers and states ------------------------------------------------------------------------


def test_what_happened_did_so_after_the_item_was_entered() -> None:
    now = datetime.fromisoformat("2026-05-05T10:00")
    deal = {
        "stage": "won", "close_date": "2026-02-20", "created_at": "2026-05-02T15:45:00Z", "probability": 31,
        "date_of_birth": "1990-01-01",
    }  # fmt: skip
    made = aligned(deal, now)
    assert made["created_at"] == "2026-02-20T07:30:00Z"
    assert made["probability"] == 100
    assert (
        aligned({"created_at": "2026-01-01T08:00:00Z", "due": "2026-06-01"}, now)["created_at"][:4] == "2026"
    )
    later = aligned({"created_at": "2026-03-01T08:00:00Z", "hired_on": "2020-01-01"}, now)
    assert later["created_at"] == "2026-03-01T08:00:00Z", "people are entered after they were hired"


def test_the_numbers_of_an_item_fit_each_other() -> None:
    now = datetime.fromisoformat("2026-05-05T10:00")
    assert aligned({"status": "finished", "progress_percent": 41}, now)["progress_percent"] == 100
    assert aligned({"status": "active", "progress_percent": 41}, now)["progress_percent"] == 41
    wage = aligned({"salary_min": 41_000, "salary_max": 41_000}, now)
    assert wage["salary_min"] < wage["salary_max"]
    assert aligned({"grade_level": 11, "birth_date": "2017-04-04"}, now)["grade_level"] == 3


def test_pupils_are_young_and_appointments_lie_ahead(units: list[Family]) -> None:
    world = family(units, "/students").world("salt")
    for row in ok(world, "listStudents")["items"]:
        age = int(world.facts["now"][:4]) - int(row["birth_date"][:4])
        assert 5 <= age <= 18
        assert row["grade_level"] in range(max(1, age - 7), age - 4)
    assert moment_for("date", "appointment") == "start"
    assert moment_for("date", "expense") == "past"
    assert moment_for("created_date", "appointment") == "created"
    words = Vocabulary("2026-05-05T10:00").about("one")
    assert words.moment("date", Random(1), "date", "appointment") > "2026-05-05"


def test_an_address_has_a_state_and_never_a_status(units: list[Family]) -> None:
    for name in ("billing_state", "homeState", "shippingState"):
        assert kind_of_text("", in_place(name, ["name"])) == "region", name
    assert kind_of_text("", in_place("workflow_state", ["name"])) == "status"
    regions = {Vocabulary().about(str(one)).text("", "province", "", Random(0)) for one in range(300)}
    world = family(units, "/customers").world("salt")
    for row in ok(world, "listCustomers")["items"]:
        assert row["billing_address_state"] in regions
    assert not any("state" in text for text in texts(family(units, "/customers")))


# -- one world ----------------------------------------------------------------------------------------


def test_a_part_lists_what_the_api_keeps_and_what_is_new_has_nothing(units: list[Family]) -> None:
    for salt in "abcd":
        world = family(units, "/projects").world(salt)
        kept = {row["title"] for row in world.handlers.state.scan("/tasks") for row in [row["fields"]]}
        first = ok(world, "listProjects")["items"][0]
        shown = ok(world, "projectTasks", projectsId=first["id"])
        assert {row["title"] for row in shown["data"]} <= kept
        assert shown["total"] == len(shown["data"]) >= 2
        new = ok(world, "createProjects", name="Paint the shed")
        assert ok(world, "projectTasks", projectsId=new["id"]) == {"data": [], "total": 0}


def test_counts_are_those_of_what_is_listed_and_short_names_follow_the_name(units: list[Family]) -> None:
    world = family(units, "/projects").world("salt")
    project = ok(world, "listProjects")["items"][0]
    milestones = ok(world, "listMilestones", projectId=project["id"])["items"]
    assert project["milestone_count"] == len(milestones) > 1
    assert project["slug"] == re.sub(r"[^a-z0-9]+", "-", project["name"].lower()).strip("-")
    ok(world, "deleteMilestones", projectId=project["id"], milestoneId=milestones[0]["id"])
    assert ok(world, "getProjects", projectId=project["id"])["milestone_count"] == len(milestones) - 1


def test_nobody_sets_how_many_there_are(units: list[Family]) -> None:
    ask = family(units, "/halls").wording["updateHalls"].ask
    assert "{capacity}" in ask[0]
    assert "seat_count" not in ask[0]


def test_a_list_of_one_shows_the_one_that_was_meant(units: list[Family]) -> None:
    world = family(units, "/accounts").world("salt")
    account = ok(world, "listAccounts")["items"][1]
    read = ok(world, "getAccounts", accountsId=account["id"])
    assert read["Accounts"] == [{"id": account["id"], "name": account["name"]}]
    assert ok(world, "deleteAccounts", accountsId=account["id"])["Accounts"][0]["name"] == account["name"]


def test_what_is_there_already_changes_nothing_and_short_names_mean_the_long(units: list[Family]) -> None:
    world = family(units, "/tasks").world("salt")
    task = ok(world, "listTasks")["items"][0]
    changed = ok(world, "updateTasks", taskId=task["id"], desc="Ask the front desk.")
    assert changed["description"] == "Ask the front desk."
    before = ok(world, "getTasks", taskId=task["id"])
    assert ok(world, "updateTasks", taskId=task["id"], desc="Ask the front desk.") == before
    world = family(units, "/tasks").world("salt")
    same = ok(world, "updateTasks", taskId=task["id"], title=task["title"])
    assert same["updated_at"] == task["updated_at"] != world.facts["now"], "nothing was written"


def test_names_within_names_are_those_of_their_own_thing(units: list[Family]) -> None:
    world = family(units, "/projects/{}/members").world("salt")
    project = ok(world, "listProjects")["items"][0]
    for row in ok(world, "listMembers", projectId=project["id"])["items"]:
        assert row["groupName"] in topic_of("group", units[0].api.setting), "a group is nobody"
        assert row["email"].startswith(f"{row['firstName']}.{row['lastName']}".lower())


def test_generic_names_are_never_said(units: list[Family]) -> None:
    assert not any(unit.wording.get("listWidgets") for unit in units)


def test_codes_stay_codes_and_counts_are_said_as_counts(units: list[Family]) -> None:
    shown = family(units, "/projects").tools["getProjects"].output_schema["properties"]["currency"]  # type: ignore[index]
    assert surface("ILS", shown) == "ILS"
    assert label_of("amount", "plan") == "price"
    assert label_of("amount_due", "invoice") == "amount"
    teams = family(units, "/teams").wording["getTeams"]
    assert teams.aims == ("How many sessions does {teamId} have?",)
    assert teams.report == ("the number of sessions of {teamId} is {/sessions_count}",)


def test_one_world_has_one_currency_and_products_of_usual_prices() -> None:
    words = Vocabulary("2026-05-05T10:00", setting="shop")
    assert len({words.about(str(one)).text("", "currency", "plan", Random(one)) for one in range(20)}) == 1
    prices = [words.number("price", "number", Random(one), "product") for one in range(50)]
    assert max(price for price in prices if price is not None) < 60


def test_long_values_of_an_enumeration_take_no_time() -> None:
    # Of a pattern that backtracks this would take hours.
    assert choice_words("a" * 60 + "1") == ""
    assert choice_words("InTransit") == "in transit"
