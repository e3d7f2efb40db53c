"""Speed and size of a build: gold a second, CPU, peak memory of all processes, variety; by state size; seeding.

Run it alone on a quiet machine: `python tests/bench/bench_build.py [TRAJECTORIES] [WORKERS]`.
Gold a second is accepted gold trajectories over the wall time of the whole process, imports included.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import msgspec

import planarena
from planarena.config import BuildConfig
from planarena.environments.domains import COMBINATIONS, DOMAINS, draw_seeds, load_domain
from planarena.pipeline.execute.scenario_run import execute_scenario
from planarena.pipeline.execute.scenarios import draw_scenario
from planarena.pipeline.language.describe import ScenarioLanguage
from planarena.pipeline.products import Executed


def family_of(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found, queue = [], [pid]
    while queue:
        parent = queue.pop()
        found.append(parent)
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                queue += [int(word) for word in task.read_text().split()]
            except OSError:
                continue
    return found


def proportional_set_size(pid: int) -> int:
    """Return the PSS of a process in bytes: shared pages are counted once over all processes."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    match = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(match.group(1)) * 1024 if match else 0


class MemoryWatch:
    """Samples the memory of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            sizes = {pid: proportional_set_size(pid) for pid in family_of(self._pid)}
            self.peak = max(self.peak, sum(sizes.values()))

    def close(self) -> None:
        """Stop sampling."""
        self._stop.set()
        self._thread.join()


def run_build(out: Path, trajectories: int, workers: int) -> dict[str, Any]:
    """Build in a process of its own and measure it."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "planarena", "build", "builtin", "--out", str(out), "--json"),
            *("--trajectories", str(trajectories), "--workers", str(workers)),
        ],
        stdout=subprocess.PIPE,
    )
    watch = MemoryWatch(process.pid)
    output, _ = process.communicate()
    seconds = time.perf_counter() - started
    watch.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    counts = json.loads(output)["counts"]
    return {
        "gold": counts["gold"],
        "gold_per_second": counts["gold"] / seconds,
        "cpu_seconds_per_1000": 1000 * cpu / counts["gold"],
        "peak_mib": watch.peak / 2**20,
        "shapes": counts["distinct_masked_shapes"],
        "contrastive": counts["contrastive"],
        "median_state_bytes": counts["state_bytes"] / counts["scenarios"],
    }


_TRACED = """
import sys, tempfile, tracemalloc
import pandas, pyarrow.parquet  # what they take does not hang on the size
import planarena
from planarena.config import ExecutionConfig
with tempfile.TemporaryDirectory() as folder:
    config = planarena.BuildConfig(
        out=folder + "/run", trajectories=int(sys.argv[1]), execution=ExecutionConfig(workers=2)
    )
    tracemalloc.start()
    planarena.build(config)
    print(tracemalloc.get_traced_memory()[1])
"""


