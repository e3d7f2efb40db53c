"""Builds with models against a scripted server: words kept, faults survived and named, nothing paid for twice."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import polars
import pytest

import planarena
from planarena import Run
from planarena.cli import main
from planarena.config import (
    BuildConfig,
    CallsConfig,
    CompositionConfig,
    ConversationConfig,
    ExecutionConfig,
    ModelsConfig,
)
from planarena.errors import PlanArenaError, UserError
from planarena.pipeline.run.ledger import Ledger

sys.path.append(str(Path(__file__).resolve().parents[1]))
from builds import contents
from llm_build_model import GoodModel, is_repair, material_of, part_of
from llm_server import FAULTS, Script, ScriptedServer

SOURCES = ("builtin:email", "builtin:travel", "builtin:banking")
PARTS = {"query", "actions", "plan", "response", "rationale", "trajectory", "candidate"}
GATEWAY_KINDS = {
    *("timeout", "dropped", "server_error", "rate_limited", "empty", "wrong_json", "truncated"),
    *("tool_call_in_text", "circuit_open", "too_long", "refused", "bad_request"),
}
CHECK_KINDS = {
    *("wrong_messages", "empty_text", "too_long", "markup", "ungrounded", "reference_lost", "hidden_value"),
    *("tool_name", "leftover_template", "plan_coverage", "plan_order", "plan_needs", "missing_output"),
    *("invented_number", "rationale_coverage", "foresight", "bad_arguments", "bad_reference"),
    *("too_many_calls", "no_candidates", "action_missing", "action_forbidden", "action_added", "bad_quote"),
    "unjudged",
}


def configure(out: Path, *models: str, judge: str = "", scenarios: int = 3, **changes: Any) -> BuildConfig:
    calls = {"concurrency": 8, "timeout": 20.0, **changes.pop("calls", {})}
    execution = {"workers": 1, **changes.pop("execution", {})}
    return BuildConfig(
        out=str(out),
        sources=SOURCES,
        trajectories=10_000,
        scenarios=scenarios,
        chunk_scenarios=changes.pop("chunk", 1),
        composition=changes.pop("composition", CompositionConfig(per_scenario=4, budget=16)),
        # In the other kinds of conversations the generator's own words stay.
        conversations=ConversationConfig({}),
        models=ModelsConfig(proposers=models, judge=judge, **changes),
        execution=ExecutionConfig(calls=CallsConfig(**calls), **execution),
    )


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))


def gold_of(run: Run) -> polars.DataFrame:
    chosen = polars.col("kind").eq("gold") & polars.col("n_actions").gt(0)
    return run.table("trajectories").filter(chosen).collect()


def requests_by_part(server: ScriptedServer) -> Counter[str]:
    return Counter(part_of(body) for body in server.requests.values() if not is_repair(body))


def test_every_part_is_written_once_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    offline = planarena.build(msgspec.structs.replace(configure(tmp_path / "off"), models=ModelsConfig()))
    with ScriptedServer(Script(reply=GoodModel())) as server:
        names = (f"a@{server.url}", f"b@{server.url}")
        config = configure(tmp_path / "run", *names, judge=f"j@{server.url}")
        run = planarena.build(config)
        gold = gold_of(run)
        assert gold.height == gold_of(offline).height > 5
        assert set(gold["source"]) == {"llm"}
        asked = requests_by_part(server)
        assert asked.pop("judge") > gold.height
        # One request a task and part, and a trajectory of each model.
        assert asked == {part: gold.height * (1 + (part == "trajectory")) for part in PARTS}
        assert max(server.sent.values()) == 1

        # What was executed is the same as without models, and so is what is offered and chosen.
        for table in ("tasks", "scenarios", "discards", "tools", "atomic_tasks"):
            assert run.table(table).collect().equals(offline.table(table).collect()), table
        queries = run.table("queries").collect().filter(polars.col("llm_call_id").ne(""))
        assert queries.height == gold.height
        steps = run.table("steps").join(gold.lazy().select("trajectory_id"), on="trajectory_id").collect()
        assert (steps["rationale"] != "").all()

        proposals = run.table("proposals").collect()
        assert set(proposals["part"]) == PARTS
        assert not proposals.filter(polars.col("verdict").is_in(["", "failed"])).height
        judge = proposals["part"] == "actions"
        assert set(proposals.filter(~judge)["model"]) == set(names)
        assert set(proposals.filter(judge)["model"]) == {f"j@{server.url}"}
        verdicts = proposals.filter(polars.col("part") == "candidate")["verdict"].to_list()
        assert {"error", "frontier", "ungrounded"} <= set(verdicts)
        kept = (
            run.table("trajectories")
            .collect()
            .filter(polars.col("source").eq("llm") & polars.col("kind").eq("contrastive"))
        )
        followed = proposals.filter(polars.col("part") == "trajectory")["verdict"].to_list()
        assert kept.height == followed.count("misses_goal") > 0
        assert not kept["reaches_goal"].any()
        # One group, one scorer.
        for row in run.table("decision_points").collect().to_dicts():
            scorers = {one["relevance_method"] for one in msgspec.json.decode(row["candidates"])}
            assert len(scorers) == 1
        assert run.info["cost"]["llm_calls"] == len(server.arrivals)

        before, count = contents(tmp_path / "run"), len(server.arrivals)
        planarena.build(config)
        two = msgspec.structs.replace(config.execution, workers=2)
        planarena.build(msgspec.structs.replace(config, out=str(tmp_path / "other"), execution=two))
        assert len(server.arrivals) == count
        assert contents(tmp_path / "run") == before == contents(tmp_path / "other")
        with sqlite3.connect(tmp_path / "run/ledger.sqlite") as ledger:
            assert ledger.execute("SELECT COUNT(*) FROM llm_calls").fetchone()[0] == count


def faulty(server_seed: int, share: float) -> Script:
    return Script(
        seed=server_seed, reply=GoodModel(), faults=dict.fromkeys(FAULTS, share), hang=60.0, retry_after=0.1,
        delay=0.02, most_faults=2,
    )  # fmt: skip


def check_faulty_build(
    tmp_path: Path, scenarios: int, concurrency: int, timeout: float, rate: float, **drawn: Any
) -> None:
    config = configure(tmp_path / "off", scenarios=scenarios, **drawn)
    offline = planarena.build(msgspec.structs.replace(config, models=ModelsConfig()))
    with ScriptedServer(Script(reply=GoodModel())) as server:
        warm = configure(tmp_path / "warm", f"m@{server.url}", scenarios=1)
        planarena.build(warm)  # the first call of a process is slow: it must not count as a hanging one
        server.clear()
        server.requests.clear()
        server.asked.clear()
        server.script = faulty(3, 0.03)
        names = (f"good@{server.url}", f"other@{server.url}")
        calls = {
            "concurrency": concurrency,
            "timeout": timeout,
            "attempts": 8,
            "requests_per_minute": 60 * rate,
        }
        config = configure(
            tmp_path / "run",
            *names,
            scenarios=scenarios,
            **drawn,
            calls=calls,
            execution={"max_error_rate": 1.0},
        )
        run = planarena.build(config)
        # Nothing is lost: every task that was accepted offline is here, with all of its words.
        assert gold_of(run).height == gold_of(offline).height
        assert run.table("tasks").collect().equals(offline.table("tasks").collect())
        assert (gold_of(run)["plan"] != "").all()
        assert set(server.outcomes()) == {*FAULTS, "good"}
        # Concurrency and rate hold for each model; a request that is held up comes later, never earlier.
        assert server.max_in_flight <= 2 * concurrency
        for name in ("good", "other"):
            at = [arrival.at for arrival in server.arrivals if arrival.model == name]
            assert (len(at) - 1) / (at[-1] - at[0]) <= 1.05 * rate
        # Every request that failed is in the ledger, with its class.
        ledger = Ledger(tmp_path / "run/ledger.sqlite")
        failures = ledger.failures()
        paid = ledger.paid()[0]
        ledger.close()
        assert {part for _, _, _, part, *_ in failures} <= PARTS
        assert {error for *_, error, _ in failures} <= GATEWAY_KINDS | CHECK_KINDS
        asked = run.info["counts"]["llm_requests"]
        assert sum(run.info["counts"].get("llm_failures", {}).values()) == len(failures) < 0.05 * asked
        # What was answered was paid for, and nothing twice.
        answered = sum(server.sent.values())
        assert paid <= answered
        proposals = run.table("proposals").collect()
        assert proposals.filter(polars.col("verdict") == "").height == 0

        count = len(server.arrivals)
        again = planarena.build(config)
        assert len(server.arrivals) == count
        assert again.info == run.info


def test_a_build_against_a_faulty_server_loses_nothing(tmp_path: Path) -> None:
    check_faulty_build(tmp_path, scenarios=8, concurrency=12, timeout=3.0, rate=60.0)


@pytest.mark.full
def test_five_hundred_scenarios_against_a_faulty_server(tmp_path: Path) -> None:
    # One task of two steps from nearly every scenario: the mix of a larger build would turn most of so few away.
    small = CompositionConfig(
        per_scenario=1, budget=12, max_actions=2, length_mix=(0.0, 1.0), shape_mix={"serial": 1.0}
    )
    drawn = {"composition": small, "chunk": 10}
    check_faulty_build(tmp_path, scenarios=500, concurrency=32, timeout=10.0, rate=60.0, **drawn)


def test_what_failed_is_asked_again_when_it_is_asked_for(tmp_path: Path) -> None:
    good = GoodModel()

    def broken(body: dict[str, Any]) -> str:
        return "no JSON" if part_of(body) == "plan" else good(body)

    with ScriptedServer(Script(reply=broken)) as server:
        config = configure(tmp_path / "run", f"m@{server.url}", scenarios=1)
        with pytest.raises(PlanArenaError, match=r"requests to models gave nothing of use \(wrong_json"):
            planarena.build(config)
        run = Run.open(tmp_path / "run")
        tasks = gold_of(run).height
        assert run.info["counts"]["llm_failures"] == {"wrong_json": tasks}
        server.script = Script(reply=good)
        server.clear()
        retry = ExecutionConfig(workers=1, retry_failed=True, calls=config.execution.calls)
        run = planarena.build(msgspec.structs.replace(config, execution=retry))
        assert "llm_failures" not in run.info["counts"]
        # Only the plans were asked for again.
        assert len(server.arrivals) == tasks


@pytest.mark.parametrize(
    ("script", "changes", "words", "fix"),
    [
        ({"keys": frozenset({"another"})}, {}, "revoked|refused|key", "THE_KEY"),
        ({"models": frozenset({"another"})}, {}, "model", "PROVIDER/MODEL"),
        ({}, {"budget_calls": 9}, "budget of 9 calls is spent", "--budget-calls"),
        ({}, {"budget_tokens": 9000}, "budget of 9000 tokens is spent", "--budget-tokens"),
        ({}, {"budget_usd": 0.05, "price": (10.0, 10.0)}, "budget of 0.05 USD is spent", "--budget-usd"),
    ],
)
def test_one_clear_error_and_the_same_command_goes_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: dict[str, Any],
    changes: dict[str, Any],
    words: str,
    fix: str,
) -> None:
    monkeypatch.setenv("THE_KEY", "right-key-0123456789")
    with ScriptedServer(Script(reply=GoodModel(), **script)) as server:
        name = f"m@{server.url}#THE_KEY"
        with pytest.raises(UserError, match=words) as caught:
            planarena.build(configure(tmp_path / "run", name, scenarios=2, calls=changes))
        assert caught.value.exit_code == 2
        assert fix in caught.value.fix
        paid = sum(server.sent.values())
        assert paid <= changes.get("budget_calls", 10_000)
        server.script = Script(reply=GoodModel())
        # The budget is the run's: the same one is spent still.
        if "budget_calls" in changes:
            with pytest.raises(UserError, match=words):
                planarena.build(configure(tmp_path / "run", name, scenarios=2, calls=changes))
            assert sum(server.sent.values()) == paid
        run = planarena.build(configure(tmp_path / "run", name, scenarios=2))
        assert set(gold_of(run)["source"]) == {"llm"}
        assert max(server.sent.values()) == 1
        assert "right-key" not in (tmp_path / "run/run.json").read_text()


def test_an_unreachable_server_is_one_clear_error(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        name = f"m@{server.url}"
    config = configure(tmp_path / "run", name, scenarios=1)
    with pytest.raises(UserError, match="cannot be reached|unreachable|connect") as caught:
        planarena.build(config)
    assert "check that it runs" in caught.value.fix
    with ScriptedServer(Script(reply=GoodModel()), port=server.port):
        assert set(gold_of(planarena.build(config))["source"]) == {"llm"}


def test_a_server_that_calls_the_model_otherwise_is_said_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Script(seed=3, reply=GoodModel(), faults={"other_model": 0.5})
    with ScriptedServer(script) as server:
        words = ["build", SOURCES[0], "--scenarios", "1", "--trajectories", "99", "--workers", "1"]
        words += ["--model", f"m@{server.url}", "--out", str(tmp_path / "run")]
        words += ["--set", "composition.per_scenario=2", "--set", "composition.budget=8"]
        # Models write the words of plain conversations.
        words += ["--set", "conversations.shares={}"]
        assert main(words) == 0
    said = capsys.readouterr().out
    run = planarena.Run(tmp_path / "run")
    served = run.info["cost"]["served_by"][f"m@{server.url}"]
    assert set(served) == {"m", "another-model"}
    assert sum(served.values()) == run.info["cost"]["llm_calls"]
    told = "answered as more than one model"
    for text in (said, (tmp_path / "run/README.md").read_text(), (tmp_path / "run/report.html").read_text()):
        assert told in text


def test_what_is_refused_is_counted_and_shown(tmp_path: Path) -> None:
    good = GoodModel()

    def reply(body: dict[str, Any]) -> Any:
        answer = good(body)
        if part_of(body) == "plausible" and len(material_of(body)["steps"]) > 2:
            return '{"plausible": false, "kind": "no_purpose", "reason": "Nobody needs it."}'
        if part_of(body) == "query":
            return answer.replace("errand ", "never errand ")
        return answer

    with ScriptedServer(Script(reply=reply)) as server:
        config = configure(
            tmp_path / "run", f"m@{server.url}", plausibility=True, execution={"max_error_rate": 1.0}
        )
        offline = planarena.build(
            msgspec.structs.replace(config, out=str(tmp_path / "off"), models=ModelsConfig())
        )
        run = planarena.build(config)
        gold, all_gold = gold_of(run), gold_of(offline)
        dropped = all_gold.filter(polars.col("n_actions") > 2).height
        assert 0 < dropped == all_gold.height - gold.height
        discards = run.table("discards").collect().filter(polars.col("stage") == "models")
        assert discards["reason"].to_list() == ["implausible_no_purpose"] * dropped
        counts = run.info["counts"]
        assert counts["proposals_plausible"] == {"implausible": dropped, "kept": gold.height}
        # One look at each task, and no word was paid for where that refused it.
        asked = requests_by_part(server)
        assert asked["plausible"] == all_gold.height
        assert asked["query"] == asked["plan"] == gold.height
        # Words that forbid what they should ask for are in no trajectory.
        assert counts["llm_failures"] == {"action_forbidden": gold.height}
        assert not run.table("queries").collect().filter(polars.col("llm_call_id").ne("")).height
        assert not run.table("queries").collect()["turns"].cast(polars.String).str.contains("errand").any()
        card = (tmp_path / "run/README.md").read_text()
        assert f"action_forbidden {counts['proposals_query']['action_forbidden']}" in card
        assert f"rejected {dropped} of {all_gold.height} tasks" in card
        paid = len(server.arrivals)
        planarena.build(msgspec.structs.replace(config, out=str(tmp_path / "again")))
        assert len(server.arrivals) == paid
        assert contents(tmp_path / "run") == contents(tmp_path / "again")


@pytest.mark.parametrize("changes", [{"round_trip": "m"}, {"plausibility": True}])
def test_what_guards_words_needs_a_model_that_writes_them(changes: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(changes))):
        ModelsConfig(**changes)


def test_rates_hold_over_a_whole_build(tmp_path: Path) -> None:
    with ScriptedServer(Script(reply=GoodModel())) as server:
        planarena.build(configure(tmp_path / "warm", f"w@{server.url}", scenarios=1))
        server.clear()
        calls = {"requests_per_minute": 1200.0}
        planarena.build(configure(tmp_path / "run", f"m@{server.url}", scenarios=3, calls=calls))
        count, first, last = len(server.arrivals), server.arrivals[0].at, server.arrivals[-1].at
        assert count > 50
        # 20 a second, evenly spread: at most 5 % more; less is a busy machine.
        assert (count - 1) / (last - first) <= 20 * 1.05


def command(out: Path, url: str) -> list[str]:
    return [
        sys.executable, "-m", "planarena", "build", *SOURCES, "--out", str(out), "--trajectories", "10000",
        "--scenarios", "4", "--workers", "2", "--model", f"a@{url}", "--model", f"b@{url}",
        "--set", "chunk_scenarios=1", "--set", "composition.per_scenario=4", "--set", "composition.budget=16",
        "--set", "execution.calls.concurrency=6",
    ]  # fmt: skip


@pytest.mark.slow
def test_killed_builds_resume_without_paying_twice(tmp_path: Path) -> None:
    kills, concurrency = 2, 12
    with ScriptedServer(Script(reply=GoodModel(), delay=0.05)) as server:
        whole = subprocess.run(command(tmp_path / "whole", server.url), capture_output=True, check=False)
        assert whole.returncode == 0, whole.stderr
        total = len(server.arrivals)
        server.clear()
        os.environ["PLANARENA_CACHE"] = str(tmp_path / "cache2")
        for kill in range(1, kills + 1):
            process = subprocess.Popen(
                command(tmp_path / "run", server.url), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            deadline = time.monotonic() + 120
            while len(server.arrivals) < kill * total // 3 and time.monotonic() < deadline:
                assert process.poll() is None, "it ended before it was killed"
                time.sleep(0.005)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        done = subprocess.run(command(tmp_path / "run", server.url), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert len(server.sent) == total
        # What was on its way at a kill had not been received; all else was asked for once.
        assert sum(count - 1 for count in server.sent.values()) <= kills * concurrency
        assert max(server.sent.values()) <= 1 + kills
        assert contents(tmp_path / "run") == contents(tmp_path / "whole")
        server.clear()
        subprocess.run(command(tmp_path / "third", server.url), capture_output=True, check=True)
        assert server.arrivals == []


def test_a_build_that_was_extended_asked_for_the_new_tasks_alone(tmp_path: Path) -> None:
    with ScriptedServer(Script(reply=GoodModel())) as server:
        config = configure(tmp_path / "run", f"m@{server.url}", scenarios=0)
        planarena.build(msgspec.structs.replace(config, trajectories=5))
        extend = msgspec.structs.replace(config.execution, extend=True)
        planarena.build(msgspec.structs.replace(config, trajectories=9, execution=extend))
        count = len(server.arrivals)
        assert count == 9 * len(PARTS)
        planarena.build(msgspec.structs.replace(config, trajectories=9, out=str(tmp_path / "direct")))
        assert len(server.arrivals) == count
        assert contents(tmp_path / "run") == contents(tmp_path / "direct")


def test_ctrl_c_hears_out_what_was_sent(tmp_path: Path) -> None:
    with ScriptedServer(Script(reply=GoodModel(), delay=0.2)) as server:
        process = subprocess.Popen(
            command(tmp_path / "run", server.url), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + 120
        while len(server.arrivals) < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        assert b"run the same command again" in errors
        assert b"Traceback" not in errors
        done = subprocess.run(command(tmp_path / "run", server.url), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert max(server.sent.values()) == 1


def test_a_dry_run_says_what_it_would_cost_and_asks_nothing(tmp_path: Path) -> None:
    with ScriptedServer(Script(reply=GoodModel())) as server:
        options = [
            "--judge-model",
            f"j@{server.url}",
            "--set",
            "execution.calls.price=[1,4]",
            "--dry-run",
            "--json",
        ]
        done = subprocess.run(
            [*command(tmp_path / "run", server.url), *options], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        plan = msgspec.json.decode(done.stdout)
        assert server.arrivals == []
        assert not (tmp_path / "run").exists()
    phases = {phase["part"]: phase for phase in plan["phases"]}
    assert set(phases) == {*PARTS, "relevance"}
    # Each is rounded by itself.
    assert abs(phases["trajectory"]["calls"] - 2 * phases["query"]["calls"]) <= 1
    assert plan["llm_calls"] == sum(phase["calls"] for phase in plan["phases"])
    for phase in phases.values():
        usd = (phase["prompt_tokens"] + 4 * phase["completion_tokens"]) / 1e6
        assert phase["usd"] == pytest.approx(usd, abs=1e-3)
