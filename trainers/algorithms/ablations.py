"""The papers' ablation tables and sensitivity figures, as lists of recipes with changed options."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from planarena.errors import ConfigError
from planarena.trainers.recipes import Recipe, load_recipe

__all__ = ["Ablation", "Variant", "ablation", "ablation_names", "current_name"]


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of a table or point of a figure.

    Args:
        label: As the paper names it.
        recipe: The recipe that it starts from.
        changes: Options to replace, by dotted path into the recipe (`algorithm.zeta`).
        data: What changes in the rows themselves (`plan: false` drops the plan from gold and prompt).
    """

    label: str
    recipe: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)

    def resolve(self) -> Recipe:
        """Return the recipe with the changes made.

        Raises:
            ConfigError: If a change names no part of a recipe.
        """
        tree = msgspec.to_builtins(load_recipe(self.recipe))
        for path, value in self.changes.items():
            *parents, last = path.split(".")
            node = tree
            for parent in parents:
                node = node.setdefault(parent, {})
            node[last] = value
        try:
            return msgspec.convert(tree, Recipe)
        except msgspec.ValidationError as error:
            raise ConfigError(
                str(error), where=f"ablation variant {self.label}", fix="use dotted paths into the recipe"
            ) from error


@dataclass(frozen=True, slots=True)
class Ablation:
    """One table or figure.

    Args:
        name: As the command line takes it.
        source: The paper's place, and what of it is ours.
        variants: In the paper's order.
    """

    name: str
    source: str
    variants: tuple[Variant, ...]


def ablation_names() -> list[str]:
    """Return the names of all ablations, sorted."""
    return sorted(_ABLATIONS)


def current_name(name: str) -> str:
    """Return what an ablation is called; its paper used to be a number (`000-table-4`)."""
    number, _, rest = name.partition("-")
    return f"{_PAPERS[number]}-{rest}" if number in _PAPERS else name


def ablation(name: str) -> Ablation:
    """Return an ablation by name, old names included.

    Raises:
        ConfigError: If there is none of that name.
    """
    name = current_name(name)
    if name not in _ABLATIONS:
        near = difflib.get_close_matches(name, _ABLATIONS, n=1)
        fix = f"write {near[0]!r}" if near else f"choose one of {', '.join(ablation_names())}"
        raise ConfigError(f"there is no ablation {name!r}", fix=fix)
    return _ABLATIONS[name]


_PAPERS = {"000": "dupo", "001": "awpo", "002": "toolupt", "003": "chord", "004": "gear"}


def _sweep(recipe: str, path: str, values: tuple[Any, ...]) -> tuple[Variant, ...]:
    last = path.rsplit(".", 1)[-1]
    return tuple(Variant(f"{last}={value}", recipe, {path: value}) for value in values)


def _tags(weight: float) -> dict[str, float]:
    return {f"algorithm.rho.{kind}": weight for kind in ("tag_plan", "tag_tool", "tag_resp")}


def _contents(weight: float) -> dict[str, float]:
    return {f"algorithm.rho.{kind}": weight for kind in ("plan", "tool", "resp")}


def _weights(recipe: str, shared: Mapping[str, Any]) -> tuple[Variant, ...]:
    labels = {
        "phi": "CHORD-phi",
        "entropy_top": "Entropy Top",
        "entropy_norm": "Entropy Norm",
        "is_clip": "IS Clip",
        "focal": "Focal Loss",
    }
    return tuple(
        Variant(label, recipe, {**shared, "algorithm.weight": weight}) for weight, label in labels.items()
    )


def _on_mathematics(label: str, recipe: str) -> Variant:
    if recipe.endswith("-math"):
        return Variant(label, recipe)
    changes: dict[str, Any] = {"format": "math", "training.batch_size": 32}
    if load_recipe(recipe).reward is not None:
        changes["reward.name"] = "math"
    return Variant(label, recipe, changes)


