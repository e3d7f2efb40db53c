"""The sample dataset and the guide that walks through it: opens, re-executes, is made by the command that is told."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planarena import Run
from planarena.cli import main
from planarena.environments.domains import DOMAINS
from planarena.export import FORMATS
from planarena.proofs import open_scenario, read_goal, replay_trajectory
from planarena.records import read_rows
from planarena.records.tables import TABLES

MOST_BYTES = 650_000


@pytest.fixture(scope="module")
def sample() -> Run:
    return Run.open(Path(str(files("planarena.data").joinpath("sample"))))


@pytest.fixture(scope="module")
def guide(root: Path) -> str:
    return (root / "docs/guide.md").read_text()


def domains_named(run: Run) -> set[str]:
    named = {source.removeprefix("builtin:") for source in run.info["config"]["sources"]}
    return set(DOMAINS) - {"errands"} if named == {"builtin"} else named


def test_the_sample_is_small_and_spans_many_domains(sample: Run) -> None:
    found = [path for path in sample.path.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in found) <= MOST_BYTES
    assert {path.relative_to(sample.path).parts[0] for path in found} == {"run.json", "README.md", "tables"}
    counts = sample.info["counts"]
    assert len(domains_named(sample)) == 32
    found_in = {name for group in counts["gold_domain"] for name in group.split("+")}
    assert len(found_in & domains_named(sample)) >= 20
    assert counts["gold"] == 80
    # A wrong choice from which no plausible wrong trajectory follows leaves its gold without a contrast.
    assert 75 <= counts["contrastive"] <= 80
    assert min(counts[name] for name in ("no_call", "decision_points", "gold_parallel")) > 0
    for name in sample.tables:
        rows = [row for path in sample.shards(name) for row in read_rows(path, name)]
        assert rows, name
        _, key = TABLES[name]
        if name == "discards":
            continue  # candidates that were refused for the same reason with the same words share an id
        assert len({tuple(getattr(row, part) for part in key) for row in rows}) == len(rows)


def _replay(sample: Run, spoil: bool = False) -> dict[str, list[str]]:
    rows: dict[str, list[dict[str, Any]]] = {
        name: sample.table(name).collect().to_dicts() for name in sample.tables
    }
    tools = {row["tool_id"]: row["wire_name"] for row in rows["tools"]}
    executions = {row["execution_id"]: row for row in rows["executions"]}
    tasks = {row["task_id"]: row for row in rows["tasks"]}
    worlds = {row["scenario_id"]: open_scenario(row) for row in rows["scenarios"]}
    for row in rows["scenarios"]:
        assert worlds[row["scenario_id"]].digest() == row["seed_state_hash"]
    faults = {}
    for trajectory in rows["trajectories"]:
        if trajectory["kind"] != "gold" or not trajectory["n_actions"]:
            continue
        name, task = trajectory["trajectory_id"], tasks[trajectory["task_id"]]
        steps = sorted(
            (step for step in rows["steps"] if step["trajectory_id"] == name), key=lambda step: step["step"]
        )
        assert len(steps) == trajectory["n_actions"]
        faults[name] = replay_trajectory(
            worlds[task["scenario_id"]],
            read_goal(task["goal"]),
            steps[:-1] if spoil else steps,
            executions,
            tools,
        )
    return faults


def test_every_gold_trajectory_of_the_sample_executes_again(sample: Run) -> None:
    faults = _replay(sample)
    assert len(faults) == 80
    assert not any(faults.values()), faults
    assert all(_replay(sample, spoil=True).values())


def test_the_sample_is_made_by_the_command_of_the_guide(sample: Run, guide: str, tmp_path: Path) -> None:
    """The same settings and the same kind of content; not the same bytes, which a mended generator may change."""
    (command,) = re.findall(r"^planarena build .* --out sample$", guide, re.MULTILINE)
    words = shlex.split(command)[1:]
    made_at = tmp_path / "sample"
    words[-1] = str(made_at)
    assert main([*words, "--workers", "1", "--json"]) == 0
    made = Run.open(made_at)
    stored: dict[str, Any] = msgspec.json.decode((sample.path / "run.json").read_bytes())
    told = re.findall(r"--set ([\w.]+)=(\S+)", command)
    for name, value in [("trajectories", "80"), ("seed", "19"), *told]:
        for info in (made.info, stored):
            found: Any = info["config"]
            for part in name.split("."):
                found = found[part]
            assert str(found) == value
    assert made.tables == sample.tables
    assert domains_named(made) == domains_named(sample)
    assert made.info["counts"]["gold_domain"].keys() == sample.info["counts"]["gold_domain"].keys()
    for name in ("gold", "contrastive"):
        assert made.info["counts"][name] == sample.info["counts"][name]
    kept = sum(path.stat().st_size for path in (made_at / "tables").rglob("*.parquet"))
    assert kept <= MOST_BYTES


@pytest.mark.slow
def test_the_guide_shows_what_its_commands_print(root: Path, guide: str, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(root / "data")
    blocks = re.findall(r"```(sh|python) runnable\n(.*?)```(?:\n\n```text\n(.*?)\n```)?", guide, re.DOTALL)
    assert len(blocks) > 8
    # The width that the guide was made with; nothing of a terminal.
    environment = {
        **os.environ,
        "COLUMNS": "100",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    for kind, body, told in blocks:
        command = ["bash", "-euc", body] if kind == "sh" else [sys.executable, "-c", body]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, body + done.stderr
        if told:
            printed = "\n".join(line.rstrip() for line in done.stdout.rstrip().splitlines())
            assert printed == told, body
    for name in ("sample.html", "difference.html", "difference.md", "mine/report.html"):
        assert (tmp_path / name).stat().st_size > 0


def test_the_guide_names_what_is_there(guide: str) -> None:
    formats = set(re.findall(r"`([\w-]+)`", guide.split("are the other formats")[0].rsplit("\n\n", 1)[1]))
    assert formats | {"openai"} == set(FORMATS)
