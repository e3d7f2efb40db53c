"""A suite of one's own: each rule, outputs in any form, scorers in the sandbox, mistakes told."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from planarena.bench import bench_path
from planarena.cli import main
from planarena.environments import sandbox
from planarena.environments.catalog import draw_unit, unit_names
from planarena.errors import UserError
from planarena.eval import EvalConfig, evaluate
from planarena.formats import Call, write_output
from planarena.records import Run


def suite(path: Path, items: list[dict[str, Any]], scorer: str = "", **about: Any) -> Path:
    path.mkdir()
    (path / "suite.yaml").write_text(json.dumps(about))
    (path / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    if scorer:
        (path / "scorer.py").write_text(scorer)
    return path


def scored(path: Path, outputs: dict[str, Any], **options: Any) -> dict[str, tuple[bool, str]]:
    source = path.with_suffix(".jsonl")
    source.write_text("\n".join(json.dumps({"id": key, "response": value}) for key, value in outputs.items()))
    name = f"suite:{path}"
    config = EvalConfig(suites=(name,), out=str(path.with_suffix(".out")), responses=str(source), **options)
    result = evaluate(config).suites[name]
    return {item.id: (item.correct, item.reason) for item in result.verdicts}


def needs_sandbox() -> None:
    if (why := sandbox.missing()) is not None:
        pytest.skip(f"no sandbox here: {why}")


def test_a_new_suite_runs_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine"
    assert main(["eval", "new", str(path)]) == 0
    assert f"planarena eval suite:{path} --responses gold --out OUT" in capsys.readouterr().out
    out = tmp_path / "out"
    assert main(["eval", f"suite:{path}", "--responses", "gold", "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["suites"][f"suite:{path}"]
    assert found["overall"] == {"accuracy": 1.0}
    assert (
        json.loads((out / "items.jsonl").read_text())["prompt"][0]["content"]
        == "Will it rain in Oslo tomorrow?"
    )
    assert main(["eval", "new", str(path)]) == 2
    assert main(["eval", f"suite:{path}", "--responses", "gold"]) == 2


def test_calls_are_compared_exactly_in_any_form(tmp_path: Path) -> None:
    gold = [{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]
    items = [{"id": str(n), "prompt": "?", "expected": gold, "category": f"c{n % 2}"} for n in range(6)]
    right, swapped = [Call("f", {"x": 1}), Call("g", {})], [Call("g", {}), Call("f", {"x": 1})]
    outputs = {
        "0": write_output("mistral", right),
        "1": write_output("harmony", swapped),
        "2": write_output("hermes", [Call("f", {"x": 2}), Call("g", {})]),
        "3": "I cannot.",
        "4": '<tool_call>{"name": "f", "arg',
        "5": write_output("xlam", [*right, Call("g", {})]),
    }
    found = scored(suite(tmp_path / "any", items, rule="calls"), outputs)
    assert found == {
        "0": (True, ""), "1": (True, ""), "2": (False, "wrong arguments"), "3": (False, "no call"),
        "4": (False, "a call that cannot be read"), "5": (False, "wrong arguments"),
    }  # fmt: skip
    assert scored(suite(tmp_path / "given", items, rule="calls", order="given"), outputs)["1"] == (
        False,
        "another order",
    )


def test_regular_expressions_match_in_the_sandbox_and_end(tmp_path: Path) -> None:
    needs_sandbox()
    items = [
        {"id": "a", "prompt": "?", "expected": r"(?i)\b42\b"},
        {"id": "b", "prompt": "?", "expected": r"^(a+)+$"},
        {"id": "c", "prompt": "?", "expected": "yes"},
    ]
    path = suite(tmp_path / "s", items, rule="regex", seconds=1.0)
    found = scored(path, {"a": "It is 42.", "b": "a" * 60 + "!", "c": "<think>no</think>yes"})
    assert found == {"a": (True, ""), "b": (False, "limit:time"), "c": (True, "")}


def test_a_scorer_runs_in_the_sandbox(tmp_path: Path) -> None:
    needs_sandbox()
    witness = tmp_path / "witness"
    scorer = (
        "import os\n"
        "def score(item, output, calls):\n"
        f"    if output == 'touch': open({str(witness)!r}, 'w').write('x')\n"
        "    if output == 'die': os._exit(3)\n"
        "    if output == 'hang':\n        while True: pass\n"
        "    return len(calls) == item['wanted'], f'{len(calls)} calls'\n"
    )
    items = [{"id": key, "prompt": "?", "wanted": 1} for key in ("call", "none", "touch", "die", "hang")]
    path = suite(tmp_path / "s", items, scorer, rule="python", seconds=1.0)
    outputs = {key: key for key in ("touch", "die", "hang")}
    found = scored(path, outputs | {"call": write_output("llama", [Call("f", {})]), "none": "x"})
    assert found["call"] == (True, "")
    assert found["none"] == (False, "0 calls")
    assert [found[key][1] for key in ("touch", "die", "hang")] == [
        "scorer_error",
        "scorer_error",
        "limit:time",
    ]
    assert not witness.exists()


def test_final_states_are_compared(tmp_path: Path) -> None:
    with bench_path() as path:
        run = Run.open(path)
        tables = {
            name: run.table(name).collect().to_dicts()
            for name in ("scenarios", "tasks", "trajectories", "steps", "executions")
        }
    scenarios = {row["scenario_id"]: row for row in tables["scenarios"]}
    tasks = {row["task_id"]: row for row in tables["tasks"]}
    # The domain that the most tasks of the bench play in.
    played = Counter(scenarios[row["scenario_id"]]["domain"] for row in tables["tasks"] if row["n_actions"])
    domain = max(played, key=lambda name: ("+" not in name, played[name], name))
    states = {row["execution_id"]: row["state_before"] != row["state_after"] for row in tables["executions"]}
    failed = {row["execution_id"] for row in tables["executions"] if row["status"] != "ok"}
    steps: dict[str, list[dict[str, Any]]] = {}
    for row in tables["steps"]:
        steps.setdefault(row["trajectory_id"], []).append(row)
    items: list[dict[str, Any]] = []
    outputs = {}
    for row in tables["trajectories"]:
        taken = sorted(steps.get(row["trajectory_id"], []), key=lambda step: step["step"])
        scenario = scenarios[tasks[row["task_id"]]["scenario_id"]]
        if scenario["domain"] != domain or not any(states[step["execution_id"]] for step in taken):
            continue
        if failed & {step["execution_id"] for step in taken}:
            continue  # a call that fails by a fault of its world is no call of the expected ones
        calls = [{"name": step["tool"], "arguments": json.loads(step["arguments"])} for step in taken]
        items.append(
            {
                "id": row["trajectory_id"], "prompt": "?", "expected": calls,
                "tables": json.loads(scenario["seed_state"]), "facts": json.loads(scenario["context"]),
            }
        )  # fmt: skip
        made = [Call(call["name"], call["arguments"]) for call in calls]
        outputs[row["trajectory_id"]] = (
            write_output("hermes", made) if len(items) % 3 else "There is nothing to do."
        )
        if len(items) == 6:
            break
    assert len(items) == 6
    found = scored(suite(tmp_path / "s", items, rule="state", environment=f"builtin:{domain}"), outputs)
    assert [found[item["id"]][0] for item in items] == [True, True, False] * 2


@pytest.mark.parametrize(
    ("about", "items", "told"),
    [
        ({"rule": "votes"}, [{"id": "a", "prompt": "?", "expected": []}], "the rule 'votes'"),
        ({"rule": "calls", "colour": 1}, [{"id": "a", "prompt": "?", "expected": []}], "colour"),
        ({"rule": "calls"}, [{"id": "a", "prompt": "?"}], "row 1"),
        ({"rule": "calls"}, [{"id": "a", "prompt": "?", "expected": [{"x": 1}]}], "no list of calls"),
        ({"rule": "calls"}, [{"id": "a", "prompt": "?", "expected": []}] * 2, "a second time"),
        ({"rule": "calls"}, [{"id": "a", "prompt": [1.5], "expected": []}], "a message of its prompt"),
        ({"rule": "calls"}, [{"id": "a", "prompt": "?", "expected": [], "tools": 1e308}], "its tools"),
        ({"rule": "regex"}, [{"id": "a", "prompt": "?", "expected": "("}], "no regular expression"),
        ({"rule": "python"}, [{"id": "a", "prompt": "?"}], "no scorer.py"),
        ({"rule": "state"}, [{"id": "a", "prompt": "?", "expected": []}], "names no environment"),
    ],
)
def test_mistakes_are_one_clear_error(
    tmp_path: Path, about: dict[str, Any], items: list[dict[str, Any]], told: str
) -> None:
    path = suite(tmp_path / "s", items, **about)
    with pytest.raises(UserError) as error:
        scored(path, {"a": "x"})
    assert told in str(error.value)


@pytest.mark.parametrize("relative", [False, True])
def test_final_states_of_an_environment_of_ones_own(tmp_path: Path, relative: bool) -> None:
    needs_sandbox()
    path = tmp_path / "shop"
    path.mkdir()
    assert main(["env", "new", "bakery", "--dir", str(path if relative else tmp_path)]) == 0
    name = f"env:{path if relative else tmp_path}/bakery"
    drawn = draw_unit(unit_names(name)[0], 5, 0, (3, 6))
    found = json.loads(json.dumps(drawn.world.store.dump()))
    item, other = sorted(found["bakery.items"])[:2]

    def restock(item_id: str, quantity: int) -> Call:
        return Call("restock_item", {"item_id": item_id, "quantity": quantity})

    expected = [{"name": "restock_item", "arguments": {"item_id": item, "quantity": 6}}]
    items = [
        {"id": key, "prompt": "Restock.", "tables": found, "facts": drawn.facts, "expected": expected}
        for key in ("same", "two steps", "another", "refused", "nothing")
    ]
    (path / "suite.yaml").write_text(
        json.dumps({"rule": "state", "environment": "env:bakery" if relative else name})
    )
    (path / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    outputs = {
        "same": write_output("hermes", [restock(item, 6)]),
        "two steps": [write_output("mistral", [Call("list_items", {"kind": "x"})]), write_output("hermes", [restock(item, 6)])],
        "another": write_output("hermes", [restock(other, 6)]),
        "refused": write_output("hermes", [restock("no such item", 6)]),
        "nothing": "I would rather not.",
    }  # fmt: skip
    assert scored(path, outputs) == {
        "same": (True, ""),
        "two steps": (True, ""),
        "another": (False, "another state"),
        "refused": (False, "an error, and another state"),
        "nothing": (False, "no call"),
    }
