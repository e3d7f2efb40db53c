"""WorkBench in miniature: invented tasks and tables in the layout of its repository."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path
from typing import Any

import pytest

from planarena.bench import Asked, Reply
from planarena.errors import UserError
from planarena.eval import EvalConfig, evaluate
from planarena.eval.workbench.suite import parse_action
from planarena.eval.workbench.toolkits import read_toolkits
from planarena.formats import Call, write_output

TABLES = {
    "calendar_events": [
        ["event_id", "event_name", "participant_email", "event_start", "duration"],
        ["00000001", "Tea with Ann", "ann@atlas.com", "2023-12-01 09:00:00", "30"],
        ["00000007", "Walk", "bob@atlas.com", "2023-12-02 10:00:00", "60"],
    ],
    "emails": [
        ["email_id", "inbox/outbox", "sender/recipient", "subject", "sent_datetime", "body"],
        ["00000010", "inbox", "ann@atlas.com", "Plans", "2023-11-01 08:00:00", "Shall we?"],
        ["00000011", "inbox", "bob@atlas.com", "Lunch", "2023-11-02 08:00:00", "Noon?"],
    ],
    "project_tasks": [
        ["task_id", "task_name", "assigned_to_email", "list_name", "due_date", "board"],
        ["00000003", "Draw", "ann@atlas.com", "Backlog", "2023-12-03", "Design"],
    ],
    "customer_relationship_manager_data": [
        ["customer_id", "assigned_to_email", "customer_name", "customer_email", "customer_phone",
         "last_contact_date", "product_interest", "status", "follow_up_by", "notes"],
        ["00000005", "ann@atlas.com", "Zoe", "zoe@zoo", "", "2023-11-01", "Training", "Lead", "2023-12-09", ""],
    ],
    "analytics_data": [
        ["date_of_visit", "visitor_id", "page_views", "session_duration_seconds", "traffic_source", "user_engaged"],
        ["2023-10-01", "001", "3", "10", "direct", "True"],
        ["2023-10-01", "002", "3", "20", "referral", "False"],
    ],
}  # fmt: skip
QUERIES = {
    "calendar": [
        ("Cancel the walk", ['calendar.delete_event.func(event_id="00000007")']),
        ("Leave all as it is", []),
    ],
    "email": [
        ("Answer Bob", ['email.reply_email.func(email_id="00000011", body="Yes")']),
        (
            "Delete Ann's mail, then write to her",
            [
                'email.delete_email.func(email_id="00000010")',
                'email.send_email.func(recipient="ann@atlas.com", subject="Hi", body="There")',
            ],
        ),
    ],
}
TOOL = '@tool("{name}", return_direct=False)\ndef {function}({arguments}):\n    """\n    Does {function}.\n\n    Parameters\n    ----------\n{stated}    """\n\n'


def make(path: Path) -> Path:
    """Write a repository in miniature, its tools' files with a line that must never run."""
    from planarena.eval.workbench.office import TOOLS

    place = path / "data" / "processed"
    (place / "queries_and_answers").mkdir(parents=True)
    for name, rows in TABLES.items():
        with (place / f"{name}.csv").open("w", newline="") as sink:
            csv.writer(sink).writerows(rows)
    for name, listed in QUERIES.items():
        with (place / "queries_and_answers" / f"{name}_queries_and_answers.csv").open(
            "w", newline=""
        ) as sink:
            rows = [["query", "answer", "base_template", "chosen_template", "domains"]]
            rows += [[query, str(answer), "", "", str([name])] for query, answer in listed]
            csv.writer(sink).writerows(rows)
    tools = path / "src" / "tools"
    tools.mkdir(parents=True)
    text = "raise SystemExit('executed')\n"
    for name in TOOLS:
        stated = "    query : str, optional\n        What to look for.\n"
        function = name.partition(".")[2]
        text += TOOL.format(name=name, function=function, arguments="query=None", stated=stated)
    (tools / "all.py").write_text(text)
    return path


def scored(tmp_path: Path, outputs: Any, **options: Any) -> tuple[dict[str, Any], Any]:
    data = tmp_path / "data"
    if not data.exists():
        make(data)
    source = tmp_path / "outputs.jsonl"
    if isinstance(outputs, dict):
        source.write_text("\n".join(json.dumps({"id": key, "response": one}) for key, one in outputs.items()))
        outputs = str(source)
    config = EvalConfig(
        suites=("workbench",),
        out=str(tmp_path / "out"),
        responses=outputs,
        data={"workbench": str(data)},
        **options,
    )
    result = evaluate(config).suites["workbench"]
    return {one.id: (one.correct, one.reason) for one in result.verdicts}, result


def test_gold_is_right_and_each_mutation_is_wrong(tmp_path: Path) -> None:
    found, result = scored(tmp_path, "gold")
    assert [correct for correct, _ in found.values()] == [True] * 4
    assert result.part == "4 of 690 tasks"
    assert result.columns == {"side effects": 0.0, "exact match": 1.0}
    wrong = {
        "calendar-0": [write_output("hermes", [Call("calendar.delete_event", {"event_id": "00000001"})])],
        "calendar-1": [write_output("native", [Call("email_delete_email", {"email_id": "00000010"})])],
        "email-0": ["I would rather not."],
        "email-1": [
            write_output("hermes", [Call("email.delete_email", {"email_id": "00000010"})]),
            write_output("hermes", [Call("email.send_email", {"recipient": "ann@atlas.com", "subject": "Hi", "body": "Here"})]),
        ],
    }  # fmt: skip
    found, result = scored(tmp_path, wrong)
    assert found == {
        "calendar-0": (False, "side effects"),
        "calendar-1": (False, "side effects"),
        "email-0": (False, "no call"),
        "email-1": (False, "side effects"),
    }
    assert result.columns["side effects"] == 0.75


