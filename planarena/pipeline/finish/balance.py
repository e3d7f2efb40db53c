"""The choice that a build makes among proven tasks, as its configuration asks for it."""

from __future__ import annotations

from planarena.config import BuildConfig
from planarena.environments.catalog import group_of
from planarena.pipeline.execute.scenarios import domains_of
from planarena.quality import Balance, Chooser

__all__ = ["new_chooser"]

# Domains differ in how many tasks a scenario yields; refusing for a point of share would waste proven tasks.
_SLACK, _DOMAIN_SLACK, _QUOTA_SLACK = 0.01, 0.03, 0.05


def new_chooser(config: BuildConfig) -> Chooser:
    """Return a choice that has decided on nothing yet."""
    mix = config.composition
    missing = (0.0,) * mix.max_actions
    lengths = {
        str(length): weight
        for length, weight in enumerate((mix.length_mix + missing)[: mix.max_actions], start=1)
    }
    shapes = {name: mix.shape_mix.get(name, 0.0) for name in ("serial", "parallel", "mixed")}
    if config.quotas.enabled:
        # Whole vendors differ in the lengths that they can give, and come one after the other.
        balances = {"length": Balance(lengths, _QUOTA_SLACK), "shape": Balance(shapes, _QUOTA_SLACK)}
        return Chooser(config.trajectories, balances)
    domains = {name: mix.domain_mix.get(name, 1.0) for name in map(group_of, domains_of(config.sources))}
    return Chooser(
        config.trajectories,
        {
            "length": Balance(lengths, _SLACK),
            "shape": Balance(shapes, _SLACK),
            "domain": Balance(domains, _DOMAIN_SLACK),
        },
    )
