"""Atoms, the "," / "||" algebra, canonical form, composition, binding, unrolling."""
