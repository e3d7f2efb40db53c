"""Speed of the audit server at 5,000 records: push, text search, filters, pull, memory; the stock server beside it.

`python tests/bench/bench_audit.py [--records N] [--stock-records N]`. The stock server is the same real server with
the same search engine, without our two speed-ups; it gets fewer records, because it is slow.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from audit_server import client, dataset_id, free_port, place_of, small_run

from planarena import Run
from planarena.annotation import start_server, stop_server
from planarena.annotation.argilla import Argilla
from planarena.annotation.forms import form
from planarena.annotation.items import is_blind, trajectory_item
from planarena.export.trajectories import join_trajectories

NAME = "bench"


def make_items(run, number):
    """Return items of a real build; repeated under new ids where the build has fewer."""
    joined = list(join_trajectories(run))
    items = []
    for place, one in zip(range(number), itertools.cycle(joined), strict=False):
        item = trajectory_item(one, blind=is_blind(str(place), 0.2), checks={"a": True})
        metadata = item.metadata | {"version": f"{place:032x}"}
        items.append(item._replace(item_id=f"{place:032x}", metadata=metadata))
    return items


def push(data, items):
    with Argilla(place_of(data)) as argilla:
        dataset = argilla.ensure_dataset(NAME, form("trajectories"), 2)
        start = time.perf_counter()
        argilla.push(dataset, items)
        return len(items) / (time.perf_counter() - start)


def memory(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1024


def search(data, body):
    with client(data, "ann") as http:
        path = f"/api/v1/me/datasets/{dataset_id(data, NAME)}/records/search?limit=10"
        http.post(path, json=body)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            reply = http.post(path, json=body)
            times.append(time.perf_counter() - start)
            assert reply.status_code == 200, reply.text
    return sorted(times)[2], reply.json()["total"]


def filters():
    def terms(scope, *values):
        return {"filters": {"and": [{"type": "terms", "scope": scope, "values": list(values)}]}}

    yield "pending queue", terms({"entity": "response", "property": "status"}, "pending")
    yield "domain", terms({"entity": "metadata", "metadata_property": "domain"}, "travel")
    low = {"type": "range", "scope": {"entity": "metadata", "metadata_property": "length"}, "ge": 3, "le": 5}
    yield "length", {"filters": {"and": [low]}}
    yield "suggestion", terms({"entity": "suggestion", "question": "goal_ok", "property": "value"}, "no")
    yield "response", terms({"entity": "response", "question": "goal_ok"}, "no")
    sort = [{"scope": {"entity": "metadata", "metadata_property": "length"}, "order": "desc"}]
    yield (
        "domain, by length",
        terms({"entity": "metadata", "metadata_property": "domain"}, "travel") | {"sort": sort},
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=5000)
    parser.add_argument("--stock-records", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run = Run.open(small_run(place / "run", 150))
        items = make_items(run, options.records)
        start = time.perf_counter()
        state, process = start_server(place / "ours", port=free_port(), annotators=["ann"])
        print(f"first start            {time.perf_counter() - start:8.1f} s")
        ours = push(place / "ours", items)
        print(f"push, {options.records} records  {ours:10.0f} records/s   (wanted: 100)")
        for query in ("booking", '"the cheapest"', "(flight | train) -hotel", "pay*"):
            took, total = search(place / "ours", {"query": {"text": {"q": query}}})
            print(f"text  {query:<24} {took * 1000:6.0f} ms   {total} found   (wanted: under 1000 ms)")
        for name, body in filters():
            took, total = search(place / "ours", body)
            print(f"filter {name:<23} {took * 1000:6.0f} ms   {total} found   (wanted: under 100 ms)")
        with Argilla(place_of(place / "ours")) as argilla:
            dataset = argilla.find_dataset(NAME, form("trajectories"))
            start = time.perf_counter()
            argilla.answers(dataset, form("trajectories"))
            print(f"pull                   {time.perf_counter() - start:8.1f} s   (wanted: under 10 s)")
            start = time.perf_counter()
            argilla.push(dataset, items)
            print(f"push again, no change  {time.perf_counter() - start:8.1f} s")
        print(f"memory at most         {memory(state.pid):8.0f} MB   (wanted: under 500 MB)")
        stop_server(place / "ours")
        process.wait()
        state, process = start_server(place / "stock", port=free_port(), annotators=["ann"], stock=True)
        stock = push(place / "stock", items[: options.stock_records])
        stop_server(place / "stock")
        process.wait()
        print(f"push, stock server     {stock:8.0f} records/s   ratio {ours / stock:.1f}")


if __name__ == "__main__":
    main()