def test_a_state_counts_and_not_the_way_to_it(tmp_path: Path) -> None:
    found, _ = scored(
        tmp_path,
        {
            # Another case, reads in between, a name with underscores, a number for a text.
            "email-0": [
                write_output("hermes", [Call("email.search_emails", {"query": "lunch"})]),
                write_output("native", [Call("email_reply_email", {"email_id": "00000011", "body": "yes"})]),
                "Done.",
            ],
            "calendar-0": [
                write_output("hermes", [Call("calendar.update_event", {"event_id": "00000007", "field": "duration", "new_value": 90})]),
                write_output("hermes", [Call("calendar.delete_event", {"event_id": "00000007"})]),
            ],
        },
    )  # fmt: skip
    assert found["email-0"] == (True, "")
    assert found["calendar-0"] == (True, "")


def test_published_predictions_are_read_and_never_run(tmp_path: Path) -> None:
    make(tmp_path / "data")
    flag = tmp_path / "escaped"
    rows = [
        ["Cancel the walk", str([f"__import__('pathlib').Path({str(flag)!r}).touch()"]), "", ""],
        ["Leave all as it is", "[]", "", ""],
        ["Answer Bob", str(QUERIES["email"][0][1]), "", "Context window exceeded"],
        ["Delete Ann's mail, then write to her", str(QUERIES["email"][1][1]), "", ""],
    ]
    file = tmp_path / "model.csv"
    with file.open("w", newline="") as sink:
        csv.writer(sink).writerows([["query", "function_calls", "full_response", "error"], *rows])
    found, _ = scored(tmp_path, str(file))
    assert found == {
        "calendar-0": (False, "no call"),
        "calendar-1": (True, ""),
        "email-0": (False, "the run ended in an error"),
        "email-1": (True, ""),
    }
    assert not flag.exists()
    (tmp_path / "two").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "two" / name).write_bytes(file.read_bytes())
    with pytest.raises(UserError, match="two files hold predictions of the same task"):
        scored(tmp_path, str(tmp_path / "two"))


@pytest.mark.parametrize(
    "text",
    [
        "email.delete_email.func(**{'email_id': '1'})",
        "email.delete_email.func(email_id=open('/etc/passwd').read())",
        "email.delete_email.__globals__()",
        "(lambda: 1)()",
        "(" * 5000,
        "os.system('true')",
    ],
)
def test_what_is_no_call_of_a_tool_is_none(text: str) -> None:
    assert parse_action(text) is None


def test_a_model_acts_in_the_office_and_is_scored_from_its_replies(tmp_path: Path) -> None:
    class Clerk:
        """Looks for the walk, deletes what it finds, says so; of all else it says that it is done."""

        name, format = "clerk", "native"

        def __init__(self) -> None:
            self.seen: list[str] = []

        def reply(self, asked: list[Asked]) -> list[Reply]:
            found = []
            for one in asked:
                last = one.messages[-1]
                self.seen.append(one.messages[0]["content"])
                if one.id == "calendar-0" and one.turn == 0:
                    text = write_output("native", [Call("calendar_search_events", {"query": "walk"})])
                elif last["role"] == "tool" and "event_id" in last["content"]:
                    key = json.loads(last["content"])[0]["event_id"]
                    text = write_output("native", [Call("calendar_delete_event", {"event_id": key})])
                else:
                    text = json.dumps({"role": "assistant", "content": "Done."})
                found.append(Reply(text=text, tokens=5))
            return found

    clerk = Clerk()
    config = EvalConfig(
        suites=("workbench",),
        out=str(tmp_path / "out"),
        model="clerk",
        data={"workbench": str(make(tmp_path / "data"))},
    )
    tool = read_toolkits(tmp_path / "data")[0]["function"]
    assert tool["description"] == "Does get_event_information_by_id."
    assert tool["parameters"]["properties"] == {
        "query": {"type": "string", "description": "What to look for."}
    }
    result = evaluate(config, policy=clerk).suites["workbench"]
    assert {one.id: one.correct for one in result.verdicts} == {
        "calendar-0": True, "calendar-1": True, "email-0": False, "email-1": False,
    }  # fmt: skip
    assert "2023-11-30" in clerk.seen[0]
    row = json.loads((tmp_path / "out" / "items.jsonl").read_text().splitlines()[0])
    assert [call["name"] for call in row["calls"]] == ["calendar_search_events", "calendar_delete_event"]


def test_hostile_outputs_are_contained(tmp_path: Path) -> None:
    started = time.monotonic()
    deep = '{"name": "email.delete_email", "arguments": ' + '{"a": ' * 20_000 + "1" + "}" * 20_000 + "}"
    found, _ = scored(
        tmp_path,
        {
            "calendar-0": ["x" * 10_000_000],
            "calendar-1": [f"<tool_call>\n{deep}\n</tool_call>"],
            "email-0": ["<tool_call>\n{" * 50_000],
            "email-1": [write_output("hermes", [Call("os.system", {"command": "true"})])] * 5_000,
        },
    )
    assert not any(correct for key, (correct, _) in found.items() if key != "calendar-1")
    assert time.monotonic() - started < 20
