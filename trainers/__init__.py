"""Algorithms, rewards and engines."""
