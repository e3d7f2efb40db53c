"""The folder of a training run: what it was told, what it became, and whether it may go on."""

from __future__ import annotations

import contextlib
import shutil
import time
import uuid
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from planarena.errors import RunError, UserError
from planarena.records.shards import is_vacant
from planarena.trainers.config import TrainConfig
from planarena.trainers.loop.checkpoints import Checkpoints, write_json

__all__ = ["RunFolder"]

_FORMAT = 1
_PACKAGES = (
    "planarena",
    "torch",
    "transformers",
    "peft",
    "safetensors",
    "tokenizers",
    "numpy",
    "ray",
    "verl",
)
_OURS = (
    "run.json",
    "config.yaml",
    "metrics.jsonl",
    "samples.jsonl",
    "rollouts.jsonl",
    "plot.png",
    "report.html",
    "checkpoints",
    "start",
    "tensorboard",
    "wandb",
    "verl",
)


class RunFolder:
    """OUT: config.yaml, metrics.jsonl, samples.jsonl, rollouts.jsonl, plot.png, run.json, start/, checkpoints/.

    Args:
        config: Complete.
        fresh: Throw an earlier run away.

    Attributes:
        path: The folder.
        info: What run.json holds.
        finished: An earlier command finished this very run.

    Raises:
        UserError: No folder given, or one that holds something else.
        RunError: It holds a run of another configuration.
    """

    def __init__(self, config: TrainConfig, *, fresh: bool = False) -> None:
        if not config.out:
            raise UserError("no folder for the run is given", where="--out", fix="write --out DIR")
        self.config = config
        self.path = Path(config.out)
        self.info: dict[str, Any] = {}
        if self.path.exists() and not self.path.is_dir():
            raise UserError("is no folder", where=str(self.path), fix="choose another --out")
        stored = self.path / "run.json"
        if stored.is_file():
            self.info = self._read(stored, fresh=fresh)
            # A command that failed before its first step left nothing that is worth keeping.
            if fresh or (self.info.get("status") == "prepared" and not (self.path / "checkpoints").exists()):
                self._clear()
            elif self.info.get("config") != config.identity():
                self._lengthen(config)
        elif self.path.is_dir() and not is_vacant(self.path) and not fresh:
            raise UserError(
                "is not empty and holds no training run",
                where=str(self.path),
                fix="choose another --out",
            )
        self.finished = self.info.get("status") == "finished" and self._has_last()
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.info:
            self.info = {
                "format_version": _FORMAT,
                "kind": "training",
                "config": config.identity(),
                "seed": config.seed,
                # Names the run to Weights & Biases, so that one that goes on is still the same one there.
                "run_id": uuid.uuid4().hex,
                "versions": _versions(),
            }
            self._save("prepared")
        (self.path / "config.yaml").write_bytes(msgspec.yaml.encode(config))

    def _has_last(self) -> bool:
        """Whether a finished run still has its last checkpoint; without it it goes on from the one before.

        Raises:
            RunError: It is there, and damaged.
        """
        step = self.info.get("steps_done")
        checkpoints = Checkpoints(self.path, 1)
        if not isinstance(step, int) or step not in checkpoints.steps():
            return False
        checkpoints.load(step)
        return True

    @property
    def has_start(self) -> bool:
        """Whether the next command finds the model that `--model tiny` made: a run that has not begun is cleared."""
        return self.info.get("status") != "prepared" and (self.path / "start" / "start.json").is_file()

    def _lengthen(self, config: TrainConfig) -> None:
        """Let a run go on to more steps than it was started for, with all else as it was.

        How often it validates and saves may follow from the number of steps, so these may differ with it.

        Raises:
            RunError: Something else differs, or the run is to have fewer steps than before.
        """
        stored, now = self.info.get("config"), config.identity()
        before: dict[str, Any] = stored if isinstance(stored, dict) else {}
        length = next((name for name in ("steps", "epochs") if now.get(name) is not None), "steps")
        old, new = before.get(length), now.get(length)
        fix = "repeat its settings to go on with it, choose another --out, or give --fresh"
        one, other = _but_length(before), _but_length(now)
        if not isinstance(old, int | float) or not isinstance(new, int | float) or old == new or one != other:
            told = _difference(one, other) if one != other else _difference(stored, now)
            raise RunError(f"holds another training run ({told})", where=str(self.path), fix=fix)
        if new < old:
            told = f"{length}: {old} there, {new} here"
            raise RunError(
                f"holds a longer training run ({told}), and a run can only be made longer",
                where=str(self.path),
                fix=fix,
            )
        self.info["config"] = now
        self.info["lengthened"] = [*self.info.get("lengthened", []), {"from": old, "to": new}]
        # Until it has begun again it is what an interrupted run is.
        self._save("running")

    def begin(self, **facts: Any) -> None:
        """Note what the run found: device, threads, rows."""
        self.info |= facts
        self._save("running")

    def finish(self, **facts: Any) -> dict[str, Any]:
        """Note the end and return all that is known."""
        self.info |= facts
        self.info["finished_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._save("finished")
        return self.info

    def write_samples(self, step: int, samples: list[dict[str, Any]]) -> None:
        """Append outputs of a validation."""
        with (self.path / "samples.jsonl").open("ab") as handle:
            for sample in samples:
                handle.write(msgspec.json.encode({"step": step, **sample}) + b"\n")

    def _save(self, status: str) -> None:
        self.info["status"] = status
        write_json(self.path / "run.json", self.info)

    def _read(self, path: Path, *, fresh: bool) -> dict[str, Any]:
        try:
            info = msgspec.json.decode(path.read_bytes())
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            # The other files say what the folder is: only a run's own names are thrown away.
            if fresh and (self.path / "config.yaml").is_file():
                return {}
            raise RunError(
                "run.json is damaged", where=str(path), fix="choose another --out, or give --fresh"
            ) from error
        if not isinstance(info, dict) or info.get("kind") != "training":
            raise RunError("is no training run", where=str(self.path), fix="choose another --out")
        if info.get("format_version") != _FORMAT:
            raise RunError(
                f"is a training run of format {info.get('format_version')}",
                where=str(self.path),
                fix="choose another --out",
            )
        return info

    def _clear(self) -> None:
        for name in _OURS:
            path = self.path / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        self.info = {}


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _but_length(config: dict[str, Any]) -> dict[str, Any]:
    """Return a run's identity without its length and what follows from it."""
    kept = {key: value for key, value in config.items() if key not in {"steps", "epochs"}}
    for section in ("validation", "checkpoint"):
        if isinstance(kept.get(section), dict):
            kept[section] = {key: value for key, value in kept[section].items() if key != "every"}
    return kept


def _difference(old: Any, new: Any, prefix: str = "") -> str:
    """Name the first setting that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                return _difference(old.get(key), new.get(key), f"{prefix}.{key}" if prefix else key)
    return f"{prefix}: {old!r} there, {new!r} here"
