"""What the papers' ablation tables and figures say: which variant is above which, and where it is printed."""

from __future__ import annotations

import msgspec

from planarena.errors import UserError
from planarena.trainers.algorithms.ablations import ablation, ablation_names

__all__ = ["SIGNS", "Sign", "read_sign", "refuse_ablation", "runnable"]


class Sign(msgspec.Struct, frozen=True):
    """One comparison of a paper.

    Attributes:
        better: A variant's label.
        worse: Another's.
        source: Where it is printed and with which values.
    """

    better: str
    worse: str
    source: str


def _all_below(best: str, others: tuple[str, ...], source: str) -> tuple[Sign, ...]:
    return tuple(Sign(best, other, source) for other in others)


_CHORD_BASELINES = (
    "SFT-light",
    "SFT-best",
    "SFT-light + RL",
    "SFT-best + RL",
    "GRPO (Pure RL)",
    "LUFFY",
    "SASR",
    "CHORD-mu",
)

SIGNS: dict[str, tuple[Sign, ...]] = {
    "dupo-table-1": (
        Sign("AC-Planner", "ToolRL", "BFCL overall, 7B and 14B; at 3B on API-Bank ToolRL is above"),
        Sign("AC-Planner", "SFT", "BFCL and API-Bank, overall, every size"),
    ),
    "awpo-table-4": (),
    "chord-table-1-math": _all_below(
        "CHORD-phi",
        _CHORD_BASELINES,
        "AMC",
    ),
    "chord-table-7": (
        Sign("CHORD-phi", "Pure RL", "81.3 and 76.8"),
        Sign("CHORD-mu", "Pure RL", "80.6 and 76.8"),
    ),
    "chord-table-12": _all_below(
        "CHORD-phi",
        ("GRPO (Pure RL)", "CHORD-mu", "SFT-best", "SFT-best + RL", "LUFFY", "SRFT"),
        "tool use, overall",
    ),
    "gear-baselines": _all_below(
        "GEAR",
        ("GRPO", "OPSD", "RLSD", "turn-level"),
        "the abstract: GRPO, token-level and turn-level credit",
    ),
    "dupo-table-3": (Sign("With", "Without", "3B: 52.10 and 48.70 overall"),),
    "dupo-table-4": (Sign("With", "Without", "3B: 52.10 and 49.27 overall"),),
    "dupo-table-5": (
        Sign("Unified", "SFT", "3B: 52.10 and 47.82 overall"),
        Sign("Unified", "Cold Start", "3B: 52.10 and 50.21 overall"),
    ),
    "dupo-table-6": _all_below(
        "lambda_sem=0.5",
        ("lambda_sem=0.0", "lambda_sem=0.2", "lambda_sem=0.8"),
        "7B and the text; the 3B rows print the values of 0.5 and 0.8 the other way round",
    ),
    "dupo-table-7": _all_below(
        "decay=sequential", ("decay=none", "decay=linear", "decay=discrete"), "3B, overall"
    ),
    "dupo-table-7-advantage": _all_below("sequential", ("none", "linear", "discrete"), "3B, overall"),
    "dupo-figure-5-tag": (Sign("rho_tag=0.5", "rho_tag=0.0", "the text: needed up to a modest threshold"),),
    "dupo-figure-5-content": (
        Sign("rho_content=1.0", "rho_content=0.25", "the text: more weight consistently improves"),
        Sign("rho_content=2.0", "rho_content=1.0", "the text: more weight consistently improves"),
    ),
    "dupo-figure-6": (
        Sign("zeta=0.02", "zeta=0.005", "the text: excessive supervision degrades; the values are ours"),
        Sign("zeta=0.02", "zeta=1.0", "the text: supervision is needed initially; the values are ours"),
    ),
    "awpo-table-2": _all_below(
        "AWPO", ("SFT", "SFT+GRPO", "ToolRL", "Dr.GRPO", "DAPO"), "1.7B and 8B, overall"
    ),
    "awpo-table-5": _all_below(
        "AWPO",
        (
            "w/o difficulty-aware weighting",
            "w/o variance-aware gating",
            "w/o dynamic clipping",
            "Mixed Reward GRPO",
        ),
        "all three backbones, overall; mixed-reward GRPO by section 1",
    ),
    "awpo-eps-mix": (),
    "toolupt-table-1": _all_below(
        "ToolUPT",
        (
            "SFT",
            "GRPO",
            "DAPO",
            "DAPO*",
            "FG-DAPO*",
            "SFT+DAPO*",
            "SFT+FG-DAPO*",
            "LUFFY",
            "SRFT",
            "CHORD",
        ),
        "average of four models",
    ),
    "toolupt-figure-4": _all_below(
        "ToolUPT", ("w/o FGAE", "w/o SPO"), "w/o SPO: 54.92 and 53.52 (14B); w/o FGAE: the text"
    ),
    "chord-table-1": _all_below(
        "CHORD-phi",
        _CHORD_BASELINES,
        "tool use, overall",
    ),
    "chord-figure-7": _all_below("CHORD-mu", ("mu=0.02", "mu=0.1", "mu=0.5"), "rewards"),
    "chord-table-3": (
        Sign("CHORD-phi", "GRPO (Pure RL)", "78.5 and 77.1 overall"),
        Sign("Adaptive mu (tau=0.5)", "Adaptive mu (tau=0.7)", "78.1 and 75.6 overall"),
        Sign("Adaptive mu (tau=0.5)", "CHORD-mu (Fixed Schedule)", "78.1 and 77.6 overall"),
    ),
    "chord-table-4": (
        Sign("CHORD-phi", "GRPO (Pure RL)", "78.5 and 77.1 overall"),
        Sign("CHORD-phi", "Focal Loss", "78.5 and 73.4 overall"),
        Sign("CHORD-phi", "IS Clip", "78.5 and 75.9 overall"),
        Sign("CHORD-phi", "Entropy Top", "78.5 and 77.8 overall"),
        Sign("CHORD-phi", "Entropy Norm", "78.5 and 78.0 overall"),
        Sign("GRPO (Pure RL)", "Focal Loss", "77.1 and 73.4 overall"),
    ),
    "chord-table-5": _all_below("CHORD-phi", ("GRPO (Pure RL)", "IS Clip", "Focal Loss"), "AMC23"),
    "chord-table-6": (
        Sign("chord-mu (Qwen2.5-72B)", "chord-mu (DeepSeek-R1)", "78.1 and 77.6 overall"),
        Sign("sft-best-rl (Qwen2.5-72B)", "sft-best-rl (DeepSeek-R1)", "77.7 and 76.1 overall"),
    ),
    "chord-figure-11": (
        Sign("CHORD-tune-both", "CHORD-mu", "rewards, slightly; the paper calls it not significant"),
    ),
    "chord-group-and-sync": (),
    "gear-variants": _all_below(
        "GEAR",
        ("GRPO", "token only", "no entropy extension", "random boundaries", "fixed length", "magnitude"),
        "the caption and the abstract; definitions of the variants are ours",
    ),
    "clip": (),
}

