"""What re-execution shows: determinism, legality, order, minimality."""

from __future__ import annotations

from planarena.proofs.dependence import Dependences, OrderEvidence, find_dependences, swap_changes
from planarena.proofs.legality import Violation, prove_orders
from planarena.proofs.minimality import find_superfluous, known_values

__all__ = [
    "Dependences",
    "OrderEvidence",
    "Violation",
    "find_dependences",
    "find_superfluous",
    "known_values",
    "prove_orders",
    "swap_changes",
]
