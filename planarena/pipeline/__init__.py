"""Chunks, ledger, shards, the local runner."""
