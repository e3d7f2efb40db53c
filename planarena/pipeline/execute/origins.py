"""What rows say of where a scenario's tools come from: kept with the chunk, so that no source is opened twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planarena.config import BuildConfig
from planarena.environments.catalog import describe_environment, is_builtin, operations_of
from planarena.pipeline.execute.decontamination import marked
from planarena.pipeline.products import ExecutedScenario, OfferedTool, Origin
from planarena.records.canonical import canonical_json
from planarena.records.tables import ToolRow
from planarena.tools import Tool
from planarena.tools.tool import vendor_of

__all__ = ["origin_of", "origins_of", "tool_row"]


_MOST_OUTPUT = 64 << 10


def tool_row(tool: Tool) -> ToolRow:
    """Return the row of a tool.

    Some APIs describe half of their model as the result of every call; no reader of the table needs that.
    """
    output, repairs = canonical_json(tool.output_schema), list(tool.schema_repairs)
    if len(output) > _MOST_OUTPUT:
        output = "null"
        repairs.append(f"output_schema: left out of the table, it is longer than {_MOST_OUTPUT} bytes")
    return ToolRow(
        tool_id=tool.tool_id,
        namespace=tool.namespace,
        name=tool.name,
        wire_name=tool.wire_name,
        description=tool.description,
        input_schema=canonical_json(tool.input_schema),
        output_schema=output,
        effects=tool.effects,
        execution_kind=tool.execution_kind,
        determinism=tool.determinism,
        source_kind=tool.source_kind,
        source_ref=tool.source_ref,
        source_version=tool.source_version,
        source_sha256=tool.source_sha256,
        licence=tool.licence,
        schema_repairs=canonical_json(repairs),
        contamination=canonical_json(list(tool.contamination)),
    )


def origins_of(config: BuildConfig, scenarios: Iterable[ExecutedScenario]) -> dict[str, Origin]:
    """Return the origins of a chunk's scenarios by their domain; built-in ones are always open and left out."""
    offered: dict[str, tuple[tuple[str, ...], dict[str, None]]] = {}
    for scenario in scenarios:
        if not all(map(is_builtin, scenario.domains)):
            _, names = offered.setdefault(scenario.domain, (scenario.domains, {}))
            names.update(dict.fromkeys(scenario.tools))
    return {domain: _describe(config, domains, list(names)) for domain, (domains, names) in offered.items()}


def origin_of(config: BuildConfig, scenario: ExecutedScenario, kept: Mapping[str, Origin]) -> Origin:
    """Return the origin of a scenario.

    Args:
        config: The build.
        scenario: The scenario.
        kept: The origins that its chunk keeps.
    """
    found = kept.get(scenario.domain)
    return _describe(config, scenario.domains, scenario.tools) if found is None else found


def _describe(config: BuildConfig, domains: Sequence[str], names: Sequence[str]) -> Origin:
    found = {name: op.tool for domain in domains for name, op in operations_of(domain).items()}
    tools: dict[str, OfferedTool] = {}
    for name in names:
        tool = found[name]
        # Only under quotas is it the chunks that write the table of tools.
        row = tool_row(marked(config, tool)) if config.quotas.enabled else None
        vendor = vendor_of(tool.source_kind, tool.namespace)
        tools[name] = OfferedTool(tool.tool_id, tool.description, vendor, row)
    return Origin(describe_environment(domains), tools)
