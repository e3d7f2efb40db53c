"""A variant in the making: what of a trajectory is shown otherwise, and what happens otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from planarena.augment.cases import Case
from planarena.environments.presented import Presentation, ShownTool

__all__ = ["Draft"]


@dataclass
class Draft:
    """What the kinds change, one after the other.

    Attributes:
        case: The trajectory.
        rng: Of the variant.
        offered: The tools on offer under their own names, in order.
        shown: By tool how it is shown: fields of `ShownTool`.
        kinds: What was done.
        tables: The initial state where it is another one.
        order: (step, the text that was there, the text with the order, tool, arguments) of an injected order.
        missing: The step whose tool is withheld, or -1.
        answer: What the assistant says then.
    """

    case: Case
    rng: Random
    offered: list[str]
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)
    kinds: list[str] = field(default_factory=list)
    tables: dict[str, Any] | None = None
    order: tuple[int, str, str, str, dict[str, Any]] | None = None
    missing: int = -1
    answer: str = ""

    def show(self, tool: str, **how: Any) -> None:
        """Change how a tool is shown."""
        self.shown.setdefault(tool, {}).update(how)

    @property
    def presentation(self) -> Presentation:
        """How the world is shown; descriptions name tools and arguments as they are shown."""
        names = {tool: how["name"] for tool, how in self.shown.items() if how.get("name") and "_" in tool}
        found = {}
        for tool in sorted(self.shown):
            shown = ShownTool(**self.shown[tool])
            record = self.case.scene.records[tool]
            own = names | {old: new for old, new in shown.arguments.items() if "_" in old}
            description = _renamed(shown.description or record.description, own)
            described = dict(shown.described)
            for name, schema in record.parameters.items():
                text = described.get(name, schema.get("description"))
                if isinstance(text, str) and (said := _renamed(text, own)) != schema.get("description"):
                    described[name] = said
            found[tool] = ShownTool(
                name=shown.name,
                description=description if description != record.description else "",
                arguments=shown.arguments,
                described=described,
                noise=shown.noise,
            )
        return Presentation({tool: shown for tool, shown in found.items() if shown != ShownTool()})


def _renamed(text: str, names: Mapping[str, str]) -> str:
    if not names or not any(name in text for name in names):
        return text
    pattern = r"\b(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")\b"
    return re.sub(pattern, lambda found: names[found[1]], text)
