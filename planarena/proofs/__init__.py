"""What re-execution shows: determinism, legality, order, minimality."""

from __future__ import annotations

from planarena.proofs.dependence import Dependences, OrderEvidence, find_dependences, swap_changes
from planarena.proofs.legality import Violation, prove_orders
from planarena.proofs.minimality import find_superfluous, known_values, scalars_of, scalars_shown
from planarena.proofs.outcomes import (
    Choice,
    ChoiceOutcome,
    DecisionPoint,
    Judgement,
    judge_choice,
    ready_steps,
)
from planarena.proofs.references import Order, ReferenceFault, find_reference_fault, is_tied
from planarena.proofs.replay import open_scenario, read_goal, read_message_goals, replay_trajectory
from planarena.proofs.sense import Done, Sense, SenseFault

__all__ = [
    "Choice",
    "ChoiceOutcome",
    "DecisionPoint",
    "Dependences",
    "Done",
    "Judgement",
    "Order",
    "OrderEvidence",
    "ReferenceFault",
    "Sense",
    "SenseFault",
    "Violation",
    "find_dependences",
    "find_reference_fault",
    "find_superfluous",
    "is_tied",
    "judge_choice",
    "known_values",
    "open_scenario",
    "prove_orders",
    "read_goal",
    "read_message_goals",
    "ready_steps",
    "replay_trajectory",
    "scalars_of",
    "scalars_shown",
    "swap_changes",
]