# Why the study's tasks cannot carry it.
_NOT_HERE = {
    "awpo-table-4": "it needs a model with general knowledge and MMLU-Pro (`planarena eval mmlu-pro` before and after)",
    "chord-table-1-math": "it needs mathematics problems with a reward of their own",
    "chord-table-7": "it needs open questions and a judge",
    "chord-figure-7": "it needs mathematics problems with a reward of their own",
    "chord-table-5": "it needs mathematics problems with a reward of their own",
    "chord-table-6": "it needs demonstrations of two generators",
}


def runnable() -> tuple[str, ...]:
    """Return the ablations that the study can run."""
    return tuple(name for name in ablation_names() if name not in _NOT_HERE)


def refuse_ablation(name: str) -> None:
    """Refuse an ablation that there is not, or that the study's tasks cannot carry.

    Raises:
        ConfigError: There is none of that name.
        UserError: It needs other data.
    """
    ablation(name)
    if name in _NOT_HERE:
        raise UserError(
            f"the ablation {name} cannot be run on the study's tasks: {_NOT_HERE[name]}",
            where="--ablation",
            fix="train its variants one by one on your own data: planarena.trainers.algorithms.ablation gives their "
            f"recipes; or choose one of {', '.join(runnable())}",
        )


def read_sign(sign: int) -> str:
    """Return what the sign of a measured difference (better minus worse) says of the paper's."""
    return {1: "seen", -1: "not seen: the opposite", 0: "cannot be told"}[sign]