# CHORD Table 1 and Table 12 name the same methods.
_CHORD_BASELINES = (
    ("SFT-light", "sft-light"),
    ("SFT-best", "sft-best"),
    ("SFT-light + RL", "sft-light-rl"),
    ("SFT-best + RL", "sft-best-rl"),
    ("GRPO (Pure RL)", "grpo-binary"),
    ("LUFFY", "luffy"),
    ("SASR", "sasr"),
    ("CHORD-mu", "chord-mu"),
    ("CHORD-phi", "chord-phi"),
)
_MATH_B2 = {"training.steps": 400, "training.group_size": 16, "training.sync_interval": 2}

_ALL = (
    Ablation(
        "dupo-table-1",
        "DUPO Tables 1-2: baselines on BFCL and API-Bank (the untrained model is the study's start)",
        (
            Variant("SFT", "sft", {"format": "planarena"}),
            Variant("ToolRL", "toolrl"),
            Variant("AC-Planner", "dupo"),
        ),
    ),
    Ablation(
        "dupo-table-3",
        "DUPO Table 3: global plan",
        (Variant("Without", "dupo", data={"plan": False}), Variant("With", "dupo", data={"plan": True})),
    ),
    Ablation(
        "dupo-table-4",
        "DUPO Table 4: dynamic upper clip",
        (Variant("Without", "dupo", {"algorithm.clip": "static"}), Variant("With", "dupo")),
    ),
    Ablation(
        "dupo-table-5",
        "DUPO Table 5: unified optimisation",
        (
            Variant("SFT", "sft", {"format": "planarena"}),
            Variant("Cold Start", "cold-start"),
            Variant("Unified", "dupo"),
        ),
    ),
    Ablation(
        "dupo-table-6",
        "DUPO Table 6: semantic reward",
        _sweep("dupo", "reward.options.lambda_sem", (0.0, 0.2, 0.5, 0.8)),
    ),
    Ablation(
        "dupo-table-7",
        "DUPO Table 7: sequential decay, as printed (it cancels in the advantage)",
        _sweep("dupo", "reward.options.decay", ("none", "linear", "discrete", "sequential")),
    ),
    Ablation(
        "dupo-table-7-advantage",
        "DUPO Table 7 with the decay on the advantage; the application is ours",
        tuple(
            Variant(
                kind,
                "dupo",
                {
                    "reward.options.decay": kind,
                    "reward.options.decay_application": "advantage",
                    "algorithm.decay_application": "advantage",
                },
            )
            for kind in ("none", "linear", "discrete", "sequential")
        ),
    ),
    Ablation(
        "dupo-figure-5-tag",
        "DUPO Figure 5: weight of the tags; the values are ours",
        tuple(Variant(f"rho_tag={weight}", "dupo", _tags(weight)) for weight in (0.0, 0.25, 0.5, 1.0, 1.5)),
    ),
    Ablation(
        "dupo-figure-5-content",
        "DUPO Figure 5: weight of the contents; the values are ours",
        tuple(
            Variant(f"rho_content={weight}", "dupo", _contents(weight))
            for weight in (0.25, 0.5, 1.0, 1.5, 2.0)
        ),
    ),
    Ablation(
        "dupo-figure-6",
        "DUPO Figure 6: decay rate of the supervised loss; the values are ours",
        _sweep("dupo", "algorithm.zeta", (0.005, 0.01, 0.02, 0.05, 0.2, 1.0)),
    ),
    Ablation(
        "awpo-table-2",
        "AWPO Tables 2-3: baselines",
        (
            Variant("SFT", "sft", {"format": "toolrl"}),
            Variant("SFT+GRPO", "sft-grpo"),
            Variant("ToolRL", "toolrl"),
            Variant("Dr.GRPO", "dr-grpo"),
            Variant("DAPO", "dapo", {"reward.name": "awpo", "format": "toolrl"}),
            Variant("AWPO", "awpo"),
        ),
    ),
    Ablation(
        "awpo-table-4",
        "AWPO Table 4: what is left of general knowledge; the paper prints AWPO and the base model alone",
        (Variant("AWPO", "awpo"), Variant("ToolRL", "toolrl")),
    ),
    Ablation(
        "awpo-table-5",
        "AWPO Table 5: components of AWPO",
        (
            Variant("AWPO", "awpo"),
            Variant("w/o difficulty-aware weighting", "awpo", {"algorithm.difficulty": False}),
            Variant("w/o variance-aware gating", "awpo", {"algorithm.gating": False}),
            Variant("w/o dynamic clipping", "awpo", {"algorithm.dynamic_clip": False}),
            Variant("Mixed Reward GRPO", "mixed-reward-grpo"),
        ),
    ),
    Ablation(
        "awpo-eps-mix",
        "AWPO Eq. 25: where the gate closes; the values are ours",
        _sweep("awpo", "algorithm.eps_mix", (0.6, 0.75, 0.9, 1.0)),
    ),
    Ablation(
        "toolupt-table-1",
        "ToolUPT Table 1: baselines",
        tuple(
            Variant(label, recipe)
            for label, recipe in (
                ("SFT", "sft"),
                ("GRPO", "grpo"),
                ("DAPO", "dapo"),
                ("DAPO*", "dapo-star"),
                ("FG-DAPO*", "fg-dapo"),
                ("SFT+DAPO*", "sft-dapo-star"),
                ("SFT+FG-DAPO*", "sft-fg-dapo-star"),
                ("LUFFY", "luffy"),
                ("SRFT", "srft"),
                ("CHORD", "chord-phi"),
                ("ToolUPT", "toolupt"),
            )
        ),
    ),
    Ablation(
        "toolupt-figure-4",
        "ToolUPT Figure 4: FGAE and SPO",
        (
            Variant("ToolUPT", "toolupt"),
            Variant("w/o FGAE", "toolupt", {"algorithm.fgae": False, "reward.name": "toolupt_outcome"}),
            Variant("w/o SPO", "toolupt", {"algorithm.spo": False}),
        ),
    ),
    Ablation(
        "chord-table-1",
        "CHORD Table 1: baselines on tool use",
        tuple(Variant(label, recipe) for label, recipe in _CHORD_BASELINES),
    ),
    Ablation(
        "chord-table-1-math",
        "CHORD Table 1: baselines on mathematics",
        tuple(
            _on_mathematics(
                label, {"chord-mu": "chord-mu-math", "chord-phi": "chord-phi-math"}.get(recipe, recipe)
            )
            for label, recipe in _CHORD_BASELINES
        ),
    ),
    Ablation(
        "chord-table-7",
        "CHORD Table 7: answers that a judge scores (RaR-Medicine)",
        (
            Variant(
                "Pure RL",
                "grpo-binary",
                {"reward.name": "rubric", "training.batch_size": 96, "training.group_size": 8},
            ),
            Variant("CHORD-mu", "chord-mu-rubric"),
            Variant(
                "CHORD-phi",
                "chord-mu-rubric",
                {"algorithm": {"algorithm": "chord-phi"}},
            ),
        ),
    ),
    Ablation(
        "chord-table-12",
        "CHORD Table 12: methods that start from the base model",
        tuple(
            Variant(label, recipe)
            for label, recipe in (
                ("GRPO (Pure RL)", "grpo-binary"),
                ("CHORD-mu", "chord-mu"),
                ("CHORD-phi", "chord-phi"),
                ("SFT-best", "sft-best"),
                ("SFT-best + RL", "sft-best-rl"),
                ("LUFFY", "luffy"),
                ("SRFT", "srft"),
            )
        ),
    ),
    Ablation(
        "chord-figure-7",
        "CHORD Figure 7: dynamic against fixed mu, mathematics",
        (
            Variant("CHORD-mu", "chord-mu-math"),
            *(
                Variant(f"mu={mu}", "chord-mu-math", {"algorithm.mixing": "constant", "algorithm.mu": mu})
                for mu in (0.02, 0.1, 0.5)
            ),
        ),
    ),
    Ablation(
        "chord-table-3",
        "CHORD Table 3: adaptive mu",
        (
            Variant("SFT-best", "sft-best"),
            Variant("SFT-best + RL", "sft-best-rl"),
            Variant("GRPO (Pure RL)", "grpo-binary"),
            Variant("CHORD-phi", "chord-phi"),
            Variant("CHORD-mu (Fixed Schedule)", "chord-mu"),
            Variant("Adaptive mu (tau=0.5)", "chord-adaptive", {"algorithm.mu_threshold": 0.5}),
            Variant("Adaptive mu (tau=0.7)", "chord-adaptive", {"algorithm.mu_threshold": 0.7}),
        ),
    ),
    Ablation(
        "chord-table-4",
        "CHORD Table 4: token weights on tool use",
        (Variant("GRPO (Pure RL)", "grpo-binary"), *_weights("chord-phi", {})),
    ),
    Ablation(
        "chord-table-5",
        "CHORD Table 5: token weights on mathematics, 16 rollouts, synchronised every 2 steps",
        (
            Variant(
                "GRPO (Pure RL)",
                "grpo-binary",
                {"format": "math", "reward.name": "math", "training.batch_size": 32, **_MATH_B2},
            ),
            *_weights("chord-phi-math", _MATH_B2),
        ),
    ),
    Ablation(
        "chord-table-6",
        "CHORD Table 6: expert source",
        tuple(
            Variant(f"{recipe} ({source})", recipe, data={"expert_source": source})
            for recipe in ("sft-best-rl", "chord-mu", "chord-phi")
            for source in ("DeepSeek-R1", "Qwen2.5-72B")
        ),
    ),
    Ablation(
        "chord-figure-11",
        "CHORD Figure 11: mu together with phi",
        (
            Variant("CHORD-mu", "chord-mu"),
            Variant("CHORD-phi", "chord-phi"),
            Variant("CHORD-tune-both", "chord-tune-both"),
        ),
    ),
    Ablation(
        "chord-group-and-sync",
        "CHORD appendix B.2: rollouts per prompt and synchronisation interval; the grid is ours",
        tuple(
            Variant(
                f"K={size} sync={interval}",
                "chord-phi",
                {"training.group_size": size, "training.sync_interval": interval},
            )
            for size in (8, 16)
            for interval in (1, 2)
        ),
    ),
    Ablation(
        "gear-baselines",
        "GEAR's main comparison: token-level, turn-level and adaptive credit (reconstruction); GTPO stands for turn-level",
        (
            Variant("GRPO", "grpo", {"format": "planarena", "reward.name": "toolrl"}),
            Variant("OPSD", "opsd"),
            Variant("RLSD", "rlsd"),
            Variant("turn-level", "gtpo"),
            Variant("GEAR", "gear"),
        ),
    ),
    Ablation(
        "gear-variants",
        "GEAR Figure 4: variants of GEAR (reconstruction); their definitions are ours",
        (
            Variant("GRPO", "gear", {"algorithm.kappa": 0.0}),
            Variant("GEAR", "gear"),
            Variant("token only", "gear", {"algorithm.segmentation": "token"}),
            Variant("no entropy extension", "gear", {"algorithm.entropy_extension": False}),
            Variant("random boundaries", "gear", {"algorithm.segmentation": "random"}),
            Variant("fixed length", "gear", {"algorithm.segmentation": "fixed"}),
            Variant("magnitude", "gear", {"algorithm.sign_mode": "magnitude"}),
        ),
    ),
    Ablation(
        "clip",
        "ours: updates per batch, without which every clip rule is inert",
        tuple(
            Variant(f"{recipe} updates={updates}", recipe, {"training.updates_per_batch": updates})
            for recipe in ("grpo", "dapo", "dupo", "awpo", "gspo")
            for updates in (1, 2, 4)
        ),
    ),
)

_ABLATIONS = {entry.name: entry for entry in _ALL}
