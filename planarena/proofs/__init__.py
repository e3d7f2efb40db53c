"""What re-execution shows: determinism, legality, order, minimality, grounding."""
