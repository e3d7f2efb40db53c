"""Runs: the list and its filters, one trajectory, marks, two runs; hostile text is text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import polars
import pytest

from planarena import Run
from planarena.export.escaping import escape_html
from planarena.export.trajectories import join_trajectories
from planarena.records import read_rows, write_shard
from planarena.view.browse import Table


def listed(page: str) -> list[str]:
    return re.findall(r'data-row href="/run/[0-9a-f]+/t/([^"?]+)', page)


@pytest.fixture(scope="module")
def table(built_run: Run) -> Table:
    return Table(built_run)


def test_filters_find_what_a_plain_walk_finds(built_run: Run, table: Table) -> None:
    joined = list(join_trajectories(built_run))
    assert table.total == len(joined)
    queries = [
        {"kind": "contrastive"},
        {"n_actions": "2"},
        {"domain": joined[0].scenario.domain, "kind": "gold"},
        {"q": joined[0].turns[0].split()[0]},
        {"q": f"{joined[3].row.trajectory_id[:9]}"},
        {"q": "no-such-word-anywhere"},
        {"mutation": next(one.row.mutation for one in joined if one.row.mutation)},
        {"split": "validation", "q": "the"},
    ]
    for wanted in queries:
        expected = []
        for one in joined:
            words = json.dumps(one.turns, ensure_ascii=False, separators=(",", ":"))[:2000]
            text = "\n".join([words, one.task.expression, one.row.trajectory_id, one.scenario.domain]).lower()
            facts = {
                "kind": one.row.kind,
                "n_actions": str(one.row.n_actions),
                "domain": one.scenario.domain,
                "mutation": one.row.mutation,
                "split": one.scenario.split,
            }
            if (
                all(facts[key] == value for key, value in wanted.items() if key != "q")
                and wanted.get("q", "").lower() in text
            ):
                expected.append(one.row.trajectory_id)
        found, page = [], 0
        while page < table.find(wanted, page).pages:
            found += [row["trajectory_id"] for row in table.find(wanted, page).rows]
            page += 1
        assert found == expected, wanted
        assert table.find(wanted, 10**6).page == table.find(wanted, 0).pages - 1


def test_sorting_and_neighbours(table: Table) -> None:
    lengths = [row["n_actions"] for row in table.find({"sort": "longest"}, 0, size=10_000).rows]
    assert lengths == sorted(lengths, reverse=True)
    ids = [row["trajectory_id"] for row in table.find({"kind": "gold"}, 0, size=10_000).rows]
    assert table.around({"kind": "gold"}, ids[4]) == (ids[3], ids[5], 4, len(ids))
    assert table.around({"kind": "contrastive"}, ids[4])[:3] == ("", "", -1)


def test_the_page_of_a_trajectory_shows_all_of_it(built_run: Run, client_of: Callable[..., Any]) -> None:
    client = client_of(built_run.path.parent)
    key = client.key(built_run.path)
    for one in list(join_trajectories(built_run))[:25]:
        page = (
            client.page(f"/run/{key}/t/{one.row.trajectory_id}")
            .replace("&#39;", "&#x27;")
            .replace("&#34;", "&quot;")
        )
        for said in one.turns:
            assert escape_html(said) in page
        for answer in one.responses:
            assert escape_html(answer)[:500] in page
        for action in one.actions:
            assert f"{action.number + 1}. {escape_html(action.tool.wire_name)}" in page
            for argument, source, pointer in action.bound:
                assert (
                    f">step {source + 1}</a> <code>{escape_html(pointer)}</code>" in page
                    or f"{escape_html(argument.removeprefix('/'))} ← step {source + 1}" in page
                )
        stated = list(one.grounded.values())
        assert page.count("the user&#x27;s message") >= stated.count("query")
        island = re.search(r'class="graph-data">(.*?)</script>', page)
        assert (island is not None) == bool(one.actions)
        if island is not None:
            drawn = json.loads(island[1])
            assert [node["name"] for node in drawn["nodes"]] == [
                action.tool.wire_name for action in one.actions
            ]
            assert sum(bool(edge["label"]) for edge in drawn["edges"]) == sum(
                len(a.bound) for a in one.actions
            )


def test_every_choice_is_shown_with_what_came_of_it(built_run: Run, client_of: Callable[..., Any]) -> None:
    client = client_of(built_run.path.parent)
    key = client.key(built_run.path)
    points = built_run.table("decision_points").collect()
    name = points["trajectory_id"][0]
    mine = points.filter(polars.col("trajectory_id") == name)
    page = client.page(f"/run/{key}/t/{name}")
    candidates = [choice for text in mine["candidates"] for choice in json.loads(text)]
    assert page.count('<div class="choice ') == len(candidates)
    outcomes = re.findall(r'<span class="outcome">(\w+)</span>', page)
    assert sorted(outcomes) == sorted(choice["outcome"] for choice in candidates)


def test_hostile_text_is_text(hostile_run: Run, hostile: str, client_of: Callable[..., Any]) -> None:
    client = client_of(hostile_run.path.parent)
    key = client.key(hostile_run.path)
    names = hostile_run.table("trajectories").select("trajectory_id").collect()["trajectory_id"]
    pages = [client.page("/"), client.page(f"/run/{key}"), client.page(f"/run/{key}/scorecard")]
    pages += [client.page(f"/run/{key}/t/{name}") for name in names[:6]]
    pages.append(client.page(f"/compare?a={key}&b={key}"))
    for page in pages:
        assert hostile not in page
        assert page.count("<script") == page.count('<script type="application/json"') + 1
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
        assert not re.search(r"<(img|svg|b|a)\s[^>]*on\w+=", page)
        assert "javascript:" not in "".join(re.findall(r'(?:href|src|action)="([^"]*)"', page)).lower()


def test_ten_megabytes_in_a_field_are_cut_and_a_link_away(
    run_copy: Path, client_of: Callable[..., Any]
) -> None:
    run = Run.open(run_copy)
    path = run.shards("trajectories")[0]
    rows = read_rows(path, "trajectories")
    long = "<b>\u202ex" * 1_500_000
    write_shard(
        run_copy,
        "trajectories",
        path.stem,
        [msgspec.structs.replace(rows[0], response=long, plan=long), *rows[1:]],
    )
    client = client_of(run_copy.parent)
    base = f"/run/{client.key(run_copy)}/t/{rows[0].trajectory_id}"
    page = client.page(base)
    assert len(page) < 400_000 and "more characters" in page
    shown = re.search(rf'href="({base}/field/answer\.\d+)"', unescape(page))
    assert shown is not None
    answer = client.get(shown[1])
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text == long.replace("\u202e", "\\u202e")
    assert client.get(f"{base}/field/nothing").status_code == 404


def test_a_mark_is_kept_in_the_file_that_a_reading_page_saves(
    run_copy: Path, client_of: Callable[..., Any]
) -> None:
    client = client_of(run_copy.parent)
    key = client.key(run_copy)
    first, second = listed(client.page(f"/run/{key}"))[:2]
    send = {
        "verdict": "fail",
        "reason": "answer",
        "note": "says <b>5</b>",
        "reader": "a/../b",
        "after": second,
        "go": "next",
    }
    answer = client.ask("POST", f"/run/{key}/t/{first}/mark?kind=gold", data=send)
    assert (
        answer.status_code == 303
        and answer.headers["location"] == f"/run/{key}/t/{second}?kind=gold&reader=a%2F..%2Fb"
    )
    client.ask(
        "POST",
        f"/run/{key}/t/{second}/mark",
        data={"verdict": "pass", "reason": "answer", "reader": "a/../b"},
    )
    saved = json.loads((run_copy / "readings" / "a-..-b.json").read_bytes())
    assert saved["kind"] == "planarena-reading" and (saved["judged"], saved["passed"], saved["failed"]) == (
        2,
        1,
        1,
    )
    assert saved["judgements"][0] == {
        "number": 1,
        "trajectory_id": first,
        "verdict": "fail",
        "reason": "answer",
        "note": "says <b>5</b>",
    }
    assert saved["judgements"][1]["reason"] == ""
    failed = client.page(f"/run/{key}?mark=fail&reader=a-..-b")
    assert listed(failed) == [first] and "2 judged, 1 pass, 1 fail" in failed
    assert "says &lt;b&gt;5" in client.page(f"/run/{key}/t/{first}?reader=other")
    client.ask("POST", f"/run/{key}/t/{first}/mark", data={"verdict": "", "reader": "a-..-b"})
    assert json.loads((run_copy / "readings" / "a-..-b.json").read_bytes())["judged"] == 1
    (run_copy / "readings" / "a-..-b.json").write_text('{"judgements": [5, {"verdict": "pass"}, [[]]]}')
    assert client.get(f"/run/{key}?mark=pass&reader=a-..-b").status_code == 200


def test_a_damaged_run_is_said_and_the_others_stay(
    run_copy: Path, built_run: Run, client_of: Callable[..., Any]
) -> None:
    client = client_of(run_copy.parent, built_run.path.parent)
    key = client.key(run_copy)
    Run.open(run_copy).shards("queries")[0].write_bytes(b"PAR1 not parquet")
    answer = client.get(f"/run/{key}")
    assert answer.status_code == 409 and "damaged" in answer.text
    assert client.get(f"/run/{client.key(built_run.path)}").status_code == 200
