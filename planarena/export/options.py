"""What an export may choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from planarena.errors import UserError
from planarena.rows import RowOptions

__all__ = ["ExportOptions"]


class ExportOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Choices of an export; those from `policy_format` on concern the formats `preference` and `verl`.

    Attributes:
        kinds: Which trajectories; contrastive ones hold a wrong step and do not belong into imitation data.
        one_call_per_turn: Write calls that may go in one turn one after the other.
        system: Text that opens the system message.
        context: State in the system message what the user told before.
        policy_format: The format that the policy speaks, as planarena or toolupt.
        plan: Plans in rows: `global`, `step` or `none`.
        signatures: How prompts write tools: `json`, `compact` or `names`; by default the template's way.
        result_role: The role of tool results: `tool`, or `user` for chat templates that drop them from a dialogue whose
            calls are text.
        difficulty: Only tasks whose pass rate lies in a range, as `0.2:0.8`; see `planarena rate`.
    """

    kinds: tuple[Literal["gold", "contrastive"], ...] = ("gold",)
    one_call_per_turn: bool = False
    system: str = ""
    context: bool = True
    policy_format: str = "planarena"
    plan: Literal["global", "step", "none"] = "global"
    signatures: Literal["json", "compact", "names"] | None = None
    result_role: Literal["tool", "user"] = "tool"
    difficulty: str = ""

    def with_results(self, messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return messages with tool results in the chosen role; as `user`, results of one turn are one message."""
        if self.result_role == "tool":
            return [dict(message) for message in messages]
        written: list[dict[str, Any]] = []
        for message in messages:
            role = "user" if message["role"] == "tool" else message["role"]
            if written and role == "user" == written[-1]["role"]:
                written[-1]["content"] += f"\n{message['content']}"
            else:
                written.append({**message, "role": role})
        return written

    def of_messages(self) -> dict[str, Any]:
        """Return what concerns `render_messages`."""
        return {
            "system": self.system,
            "context": self.context,
            "one_call_per_turn": self.one_call_per_turn,
        }

    def of_rows(self) -> RowOptions:
        """Return what concerns rows, of all splits.

        Raises:
            UserError: The format `native`: its messages hold nested calls, which no Parquet column keeps apart.
        """
        if self.policy_format == "native":
            raise UserError(
                "rows in the format native hold nested calls, which Arrow would merge",
                where="--policy-format",
                fix="export with --format openai, or choose a format that is text",
            )
        return RowOptions(
            format=self.policy_format,
            plan=self.plan,
            signatures=self.signatures,
            one_call_per_turn=self.one_call_per_turn,
            context=self.context,
            splits=(),
            kinds=self.kinds,
            difficulty=self.difficulty,
        )
