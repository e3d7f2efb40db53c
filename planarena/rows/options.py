"""What a caller may choose about rows."""

from __future__ import annotations

from typing import Literal

import msgspec

from planarena import formats
from planarena.rows.signatures import Signatures
from planarena.rows.templates import default_template, template

__all__ = ["RowOptions"]


class RowOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How dialogues become rows.

    Attributes:
        format: The format that the policy speaks.
        template: The prompt template; empty for the format's own.
        plan: `global`: the whole plan at the first decision and a line at each later one; `step`: a line at each;
            `none`: no plan (DUPO Table 3). Formats with a think segment hold the source's rationale where it has one.
        signatures: How the prompt writes tools; None for the template's own way.
        answers: Rows for the decisions that answer the user, too.
        one_call_per_turn: Cut calls that may go in one turn into one decision each.
        observations: The role of tool results in a chat; None for the template's own.
        context: State in the prompt what is known beforehand.
        splits: Only these; empty for all.
        kinds: `gold`, `contrastive` or both; a contrastive trajectory gives one row, its first wrong step, as a
            negative.
        generators: Only what these made, as `offline` or `import:toolace`; empty for all.
        domains: Only these; empty for all.
        difficulty: Only tasks of a run whose pass rate lies in a range, as `0.2:0.8`; see `planarena.rows.difficulty`.
        longest_prompt: Leave out rows whose prompt has more characters; 0 for no limit.
    """

    format: str = "planarena"
    template: str = ""
    plan: Literal["global", "step", "none"] = "global"
    signatures: Signatures | None = None
    answers: bool = True
    one_call_per_turn: bool = False
    observations: Literal["tool", "user", "native"] | None = None
    context: bool = True
    splits: tuple[str, ...] = ("train",)
    kinds: tuple[Literal["gold", "contrastive"], ...] = ("gold",)
    generators: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    longest_prompt: int = 0
    difficulty: str = ""

    def check(self) -> None:
        """Refuse names that do not exist.

        Raises:
            UserError: An unknown format or template, or two that do not fit.
        """
        formats.get(self.format)
        template(self.template_name, self.format)

    @property
    def template_name(self) -> str:
        """The name of the template that holds."""
        return self.template or default_template(self.format)
