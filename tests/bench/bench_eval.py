"""Scoring speed: one model's BFCL result set beside bfcl-eval's own driver, and MMLU-Pro extraction.

`python tests/bench/bench_eval.py [--bfcl COMMAND]` prints the table and exits 1 when a bound is missed: 12,032
extractions in under a second, and with `--bfcl` four times the speed of the command `bfcl evaluate` on two cores, both
from starting the process to the written scores. COMMAND is the `bfcl` of an environment with bfcl-eval and all that it
requires (`pip install bfcl-eval soundfile`, some 2 GB, so none is made here). Without it the driver alone is run, in our
environment and with the module that imports every vendor's client left out, which spares it two thirds of its time.
It reads the published outputs in ../shared and prints nothing where they are absent.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy

from planarena import managed
from planarena.environments import sandbox
from planarena.eval.mmlu_pro import extract_letter

BENCH = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "bench"
RUN = BENCH / "bfcl" / "v4_bbrowning" / "v0.10.2__openai_gpt-oss-120b.jsonl.gz"
ANSWERS = BENCH / "mmlu_pro" / "model_outputs_jamba-1.5-large_5shots.zip"
RATIO, SECONDS = 4.0, 1.0
# A model of the same kind that bfcl-eval knows: its outputs are native calls, as those that are scored here.
MODEL = "gpt-4o-2024-11-20-FC"

# bfcl-eval's runner with its own decoding of function-calling results (OpenAICompletionsHandler).
THEIRS = """
import json, sys, types
from pathlib import Path

class Config:
    underscore_to_dot = is_fc_model = True
    input_price = output_price = None
    display_name = url = org = license = model_name = "model"

class Handler:
    def __init__(self, **options): pass
    def decode_ast(self, result, language, has_tool_call_tag):
        return [{name: json.loads(call[name])} for call in result for name in [list(call.keys())[0]]]
    def decode_execute(self, result, has_tool_call_tag):
        return convert_to_function_call(result)

Config.model_handler = Handler
stub = types.ModuleType("bfcl_eval.constants.model_config")
stub.MODEL_CONFIG_MAPPING = {"model": Config}
sys.modules["bfcl_eval.constants.model_config"] = stub
from bfcl_eval.eval_checker import eval_runner
from bfcl_eval.model_handler.utils import convert_to_function_call
root = Path(sys.argv[1])
eval_runner.runner(["model"], sys.argv[2].split(","), root / "result", root / "score")
"""


def measure_evaluation(folder: Path, bfcl: str | None) -> tuple[float, float, int]:
    """Return the seconds of ours and of theirs, the best of five alternating rounds, and the outputs scored.

    Args:
        folder: Where both write.
        bfcl: The command to run as `bfcl evaluate`; None for its driver alone.
    """
    rows: dict[str, list[bytes]] = {}
    for line in gzip.decompress(RUN.read_bytes()).splitlines(keepends=True):
        rows.setdefault(json.loads(line)["category"], []).append(line)
    results = folder / "result" / (MODEL if bfcl else "model")
    results.mkdir(parents=True)
    (folder / "score").mkdir()
    for category, lines in rows.items():
        (results / f"BFCL_v4_{category}_result.json").write_bytes(b"".join(lines))
    variables = os.environ | {"BFCL_PROJECT_ROOT": str(folder)}
    if bfcl:
        their_command = [bfcl, "evaluate", "--model", MODEL, "--test-category", ",".join(rows)]
        variables["OPENAI_API_KEY"] = "none"  # its client wants one; nothing is asked
    else:
        their_command = [
            str(managed.environment("bfcl").python), "-c", THEIRS, str(folder), ",".join(rows)
        ]  # fmt: skip
        # numpy, pandas, tqdm and dotenv, which its driver needs and scoring does not, come from our environment.
        variables["PYTHONPATH"] = str(Path(numpy.__file__).parents[1])
    ours, theirs = [], []
    for number in range(5):
        out = folder / f"out{number}"
        command = [
            sys.executable, "-m", "planarena", "eval", "bfcl-v4", "--responses", str(RUN), "--out", str(out)
        ]  # fmt: skip
        ours.append(seconds(command, dict(os.environ)))
        theirs.append(seconds(their_command, variables))
    scores = json.loads((folder / "out0" / "scores.json").read_bytes())["suites"]["bfcl-v4"]["categories"]
    for row in scores:
        if row["accuracy"] is not None:
            (file,) = (folder / "score").rglob(f"BFCL_v4_{row['category']}_score.json")
            theirs_correct = json.loads(file.open().readline())["correct_count"]
            assert row["correct"] == theirs_correct, row["category"]
    return min(ours), min(theirs), sum(map(len, rows.values()))


def seconds(command: list[str], variables: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun


def measure_extraction() -> tuple[float, int]:
    """Return the seconds to extract every output's answer, the best of three rounds, and how many there are."""
    with zipfile.ZipFile(ANSWERS) as archive:
        texts = [row["model_outputs"] for row in json.loads(archive.read(archive.namelist()[0]))]
    best = float("inf")
    for _ in range(3):
        begun = time.perf_counter()
        for text in texts:
            extract_letter(text)
        best = min(best, time.perf_counter() - begun)
    return best, len(texts)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bfcl", metavar="COMMAND", help="the bfcl of an environment with all of bfcl-eval")
    bfcl = parser.parse_args().bfcl
    if not BENCH.is_dir():
        print("no published outputs beside this checkout: nothing is measured")
        return 0
    if (why := sandbox.missing()) is not None:
        print(f"no sandbox here ({why}): nothing is measured")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, outputs = measure_evaluation(Path(folder), bfcl)
    extraction, answers = measure_extraction()
    whom = "bfcl evaluate" if bfcl else "bfcl-eval's driver"
    print(
        f"BFCL, {outputs} outputs: planarena {ours:.2f} s, {whom} {theirs:.2f} s: {theirs / ours:.2f} times"
    )
    print(f"MMLU-Pro extraction, {answers} outputs: {extraction:.3f} s")
    return int((bfcl is not None and theirs / ours < RATIO) or extraction > SECONDS)


if __name__ == "__main__":
    sys.exit(main())
