"""Environments of our own, one file each."""
