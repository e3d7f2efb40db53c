"""What happens in conversations beyond asking and serving: some of a scenario's proven tasks become such conversations.

One file a kind, each with one function: a proven task in, the conversation out, executed and proven, or None where the
task does not lend itself to it. What is said is the business of `planarena.pipeline.language.conversations`.
"""

from __future__ import annotations

from planarena.pipeline.execute.conversations.converse import converse, variant_of

__all__ = ["converse", "variant_of"]
