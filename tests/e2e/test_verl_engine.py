"""Training on verl as a user starts it: Ray, FSDP2 over gloo, the transformers rollout, tools, kills, two ranks.

Both engines draw the same numbers, so a run through Ray is compared with the same run of the local engine, metric by
metric. `make test` holds three algorithms, `make test-verl` the rest.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from planarena.eval.algorithms.conversations import draw_conversations
from planarena.eval.algorithms.writing import write_tasks
from planarena.trainers import get
from planarena.trainers.algorithms import names

# No experts; an own clip radius, reward and decay; experts beside the rollouts, with a schedule.
FIRST = ("grpo", "dupo", "chord-mu")
WITH_REFERENCE = ("dpo", "kto", "opsd")
# Their rewards are part of the algorithm.
OWN_REWARD = ("awpo", "dupo")
MICRO: dict[str, Any] = {
    "engine": "verl",
    "steps": 3,
    "rollout": {"batch_size": 3, "group_size": 5, "max_prompt_length": 900, "max_response_length": 56},
    "update": {
        "updates_per_batch": 2,
        "expert_batch_size": 4,
        "learning_rate": 1e-3,
        "micro_batch_tokens": 16384,
    },
    "data": {"format": "planarena", "template": "short", "plan": "none", "limit": 60},
    "validation": {"rows": 3, "every": 3},
    "checkpoint": {"every": 0},
    "model": {"device": "cpu"},
}
TINY: dict[str, Any] = {"hidden": 48, "layers": 1, "heads": 2, "intermediate": 64, "vocabulary": 600}
OWN: dict[str, dict[str, Any]] = {
    "sft-rl": {"options": {"sft_steps": 1}},
    "sasr": {"options": {"warmup_steps": 1}},
    # With three rollouts one of the first prompts is never solved.
    "relift": {"options": {"buffer_size": 1}, "rollout": {"group_size": 3}},
    "chord-phi": {"options": {"weight": "entropy_norm"}},
}
# To be killed, and to be shared between two ranks.
WHOLE: dict[str, Any] = {
    "algorithm": "chord-mu",
    "reward": {"name": "toolupt"},
    "out": "two",
    "steps": 6,
    # Among the many tokens of little probability at temperature 1 one draw in thousands falls so near to an edge that
    # the last bit of a sum decides, which differs between kernels.
    "rollout": {"temperature": 0.7},
    "update": {"updates_per_batch": 1},
    "checkpoint": {"every": 2},
    "validation": {"every": 0},
}


def merged(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    """Return nested settings, the second above the first."""
    found = dict(base)
    for key, value in top.items():
        below = found.get(key)
        found[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return found


def lines(out: Path) -> list[dict[str, Any]]:
    """Return metrics.jsonl."""
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def environment(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of every command here. Six processes import torch and verl, so what Python compiles is kept for the next."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    compiled = os.environ.get("PYTHONPYCACHEPREFIX") or str(tmp_path_factory.mktemp("compiled"))
    own = {
        "PYTHONPATH": str(root),
        "PYTHONPYCACHEPREFIX": compiled,
        "PYTHONWARNINGS": "ignore",
        "OMP_NUM_THREADS": "1",
        # Ray would give way to everything else on the machine.
        "RAY_worker_niceness": "0",
    }
    return {**kept, **own}


@pytest.fixture(scope="module")
def command(environment: dict[str, str]) -> Callable[..., subprocess.Popen[str]]:
    """Starts `planarena train` with settings from a file."""

    def start(settings: dict[str, Any]) -> subprocess.Popen[str]:
        out = Path(settings["out"])
        out.parent.mkdir(parents=True, exist_ok=True)
        file = out.with_suffix(".yaml")
        file.write_text(json.dumps(settings))
        code = "import sys; from planarena.cli import main; sys.exit(main(sys.argv[1:]))"
        return subprocess.Popen(
            [sys.executable, "-c", code, "train", "--config", str(file), "--json"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def finish(process: subprocess.Popen[str]) -> Any:
    """Wait for a command that has to succeed and return what it says."""
    said, told = process.communicate()
    assert process.returncode == 0, said[-3000:] + told[-6000:]
    return json.loads(said)


@pytest.fixture(scope="module")
def shared(root: Path) -> dict[str, Any]:
    return merged(MICRO, {"data": {"path": str(root / "data" / "sample")}})


@pytest.fixture(scope="module")
def start(
    shared: dict[str, Any], command: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A small model that is right now and then: equal rewards would leave nothing to learn or to compare."""
    out = tmp_path_factory.mktemp("start") / "run"
    settings = {
        "engine": "local",
        "algorithm": "grpo",
        "steps": 1,
        "out": str(out),
        "rollout": {"batch_size": 1, "group_size": 2},
        "validation": {"every": 0},
        "model": {"path": "tiny", "tiny": {**TINY, "warm_start": 240, "warm_start_rate": 1e-2}},
    }
    finish(command(merged(shared, settings)))
    return out / "start"


