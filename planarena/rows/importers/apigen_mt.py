"""APIGen-MT (`apigen-mt_5k.json`): ShareGPT with function_call and observation, tools as JSON text, a domain policy.

The system text is the policy of the domain and stays: it decides which calls are right.
"""

from __future__ import annotations

from typing import Any

from planarena.rows.importers import sharegpt
from planarena.rows.importers.trace import ImportOptions, Trace, TraceError

__all__ = ["LICENCE", "read"]

LICENCE = "CC-BY-NC-4.0"


def read(record: dict[str, Any], options: ImportOptions, number: int) -> Trace:
    """Read one record.

    Raises:
        TraceError: It cannot be used.
    """
    if not record.get("tools"):
        raise TraceError("calls, but no list of tools", "the record has no tools")
    return sharegpt.read(record, options, number)
