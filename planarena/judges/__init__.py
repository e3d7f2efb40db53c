"""Semantic similarity and the rubric of AWPO, by a model or by defined offline scorers."""

from __future__ import annotations

from planarena.judges.constraints import TIERS, rubric_cap, similarity_cap, snap
from planarena.judges.items import GroupScores, JudgedAction
from planarena.judges.judge import Judge, RubricJudge, SimilarityJudge
from planarena.judges.offline import OFFLINE, WEIGHTS, offline_rubric, offline_similarity

__all__ = [
    "OFFLINE",
    "TIERS",
    "WEIGHTS",
    "GroupScores",
    "Judge",
    "JudgedAction",
    "RubricJudge",
    "SimilarityJudge",
    "offline_rubric",
    "offline_similarity",
    "rubric_cap",
    "similarity_cap",
    "snap",
]
