"""Playing by hand: the page's episode is the session's; the gold reaches the goal; addresses hold all state."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))
from llm_server import Script, ScriptedServer

from planarena import Run
from planarena.bench import Reply, bench_options
from planarena.errors import UserError
from planarena.export.trajectories import JoinedTrajectory, join_trajectories
from planarena.rows import load_episodes
from planarena.view.play import pack, unpack


def tasks(run: Run, number: int) -> list[JoinedTrajectory]:
    found = [
        one
        for one in join_trajectories(run)
        if one.row.kind == "gold" and one.actions and len(one.turns) == 1 and one.task.conversation == "plain"
    ]
    return found[:number]


def test_the_gold_by_hand_reaches_the_goal(built_run: Run, client_of: Callable[..., Any]) -> None:
    client = client_of(built_run.path.parent)
    key = client.key(built_run.path)
    assert len(re.findall("data-row", client.page(f"/play/{key}"))) > 20
    for one in tasks(built_run, 4):
        base = address = f"/play/{key}/t/{one.row.trajectory_id}"
        assert "not reached yet" in client.page(address)
        for action in one.actions:
            given = {
                f"arg.{name}": value if isinstance(value, str) else msgspec.json.encode(value).decode()
                for name, value in action.arguments.items()
            }
            query = urlsplit(address).query
            answer = client.ask("POST", f"{base}/act?{query}", data={"tool": action.tool.wire_name, **given})
            assert answer.status_code == 303, answer.text
            address = answer.headers["location"].partition("#")[0]
        events = unpack(parse_qs(urlsplit(address).query)["events"][0])
        assert events == [[action.tool.wire_name, action.arguments] for action in one.actions]
        page = client.page(address)
        assert "not reached yet" not in page and "failed:" not in page
        answer = client.ask("POST", f"{base}/act?{urlsplit(address).query}", data={"answer": "Done."})
        page = client.page(answer.headers["location"].partition("#")[0])
        assert ">success</span>" in page
        back = re.search(r'rel="prev" href="([^"]+)"', page)
        assert back is not None and client.page(unescape(back[1])) == client.page(address)


def test_what_an_address_holds_is_data(built_run: Run, client_of: Callable[..., Any]) -> None:
    client = client_of(built_run.path.parent)
    base = f"/play/{client.key(built_run.path)}/t/{tasks(built_run, 1)[0].row.trajectory_id}"
    odd = [
        5,
        [],
        [[None, 5]],
        [["no_such_tool", {"a": [1]}]],
        [["x"]],
        [[None, "<script>"]] * 80,
        {"a": 1},
        [["x", {"a": None}]],
        "x",
    ]
    for one in odd:
        page = client.page(f"{base}?events={pack(one)}")
        assert page.count("<script") == 1
    for text in ("x", "AAAA", "é", pack([[None, "a"]])[:-4]):
        assert client.get(f"{base}?events={text}").status_code in (200, 409)
    assert "unknown" in client.page(f"{base}?events={pack([['no_such_tool', {}]])}")
    assert not client.guard.faults


def test_an_episode_has_room_and_an_end() -> None:
    assert unpack(pack([["a", {"b": "é\ud7ff"}]])) == [["a", {"b": "é\ud7ff"}]]
    with pytest.raises(UserError, match="too long"):
        pack([[None, Random(1).randbytes(20_000).hex()]])


def test_a_wrong_trajectory_is_not_played(built_run: Run, client_of: Callable[..., Any]) -> None:
    client = client_of(built_run.path.parent)
    key = client.key(built_run.path)
    wrong = next(one for one in join_trajectories(built_run) if one.row.kind == "contrastive")
    assert client.get(f"/play/{key}/t/{wrong.row.trajectory_id}").status_code == 409
    assert client.get(f"/play/{key}/t/nothing").status_code == 404
    assert client.get(f"/watch/{key}/t/{wrong.row.trajectory_id}?model=x").status_code == 404


class Gold:
    """A policy that writes the gold replies of one task, in the format that it is asked in."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.texts = texts

    def reply(self, asked: Any) -> list[Reply]:
        return [Reply(text=self.texts[one.turn]) for one in asked]