Several = Callable[[str, Sequence[dict[str, Any]]], Path]


@pytest.fixture(scope="module")
def several(root: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Several:
    """Trains several, one after the other, on one set of processes."""

    def run(name: str, runs: Sequence[dict[str, Any]]) -> Path:
        folder = tmp_path_factory.mktemp(name)
        file = folder / "runs.json"
        file.write_text(json.dumps([{**one, "out": str(folder / one["out"])} for one in runs]))
        done = subprocess.run(
            [sys.executable, str(root / "tests" / "e2e" / "verl_sessions.py"), str(file)],
            check=False,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
        return folder

    return run


def three_steps(shared: dict[str, Any], start: Path, name: str) -> dict[str, Any]:
    """Return the settings of three steps of an algorithm, with a twin on the local engine."""
    own = {"algorithm": name, "out": name, "twin": True, "model": {"path": str(start)}}
    reward = {} if name in OWN_REWARD else {"reward": {"name": "toolupt"}}
    return merged(merged(shared, own), merged(reward, OWN.get(name, {})))


def assert_same_curve(left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]) -> None:
    """Compare every number of two metrics.jsonl but times."""
    assert [line["step"] for line in left] == [line["step"] for line in right]
    for own, theirs in zip(left, right, strict=True):
        for key in set(own) - {"update/micro_batches"}:
            if key.startswith("time/"):
                continue
            if not isinstance(own[key], int | float):
                assert theirs[key] == own[key], (own["step"], key)
                continue
            # Float32 in other kernels and sums in other orders: 1e-6 at the first step. Adam turns the sign of
            # gradients near 0 into steps of the learning rate, so later ones agree to three or four digits.
            assert theirs[key] == pytest.approx(own[key], rel=5e-3, abs=5e-4), (own["step"], key)


def _cosine(low: float, high: float, part: float) -> float:
    return low + (high - low) * (1 + math.cos(math.pi * part)) / 2


def _assert_coefficients(name: str, told: Sequence[dict[str, Any]]) -> None:
    """The coefficients of three steps, from the papers' formulas and the recipes' constants."""
    scheduled = {
        "chord-mu": ("coefficient/mixing", [_cosine(0.05, 0.9, step / 30) for step in range(3)]),
        "chord-phi": ("coefficient/mixing", [0.1] * 3),
        "dupo": ("coefficient/mixing", [math.exp(-0.02 * step) for step in (1, 2, 3)]),
        "toolupt": ("coefficient/mixing", [0.02 + 0.18 * step / 100 for step in range(3)]),
        "uft": ("coefficient/hint_probability", [_cosine(0.05, 0.95, step / 2) for step in range(3)]),
    }
    if name in scheduled:
        key, wanted = scheduled[name]
        assert [line[key] for line in told] == pytest.approx(wanted, rel=1e-6)
    phases = {"sft-rl": ["sft", "rl", "rl"], "relift": ["rl", "rl", "sft"]}
    if name in phases:
        assert [line["phase"] for line in told] == phases[name]
    if name == "awpo":
        for line in told:
            radius = 0.1 + 0.1 * (1 - line["advantage/mixed_weight"])
            assert line["policy/clip_radius"] == pytest.approx(radius)
    if name == "dupo":
        # m tau / (m + tau) of each group's mean m, at least 0.28 less what the floor of the recipe leaves.
        assert told[0]["policy/eps_high"] == told[1]["policy/eps_high"] > 0
    if name == "sasr":
        # The ratio of the last supervised gradient to itself and that of the warm-up.
        first, second = (line["update/gradient_norm"] for line in told[:2])
        wanted = [0.0, 0.5, second / (second + first)]
        assert [line["phase"] for line in told[:2]] == ["sft", "sft"]
        assert [line["coefficient/supervised_probability"] for line in told] == pytest.approx(
            wanted, rel=1e-5
        )


def _check(name: str, out: Path) -> None:
    told = lines(out)
    assert [line["step"] for line in told] == [0, 1, 2, 3]
    own = told[1:]
    assert all(line["update/skipped"] == 0.0 for line in own)
    assert any(line["update/gradient_norm"] > 1e-2 for line in own)
    if get(name).needs.experts and not get(name).needs.own_phases and name != "uft":
        assert all(line["update/expert_tokens"] > 0 for line in own)
    assert_same_curve(lines(out.with_name(f"{name}-local")), told)
    _assert_coefficients(name, own)
    info = json.loads((out / "run.json").read_text())
    assert (info["status"], info["engine"], info["rollout"]) == ("finished", "verl", "planarena")
    from transformers import AutoModelForCausalLM

    assert AutoModelForCausalLM.from_pretrained(out / "checkpoints" / "step_3").config.vocab_size > 100


def _check_all(chosen: Sequence[str], folder: Path) -> None:
    wrong = {}
    for name in chosen:
        try:
            _check(name, folder / name)
        except AssertionError as error:
            wrong[name] = str(error)
    assert not wrong


def test_three_algorithms_train_on_verl(shared: dict[str, Any], start: Path, several: Several) -> None:
    folder = several("first", [three_steps(shared, start, name) for name in FIRST])
    _check_all(FIRST, folder)


OTHERS = [name for name in names() if name not in (*FIRST, *WITH_REFERENCE)]


@pytest.fixture(scope="module")
def others(shared: dict[str, Any], start: Path, several: Several) -> Path:
    """Everything that needs no reference, on one set of processes."""
    plain = {"model": {"path": str(start)}, "update": {"updates_per_batch": 1}, "validation": {"every": 0}}
    episodes = {
        "algorithm": "grpo",
        "out": "episodes",
        "twin": True,
        "steps": 2,
        "data": {"mode": "episodes"},
        "rollout": {"max_response_length": 300, "max_turns": 3, "step_weight": 0.5, "temperature": 0.7},
    }
    bench = {
        "algorithm": "grpo",
        "out": "bench",
        "twin": True,
        "steps": 2,
        "validation": {"every": 2, "bench": "planarena-2", "bench_tasks": 8},
    }
    curve = {
        "algorithm": "grpo",
        "out": "curve",
        "steps": 30,
        "reward": {"name": "toolupt"},
        "data": {"limit": 8},
        "rollout": {"batch_size": 8, "group_size": 8},
        "update": {"learning_rate": 5e-4},
    }
    return several(
        "others",
        [
            merged(merged(shared, plain), episodes),
            *(three_steps(shared, start, name) for name in OTHERS),
            merged(merged(shared, plain), bench),
            merged(merged(shared, plain), curve),
        ],
    )


@pytest.mark.verl
def test_every_algorithm_trains_on_verl(others: Path) -> None:
    _check_all(OTHERS, others)


@pytest.mark.verl
def test_the_policy_acts_with_real_tools(others: Path) -> None:
    told = lines(others / "episodes")
    assert any(line.get("rollout/tool_calls", 0.0) > 0 for line in told)
    assert any(line.get("rollout/observation_tokens", 0.0) > 0 for line in told)
    assert_same_curve(lines(others / "episodes-local"), told)


@pytest.mark.verl
def test_three_steps_of_conversations_agree(
    shared: dict[str, Any], command: Callable[..., Any], several: Several, tmp_path: Path
) -> None:
    """Conversations of the study with the scripted user, which plays in verl's workers."""
    tasks = draw_conversations(48, seed=3, first_house=0, aims=(1, 2))
    write_tasks(tmp_path / "tasks", tasks, seed=3, split="train")
    talk = merged(
        shared,
        {
            "algorithm": "grpo",
            "data": {"path": str(tmp_path / "tasks"), "mode": "episodes"},
            "rollout": {
                "group_size": 6,
                "max_response_length": 250,
                "temperature": 0.7,
                "step_reward": "none",
            },
            "update": {"updates_per_batch": 1},
            "validation": {"every": 0},
        },
    )
    # Solved now and then.
    taught = {
        "engine": "local",
        "algorithm": "sft",
        "steps": 250,
        "out": str(tmp_path / "start"),
        "update": {"learning_rate": 1e-2, "schedule": "cosine", "expert_batch_size": 8},
        "model": {"path": "tiny", "tiny": TINY},
    }
    begun = finish(command(merged(talk, taught)))["checkpoint"]
    own = {"out": "conversations", "twin": True, "model": {"path": begun}}
    folder = several("conversations", [merged(talk, own)])
    told = lines(folder / "conversations")
    assert any(0 < line.get("reward/success", 0.0) < 1 for line in told)
    # A message, a question or an answer, another message, a call, an answer: less is no conversation.
    # Two messages take four decisions, and some episodes end early.
    assert any(line["reward/turns"] > 3 for line in told[1:])
    assert any(line["update/gradient_norm"] > 1e-2 for line in told[1:])
    assert_same_curve(lines(folder / "conversations-local"), told)


@pytest.mark.verl
def test_the_policy_is_validated_on_the_bench(others: Path) -> None:
    told = lines(others / "bench")
    for line in (told[0], told[-1]):
        assert line["bench/length"] > 0
        assert 0 <= line["bench/success"] <= 1
    assert_same_curve(lines(others / "bench-local"), told)


def _rise(out: Path) -> float:
    """By how much the mean reward of the last ten of thirty steps is above that of the first ten."""
    rewards = [line["reward/mean"] for line in lines(out) if line["step"]]
    assert len(rewards) == 30
    return (sum(rewards[-10:]) - sum(rewards[:10])) / 10


@pytest.mark.verl
def test_the_reward_of_grpo_rises(others: Path) -> None:
    # Eight prompts again and again: steps scatter by 0.4, means of ten by 0.13. The local engine rises by 1.06.
    assert _rise(others / "curve") > 0.5


@pytest.mark.verl
def test_the_reward_of_dupo_rises(
    shared: dict[str, Any], command: Callable[..., Any], tmp_path: Path
) -> None:
    settings = {
        "algorithm": "dupo",
        "out": str(tmp_path / "run"),
        "steps": 30,
        "data": {"limit": 8, "plan": "step"},
        "rollout": {"batch_size": 8, "group_size": 8, "max_response_length": 110},
        "update": {"learning_rate": 3e-3, "updates_per_batch": 1, "expert_batch_size": 8},
        "validation": {"every": 0},
        # Its reward pays nothing outside the format, so the start has to keep it now and then.
        "model": {"path": "tiny", "tiny": {**TINY, "warm_start": 120, "warm_start_rate": 1e-2}},
    }
    finish(command(merged(shared, settings)))
    # Steps scatter by 0.1, means of ten by 0.04. The local engine rises by 0.41.
    assert _rise(tmp_path / "run") > 0.2


@pytest.mark.verl
def test_algorithms_with_a_reference_train_on_verl(
    shared: dict[str, Any], start: Path, several: Several
) -> None:
    near = merged(three_steps(shared, start, "grpo"), {"out": "kl", "options": {"kl_coef": 0.1}})
    folder = several("referenced", [*(three_steps(shared, start, name) for name in WITH_REFERENCE), near])
    _check_all(WITH_REFERENCE, folder)
    assert_same_curve(lines(folder / "kl-local"), lines(folder / "kl"))


@pytest.mark.verl
def test_adapters_train_on_verl(shared: dict[str, Any], start: Path, several: Several) -> None:
    """With a KL term, and with a frozen teacher: both are the model without its adapters."""
    lora = {"model": {"lora": {"rank": 4}}, "update": {"learning_rate": 5e-3}}
    near = merged(three_steps(shared, start, "grpo"), {**lora, "out": "kl", "options": {"kl_coef": 0.1}})
    folder = several("adapters", [near, merged(three_steps(shared, start, "opsd"), lora)])
    for run in ("kl", "opsd"):
        left, right = lines(folder / f"{run}-local"), lines(folder / run)
        assert any(line["update/gradient_norm"] > 1e-2 for line in left[1:])
        assert_same_curve(left, right)
        ends = [folder / name / "checkpoints" / "step_3" for name in (f"{run}-local", run)]
        own, theirs = ({path.name for path in end.iterdir()} for end in ends)
        assert "adapter_model.safetensors" in theirs
        assert theirs - own == {"verl"}


@pytest.fixture(scope="module")
def whole(
    shared: dict[str, Any], start: Path, command: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """The curve of six steps that nobody disturbs, by the local engine."""
    out = tmp_path_factory.mktemp("whole") / "run"
    own = {"engine": "local", "out": str(out), "model": {"path": str(start)}}
    finish(command(merged(merged(shared, WHOLE), own)))
    return lines(out)


def _family(ancestor: int) -> dict[int, str]:
    """Return the processes below one, with what they are called."""
    parents: dict[int, int] = {}
    called: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            # The second field is in brackets and may hold anything.
            after = (folder / "stat").read_text().rpartition(")")[2].split()
            called[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if after[0] != "Z":
            parents[int(folder.name)] = int(after[1])
    found: set[int] = set()
    fresh = {ancestor}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return {process: called[process] for process in found}


def _listening(ancestor: int) -> set[str]:
    """Return the addresses at which processes below one listen."""
    places = set()
    for number in _family(ancestor):
        with suppress(psutil.Error):
            found = psutil.Process(number).net_connections()
            places |= {
                one.laddr.ip.removeprefix("::ffff:") for one in found if one.status == psutil.CONN_LISTEN
            }
    assert places
    return places


def _await_step(process: subprocess.Popen[str], out: Path, step: int) -> None:
    deadline = time.monotonic() + 900
    while not (out / "checkpoints" / f"step_{step}" / "state.json").is_file():
        assert process.poll() is None, process.communicate()[1][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.verl
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_killed_runs_go_on_with_the_same_curve(
    shared: dict[str, Any], start: Path, whole: Any, command: Callable[..., Any], tmp_path: Path
) -> None:
    """First a worker dies, then the command itself by kill -9; nothing is left behind, nothing is lost."""
    settings = merged(merged(shared, WHOLE), {"out": str(tmp_path / "killed"), "model": {"path": str(start)}})
    out = tmp_path / "killed"
    process = command(settings)
    _await_step(process, out, 2)
    assert _listening(process.pid) <= {"127.0.0.1", "::1"}
    worker = next(number for number, name in _family(process.pid).items() if "WorkerDict" in name)
    os.kill(worker, signal.SIGKILL)
    told = process.communicate()[1]
    assert process.returncode == 1
    assert "a process of verl died" in told
    assert "checkpoints/step_" in told
    assert "Traceback" not in told
    assert list((out / "verl" / "ray").glob("worker-*"))

    process = command(settings)
    _await_step(process, out, 4)
    family = set(_family(process.pid))
    assert len(family) > 5
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60
    while left := [number for number in family if Path(f"/proc/{number}/exe").exists()]:
        assert time.monotonic() < deadline, left
        time.sleep(0.2)

    finish(command(settings))
    assert [line["step"] for line in lines(out)] == list(range(7))
    assert_same_curve(whole, lines(out))


@pytest.mark.verl
def test_two_ranks_do_the_work_of_one(
    shared: dict[str, Any], start: Path, whole: Any, several: Several
) -> None:
    cluster = {"trainer": {"n_gpus_per_node": 2}, "ray_kwargs": {"ray_init": {"num_gpus": 2}}}
    two = merged(WHOLE, {"model": {"path": str(start)}, "verl": cluster})
    folder = several("ranks", [merged(shared, two)])
    assert json.loads((folder / "two" / "run.json").read_text())["ranks"] == 2
    # Gradients are sums over ranks: the same tolerance as between engines, for the same reason.
    assert_same_curve(whole, lines(folder / "two"))