def parent_heap(trajectories: int) -> int:
    """Return the most that Python's allocator held in the parent of a build, in bytes.

    Not the process's memory: what allocators keep for later wavers by megabytes from run to run.
    """
    command = [sys.executable, "-c", _TRACED, str(trajectories)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def near_duplicate_rate(run: planarena.Run) -> float:
    """Return the share of queries with an earlier one at a Jaccard of 0.8 or more over word trigrams."""
    from datasketch import MinHash, MinHashLSH

    texts = [" ".join(msgspec.json.decode(text)) for text in run.table("queries").collect()["turns"]]
    index = MinHashLSH(threshold=0.7, num_perm=64)
    sets, found = [], 0
    for number, text in enumerate(texts):
        words = re.findall(r"\w+", text.lower())
        grams = {" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2))}
        sketch = MinHash(num_perm=64)
        sketch.update_batch([gram.encode() for gram in grams])
        found += any(
            len(grams & sets[other]) >= 0.8 * len(grams | sets[other]) for other in index.query(sketch)
        )
        index.insert(number, sketch)
        sets.append(grams)
    return found / len(texts)


def by_state_size(pad_bytes: int, scenarios: int = 24) -> tuple[float, float]:
    """Return (median state in KiB, gold a CPU-second on one core) with inert records of `pad_bytes` added.

    The padding lies in a table that no tool reads, so it shows what the size alone costs: hashing, undo,
    seeding and storing. What scanning costs shows in the domains' own sizes.
    """
    from planarena.environments.contract import Seed

    config = BuildConfig()
    sizes, gold = [], 0

    def padded(original: Any) -> Any:
        def seed(*arguments: Any) -> Seed:
            made = original(*arguments)
            rng = Random(pad_bytes)
            rows = {
                f"pad_{n:05d}": {"text": f"{rng.getrandbits(512):0128x}"} for n in range(pad_bytes // 150)
            }
            return msgspec.structs.replace(made, tables={**made.tables, "padding": rows})

        return staticmethod(seed)

    with ExitStack() as patches:
        for name in DOMAINS:
            domain = load_domain(name)
            patches.enter_context(patch.object(domain, "seed", padded(domain.seed)))
        started = time.process_time()
        for number in range(scenarios):
            done = execute_scenario(config, draw_scenario(config, number))
            writer = ScenarioLanguage(config, done)
            sizes.append(len(done.seed_state))
            for item in done.items:
                if isinstance(item, Executed):
                    writer.describe(item)
                    gold += 1
        seconds = time.process_time() - started
    return statistics.median(sizes) / 1024, gold / seconds


def seeding(scenarios: int = 3) -> list[tuple[str, float, float]]:
    """Return (environments, ms a seed, its share of the CPU time of a scenario that is executed and worded)."""
    found = []
    names = [(name,) for name in DOMAINS] + [group.domains for group in COMBINATIONS]
    for domains in names:
        draw_seeds(domains, Random("word lists are read at the first use"))
        started = time.process_time()
        for number in range(8):
            draw_seeds(domains, Random(number))
        seconds = (time.process_time() - started) / 8
        config = BuildConfig(sources=tuple(f"builtin:{name}" for name in domains))
        whole = time.process_time()
        for number in range(scenarios):
            done = execute_scenario(config, draw_scenario(config, number))
            writer = ScenarioLanguage(config, done)
            for item in done.items:
                if isinstance(item, Executed):
                    writer.describe(item)
        whole = (time.process_time() - whole) / scenarios
        found.append((" + ".join(domains), 1000 * seconds, seconds / whole))
    return found


def main() -> None:
    """Print it all."""
    trajectories = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    with tempfile.TemporaryDirectory() as folder:
        half = run_build(Path(folder) / "half", trajectories // 2, workers)
        whole = run_build(Path(folder) / "whole", trajectories, workers)
        rate = near_duplicate_rate(planarena.Run.open(Path(folder) / "whole"))
    print(f"{whole['gold']} gold and {whole['contrastive']} contrastive trajectories, {workers} workers")
    print(
        f"  gold a second            {whole['gold_per_second']:.0f}   (half the size: {half['gold_per_second']:.0f})"
    )
    print(f"  CPU-seconds per 1,000    {whole['cpu_seconds_per_1000']:.2f}")
    print(f"  peak memory, all         {whole['peak_mib']:.0f} MiB   (half the size: {half['peak_mib']:.0f})")
    few, many = 4000, 12000
    grown = (parent_heap(many) - parent_heap(few)) / (many - few)
    print(f"  parent's growth          {grown:.0f} bytes a further trajectory ({few} against {many})")
    print(f"  mean state               {whole['median_state_bytes'] / 1024:.1f} KiB")
    print(f"  distinct masked shapes   {whole['shapes']}")
    print(f"  near-duplicate queries   {100 * rate:.2f} %")
    print("gold a CPU-second on one core (execution, proofs, words and contrast), by median state:")
    for pad in (0, 30_000, 120_000):
        size, speed = by_state_size(pad)
        print(f"  {size:6.1f} KiB   {speed:.0f}")
    print("drawing a seed (wanted: 2 ms alone, 5 ms together), and its share of a scenario's CPU time:")
    for domains, milliseconds, share in seeding():
        print(f"  {domains:<34} {milliseconds:6.2f} ms   {100 * share:5.2f} %")


if __name__ == "__main__":
    main()
