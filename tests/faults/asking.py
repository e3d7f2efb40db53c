"""The commands that ask a model: a table. A new one is one function and one line of ASKING."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import eval_samples  # noqa: E402
from draft_model import DraftModel  # noqa: E402
from llm_build_model import TITLES, GoodModel  # noqa: E402
from user_model import GoodUser  # noqa: E402

__all__ = ["ASKING", "HURRY", "Asking", "Materials", "settings"]

# Waits of the gateway, shortened: what is tried is what it does, not how long it is patient.
HURRY = """
import planarena.llm.limits as limits, planarena.llm.paying as paying
lane = next(kind for name, kind in vars(limits).items() if hasattr(kind, "admit") and hasattr(kind, "pause"))
lane.__init__.__kwdefaults__["cool_down"] = 0.05
paying._PATIENCE = 1.0
paying.backoff = lambda *_: 0.1
"""


class Materials(NamedTuple):
    """What commands read: a finished build, and a folder for the rest."""

    run: Path
    folder: Path


class Asking(NamedTuple):
    """A command that asks a model.

    Attributes:
        words: (materials, output folder, model as the command line takes it) -> the command's words.
        good: Body -> good answer.
        budget: The words of a budget of so many answers, or none.
    """

    words: Callable[[Materials, Path, str], list[str]]
    good: Callable[[dict[str, Any]], Any]
    budget: Callable[[int], list[str]]


def settings(**values: Any) -> list[str]:
    """Return the words of settings; two underscores stand for a dot."""
    return [
        word
        for key, value in values.items()
        for word in ("--set", f"{key.replace('__', '.')}={json.dumps(value)}")
    ]


_CALLS = {"execution__calls__timeout": 1.0, "execution__calls__attempts": 2, "execution__max_error_rate": 1.0}
_SMALL = {"chunk_scenarios": 1, "composition__per_scenario": 2, "composition__budget": 8, **_CALLS}


def _build(_: Materials, out: Path, model: str) -> list[str]:
    words = [
        "build",
        "builtin:email",
        "--scenarios",
        "1",
        "--trajectories",
        "99",
        "--workers",
        "1",
        "--out",
        str(out),
    ]
    # Models write the words of plain conversations.
    plain = ["--set", "conversations.shares={}"]
    return [*words, "--model", model, "--judge-model", model, *plain, *settings(**_SMALL)]


def _library(materials: Materials) -> Path:
    file = materials.folder / "library.json"
    if not file.is_file():
        text, key = (
            {"type": "string"},
            {"type": "object", "properties": {"book_id": {"type": "string"}}, "required": ["book_id"]},
        )
        title = {"type": "object", "properties": {"title": text}, "required": ["title"]}
        book = {
            "type": "object",
            "properties": {"book_id": text, "title": text},
            "required": ["book_id", "title"],
        }
        listed = [
            {"name": name, "description": f"{name} of the library.", "inputSchema": given, "outputSchema": book, "annotations": {"readOnlyHint": reads}}
            for name, given, reads in (("add_book", title, False), ("find_book", title, True), ("lend_book", key, False))
        ]  # fmt: skip
        file.write_text(json.dumps(listed))
    return file


def _simulate(materials: Materials, out: Path, model: str) -> list[str]:
    words = [
        "build",
        str(_library(materials)),
        "--simulate",
        model,
        "--scenarios",
        "2",
        "--trajectories",
        "99",
    ]
    return [*words, "--workers", "1", "--out", str(out), *settings(**_SMALL)]


def _play(body: dict[str, Any]) -> Any:
    asked = json.loads(body["messages"][-1]["content"])
    title = asked["call"]["arguments"].get("title") or "Volume"
    key = asked["call"]["arguments"].get("book_id") or blake2b(title.encode(), digest_size=3).hexdigest()
    return json.dumps({"book_id": key, "title": title})


def _train(materials: Materials, out: Path, model: str) -> list[str]:
    words = [
        "train",
        "--algorithm",
        "awpo",
        "--data",
        str(materials.run),
        "--out",
        str(out),
        "--steps",
        "2",
        "--model",
        "tiny",
    ]
    tiny = {"hidden": 16, "layers": 1, "heads": 2, "intermediate": 16, "vocabulary": 400, "warm_start": 2}
    return [*words, "--judge-model", model, *settings(
        **{f"model__tiny__{key}": value for key, value in tiny.items()},
        rollout__batch_size=2, rollout__group_size=2, rollout__max_prompt_length=1600, rollout__max_response_length=160,
        update__updates_per_batch=1, validation__every=0, data__limit=4, data__answers=False, threads=1,
        judge__timeout=1.0, judge__attempts=2,
    )]  # fmt: skip


def _eval(
    suite: str, *more: str, data: Callable[[Materials], Path] | None = None
) -> Callable[[Materials, Path, str], list[str]]:
    def words(materials: Materials, out: Path, model: str) -> list[str]:
        given = ["--data", f"{suite}={data(materials)}"] if data else []
        calls = settings(generation__timeout=1.0, generation__attempts=2)
        return ["eval", suite, "--model", model, "--out", str(out), "--limit", "1", *given, *more, *calls]

    return words


def _once(name: str, make: Callable[[Path], Path]) -> Callable[[Materials], Path]:
    def have(materials: Materials) -> Path:
        path = materials.folder / name
        return path if path.exists() else make(path)

    return have


def _suite(materials: Materials, out: Path, model: str) -> list[str]:
    folder = materials.folder / "suite"
    if not folder.is_dir():
        folder.mkdir()
        (folder / "suite.yaml").write_text("rule: calls\n")
        tool = {"name": "get", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}
        item = {
            "id": "a",
            "category": "c",
            "prompt": "Get x.",
            "tools": [tool],
            "expected": [{"name": "get", "arguments": {"path": "x"}}],
        }
        (folder / "items.jsonl").write_text(json.dumps(item) + "\n")
    return _eval(f"suite:{folder}")(materials, out, model)


class _Good:
    """The build's parts, whatever asks; a text for the rest."""

    def __init__(self) -> None:
        self.parts = GoodModel()

    def __call__(self, body: dict[str, Any]) -> Any:
        if any(str(body["messages"][0]["content"]).startswith(title) for title in TITLES):
            return self.parts(body)
        return json.dumps({"score": 0.5}) if "response_format" in body else "The answer is (A). \\boxed{2}"


