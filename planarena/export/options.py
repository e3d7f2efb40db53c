"""What an export may choose."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["ExportOptions"]


class ExportOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Choices of an export.

    Attributes:
        kinds: Which trajectories; contrastive ones hold a wrong step and do not belong into imitation data.
        one_call_per_turn: Write calls that may go in one turn one after the other.
        system: Text that opens the system message.
        context: State in the system message what the user told before.
    """

    kinds: tuple[Literal["gold", "contrastive"], ...] = ("gold",)
    one_call_per_turn: bool = False
    system: str = ""
    context: bool = True

    def of_messages(self) -> dict[str, Any]:
        """Return what concerns `render_messages`."""
        return {
            "system": self.system,
            "context": self.context,
            "one_call_per_turn": self.one_call_per_turn,
        }
