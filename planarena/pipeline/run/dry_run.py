"""What a build would do, without doing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planarena.config import BuildConfig
from planarena.environments.catalog import group_of, operations_of
from planarena.errors import UserError
from planarena.pipeline.execute.scenarios import domains_of
from planarena.pipeline.phases import allow_for
from planarena.pipeline.run.quotas import find_lots

if TYPE_CHECKING:
    from planarena.pipeline.models.estimate import PhaseEstimate

__all__ = ["DryRun", "check_domains", "plan_build"]


class DryRun(NamedTuple):
    """What a build would do.

    Attributes:
        domains: The environments; under quotas the vendors.
        tools: Number of tools; 0 under quotas, where descriptions are read as they are needed.
        expected_scenarios: About how many scenarios it would draw.
        llm_calls: Calls to models; 0 for the offline generator.
        phases: What models would be asked, part by part.
    """

    domains: tuple[str, ...]
    tools: int
    wanted: int
    expected_scenarios: int
    expected_chunks: int
    llm_calls: int
    phases: tuple[PhaseEstimate, ...] = ()


def plan_build(config: BuildConfig) -> DryRun:
    """Say what a build would do, without doing it.

    Raises:
        UserError: As `build`.
    """
    if config.quotas.enabled:
        return _plan_quotas(config)
    domains = check_domains(config)
    tools = sum(len(operations_of(domain)) for domain in domains)
    # Four fifths: composition rarely fills every scenario to the brim.
    scenarios = -(-config.trajectories * 5 // (config.composition.per_scenario * 4))
    if config.scenarios:
        scenarios = min(scenarios, config.scenarios)
    phases = _plan_models(config)
    calls, chunks = sum(phase.calls for phase in phases), -(-scenarios // config.chunk_scenarios)
    return DryRun(domains, tools, config.trajectories, scenarios, chunks, calls, phases)


def _plan_models(config: BuildConfig) -> tuple[PhaseEstimate, ...]:
    if not config.models.active:
        return ()
    from planarena.pipeline.models.estimate import estimate_models

    return tuple(estimate_models(config))


def _plan_quotas(config: BuildConfig) -> DryRun:
    lots, _ = find_lots(config)
    vendors = tuple(sorted({lot.vendor for lot in lots}))
    scenarios = -(-config.trajectories * len(config.quotas.tasks) // sum(config.quotas.tasks))
    if config.scenarios:
        scenarios = min(scenarios, config.scenarios)
    phases = _plan_models(config)
    calls = sum(phase.calls for phase in phases)
    return DryRun(vendors, 0, config.trajectories, scenarios, -(-scenarios // 8), calls, phases)


def check_domains(config: BuildConfig) -> tuple[str, ...]:
    """Return the domains; a name that none of them has would hold nothing out and weigh nothing."""
    allow_for(config)
    domains = domains_of(config.sources)
    groups = {group_of(name) for name in domains}
    named = {"split.held_out": config.split.held_out, "composition.domain_mix": config.composition.domain_mix}
    for where, names in named.items():
        for name in names:
            if name not in domains and name not in groups:
                raise UserError(
                    f"there is no domain {name!r} in this build",
                    where=where,
                    fix=f"one of: {', '.join(dict.fromkeys(map(group_of, domains)))}",
                )
    return domains
