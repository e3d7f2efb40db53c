"""Settings of contrast: how many wrong choices, of which kinds, and requests without a call."""

from __future__ import annotations

import msgspec

from planarena.config.checks import are_weights, require

__all__ = ["TRIVIAL_KINDS", "ContrastConfig"]

# Kinds that anyone tells apart: together at most a tenth of the wrong choices.
TRIVIAL_KINDS = ("hallucinated_tool", "empty_arguments", "early_stop", "unknowable_value")
_KINDS = {
    "neighbour_value": 0.18,
    "near_tool": 0.1,
    "wrong_lookup": 0.1,
    "id_as_name": 0.08,
    "wrong_format": 0.08,
    "repeated_call": 0.1,
    "incomplete_answer": 0.06,
    "false_answer": 0.06,
    "omitted_argument": 0.03,
    "omitted_call": 0.04,
    "needless_question": 0.05,
    "wrong_order": 0.04,
    "parallel_dependents": 0.03,
    "ignored_error": 0.02,
    "gave_up": 0.01,
    "superseded_value": 0.02,
    "forbidden_call": 0.02,
    "injected_order": 0.02,
    "hallucinated_tool": 0.015,
    "empty_arguments": 0.01,
    "early_stop": 0.015,
    "unknowable_value": 0.01,
}


class ContrastConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Candidates at decision points, trajectories that go on from a wrong one, requests without a call.

    Attributes:
        candidates: Wrong choices per decision point [ours].
        trajectories: Most contrastive trajectories per gold one [ours].
        no_calls: Requests without a call per scenario, on top of its tasks [ours].
        kinds: Weights of the kinds of wrong choices (docs/pipeline.md, Contrast); one that a point does not allow leaves
            its place to others, except to the trivial ones of `TRIVIAL_KINDS`, which keep to their weight [ours].
    """

    candidates: int = 3
    trajectories: int = 1
    no_calls: int = 2
    kinds: dict[str, float] = msgspec.field(default_factory=lambda: dict(_KINDS))

    def __post_init__(self) -> None:
        require(0 <= self.candidates <= 32, "contrast.candidates", self.candidates, "a number from 0 to 32")
        require(
            0 <= self.trajectories <= 32, "contrast.trajectories", self.trajectories, "a number from 0 to 32"
        )
        require(0 <= self.no_calls <= 32, "contrast.no_calls", self.no_calls, "a number from 0 to 32")
        require(
            set(self.kinds) <= set(_KINDS) and are_weights(self.kinds),
            "contrast.kinds",
            self.kinds,
            f"weights >= 0 of {', '.join(sorted(_KINDS))}, not all 0",
        )
