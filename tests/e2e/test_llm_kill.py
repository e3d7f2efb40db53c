"""kill -9 at any point: what had been received is never paid for again, and the rest is done."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))
from llm_server import Script, ScriptedServer

COUNT = 120
CONCURRENCY = 12
# Writes a line, unbuffered, for every answer handed over: those are certainly received.
CLIENT = (
    f"""
CONCURRENCY, COUNT = {CONCURRENCY}, {COUNT}
"""
    + """
import os, sys
from pathlib import Path
from planarena.llm import Answer, ModelConfig, Request, SyncGateway
url, cache, log = sys.argv[1:]
out = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
model = ModelConfig(name="m", id="openai/m", base_url=url, concurrency=CONCURRENCY, timeout=30.0)
requests = [Request(model="m", messages=[{"role": "user", "content": f"q{i}"}]) for i in range(COUNT)]
os.write(out, b"start\\n")
with SyncGateway([model], cache=Path(cache)) as gateway:
    for number, answer in gateway.map(requests):
        assert isinstance(answer, Answer), answer
        os.write(out, f"{number}\\n".encode())
"""
)


def start(server: ScriptedServer, folder: Path, log: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, server.url, str(folder / "c.sqlite"), str(folder / log)],
        start_new_session=True,
    )


def handed_over(path: Path) -> set[int]:
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return {int(line) for line in lines if line != "start"}


@pytest.mark.parametrize("seed", [0, 1])
def test_no_answer_is_paid_for_twice(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with ScriptedServer(Script(delay=0.05)) as server:

        def sent() -> Counter[str]:
            texts = {digest: body["messages"][0]["content"] for digest, body in server.requests.items()}
            return Counter({texts[digest]: count for digest, count in server.sent.items()})

        at_kill: list[tuple[set[int], Counter[str]]] = []
        for kill in range(2):
            log = tmp_path / f"log{kill}"
            wanted = len(server.arrivals) + chance.randint(15, COUNT // 3)
            process = start(server, tmp_path, log.name)
            deadline = time.monotonic() + 60
            while len(server.arrivals) < wanted and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(chance.random() * 0.1)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            at_kill.append((handed_over(log), sent()))
        process = start(server, tmp_path, "last")
        assert process.wait(120) == 0
        assert handed_over(tmp_path / "last") == set(range(COUNT))

        final = sent()
        assert len(final) == COUNT
        # What had been received before a kill was never sent again after it.
        for received, counts in at_kill:
            assert received
            assert all(final[f"q{number}"] == counts[f"q{number}"] for number in received)
        # Sent twice is at most what was under way at a kill, and had not arrived.
        assert sum(count - 1 for count in final.values()) <= 2 * CONCURRENCY

        server.clear()
        assert start(server, tmp_path, "again").wait(120) == 0
        assert server.arrivals == []