def _draft(_: Materials, out: Path, model: str) -> list[str]:
    words = ["env", "draft", "a corner shop", "--model", model, "--out", str(out), "--workers", "1"]
    return [*words, "--fewest-tools", "3", "--repairs", "1", "--timeout", "1", "--attempts", "2"]


class _Drafts:
    """The template's parts, whoever asks."""

    def __call__(self, body: dict[str, Any]) -> Any:
        return DraftModel()(body)


def _rate(materials: Materials, out: Path, model: str) -> list[str]:
    # Rates are kept beside the run: each case has a run of its own.
    if not out.is_dir():
        shutil.copytree(materials.run, out)
    words = ["rate", str(out), "--model", model, "--tries", "1", "--limit", "1"]
    return [*words, *settings(generation__timeout=1.0, generation__attempts=2)]


def _played(materials: Materials, out: Path, model: str) -> list[str]:
    words = [
        "build",
        "builtin:email",
        "--scenarios",
        "2",
        "--trajectories",
        "99",
        "--workers",
        "1",
        "--out",
        str(out),
    ]
    small = {**_SMALL, "conversations__shares": {"missing_value": 1.0}}
    return [*words, "--set", f"models.user={model}", *settings(**small)]


class _Played(_Good):
    """A user who says what is due, and the assistant of the rest."""

    def __call__(self, body: dict[str, Any]) -> Any:
        try:
            return json.dumps(GoodUser()(body))
        except (KeyError, IndexError, StopIteration, TypeError, ValueError):
            return super().__call__(body)


def _eval_played(materials: Materials, out: Path, model: str) -> list[str]:
    return [*_eval("planarena")(materials, out, model), "--set", f"generation.bench_user=model:{model}"]


def _budget(setting: str) -> Callable[[int], list[str]]:
    return lambda calls: [setting, str(calls)]


ASKING: dict[str, Asking] = {
    "build": Asking(_build, _Good(), _budget("--budget-calls")),
    "build --simulate": Asking(_simulate, _play, _budget("--budget-calls")),
    "train --judge-model": Asking(_train, _Good(), lambda _: []),
    "eval math": Asking(_eval("math", data=_once("problems.jsonl", eval_samples.problems)), _Good(), _budget("--budget-calls")),
    "eval mmlu-pro": Asking(_eval("mmlu-pro", data=_once("mmlu", eval_samples.mmlu_pro)), _Good(), _budget("--budget-calls")),
    "eval api-bank": Asking(_eval("api-bank", data=_once("apibank", eval_samples.api_bank)), _Good(), _budget("--budget-calls")),
    "eval planarena": Asking(_eval("planarena"), _Good(), _budget("--budget-calls")),
    "eval bfcl-v3": Asking(_eval("bfcl-v3"), _Good(), _budget("--budget-calls")),
    "env draft": Asking(_draft, _Drafts(), _budget("--budget-calls")),
    "rate": Asking(_rate, _Good(), _budget("--budget-calls")),
    "build models.user": Asking(_played, _Played(), _budget("--budget-calls")),
    "eval bench_user": Asking(_eval_played, _Played(), _budget("--budget-calls")),
    "eval suite:PATH": Asking(_suite, _Good(), _budget("--budget-calls")),
}  # fmt: skip
