"""The audit from push to labels, through the command line and a real server; annotators are scripted."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx
import numpy as np
import polars as pl
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))
from audit_server import (
    answer,
    answer_all,
    client,
    dataset_id,
    free_port,
    need_environment,
    place_of,
    records_of,
    shared_server,
    small_run,
)

from planarena import Run
from planarena.annotation import Plan, pull_run, push_run
from planarena.records.canonical import content_id

pytestmark = pytest.mark.slow

ENV = {key: value for key, value in os.environ.items() if not key.startswith("ARGILLA_")} | {"COLUMNS": "200"}


def planarena(*words, env=None, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "planarena", *map(str, words)],
        capture_output=True, text=True, check=False, env=ENV | (env or {}),
    )  # fmt: skip
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def fails(*words, says, env=None):
    done = planarena(*words, env=env, code=2)
    for text in says:
        assert text in done.stderr, done.stderr


def chance(*words):
    """A number from 0 to 1 that these words always have."""
    return int(content_id(*words)[:8], 16) / 2**32


def bits_of(person, name, reaches_goal):
    """What a scripted annotator says: mostly the truth, with faults of their own."""
    query = "no" if chance("query", name) < 0.1 and chance(person, name, "q") < 0.8 else "yes"
    goal = reaches_goal != (chance(person, name, "goal") < 0.12)
    return {"query_ok": query, "goal_ok": "yes" if goal else "no"}


def kappa(one, other):
    """Cohen's kappa from the confusion matrix."""
    values = sorted(set(one) | set(other))
    table = np.array(
        [[sum(a == x and b == y for a, b in zip(one, other, strict=True)) for y in values] for x in values]
    )
    share = table / table.sum()
    expected = (share.sum(1) * share.sum(0)).sum()
    return (np.trace(share) - expected) / (1 - expected)


def alpha(one, other):
    """Krippendorff's alpha of two raters and nominal data from the coincidence matrix."""
    pairs = Counter()
    for a, b in zip(one, other, strict=True):
        pairs[a, b] += 1
        pairs[b, a] += 1
    total = sum(pairs.values())
    sizes = Counter()
    for (a, _), number in pairs.items():
        sizes[a] += number
    observed = sum(number for (a, b), number in pairs.items() if a != b)
    expected = sum(sizes[a] * sizes[b] for a in sizes for b in sizes if a != b) / (total - 1)
    return 1 - observed / expected


