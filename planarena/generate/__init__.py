"""Queries, plans and responses."""
