"""GEAR (reconstruction): GRPO's advantage redistributed inside a rollout by segments of teacher divergence.

D_t = KL(student || teacher) and H_t = entropy, both min-max scaled over the rollout to u and h. A token
with u >= tau_onset opens a segment, which runs on while u < tau_onset, h < tau_entropy and the turn is
the same; inside it the signal v is the onset's u, elsewhere the token's own. raw = 1 - sign(A) kappa v,
w = raw / mean(raw), A_t = A w_t.

Source: GEAR is an abstract and captions; its Algorithm 1 was not available. What it states: a
ground-truth-conditioned teacher, token-wise reverse KL, peaks as segment onsets, entropy as a boundary
signal, the onset's divergence inside a segment, and a preserved trajectory advantage. Every number and
formula above is ours: results with it are not GEAR's.

Deviations: 1. the whole construction; 2. without full distributions, the sampled estimate
max(0, log pi_S - log pi_T) stands in for D; 3. a row without finite divergence keeps w = 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import GroupConfig, GroupPolicy, advantage_metrics
from planarena.trainers.types import Advantages, Needs, RolloutBatch, Step, option

__all__ = ["GEAR", "GEARConfig", "find_segments", "min_max", "redistribute", "reverse_kl"]

FLAT = 1e-8


class GEARConfig(GroupConfig, frozen=True, kw_only=True, tag="gear"):
    """Options of the GEAR reconstruction; every default is ours."""

    tau_onset: Annotated[float, option("ours", "scaled divergence that opens a segment", ge=0, le=1)] = 0.5
    tau_entropy: Annotated[float, option("ours", "scaled entropy that ends a segment", ge=0)] = 0.8
    kappa: Annotated[float, option("ours", "strength of the redistribution", ge=0, lt=1)] = 0.5
    sign_mode: Annotated[
        Literal["outcome", "magnitude"],
        option(
            "ours: GEAR's wording fits both", "departures take blame and lose credit, or always weigh more"
        ),
    ] = "outcome"
    segmentation: Annotated[
        Literal["adaptive", "token", "random", "fixed"],
        option("ours; the others are GEAR's comparisons", "where segments begin"),
    ] = "adaptive"
    entropy_extension: Annotated[bool, option("GEAR Figure 1", "off: entropy does not end a segment")] = True
    segment_length: Annotated[int, option("ours", "tokens of a fixed segment", ge=1)] = 16
    seed: Annotated[int, option("ours", "seed of random boundaries", ge=0)] = 0


def reverse_kl(student_logprobs_BTV: Tensor, teacher_logprobs_BTV: Tensor) -> Tensor:
    """Return (B, T) KL(student || teacher) over the vocabulary in nats, detached.

    Args:
        student_logprobs_BTV: (B, T, V) log-distribution; V may be a renormalised top-k.
        teacher_logprobs_BTV: (B, T, V).
    """
    student, teacher = student_logprobs_BTV.detach(), teacher_logprobs_BTV.detach()
    # Both -inf (a banned token) would give 0 * nan: such a token adds nothing to the sum.
    terms = student.exp() * (student - teacher)
    return torch.where(student.isneginf(), 0.0, terms).sum(-1).clamp(min=0.0)


def min_max(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Scale each row's valid values to [0, 1]; a row whose range is below 1e-8 becomes 0."""
    valid_BT = mask_BT.bool()
    if values_BT.numel() == 0:
        return torch.zeros_like(values_BT)
    low_B1 = torch.where(valid_BT, values_BT, torch.inf).amin(1, keepdim=True)
    high_B1 = torch.where(valid_BT, values_BT, -torch.inf).amax(1, keepdim=True)
    range_B1 = high_B1 - low_B1
    flat_B1 = ~(range_B1 >= FLAT)
    scaled_BT = (values_BT - low_B1) / torch.where(flat_B1, 1.0, range_B1)
    return torch.where(valid_BT & ~flat_B1, scaled_BT, 0.0)


