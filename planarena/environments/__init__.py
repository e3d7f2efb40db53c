"""Executing calls: state, environments of our own, the world of a scenario."""
