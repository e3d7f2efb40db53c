"""What to evaluate: suites, where the outputs come from or who writes them, how they are read."""

from __future__ import annotations

from pathlib import Path

import msgspec

from planarena.bench import HELD_OUT
from planarena.errors import ConfigError, UserError
from planarena.eval.settings import GenerationConfig

__all__ = ["SUITES", "EvalConfig"]

SUITES = (
    "bfcl-v3", "bfcl-v4", "api-bank", "mmlu-pro", "math", "workbench", "acebench", "tau2", "nestful", "planarena",
)  # fmt: skip

_CHOICES = {
    "calls": ("auto", "json", "text"),
    "names": ("auto", "dotted", "underscored"),
    "extraction": ("three-rules", "lm-eval", "boxed"),
    "matching": ("soft", "strict"),
    "unreadable": ("refuse", "count"),
    "judge": ("auto", "math-verify", "rules"),
    "language": ("en", "zh"),
}


class EvalConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    r"""One evaluation.

    Attributes:
        suites: Names from `SUITES`, or suite:PATH for a folder of one's own, each once.
        out: The folder for responses.jsonl, scores.json, report.html and run.json.
        responses: A file or folder of outputs, or "gold" for each benchmark's own ground truth.
        data: Where a benchmark's questions are, by suite. One that is not named uses what was fetched, or what it ships
            with.
        data_dir: The folder of fetched data; empty for PLANARENA_DATA, else the user's data folder.
        mirror: The address that `--fetch` takes data from; empty for GitHub.
        guess: Let MMLU-Pro guess where nothing is found: a seeded random option, as its own script does.
        splits: Of the suite planarena: the splits whose tasks are played.
        limit: Score only the first so many items of each category.
        samples: Outputs of one item, K of avg@K.
        base: An earlier evaluation to take the difference from: its folder, or its name beside `out`.
        calls: How outputs write function calls: "json" (a function-calling model), "text" (a prompted one).
        names: Whether the model was shown function names with "_" for "."; "auto" looks which it uses.
        extraction: The MMLU-Pro rule: three-rules (its own script), lm-eval (the first rule alone, never a
            guess), boxed (CHORD: options numbered from 0, the answer in \boxed{}).
        unreadable: What to do where more than half of the outputs cannot be read: refuse them, or count them as wrong.
        judge: Who compares mathematical answers: math-verify, the package's own rules, or auto: math-verify where it
            is installed (a note says where it is not).
        language: Of ACEBench's items: en or zh.
        matching: The API-Bank headline: soft (any call equals the gold one), strict (exactly one call, equal).
        seed: Of the random options.
        workers: Sandboxed BFCL workers at a time.
        seconds: Time limit of one BFCL item.
        unsafe_no_sandbox: Run BFCL's executors unconfined; scores.json says so.
        model: Who writes the outputs: a folder, a LiteLLM id, MODEL@URL or MODEL@URL#KEY_VARIABLE; instead of
            `responses`.
        format: What the model speaks: native, hermes, planarena, ...; of `responses` how they are written: auto, llama,
            mistral, ... Names are of `planarena.formats` and of its `READERS`. Empty takes the format of a checkpoint's
            training, else native function calling, else hermes; for responses it decides output by output.
        generation: How it is asked.
        fresh: Ask everything anew, whatever `out` holds; without it an evaluation goes on where it was.
    """

    suites: tuple[str, ...]
    out: str
    responses: str | None = None
    data: dict[str, str] = {}
    data_dir: str = ""
    mirror: str = ""
    guess: bool = True
    splits: tuple[str, ...] = HELD_OUT
    limit: int | None = None
    samples: int = 1
    base: str | None = None
    calls: str = "auto"
    names: str = "auto"
    extraction: str = "three-rules"
    matching: str = "soft"
    unreadable: str = "refuse"
    judge: str = "auto"
    language: str = "en"
    seed: int = 0
    workers: int = 2
    seconds: float = 10.0
    unsafe_no_sandbox: bool = False
    model: str | None = None
    format: str = ""
    generation: GenerationConfig = GenerationConfig()
    fresh: bool = False

    def __post_init__(self) -> None:
        if not self.suites:
            raise ConfigError("no suite is named", where="SUITE", fix=f"name one of: {', '.join(SUITES)}")
        for suite in (*self.suites, *self.data):
            if suite not in SUITES and not suite.startswith("suite:"):
                raise ConfigError(
                    f"there is no suite {suite!r}",
                    where="SUITE",
                    fix=f"name one of: {', '.join(SUITES)}, or suite:PATH for one of your own",
                )
        if self.model is not None and self.responses is not None:
            raise ConfigError(
                "both a model and existing outputs are named",
                where="--model",
                fix="leave one of --model and --responses away",
            )
        if self.responses is None and self.model is None:
            raise ConfigError(
                "no outputs to score",
                where="--responses",
                fix="give a file, a folder, or the word gold; or name who is to write them: --model ID_OR_PATH",
            )
        if self.model is not None and not self.model.strip():
            raise ConfigError(
                "the model has no name", where="--model", fix="give a folder, an id or MODEL@URL"
            )
        for key, choices in _CHOICES.items():
            if (value := getattr(self, key)) not in choices:
                raise ConfigError(
                    f"{value!r} is no choice of {key}", where=key, fix=f"one of: {', '.join(choices)}"
                )
        for key, least in (("limit", 1), ("samples", 1), ("workers", 1)):
            if (value := getattr(self, key)) is not None and value < least:
                raise ConfigError(f"{value} is out of range", where=key, fix=f"give {least} or more")
        if not self.seconds > 0:
            raise ConfigError(
                f"{self.seconds} is out of range", where="seconds", fix="give a positive number"
            )

    def data_path(self, suite: str, absent: str, fix: str) -> Path:
        """Return where a suite's data lie: where `data` says, else where they were fetched to.

        Args:
            suite: Of this evaluation.
            absent: What is wrong where there are none.
            fix: What to write then.

        Raises:
            UserError: No path is given, and nothing was fetched.
        """
        if suite in self.data:
            return Path(self.data[suite]).expanduser()
        from planarena.eval.fetching import find_fetched

        if (found := find_fetched(suite, self.data_dir)) is not None:
            return found
        raise UserError(absent, where=suite, fix=fix)
