"""The choice that a build makes among proven tasks, as its configuration asks for it."""

from __future__ import annotations

from planarena.config import BuildConfig
from planarena.environments.catalog import group_of, is_builtin
from planarena.pipeline.execute.scenarios import domains_of
from planarena.pipeline.finish.keys import COMMON
from planarena.quality import Balance, Chooser

__all__ = ["new_chooser"]

# Domains differ in how many tasks a scenario yields; refusing for a point of share would waste proven tasks.
_SLACK, _DOMAIN_SLACK, _QUOTA_SLACK, _KIND_SLACK = 0.01, 0.025, 0.05, 0.001
# Six kinds may each exceed theirs by as much; what is left is plain.
_TALK_SLACK = 0.0005
# So much more than their least share, since a choice lets a few items too many of either pass.
_MORE_AIMS = 0.02
# So many domains are not just a few; how far one that stands beside many others may exceed its fair share [ours].
_SEVERAL, _COMMON_SLACK = 8, 0.8
# A handful of somebody's own tools gives what lengths and shapes it can: what is proven and new is not thrown away.
_OWN_SLACK, _SMALL = 1.0, 200


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
    # Other people's tools have plain conversations alone: nothing there is to be balanced.
    builtin = all(map(is_builtin, domains_of(config.sources)))
    kinds = config.conversations.weights if builtin else {}
    own = all(name.startswith(("python:", "mcp:", "http:")) for name in domains)
    slack = _OWN_SLACK if own and config.trajectories <= _SMALL else _SLACK
    return Chooser(
        config.trajectories,
        {
            **({"conversation": Balance(kinds, _TALK_SLACK)} if kinds else {}),
            "length": Balance(lengths, slack),
            "shape": Balance(shapes, slack),
            "domain": Balance(domains, _DOMAIN_SLACK),
            **(_common(len(domains)) if builtin else {}),
            # The one aim of a new environment must not hold up what else it can give.
            **({"purpose": Balance(_purposes(mix.aims), _KIND_SLACK)} if builtin else {}),
        },
    )


def _common(domains: int) -> dict[str, Balance]:
    """Return what keeps a domain that stands beside many others near the share of any; nothing for a few domains."""
    if domains < _SEVERAL:
        return {}
    fair = 1.0 / domains
    return {f"with {name}": Balance({"yes": fair, "no": 1.0 - fair}, _COMMON_SLACK * fair) for name in COMMON}


def _purposes(aims: float) -> dict[str, float]:
    """Return the weights of tasks that follow aims and of free ones: `aims` is the least share of the former."""
    least = min(1.0, aims + _MORE_AIMS) if aims else 0.0
    return {"aim": least, "free": 1 - least}