def find_segments(
    onset_BT: Tensor, stop_BT: Tensor, turn_BT: Tensor, mask_BT: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the segment of each token, scanning each row from left to right.

    Args:
        onset_BT: (B, T) bool; the token opens a segment.
        stop_BT: (B, T) bool; the token ends the running segment and is outside, unless it is an onset.
        turn_BT: (B, T) integer turn; a segment stays inside one turn.
        mask_BT: (B, T).

    Returns:
        (B, T) index of the segment in its row, -1 outside every segment, and (B, T) position of the
        segment's onset (the token's own outside).
    """
    valid_BT = mask_BT.bool()
    onset_BT = onset_BT & valid_BT
    position_BT = torch.arange(mask_BT.shape[1], device=mask_BT.device).expand(mask_BT.shape)
    last_BT = torch.where(onset_BT, position_BT, -1).cummax(1).values
    origin_BT = last_BT.clamp(min=0)
    elsewhere_BT = turn_BT.gather(1, origin_BT) != turn_BT
    ended_BT = torch.where(valid_BT & ~onset_BT & (stop_BT | elsewhere_BT), position_BT, -1).cummax(1).values
    inside_BT = valid_BT & (last_BT > ended_BT)
    segment_BT = torch.where(inside_BT, onset_BT.long().cumsum(1) - 1, -1)
    return segment_BT, torch.where(inside_BT, origin_BT, position_BT)


def redistribute(
    advantage_B: Tensor, signal_BT: Tensor, mask_BT: Tensor, *, kappa: float, sign_mode: str
) -> Tensor:
    """Return (B, T) weights of mean 1 over each row's valid tokens, all positive; 0 at masked positions.

    Args:
        advantage_B: (B,) advantage of the rollout; only its sign counts.
        signal_BT: (B, T) departure signal in [0, 1].
        mask_BT: (B, T).
        kappa: Strength in [0, 1).
        sign_mode: `outcome` 1 - sign(A) kappa v, or `magnitude` 1 + kappa v wherever A is not 0.
    """
    valid_BT = mask_BT.bool()
    sign_B1 = advantage_B.sign()[:, None]
    direction_B1 = -sign_B1 if sign_mode == "outcome" else sign_B1.abs()
    raw_BT = torch.where(valid_BT, 1.0 + direction_B1 * kappa * signal_BT, 0.0)
    mean_B1 = raw_BT.sum(1, keepdim=True) / valid_BT.sum(1, keepdim=True).clamp(min=1)
    return raw_BT / torch.where(mean_B1 > 0, mean_B1, 1.0)


class GEAR(GroupPolicy[GEARConfig]):
    """Granularity-adaptive advantage reweighting, reconstructed."""

    title = "GEAR (reconstruction)"
    paper = "GEAR abstract and captions"
    approximate = True

    def base_needs(self) -> Needs:
        """Add the teacher's distribution and the entropy."""
        return replace(super().base_needs(), entropy=True, teacher_distribution=True)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:
        """Return GRPO's advantages times the weights.

        Raises:
            ValueError: If neither reverse KL nor teacher log-probabilities are there.
        """
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        values_B = grouped.standardised(ddof=self.config.ddof, eps=self.config.std_eps)
        divergence_BT = self._divergence(batch)
        known_B = (torch.isfinite(divergence_BT) | ~batch.mask_BT.bool()).all(1)
        divergence_BT = torch.where(known_B[:, None], divergence_BT, 0.0)
        signal_BT, segment_BT = self._signal(divergence_BT, batch, step)
        weight_BT = redistribute(
            values_B, signal_BT, batch.mask_BT, kappa=self.config.kappa, sign_mode=self.config.sign_mode
        )
        rows = max(int(batch.mask_BT.bool().any(1).sum()), 1)
        segments_B = torch.nn.functional.pad(segment_BT, (0, 1), value=-1).amax(1) + 1
        metrics = advantage_metrics(grouped) | {
            "advantage/segments_per_row": float(segments_B.sum()) / rows,
            "advantage/rows_without_teacher": float((~known_B).sum()),
        }
        return Advantages(values_BT=(values_B[:, None] * weight_BT).to(batch.dtype), metrics=metrics)

    def _divergence(self, batch: RolloutBatch) -> Tensor:
        if batch.reverse_kl_BT is not None:
            return batch.reverse_kl_BT.double()
        if batch.teacher_logp_BT is None or batch.old_logp_BT is None:
            raise ValueError("gear needs RolloutBatch.reverse_kl_BT, or teacher_logp_BT and old_logp_BT")
        return (batch.old_logp_BT - batch.teacher_logp_BT).double().clamp(min=0.0)

    def _signal(self, divergence_BT: Tensor, batch: RolloutBatch, step: Step) -> tuple[Tensor, Tensor]:
        """Return the departure signal v and the segment of each token."""
        config, mask_BT = self.config, batch.mask_BT
        scaled_BT = min_max(divergence_BT, mask_BT)
        if config.segmentation == "token":
            return scaled_BT, torch.full_like(scaled_BT, -1, dtype=torch.long)
        turn_BT = batch.turn_BT if batch.turn_BT is not None else turns_of(mask_BT)
        onset_BT = scaled_BT >= config.tau_onset
        stop_BT = torch.zeros_like(onset_BT)
        if config.segmentation == "adaptive" and config.entropy_extension:
            if batch.entropy_BT is None:
                raise ValueError("gear with `entropy_extension` needs RolloutBatch.entropy_BT")
            stop_BT = min_max(torch.nan_to_num(batch.entropy_BT.double()), mask_BT) >= config.tau_entropy
        elif config.segmentation == "fixed":
            onset_BT = mask_BT.bool() & ((mask_BT.bool().long().cumsum(1) - 1) % config.segment_length == 0)
        elif config.segmentation == "random":
            onset_BT = shuffled_onsets(onset_BT, mask_BT, seed=config.seed + step.step)
        segment_BT, origin_BT = find_segments(onset_BT, stop_BT, turn_BT, mask_BT)
        return scaled_BT.gather(1, origin_BT), segment_BT


def turns_of(mask_BT: Tensor) -> Tensor:
    """Return (B, T) turn ids read off the mask: a gap of masked tokens starts a new turn."""
    valid_BT = mask_BT.bool()
    starts_BT = valid_BT.clone()
    starts_BT[:, 1:] &= ~valid_BT[:, :-1]
    return starts_BT.long().cumsum(1)


def shuffled_onsets(onset_BT: Tensor, mask_BT: Tensor, *, seed: int) -> Tensor:
    """Return as many onsets in each row as before, at places drawn from its valid tokens."""
    generator = torch.Generator().manual_seed(seed)
    draw_BT = torch.rand(mask_BT.shape, generator=generator, dtype=torch.float64).to(mask_BT.device)
    rank_BT = torch.where(mask_BT.bool(), draw_BT, 2.0).argsort(1).argsort(1)
    return mask_BT.bool() & (rank_BT < (onset_BT & mask_BT.bool()).sum(1, keepdim=True))
