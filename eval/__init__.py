"""Benchmarks and their scoring."""
