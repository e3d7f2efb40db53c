"""Duplicates, balance and splits."""
