"""What every test may rely on: the root of the repository, and a quiet, offline, small-threaded process."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from planarena import Run

# Read when the libraries are first imported, so they are set before any test module is.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

# A busy machine is no fault of the code: no test of properties fails on time, and every run tries the same cases.
settings.register_profile(
    "planarena",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("planarena")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def shared(root: Path) -> Path:
    """The folder of specifications and oracles beside the checkout; tests that read it skip without it."""
    folder = root.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no ../shared beside this checkout")
    return folder


@pytest.fixture(scope="session")
def growth() -> Callable[[Callable[[float], object]], float]:
    """How many times longer the whole takes than an eighth of it: linear 8, quadratic 64.

    A ratio, because seconds depend on the machine and its load. The function is called with 1/8 and with 1,
    the share of the full size to work on. Processor time counts, not the clock's, and the least of at most
    five attempts, without the garbage collector, whose time depends on all that the process holds. A
    millisecond is added to both, so that what takes no time at all has no ratio.
    """

    def measure(run: Callable[[float], object]) -> float:
        least = dict.fromkeys((0.125, 1.0), float("inf"))
        ratio = float("inf")
        gc.disable()
        try:
            for _ in range(5):
                for share in least:
                    begun = time.process_time()
                    run(share)
                    least[share] = min(least[share], time.process_time() - begun)
                ratio = (least[1.0] + 1e-3) / (least[0.125] + 1e-3)
                if ratio < 16:
                    break
        finally:
            gc.enable()
        return ratio

    return measure


@pytest.fixture(scope="session")
def built_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A real build: 60 gold trajectories over three domains in three shards. Tests only read it."""
    from planarena import BuildConfig, build
    from planarena.config import ExecutionConfig, SplitConfig

    # Of the few scenarios every split shall have one, and somebody calls a tool that there is not; which ones a seed
    # draws changes with the domains' words.
    for seed in range(16):
        run = build(
            BuildConfig(
                out=str(tmp_path_factory.mktemp("built") / "run"),
                trajectories=60,
                chunk_scenarios=2,
                seed=seed,
                sources=("builtin:email", "builtin:files", "builtin:travel"),
                split=SplitConfig(validation=0.15, test=0.15),
                execution=ExecutionConfig(workers=1),
            )
        )
        splits = run.table("scenarios").collect()["split"].to_list()
        invented = "" in run.table("steps").collect()["tool_id"].to_list()
        if invented and {"validation", "test"} <= set(splits) and splits.count("train") * 2 > len(splits):
            return run
    raise AssertionError("no seed gives every split a scenario: choose other shares")


# What a tool's author, a model or a person could put where people read it.
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`&amp; \x1b[31m\x07\x9b2J\u202e"
    " [bold red]rich[/bold red] [/] |cell| --> ]]> {{x}} \\"
)


@pytest.fixture(scope="session")
def hostile_run(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The built run with `HOSTILE` added to every text in its tables and to every name in run.json."""
    import msgspec

    from planarena import Run
    from planarena.records import read_rows, write_shard
    from planarena.records.tables import TABLES, json_columns

    root = tmp_path_factory.mktemp("hostile") / "run"
    kept = {"kind", "source", "status", "split", "effects", "state_before", "state_after", "canonical"}

    def poison(value: Any) -> Any:
        if isinstance(value, str):
            return value + HOSTILE
        if isinstance(value, list):
            return [poison(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {k: v if k in {"tool_id", "execution_id"} else poison(v) for k, v in value.items()}

    for table, (kind, _) in TABLES.items():
        for path in built_run.shards(table):
            rows = []
            for row in read_rows(path, table):
                changed: dict[str, Any] = {}
                for name, value in msgspec.structs.asdict(row).items():
                    if (
                        name
                        in {"tool_ids", "withheld_tool_ids", "bindings", "bound_from", "input_schema"} | kept
                    ):
                        continue
                    if name in json_columns(kind):
                        changed[name] = msgspec.json.encode(poison(msgspec.json.decode(value))).decode()
                    elif isinstance(value, str) and not name.endswith(("_id", "_hash")):
                        changed[name] = value + HOSTILE
                rows.append(msgspec.structs.replace(row, **changed))
            write_shard(root, table, path.stem, rows)
    info = dict(built_run.info)
    info["counts"] = {
        name: {key + HOSTILE: number for key, number in value.items()} if isinstance(value, dict) else value
        for name, value in info["counts"].items()
    }
    info |= {
        "stop_reason": HOSTILE,
        "config": poison(info["config"]),
        "quarantined": [{"scenario": 3, "error": HOSTILE}],
    }
    (root / "run.json").write_bytes(msgspec.json.encode(info))
    return Run.open(root)


@pytest.fixture(scope="session")
def hostile() -> str:
    """The text that `hostile_run` holds everywhere."""
    return HOSTILE
