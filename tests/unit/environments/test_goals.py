"""`goals.yaml`: it is read as it stands, and each fault in it is found with the place where it stands."""

from __future__ import annotations

import pytest
import yaml

from planarena.environments.catalog import ACROSS, goals_of, operations_of
from planarena.environments.check.findings import Findings
from planarena.environments.check.goals import check_goals
from planarena.environments.domains import DOMAINS
from planarena.environments.goals import load_goals, place_of, references_in
from planarena.errors import SchemaError

WAYS = [f'Way {number}: remind me {{lead_time}} before "{{event.title}}" on {{date}}.' for number in range(6)]


def reminder(**changes):
    """Return an aim that is in order, with some of its fields changed."""
    aim = {
        "calls": {
            "day": {"tool": "list_events", "picks": {"event": {"rows": "/events", "named": "title"}}},
            "alarm": {"tool": "set_event_reminder", "with": {"event_id": "$event.event_id"}},
        },
        "ways": WAYS,
    }
    return aim | changes


def lacking(**changes):
    """Return how the aim that is in order is said without its lead time, with some of it changed."""
    whole = {
        "label": "lead time",
        "asks": ["How long before?"],
        "ways": ['Remind me of "{event.title}" on {date}.'],
        "gives": ["{lead_time} before."],
    }
    return {"lead_time": whole | changes}


def read(tmp_path, aim):
    """Write one aim into a file and read it back."""
    file = tmp_path / "goals.yaml"
    file.write_text(
        yaml.safe_dump({"domain": "calendar", "aims": {"one": aim}}, sort_keys=False), encoding="utf-8"
    )
    return load_goals(file)


def found(tmp_path, aim):
    """Return what the check finds in one aim."""
    findings = Findings()
    check_goals(operations_of("calendar"), read(tmp_path, aim), findings)
    return findings.all()


def call(name, **fields):
    """Return the calls of the aim that is in order with fields of one of them changed."""
    calls = {key: dict(one) for key, one in reminder()["calls"].items()}
    calls[name] = calls.get(name, {}) | fields
    return calls


def test_an_aim_in_order_has_no_finding(tmp_path):
    assert found(tmp_path, reminder()) == []
    more = {
        "deed": 'set a reminder for "{event.title}"',
        "again": ['And {lead_time} before "{event.title}".'],
    }
    assert found(tmp_path, reminder(**more, lacking=lacking(), otherwise=["date"])) == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({}, "the answer does not say so"),
        ({"tell": ["event", "alarm"]}, ""),
        ({"told_by": {"event": "alarm"}}, ""),
        ({"tell": ["event"], "told_by": {"alarm": "other"}}, "is not told itself"),
        ({"told_by": {"event": "alarm", "other": "alarm"}}, "there is no call other"),
    ],
)
def test_what_changes_something_is_told_or_told_in_the_words_of_another(tmp_path, changes, what):
    made = {"tool": "create_calendar_event", "with": {"start": "$start", "duration": 30}}
    later = {"tool": "set_event_reminder", "with": {"event_id": "$event/event_id"}}
    ways = [f"{{title}} at {{start}}, {{duration}}, {{lead_time}} ahead, {number}." for number in range(6)]
    start = {"start": {"of": "create_calendar_event.start"}}
    aim = {"calls": {"event": made, "alarm": later}, "ways": ways, "values": start}
    findings = found(tmp_path, aim | changes)
    assert [what in one.what for one in findings] == ([True] if what else [])


def test_no_file_means_no_aims(tmp_path):
    assert load_goals(tmp_path / "goals.yaml") == {}