def test_two_annotators_judge_two_hundred_trajectories(tmp_path):
    data = shared_server()
    path = small_run(tmp_path / "whole", 110)
    run = Run.open(path)
    every = {row["trajectory_id"]: row for row in run.table("trajectories").collect().to_dicts()}
    assert len(every) >= 200
    done = json.loads(
        planarena("audit", "push", path, "--overlap", 2, "--limit", 200, "--data-dir", data, "--json").stdout
    )
    first = done["datasets"][0]
    assert (first["items"], first["new"], first["changed"]) == (200, 200, 0)
    again = json.loads(planarena("audit", "push", path, "--limit", 200, "--data-dir", data, "--json").stdout)
    assert [(one["new"], one["changed"]) for one in again["datasets"]] == [(0, 0)] * len(again["datasets"])

    records = records_of(data, "whole-trajectories")
    assert len(records) == 200
    blind = [one for one in records if one["metadata"]["blind"] == "yes"]
    assert all(not one["suggestions"] for one in blind)
    assert all(one["suggestions"] for one in records if one["metadata"]["blind"] == "no")
    assert 20 <= len(blind) <= 60  # a fifth of 200, by hash: six standard deviations are 34

    said = {}
    for person in ("ann", "bob"):
        for one in records:
            name = one["external_id"]
            said[name, person] = bits_of(person, name, every[name]["reaches_goal"])
        answer_all(data, person, {one["id"]: said[one["external_id"], person] for one in records})

    pulled = json.loads(planarena("audit", "pull", path, "--data-dir", data, "--json").stdout)
    assert pulled["answers"] == {"trajectories": 400}
    names = sorted({name for name, _ in said})
    for question in ("query_ok", "goal_ok"):
        columns = [[said[name, person][question] for name in names] for person in ("ann", "bob")]
        found = pulled["agreement"][question]["all"]
        # Sums of 200 doubles of size one.
        assert found["cohen_kappa"]["ann, bob"]["kappa"] == pytest.approx(kappa(*columns), abs=1e-9)
        assert found["krippendorff_alpha"] == pytest.approx(alpha(*columns), abs=1e-9)
        assert 0.2 < found["krippendorff_alpha"] < 1
        parts = [pulled["agreement"][question][part]["units"] for part in ("blind", "assisted")]
        assert parts == [len(blind), 200 - len(blind)]

    differ = {name for name in names if said[name, "ann"] != said[name, "bob"]}
    listed = [json.loads(line) for line in (path / "audit/disagreements.jsonl").read_text().splitlines()]
    assert {one["trajectory_id"] for one in listed} == differ
    assert pulled["disagreements"] == len(differ) > 5

    both = {"query_ok": "yes", "goal_ok": "yes"}
    positive = {name for name in names if said[name, "ann"] == said[name, "bob"] == both}
    labels = {row["trajectory_id"]: row["label"] for row in run.table("labels").collect().to_dicts()}
    assert {name for name, label in labels.items() if label == "positive"} == positive
    assert set(labels) == set(names)
    wrong_query = {
        name for name in names if said[name, "ann"]["query_ok"] == said[name, "bob"]["query_ok"] == "no"
    }
    repairable = [json.loads(line) for line in (path / "audit/repairable.jsonl").read_text().splitlines()]
    assert {one["trajectory_id"] for one in repairable} == wrong_query != set()
    audits = run.table("audits").collect()
    assert audits.height == 400
    assert audits["audit_id"].n_unique() == 400
    lines = [json.loads(line) for line in (path / "audit/answers.jsonl").read_text().splitlines()]
    assert len(lines) == 800  # one per trajectory, question and annotator

    # What a training export calls a positive, people called one.
    planarena("export", path, "--format", "verl", "--out", tmp_path / "rows")
    exported = pl.concat(
        [pl.read_parquet(one) for one in sorted((tmp_path / "rows").rglob("*.parquet"))], how="diagonal"
    )
    told = "".join(str(row) for row in exported.to_dicts())
    kept = {name for name in names if name in told}
    assert kept
    assert kept <= positive, "an export holds a trajectory that people did not both call right"

    # A second pull changes no byte of the tables; disputes go to an adjudicator and come back decided.
    before = {one: one.read_bytes() for one in sorted(path.glob("tables/*/audit.parquet"))}
    planarena("audit", "pull", path, "--data-dir", data)
    assert before == {one: one.read_bytes() for one in sorted(path.glob("tables/*/audit.parquet"))}
    planarena("audit", "push", path, "--adjudicate", "--data-dir", data)
    disputed = records_of(data, "whole-adjudication")
    assert {one["external_id"] for one in disputed} == differ
    assert all("ann" not in json.dumps(one["fields"]["answers"]).replace("Annotator", "") for one in disputed)
    answer_all(data, "eve", {one["id"]: {"query_ok": "yes", "goal_ok": "yes"} for one in disputed})
    last = json.loads(planarena("audit", "pull", path, "--data-dir", data, "--json").stdout)
    assert (last["disagreements"], last["labels"]["positive"]) == (0, len(positive) + len(differ))
    fails("audit", "push", path, "--adjudicate", "--data-dir", data, says=["nobody disagrees"])


def test_decision_points_come_back_by_candidate(tmp_path):
    data = shared_server()
    path = small_run(tmp_path / "points")
    run = Run.open(path)
    pushed = push_run(run, place_of(data), Plan(limit=10, blind=0.0, overlap=1))
    assert [one.dataset for one in pushed] == ["points-trajectories", "points-decisions"]
    stored = {
        row["decision_point_id"]: json.loads(row["candidates"])
        for row in run.table("decision_points").collect().to_dicts()
    }
    for one in records_of(data, "points-decisions"):
        suggested = {each["question_id"]: each["value"] for each in one["suggestions"]}
        letters = max(suggested.values(), key=lambda value: isinstance(value, list))
        answer(data, "ann", one["id"], {"right_choices": letters, "relevance_A": 4})
    pull_run(run, place_of(data))
    lines = [json.loads(line) for line in (path / "audit/decisions.jsonl").read_text().splitlines()]
    assert len(lines) == 10
    right = {"frontier", "equivalent", "harmless"}
    for line in lines:
        for shown in line["candidates"]:
            candidate = stored[line["decision_point_id"]][shown["candidate"]]
            assert (shown["tool"], shown["arguments"]) == (candidate["tool"], candidate["arguments"])
            # The scripted annotator took over the suggestion, which goes by what execution showed.
            assert (shown["right_by"] == ["ann"]) == (candidate["outcome"] in right)


