"""What a check found, and collecting it: one finding per fault and place, however often it was seen."""

from __future__ import annotations

import msgspec

__all__ = ["Finding", "Findings"]


class Finding(msgspec.Struct, frozen=True):
    """One fault.

    Attributes:
        rule: The part of the contract: `opens`, `code`, `tools`, `words`, `goals`, `seeds`, `proposals`, `deterministic`,
            `undo`, `effects`, `results`, `errors`, `ids`, `shown` or `tasks`.
        where: File and tool.
        what: What is wrong.
        fix: What to write instead.
    """

    rule: str
    where: str
    what: str
    fix: str


class Findings:
    """Findings in the order in which they were made."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}

    def add(self, rule: str, where: str, what: str, fix: str) -> None:
        """Add a finding, unless the same rule was found broken at the same place before."""
        self._found.setdefault((rule, where), Finding(rule, where, what, fix))

    def has(self, rule: str, where: str = "") -> bool:
        """Say whether a rule was found broken, at a place or anywhere."""
        return any(one[0] == rule and where in {"", one[1]} for one in self._found)

    def __len__(self) -> int:
        return len(self._found)

    def all(self) -> list[Finding]:
        """Return them."""
        return list(self._found.values())