@pytest.mark.parametrize(
    ("changes", "where", "what"),
    [
        ({"ways": WAYS[:5]}, "ways", "has 5 ways"),
        ({"calls": call("alarm", tool="ring_a_bell")}, "one", "there is no tool ring_a_bell"),
        ({"calls": call("alarm", **{"with": {"event_id": "$event.event_id", "colour": 1}})}, "alarm", "takes no colour"),
        ({"calls": call("alarm", **{"with": {"event_id": "$event.number"}})}, "", "is not in the result of list_events"),
        ({"calls": call("alarm", **{"with": {"event_id": "$day/nothing"}})}, "", "is not in the result of list_events"),
        ({"calls": call("alarm", **{"with": {}})}, "alarm", "is an id that nobody knows"),
        ({"calls": call("day", picks={"event": {"rows": "/busy", "named": "title"}})}, "event", "is no list"),
        ({"calls": call("day", picks={"event": {"rows": "/events", "named": "colour"}})}, "event", "have no colour"),
        (
            {"calls": call("day", picks={"event": {"rows": "/events", "named": "title", "all": True}})},
            "event",
            "is chosen by named and all",
        ),
        (
            {"calls": call("day", picks={"event": {"rows": "/events", "named": "title", "where": {"at": {"near": 1}}}})},
            "event",
            "there is no test near",
        ),
        ({"ways": [*WAYS, "Remind me of \"{event.title}\" on {date}."]}, "Remind me", "does not state {lead_time}"),
        ({"ways": [*WAYS, WAYS[0].replace("Way", "Or") + " {colour}."]}, "colour", "nothing fills {colour}"),
        ({"ways": [*WAYS, WAYS[0] + " Use set_event_reminder."]}, "Use", "says the name of the tool"),
        ({"ways": [*WAYS, WAYS[0].replace("Way", "way")]}, "way", "is no whole message"),
        ({"ways": [*WAYS, WAYS[0]]}, "Way 0", "is a way of one too"),
        ({"deed": "ring for {colour}"}, "deed", "nothing fills {colour}"),
        ({"again": [WAYS[0]]}, "again", "leaves nothing out"),
        ({"otherwise": ["colour"]}, "otherwise", "is no value that every way says"),
        ({"lacking": lacking(asks=[])}, "lacking", "lacks a question or a way"),
        ({"lacking": lacking(asks=["Before {lead_time}?"])}, "Before", "says {lead_time} all the same"),
        ({"lacking": lacking(ways=["Remind me of \"{event.title}\"."])}, "Remind", "does not state {date}"),
        ({"lacking": lacking(gives=["That early."])}, "That early", "does not give {lead_time}"),
        ({"tell": ["nothing"]}, "tell", "there is no call nothing"),
        ({"tell": {"alarm": {"values": ["/event_id"], "as": ["a", "b", "c"]}}}, "tell", "is no value"),
        ({"tell": {"alarm": {"values": ["/remind_at"], "as": ["it is set"] * 3}}}, "it is set", "does not tell"),
        ({"tell": {"alarm": {"values": ["/remind_at"], "as": ["{table.table} rings at {/remind_at}"] * 3}}}, "rings", "nothing fills {table.table}"),
        ({"if": {"that": "$day/busy", "above": 60}}, "if", "a branch needs an `if`"),
        ({"values": {"colour": ["red"]}}, "colour", "nothing takes it"),
        ({"twin": [{"table": "events", "key": "$event.event_id", "set": {"invited": [{}]}}]}, "twin", "there is no `if`"),
    ],
)  # fmt: skip
def test_every_fault_is_found_at_its_place(tmp_path, changes, where, what):
    findings = found(tmp_path, reminder(**changes))
    assert any(where in one.where and what in one.what for one in findings), findings


@pytest.mark.parametrize(
    "aim",
    [{"calls": {}, "ways": [], "colour": 1}, {"calls": {"day": {"tool": 1}}, "ways": []}, {"ways": []}, []],
)
def test_what_is_no_aim_is_refused_with_its_file(tmp_path, aim):
    with pytest.raises(SchemaError) as error:
        read(tmp_path, aim)
    assert error.value.where.endswith("goals.yaml")


def test_references_name_picks_calls_and_values(tmp_path):
    [aim] = read(tmp_path, reminder()).values()
    assert list(references_in({"a": "$event.event_id", "b": [{"is": "$day/busy"}, "plain"]})) == [
        "event.event_id",
        "day/busy",
    ]
    assert place_of(aim, "event.event_id") == ("day", "event", "event_id")
    assert place_of(aim, "day/busy") == ("day", "", "/busy")
    assert place_of(aim, "alarm.lead_time") == ("", "", "alarm.lead_time")


@pytest.mark.parametrize("domain", [*DOMAINS, ACROSS])
def test_our_own_aims_are_in_order(domain):
    goals = goals_of(domain)
    findings = Findings()
    for name, aim in goals.items():
        tools = {key: one for part in aim.domains or (domain,) for key, one in operations_of(part).items()}
        check_goals(tools, {name: aim}, findings)
    assert findings.all() == []
