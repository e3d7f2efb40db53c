"""Our reading of calls beside bfcl-eval's own decoders, which evaluate what they read, on harmless texts."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest

from planarena import managed
from planarena.errors import EnvironmentUnavailableError

COMPARE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import _calls
from bfcl_eval.model_handler.utils import convert_to_function_call, default_decode_ast_prompting
from bfcl_eval.model_handler.utils import default_decode_execute_prompting
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call
import _executor

def outcome(call, *arguments):
    try: return ["ok", repr(call(*arguments))]
    except Exception: return ["refused"]

def theirs_runs(source, decode, key):
    calls = decode(source)
    results, instances = execute_multi_turn_func_call(calls, {}, ["GorillaFileSystem", "MathAPI"], "m", key)
    return results

def ours_runs(source, decode):
    _executor.forget()
    results, instances = _executor.execute(decode(source), {}, ["GorillaFileSystem", "MathAPI"], "m", "i")
    return results

def plain(answer):
    # Errors are told in other words; which calls fail is what counts.
    if answer[0] == "refused": return answer
    return [item if not item.startswith("Error during execution") else "error" for item in eval(answer[1])]

pairs = []
for number, line in enumerate(sys.stdin):
    kind, source = json.loads(line)
    if kind == "text":
        pairs.append([outcome(default_decode_ast_prompting, source), outcome(_calls.decode_text, source)])
    elif kind == "run text":
        pairs.append([plain(outcome(theirs_runs, source, default_decode_execute_prompting, f"t_{number}")),
                      plain(outcome(ours_runs, source, _calls.executable_text_calls))])
    else:
        pairs.append([plain(outcome(theirs_runs, source, convert_to_function_call, f"j_{number}")),
                      plain(outcome(ours_runs, source, _calls.executable_json_calls))])
json.dump(pairs, sys.stdout)
"""

VALUES = ["1", "-2", "+3", "2.5", "1e999", "'a'", '"b (c"', "True", "None", "[1, 'x']", "(1, 2)", "{'a': 1}", "{'a': {'b': 2}}",
          "{}", "name", "a.b", "1 + 2", "3 * 4 - 1", "2 ** 10", "7 / 2", "'a' + 'b'", "[1] * 3", "-(4)", "-(-4)", "~1", "...",
          "g(x=1)", "g()", "g(1)", "x[0]", "lambda: 1", "1 < 2", "{1, 2}", "f'{1}'", "b'x'", "3j", "not 1"]  # fmt: skip
NAMES = ["f", "a.b", "a.b.c", "ls", "class", "f()"]
RUN_VALUES = ["1", "2.5", "-3", "'a'", "[1, 2, 3]", "1 + 2", "mean(numbers=[1, 2])", "add(a=1, b=2)", "{'a': {'b': 1}}", "{}",
              "None", "name", "1e999", "{'k': 1}"]  # fmt: skip
RUN_CALLS = [("add", ["a", "b"]), ("mean", ["numbers"]), ("power", ["base", "exponent"]), ("mkdir", ["dir_name"]),
             ("touch", ["file_name"]), ("cd", ["folder"]), ("pwd", []), ("absolute_value", ["number"]), ("nothing", ["x"]),
             ("MathAPI.add", ["a", "b"]), ("_load_scenario", ["scenario"])]  # fmt: skip


def _texts(draw: random.Random) -> list[list[str]]:
    found = []
    for _ in range(2500):
        calls = []
        for _ in range(draw.randrange(0, 3)):
            arguments = [
                f"{draw.choice(['x', 'y', 'z'])}{n}={draw.choice(VALUES)}" for n in range(draw.randrange(3))
            ]
            if draw.random() < 0.1:
                arguments.insert(0, draw.choice(VALUES))
            calls.append(f"{draw.choice(NAMES)}({', '.join(arguments)})")
        text = ", ".join(calls)
        found.append(
            ["text", draw.choice(["[{}]", "{}", "`{}`", "[{}", "'{}'", "Sure: {}", "\n[{}]\n"]).format(text)]
        )
    return found


def _runs(draw: random.Random) -> list[list[object]]:
    found: list[list[object]] = []
    for _ in range(400):
        calls = []
        for _ in range(draw.randrange(1, 4)):
            name, keys = draw.choice(RUN_CALLS)
            calls.append(f"{name}({', '.join(f'{key}={draw.choice(RUN_VALUES)}' for key in keys)})")
        found.append(["run text", f"[{', '.join(calls)}]"])
    values = [1, -2.5, "a", [1, 2], {"a": 1}, None, True, {}]
    for _ in range(400):
        items: list[object] = []
        for _ in range(draw.randrange(1, 4)):
            name, keys = draw.choice(RUN_CALLS)
            arguments = {key: draw.choice(values) for key in keys}
            if draw.random() < 0.1:
                arguments[draw.choice(["not a name", "class", "x"])] = 1
            items.append(
                {
                    name: json.dumps(arguments)
                    if draw.random() < 0.9
                    else draw.choice(["{", "[1]", "NaN", '{"a": NaN}'])
                }
            )
        found.append(["run json", items])
    return found


def test_decoding_and_executing_agree_with_bfcl_eval(root: Path, tmp_path: Path) -> None:
    try:
        python = managed.environment("bfcl").python
    except EnvironmentUnavailableError as error:
        pytest.skip(f"bfcl-eval cannot be installed here: {error.what}")
    draw = random.Random(11)
    cases = [*_texts(draw), *_runs(draw)]
    # bfcl-eval's executor evaluates what is in `cases`: nothing there but the harmless lists above.
    done = subprocess.run(
        [python, "-W", "ignore", "-c", COMPARE, str(root / "eval" / "bfcl")],
        input="".join(json.dumps(case) + "\n" for case in cases),
        capture_output=True,
        text=True,
        env={"BFCL_PROJECT_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    pairs = json.loads(done.stdout)
    assert len(pairs) == len(cases)
    differences = [(case, pair) for case, pair in zip(cases, pairs, strict=True) if pair[0] != pair[1]]
    assert differences == []
    kinds = [(case[0], pair[0] == ["refused"]) for case, pair in zip(cases, pairs, strict=True)]
    assert {
        (kind, refused): kinds.count((kind, refused)) > 20
        for kind in ("text", "run text", "run json")
        for refused in (True, False)
    } == dict.fromkeys(
        [(kind, refused) for kind in ("text", "run text", "run json") for refused in (True, False)], True
    )
