"""Settings of conversations: which share of the gold trajectories is of which kind."""

from __future__ import annotations

import msgspec

from planarena.config.checks import require

__all__ = ["CONVERSATION_KINDS", "PLAIN", "ConversationConfig"]

PLAIN = "plain"
# By kind its default share of the gold trajectories; docs/conversations.md says what happens in each.
_SHARES = {
    "missing_value": 0.1,
    "failed_call": 0.1,
    "change_of_mind": 0.08,
    "long": 0.12,
    "rule": 0.05,
    "noise": 0.05,
}
CONVERSATION_KINDS = tuple(_SHARES)


class ConversationConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happens between user and assistant beyond asking and serving; in built-in environments.

    Attributes:
        shares: Share of the gold trajectories by kind; a kind that is not named has none, the rest is plain [ours].
    """

    shares: dict[str, float] = msgspec.field(default_factory=lambda: dict(_SHARES))

    def __post_init__(self) -> None:
        good = (
            set(self.shares) <= set(_SHARES)
            and all(0 <= share <= 1 for share in self.shares.values())
            and sum(self.shares.values()) <= 1 + 1e-9
        )
        require(
            good,
            "conversations.shares",
            self.shares,
            f"shares from 0 to 1 of {', '.join(_SHARES)}, at most 1 together",
        )

    @property
    def weights(self) -> dict[str, float]:
        """The share of every kind, the plain one among them; empty where all are plain."""
        wanted = {kind: share for kind, share in self.shares.items() if share > 0}
        if not wanted:
            return {}
        return {**dict.fromkeys(_SHARES, 0.0), **wanted, PLAIN: max(0.0, 1 - sum(wanted.values()))}
