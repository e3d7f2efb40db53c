"""Groups of domains that make sense in one scenario, and the words for such scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from planarena.data import load_yaml
from planarena.environments.contract import Seed

__all__ = ["COMBINATIONS", "Combination"]


class Combination(NamedTuple):
    """A group of domains that share one scenario.

    Attributes:
        domains: Their names, the leading one first: its moment, user and story are those of the scenario.
        texts: (title, description) templates over the fields of `describe`.
    """

    domains: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]

    def describe(self, seeds: Sequence[Seed], rng: Random) -> tuple[str, str]:
        """Write the scenario's title and description.

        Args:
            seeds: One a domain, in the order of `domains`, made to fit each other.
            rng: Chooses among the texts.
        """
        lead = seeds[0]
        casts = [seed.story.get("cast", {}) for seed in seeds]
        people = [name for cast in casts for name in cast.get("people", ())]
        clients = [name for cast in casts for name in cast.get("clients", ())]
        fields: dict[str, Any] = {
            "user": lead.facts["user_name"],
            "city": lead.story.get("there", ""),
            "topic": lead.title,
            "person": people[0] if people else "a friend",
            "client": clients[0] if clients else "a customer",
        }
        title, description = rng.choice(self.texts)
        return title.format(**fields), description.format(**fields)


COMBINATIONS: tuple[Combination, ...] = tuple(
    Combination(
        tuple(entry["domains"]), tuple((text["title"], text["description"]) for text in entry["texts"])
    )
    for entry in load_yaml(Path(__file__).with_name("combinations.yaml"))
)
