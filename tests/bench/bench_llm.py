"""CPU per call of the gateway next to bare LiteLLM, the openai client and httpx, and cached answers per second.

The server runs in a process of its own. The clients take turns, round by round, in one process, so that a
loaded machine slows all alike; the medians of the rounds are compared. Exit 1 where a goal is missed.
"""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["OPENAI_API_KEY"] = "none"

from planarena.llm import Answer, Gateway, ModelConfig, Request, SyncGateway

CALLS = 384
ROUNDS = 3
CACHED = 20_000
MOST_RATIO = 1.3
LEAST_CACHED = 20_000
TEXT = "A prompt of about two kilobytes. " * 62

Client = Callable[[int], Awaitable[Any]]


def messages(number: int) -> list[dict[str, str]]:
    return [{"role": "system", "content": "Answer."}, {"role": "user", "content": f"{number} {TEXT}"}]


async def spend(client: Client, first: int, in_flight: int) -> float:
    """CPU seconds of this process for a call, with so many under way."""
    numbers = iter(range(first, first + CALLS))

    async def work() -> None:
        for number in numbers:
            await client(number)

    gc.collect()
    begun = time.process_time()
    await asyncio.gather(*(work() for _ in range(in_flight)))
    return (time.process_time() - begun) / CALLS


async def compare(url: str, folder: Path, in_flight: int) -> dict[str, float]:
    import httpx
    import litellm
    import openai

    litellm.suppress_debug_info = True
    plain = httpx.AsyncClient(limits=httpx.Limits(max_connections=in_flight), timeout=60)
    client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, timeout=60)
    model = ModelConfig(name="m", id="openai/m", base_url=url, concurrency=in_flight, timeout=60)
    gateway = Gateway([model], cache=folder / f"bench-{in_flight}.sqlite")

    async def by_gateway(number: int) -> None:
        answer = await gateway.complete(Request(model="m", messages=messages(number)))
        assert not answer.cached

    async def by_litellm(number: int) -> None:
        await litellm.acompletion(
            model="openai/m",
            api_base=url,
            api_key="none",
            messages=messages(number),
            timeout=60,
            max_retries=0,
        )

    async def by_openai(number: int) -> None:
        await client.chat.completions.create(model="m", messages=messages(number))  # type: ignore[arg-type]

    async def by_httpx(number: int) -> None:
        body = {"model": "m", "messages": messages(number)}
        (await plain.post(f"{url}/chat/completions", json=body)).json()

    clients: dict[str, Client] = {
        "planarena.llm": by_gateway,
        "litellm.acompletion": by_litellm,
        "openai": by_openai,
        "httpx": by_httpx,
    }
    spent: dict[str, list[float]] = {name: [] for name in clients}
    first = 0
    for turn in range(ROUNDS + 1):
        for name, one in clients.items():
            first += CALLS
            seconds = await spend(one, first, in_flight)
            if turn:  # the first round warms up
                spent[name].append(seconds)
    await gateway.close()
    await client.close()
    await plain.aclose()
    return {name: statistics.median(seconds) for name, seconds in spent.items()}


def cached_rates(url: str, folder: Path) -> dict[str, float]:
    requests = [Request(model="m", messages=messages(-number)) for number in range(1, 501)]
    model = ModelConfig(name="m", id="openai/m", base_url=url, timeout=60)
    rates: dict[str, float] = {}
    with SyncGateway([model], cache=folder / "cached.sqlite") as gateway:
        assert all(isinstance(answer, Answer) for _, answer in gateway.map(requests))
        again = requests * (CACHED // len(requests))
        rates["SyncGateway.complete"] = best(lambda: [gateway.complete(request) for request in again])

        async def mapped() -> None:
            async for _, answer in gateway.gateway.map(again):
                assert isinstance(answer, Answer)

        async def completed() -> None:
            for request in again:
                await gateway.gateway.complete(request)

        rates["Gateway.map"] = best(lambda: gateway.run(mapped()))
        rates["Gateway.complete"] = best(lambda: gateway.run(completed()))
    return rates


def best(work: Callable[[], Any]) -> float:
    """Answers per second, the best of three: other work on the machine only slows."""
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return CACHED / min(seconds)


def main() -> int:
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve().parents[1] / "llm_server.py"), "--reply-kb", "2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    assert server.stdin is not None
    url = server.stdout.readline().strip()
    good = True
    try:
        with tempfile.TemporaryDirectory() as name:
            for in_flight in (64, 256):
                spent = asyncio.run(compare(url, Path(name), in_flight))
                bare = spent["litellm.acompletion"]
                for client, seconds in spent.items():
                    print(
                        f"{in_flight:>4} in flight  {client:<20} {1000 * seconds:6.2f} ms CPU a call  {seconds / bare:5.2f} of LiteLLM"
                    )
                good &= spent["planarena.llm"] <= MOST_RATIO * bare
            for way, rate in cached_rates(url, Path(name)).items():
                print(f"cached answers  {way:<20} {rate:8,.0f} a second")
                good &= rate >= LEAST_CACHED
    finally:
        server.stdin.close()
        server.wait(10)
    print(
        f"goals ({MOST_RATIO} of LiteLLM, {LEAST_CACHED:,} cached answers a second): {'met' if good else 'MISSED'}"
    )
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
