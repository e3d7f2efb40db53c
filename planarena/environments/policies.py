"""Rules of an environment: text for the system message, and a check that says whether a call breaks it.

They stand in `policies.yaml` of the environment's folder, one entry a rule:

| field | means |
|---|---|
| `tool` | the call that it is about |
| `demands` | `refusal`: the assistant does not make the call; `confirmation`: only after the user said yes to it |
| `above` | `{argument: [limits]}`: it holds for values above the limit that is drawn; without it for every call |
| `is` | `{argument: [values]}`: it holds for the value that is drawn |
| `instead` | `[values]`: what somebody who is refused such a value might take; of `above` the limit itself is |
| `fact` | `true` where the value is a fact that nobody takes another of: so many lessons were missed |
| `text` | what the system message says, with `{limit}` or `{value}` |

A rule binds the assistant, not the tool: the environment would carry the call out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

import msgspec
import yaml

from planarena.environments.domains import load_domain
from planarena.errors import SchemaError
from planarena.records.foreign_yaml import bounded_yaml

__all__ = ["POLICIES", "Policy", "Rule", "policies_of"]

POLICIES = "policies.yaml"


# "More than 1 lessons" is said of one lesson.
_ONE = re.compile(r"\b1( extra)? (\w+?)s\b")


class Policy(NamedTuple):
    """A rule with its limit.

    Attributes:
        tool: The call that it is about.
        demands: `refusal` or `confirmation`.
        text: What the system message says.
        argument: The argument that decides; empty where every call is meant.
        limit: The value above which it holds, or the value that it is about.
        exact: Whether the value itself is meant.
    """

    tool: str
    demands: str
    text: str
    argument: str = ""
    limit: Any = None
    exact: bool = False

    def holds_for(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Say whether a call is one that the rule is about: such a call breaks it unless it was confirmed."""
        if tool != self.tool:
            return False
        if not self.argument:
            return True
        value = arguments.get(self.argument)
        if self.exact:
            return bool(value == self.limit)
        return isinstance(value, int | float) and not isinstance(value, bool) and value > self.limit


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of `policies.yaml`; see the module."""

    tool: str
    demands: Literal["refusal", "confirmation"]
    text: str
    above: dict[str, list[float]] = {}
    is_: dict[str, list[str]] = msgspec.field(name="is", default_factory=dict)
    instead: list[str] = []
    fact: bool = False

    def drawn(self, rng: Random, arguments: Mapping[str, Any] | None = None) -> Policy | None:
        """Return the rule with a limit; None where no limit fits.

        Args:
            rng: Draws it.
            arguments: Of a call that the rule is to hold for; without it any limit does.
        """
        if self.above:
            ((name, limits),) = self.above.items()
            fitting = [one for one in limits if arguments is None or _below(one, arguments.get(name))]
            if not fitting:
                return None
            limit = rng.choice(fitting)
            text = _ONE.sub(r"1\1 \2", self.text.format(limit=f"{limit:g}"))
            return Policy(self.tool, self.demands, text, name, limit)
        if self.is_:
            ((name, values),) = self.is_.items()
            found = [one for one in values if arguments is None or arguments.get(name) == one]
            if not found:
                return None
            value = rng.choice(found)
            text = self.text.format(value=value.replace("_", " "))
            return Policy(self.tool, self.demands, text, name, value, exact=True)
        return Policy(self.tool, self.demands, self.text)

    def allowed(self, policy: Policy, value: Any) -> Any:
        """Return the value nearest to a forbidden one that the rule allows; None where it names none, or of a fact.

        Args:
            policy: The rule with its limit.
            value: The forbidden one; what is returned is of its type.
        """
        if self.fact:
            return None
        if self.above:
            return type(value)(policy.limit)
        return self.instead[0] if self.instead else None


def _below(limit: float, value: Any) -> bool:
    return isinstance(value, int | float) and limit < value


def policies_of(domain: str) -> tuple[Rule, ...]:
    """Return the rules of a built-in environment; none where it has no file of them."""
    return _read(load_domain(domain).folder() / POLICIES)


@cache
def _read(file: Path) -> tuple[Rule, ...]:
    if not file.is_file():
        return ()
    try:
        return msgspec.yaml.decode(bounded_yaml(file), type=tuple[Rule, ...])
    except (msgspec.DecodeError, yaml.YAMLError) as error:
        raise SchemaError(str(error), where=str(file), fix="correct the file of rules") from error
