"""Existing data sets and traces as dialogues and as runs: one file per source."""

from __future__ import annotations

from planarena.rows.importers.files import Record, data_files, read_records
from planarena.rows.importers.sources import SOURCES, Source, detect, source
from planarena.rows.importers.trace import ImportOptions, Trace, TraceError, as_dialogue
from planarena.rows.importers.writing import Imported, import_traces

__all__ = [
    "SOURCES",
    "ImportOptions",
    "Imported",
    "Record",
    "Source",
    "Trace",
    "TraceError",
    "as_dialogue",
    "data_files",
    "detect",
    "import_traces",
    "read_records",
    "source",
]