def test_hidden_properties_are_hidden_and_neighbours_betray_nothing(tmp_path):
    data = shared_server()
    path = small_run(tmp_path / "hidden")
    push_run(Run.open(path), place_of(data), Plan())
    with client(data, "ann") as http:
        base = f"/api/v1/me/datasets/{dataset_id(data, 'hidden-trajectories')}"
        shown = {one["name"] for one in http.get(f"{base}/metadata-properties").json()["items"]}
        assert shown == {"scenario", "domain", "length", "parallel_groups", "execution_kind"}
        seen = http.post(f"{base}/records/search?limit=1000", json={}).json()["items"]
        assert {key for one in seen for key in one["record"]["metadata"]} <= shown
        body = json.dumps(seen)
    for word in ("contrastive", "near_tool", "hallucinated_tool", "early_stop", "frontier", "diverges"):
        assert f'"{word}"' not in body
    kinds = [one["metadata"]["kind"] for one in records_of(data, "hidden-trajectories")]
    assert kinds != sorted(kinds)


def test_wrong_addresses_keys_and_schemas_give_one_clear_error(tmp_path):
    data = shared_server()
    path = small_run(tmp_path / "errors")
    url = place_of(data).url
    nobody = {"ARGILLA_API_URL": f"http://127.0.0.1:{free_port()}", "ARGILLA_API_KEY": "k"}
    fails("audit", "push", path, says=["does not answer", "planarena audit up"], env=nobody)
    fails(
        "audit",
        "push",
        path,
        says=["refuses the API key", "ARGILLA_API_KEY"],
        env={"ARGILLA_API_URL": url, "ARGILLA_API_KEY": "k"},
    )
    fails("audit", "push", path, says=["ARGILLA_API_KEY"], env={"ARGILLA_API_URL": url})
    fails(
        "audit", "push", path, "--data-dir", tmp_path / "none", says=["no audit server", "planarena audit up"]
    )
    fails("audit", "pull", path, "--data-dir", data, says=["there is no dataset", "planarena audit push"])
    fails("audit", "push", path, "--blind", 2, "--data-dir", data, says=["--blind"])
    fails("audit", "push", path, "--overlap", 0, "--data-dir", data, says=["--overlap"])
    with client(data) as http:
        space = http.get("/api/v1/me/workspaces").json()["items"][0]["id"]
        body = {"name": "errors-trajectories", "workspace_id": space, "guidelines": "g"}
        base = f"/api/v1/datasets/{http.post('/api/v1/datasets', json=body).json()['id']}"
        field = {
            "name": "query",
            "title": "Q",
            "required": True,
            "settings": {"type": "text", "use_markdown": False},
        }
        http.post(f"{base}/fields", json=field)
        question = {
            "name": "x",
            "title": "X",
            "required": True,
            "settings": {"type": "text", "use_markdown": False},
        }
        http.post(f"{base}/questions", json=question)
        assert http.put(f"{base}/publish").status_code == 200
    fails("audit", "push", path, "--data-dir", data, says=["another schema", "--dataset"])
    with client(data, "ann") as http:
        key = http.headers["X-Argilla-Api-Key"]
    fails(
        "audit",
        "push",
        path,
        says=["annotator", "owner"],
        env={"ARGILLA_API_URL": url, "ARGILLA_API_KEY": key},
    )


def test_a_larger_overlap_opens_records_again(tmp_path):
    data = shared_server()
    path = small_run(tmp_path / "overlap")
    run = Run.open(path)
    push_run(run, place_of(data), Plan(limit=3, overlap=1))
    (first, *_) = records_of(data, "overlap-trajectories")
    answer(data, "ann", first["id"], {"query_ok": "yes", "goal_ok": "yes"})

    def status():
        return next(
            one["status"] for one in records_of(data, "overlap-trajectories") if one["id"] == first["id"]
        )

    assert status() == "completed"
    push_run(run, place_of(data), Plan(limit=3, overlap=2))
    deadline = time.monotonic() + 30
    while status() == "completed":  # a job of the server's in-process queue does it
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert pull_run(run, place_of(data)).waiting == 1


