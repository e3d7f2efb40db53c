"""Every record type and its Parquet schema; canonical JSON and content ids; runs on disk."""

from __future__ import annotations

from planarena.records.canonical import CanonicalError, canonical_bytes, canonical_json, content_id
from planarena.records.choices import RIGHT_OUTCOMES, WRONG_OUTCOMES
from planarena.records.run import Run
from planarena.records.shards import ShardInfo, read_rows, write_shard
from planarena.records.tables import FORMAT_VERSION, TABLES

__all__ = [
    "FORMAT_VERSION",
    "RIGHT_OUTCOMES",
    "TABLES",
    "WRONG_OUTCOMES",
    "CanonicalError",
    "Run",
    "ShardInfo",
    "canonical_bytes",
    "canonical_json",
    "content_id",
    "read_rows",
    "write_shard",
]
