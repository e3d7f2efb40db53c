"""What a study trains: regimes, methods, seeds, budgets; every unit of work by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from planarena.errors import ConfigError
from planarena.trainers.config import TinyConfig

__all__ = ["PRESETS", "REGIMES", "SMOKE_ALGORITHMS", "StudyConfig", "Unit", "full_algorithms", "units_of"]

REGIMES = ("gold", "scarce", "repair", "conversations")
_OF_REQUESTS = ("gold", "scarce", "repair")
SMOKE_ALGORITHMS = ("grpo", "dupo", "awpo", "toolupt", "chord-phi", "gear")
CONTROLS = ("sft-steps", "sft-compute")


class StudyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One study.

    Attributes:
        out: The folder of the study; a second call goes on.
        preset: Where the other values come from.
        ablation: A table or figure of the papers instead of the algorithms; `list` names them, `all` runs each. It runs in
            the regime `gold`.
        model: `tiny`, or a folder that transformers loads: what every start is taught from.
        regimes: Which; `conversations` has tasks of its own and goes alone.
        algorithms: Algorithms or presets of `planarena train --list`.
        seeds: Training runs of each, which differ in their seed alone.
        seed: Of the data and of the starts.
        jobs: Processes at a time; changes time, not results.
        device: Of every training: `auto`, `cpu`, `cuda`.
        test: Held-out tasks of seen compositions, and as many of unseen ones.
        demonstrations: Tasks with demonstrations that the start of `gold`, of `repair` and of `conversations` is taught
            from.
        scarce_demonstrations: Those of `scarce`: three of four are of one errand, parts of the tasks to come, one of two.
        tasks: Tasks that are practised, the same of every method; passed over several times.
        pool: Tasks that the start of `scarce` tries; it practises those of them that it now solves and now does not.
        pool_tries: Rollouts of each.
        start_steps: Supervised steps of each start by regime; those of `repair` are clean, its faulty ones follow.
        start_rows: Rows of one such step.
        start_rate: Their learning rate.
        ceiling_steps: Supervised steps on all clean gold.
        fault_share: Share of the demonstrations of several calls that are faulty in the second part of `repair`'s start;
            in `conversations` the share of questions back and of corrections that a demonstration skips.
        fault_steps: Supervised steps of that second part.
        fault_rate: Their learning rate.
        batches: Rollout batches of a training.
        prompts: Prompts of a batch.
        group: Rollouts per prompt.
        updates: Optimiser updates per batch; with one every clip rule would be inert.
        rate: Learning rate of the trainings.
        expert_rows: Rows of an expert batch and of a step of the supervised controls.
        pass_tokens: Padded tokens of a forward pass; small ones stay in a processor's cache.
        compute_ratio: Steps of the supervised control of equal compute by regime, as a multiple of the others' steps;
            both CPU times are reported.
        temperature: Of rollouts.
        tiny: The model of `--model tiny`.
    """

    out: str = ""
    preset: str = "smoke"
    ablation: str = ""
    model: str = "tiny"
    regimes: tuple[str, ...] = _OF_REQUESTS
    algorithms: tuple[str, ...] = SMOKE_ALGORITHMS
    seeds: int = 3
    seed: int = 0
    jobs: int = 1
    device: str = "cpu"
    test: int = 256
    demonstrations: int = 1200
    scarce_demonstrations: int = 900
    tasks: int = 32
    pool: int = 160
    pool_tries: int = 8
    start_steps: dict[str, int] = msgspec.field(
        default_factory=lambda: {"gold": 500, "scarce": 1100, "repair": 800}
    )
    start_rows: int = 16
    start_rate: float = 1e-3
    ceiling_steps: int = 1600
    fault_share: float = 0.6
    fault_steps: int = 80
    fault_rate: float = 5e-4
    batches: int = 20
    prompts: int = 8
    group: int = 8
    updates: int = 2
    rate: float = 2e-4
    expert_rows: int = 16
    pass_tokens: int = 1024
    compute_ratio: dict[str, int] = msgspec.field(
        default_factory=lambda: {"gold": 2, "scarce": 9, "repair": 2}
    )
    temperature: float = 1.0
    tiny: TinyConfig = msgspec.field(
        default_factory=lambda: TinyConfig(hidden=128, layers=3, heads=4, intermediate=384, vocabulary=600)
    )

    def __post_init__(self) -> None:
        for name in ("seeds", "jobs", "test", "tasks", "pool", "pool_tries", "batches", "prompts", "updates"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{getattr(self, name)} is out of range", where=name, fix="give 1 or more")
        for regime in self.regimes:
            if regime not in REGIMES:
                raise ConfigError(
                    f"there is no regime {regime!r}", where="regimes", fix=f"choose of {', '.join(REGIMES)}"
                )
        if self.talks and (len(self.regimes) > 1 or self.ablation):
            raise ConfigError(
                "the regime conversations has tasks of its own, which nothing else of a study shares",
                where="regimes",
                fix="write --preset conversations, and no other regime or ablation",
            )

    @property
    def steps(self) -> int:
        """Optimiser steps of a training."""
        return self.batches * self.updates

    @property
    def talks(self) -> bool:
        """Whether its tasks are conversations."""
        return "conversations" in self.regimes

    def identity(self) -> dict[str, Any]:
        """Return what makes two studies the same work."""
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        for name in ("out", "jobs"):
            del fields[name]
        return fields


PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {},
    # Practice that is long and broad: on two cores in at most four hours, one regime.
    "long": {
        "regimes": ("scarce",),
        # The house has about 1,090 requests of one errand, which all sets share; this regime needs few of `clean`.
        "demonstrations": 120,
        "tasks": 400,
        "pool": 880,
        "batches": 150,
    },
    # Practice in conversation with the scripted user: one core, half an hour.
    "conversations": {
        "regimes": ("conversations",),
        "algorithms": ("grpo",),
        "test": 128,
        "tasks": 400,
        "start_steps": {"conversations": 700},
        "ceiling_steps": 700,
        "compute_ratio": {"conversations": 12},
        # Whether a question or a correction is skipped is a throw of a coin: both are tried in practice.
        "fault_share": 0.5,
        # Each task once, one update of each batch: with twice the rate and two updates entropy rises.
        "batches": 50,
        "updates": 1,
        "rate": 1e-4,
    },
    # Everything that trains, on a GPU: a larger model, more practice, more seeds. There are 1,090 requests of one
    # errand, which all sets share.
    "full": {
        "seeds": 5,
        "device": "auto",
        "test": 256,
        "demonstrations": 1600,
        "scarce_demonstrations": 600,
        "tasks": 128,
        "pool": 400,
        "start_steps": {"gold": 2000, "scarce": 1200, "repair": 3000},
        "start_rows": 32,
        "fault_steps": 160,
        "ceiling_steps": 6000,
        "batches": 100,
        "prompts": 32,
        "expert_rows": 32,
        "pass_tokens": 65536,
        "tiny": {"hidden": 256, "layers": 6, "heads": 8, "intermediate": 768, "vocabulary": 600},
    },
}


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work: a training and its evaluation; what is done is not done again.

    Attributes:
        name: Of its folder, as `repair/grpo/1`.
        kind: `start` and `ceiling` are taught once; `train` starts from the start of its regime. The start of `repair`
            goes on from `repair/able`, which has seen no fault yet.
        regime: Empty for the ceiling.
        method: An algorithm, a control, or a variant of an ablation.
        seed: Of the training.
        needs: The unit that it starts from.
    """

    name: str
    kind: Literal["start", "ceiling", "train"]
    regime: str = ""
    method: str = ""
    seed: int = 0
    needs: str = ""


def units_of(config: StudyConfig) -> list[Unit]:
    """Return all units, each after the one that it needs.

    Raises:
        ConfigError: There is no such algorithm or ablation.
    """
    return list(_units(config))


def _units(config: StudyConfig) -> Iterator[Unit]:
    regimes = ("gold",) if config.ablation else config.regimes
    for regime in regimes:
        able = f"{regime}/able" if regime == "repair" else ""
        if able:
            yield Unit(name=able, kind="start", regime=regime, method="able", seed=config.seed)
        yield Unit(
            name=f"{regime}/start",
            kind="start",
            regime=regime,
            method="start",
            seed=config.seed,
            needs=able,
        )
    yield Unit(name="ceiling", kind="ceiling", method="ceiling", seed=config.seed)
    for seed in range(config.seeds):
        for regime in regimes:
            for method in methods_of(config):
                yield Unit(
                    name=f"{regime}/{slug(method)}/{seed}",
                    kind="train",
                    regime=regime,
                    method=method,
                    seed=seed,
                    needs=f"{regime}/start",
                )


def methods_of(config: StudyConfig) -> list[str]:
    """Return what is compared: the variants of an ablation, or the controls and the algorithms."""
    from planarena.trainers.algorithms.ablations import ablation
    from planarena.trainers.algorithms.registry import names, preset_names

    if config.ablation:
        return [variant.label for variant in ablation(config.ablation).variants]
    for name in config.algorithms:
        if name not in (*names(), *preset_names()):
            raise ConfigError(
                f"there is no algorithm {name!r}", where="--algorithm", fix="see `planarena train --list`"
            )
    return [*CONTROLS, *config.algorithms]


def full_algorithms() -> tuple[str, ...]:
    """Return every algorithm that trains on rollouts or demonstrations in the study's two modes.

    Left out: `sft`, which is the control, and those that train on preference pairs, which the study has none of.
    """
    from planarena.trainers import algorithms

    chosen = []
    for name in algorithms.names():
        needs = algorithms.get(name).needs
        if name != "sft" and not needs.preferences:
            chosen.append(name)
    return tuple(chosen)


def slug(text: str) -> str:
    """Return a name that a folder may have."""
    kept = "".join(sign if sign.isalnum() or sign in "-.=_" else "-" for sign in text.lower())
    return "-".join(part for part in kept.split("-") if part) or "variant"