def test_a_served_model_acts_and_a_page_can_name_no_other(
    built_run: Run, tmp_path: Path, client_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tasks(built_run, 1)[0]
    row = next(
        row
        for row in load_episodes(built_run.path, bench_options("native", splits=()))
        if row.task_id == one.task.task_id
    )
    steps = [
        [{"name": call.name, "arguments": call.arguments} for call in calls]
        for calls in (gold.calls for gold in row.gold)
        if calls
    ]

    def act(body: dict[str, Any]) -> str | dict[str, Any]:
        done = sum(message["role"] == "assistant" for message in body["messages"])
        return {"calls": steps[done]} if done < len(steps) else one.row.response

    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ACTOR_KEY", "sk-not-to-be-shown")
    with ScriptedServer(Script(reply=act)) as server:
        client = client_of(built_run.path.parent, models=[f"actor@{server.url}#ACTOR_KEY"])
        base = f"/watch/{client.key(built_run.path)}/t/{one.row.trajectory_id}"
        shown = unescape(client.page(base.replace("/watch/", "/play/")))
        link = re.search(rf'href="({re.escape(base)}[^"]+)">actor</a>', shown)
        assert link is not None
        address = link[1]
        for _ in range(len(steps) + 1):
            assert "Next step" in client.page(address)
            answer = client.ask("POST", f"{base}/step?{urlsplit(address).query}")
            assert answer.status_code == 303, answer.text
            address = answer.headers["location"].partition("#")[0]
        page = client.page(address)
        assert "The end: success." in page
        assert all(action.tool.wire_name in page for action in one.actions)
        assert len(server.arrivals) == len(steps) + 1
        other = f"{base}?model=openai/gpt-4.1@{server.url}"
        assert client.get(other).status_code == 404
    for text in (shown, page, address):
        assert "sk-not-to-be-shown" not in text and "ACTOR_KEY" not in text and server.url not in text
    # The server is gone: the page says so, and what was done stands in the address before.
    gone = client_of(built_run.path.parent, models=[f"gone@{server.url}"])
    found = re.search(
        rf'href="({re.escape(base)}[^"]+)">gone</a>', unescape(gone.page(base.replace("/watch/", "/play/")))
    )
    assert found is not None
    answer = gone.ask("POST", f"{base}/step?{urlsplit(found[1]).query}")
    assert answer.status_code == 409
    assert "did not answer" in answer.text or "not be reached" in answer.text, answer.text


def test_a_checkpoint_acts_step_by_step_and_a_person_goes_on(
    built_run: Run, tmp_path: Path, client_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tasks(built_run, 1)[0]
    row = next(
        row
        for row in load_episodes(built_run.path, bench_options("hermes", splits=()))
        if row.task_id == one.task.task_id
    )
    training = tmp_path / "train"
    (training / "checkpoints" / "step_1").mkdir(parents=True)
    (training / "checkpoints" / "step_1" / "config.json").write_text("{}")
    (training / "run.json").write_text('{"kind": "training", "config": {"data": {"format": "hermes"}}}')
    opened: list[str] = []

    def open_checkpoint(path: str, *, form: str, **_: Any) -> Any:
        opened.append(form)
        return contextlib.nullcontext(Gold(row.targets)), None

    monkeypatch.setattr("planarena.serving.checkpoint.open_checkpoint", open_checkpoint)
    client = client_of(built_run.path.parent, tmp_path)
    key, model = client.key(built_run.path), client.key(training)
    base = f"/watch/{key}/t/{one.row.trajectory_id}"
    assert base in unescape(client.page(f"/play/{key}/t/{one.row.trajectory_id}"))
    address = f"{base}?model={model}"
    for number in range(len(row.targets)):
        assert "Next step" in client.page(address)
        answer = client.ask("POST", f"{base}/step?{urlsplit(address).query}")
        assert answer.status_code == 303, answer.text
        address = answer.headers["location"].partition("#")[0]
        assert client.page(address).count('<p class="label">Reply ') == number + 1
    page = client.page(address)
    assert "The end: success." in page and "Next step" not in page and opened == ["hermes"]
    hand = re.search(r'href="([^"]+)"[^>]*>go on by hand', page)
    assert hand is not None
    again = client.page(unescape(hand[1]))
    assert all(action.tool.wire_name in again for action in one.actions) and ">success</span>" in again