def test_up_down_status_credentials_and_a_kill_during_a_push(tmp_path):
    need_environment()
    data, port = tmp_path / "data", free_port()
    assert planarena("audit", "status", "--data-dir", data, code=1).stdout.startswith("no server runs")
    up = ("audit", "up", "--data-dir", data, "--port", port, "--annotators", "ann,bob", "--detach")
    started = planarena(*up)
    try:
        held = json.loads((data / "credentials.json").read_text())
        secrets = [held["secret_key"], held["owner"]["password"], held["owner"]["api_key"]]
        secrets += [one[key] for one in held["annotators"].values() for key in ("password", "api_key")]
        assert len(set(secrets)) == 7 and all(len(one) >= 24 for one in secrets)
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        assert stat.S_IMODE((data / "tmp").stat().st_mode) == 0o700
        for path in data.glob("*"):
            assert path.name == "server.json" or stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
            for name in ("ann", "bob", "owner"):
                mine = held["owner"] if name == "owner" else held["annotators"][name]
                good = http.post("/api/v1/token", data={"username": name, "password": mine["password"]})
                assert good.status_code == 201
                assert (
                    http.post("/api/v1/token", data={"username": name, "password": "12345678"}).status_code
                    == 401
                )
            assert "default-src 'self'" in http.get("/").headers["content-security-policy"]
        pid = json.loads(planarena("audit", "status", "--data-dir", data, "--json").stdout)["pid"]
        told = Path(f"/proc/{pid}/cmdline").read_bytes().decode() if Path("/proc").is_dir() else ""
        log = (data / "server.log").read_text()
        assert all(one not in text for one in secrets for text in (log, told, started.stdout, started.stderr))
        listening = httpx.get(f"http://127.0.0.1:{port}/api/v1/version", trust_env=False)
        assert listening.json()["version"].startswith("2.8")
        fails(*up, says=["runs already", "audit down"])

        # The server is killed in the middle of a push, and started again.
        run = small_run(tmp_path / "killed", 110)
        push = subprocess.Popen(
            [sys.executable, "-m", "planarena", "audit", "push", run, "--data-dir", data],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not (0 < _stored(data / "argilla.db") < 200) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)
        _, told = push.communicate()
        assert push.returncode == 2, told
        assert "nothing is lost or sent twice" in told
        assert "Traceback" not in told
        part = _stored(data / "argilla.db")
        assert part >= 100
        planarena(*up)
        done = json.loads(planarena("audit", "push", run, "--data-dir", data, "--json").stdout)["datasets"]
        wanted = set(Run.open(run).table("trajectories").collect()["trajectory_id"])
        got = [one["external_id"] for one in records_of(data, "killed-trajectories")]
        assert len(got) == len(set(got)) == len(wanted)
        assert set(got) == wanted
        assert done[0]["new"] == len(wanted) - part
        assert json.loads((data / "credentials.json").read_text()) == held
    finally:
        planarena("audit", "down", "--data-dir", data)
    assert planarena("audit", "down", "--data-dir", data).stdout.strip() == "no server was running"
    assert planarena("audit", "status", "--data-dir", data, code=1)


def _stored(database):
    import contextlib
    import sqlite3

    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)) as db:
        return int(db.execute("SELECT count(*) FROM records").fetchone()[0])


def test_up_in_the_foreground_ends_with_the_terminal_and_warns_of_open_hosts(tmp_path):
    need_environment()
    data, port = tmp_path / "data", free_port()
    command = [
        sys.executable,
        "-m",
        "planarena",
        "audit",
        "up",
        "--data-dir",
        data,
        "--port",
        str(port),
        "--host",
        "0.0.0.0",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV
    ) as process:
        first = process.stdout.readline()
        assert re.match(r"Argilla is at http://0\.0\.0\.0:\d+ \(process \d+\)", first), first
        os.kill(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told.count("WARNING") >= 3
    assert "Traceback" not in told
    assert planarena("audit", "status", "--data-dir", data, code=1)


def test_names_and_ports_that_cannot_be_used(tmp_path):
    fails("audit", "up", "--data-dir", tmp_path, "--annotators", "Ann B", says=["annotator's name"])
    fails("audit", "up", "--data-dir", tmp_path, "--annotators", "owner", says=["annotator's name"])
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        fails("audit", "up", "--data-dir", tmp_path, "--port", port, says=["cannot listen", "--port"])
