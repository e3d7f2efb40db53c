"""Names, presets and descriptions of every algorithm; configurations from plain values."""

from __future__ import annotations

import difflib
import functools
import operator
import typing
from collections.abc import Mapping
from typing import Any

import msgspec

from planarena.errors import ConfigError
from planarena.trainers.algorithms.awpo import AWPO, AWPOConfig
from planarena.trainers.algorithms.chord import Chord, ChordMuConfig, ChordPhiConfig
from planarena.trainers.algorithms.cispo import CISPO, CISPOConfig
from planarena.trainers.algorithms.dapo import DAPO, DAPOConfig
from planarena.trainers.algorithms.dpo import DPO, DPOConfig
from planarena.trainers.algorithms.dppo import DPPO, DPPOConfig
from planarena.trainers.algorithms.dr_grpo import DrGRPO, DrGRPOConfig
from planarena.trainers.algorithms.dupo import DUPO, DUPOConfig
from planarena.trainers.algorithms.fg_dapo import FGDAPO, FGDAPOConfig
from planarena.trainers.algorithms.gagpo import GAGPO, GAGPOConfig
from planarena.trainers.algorithms.gdpo import GDPO, GDPOConfig
from planarena.trainers.algorithms.gear import GEAR, GEARConfig
from planarena.trainers.algorithms.gigpo import GiGPO, GiGPOConfig
from planarena.trainers.algorithms.gmpo import GMPO, GMPOConfig
from planarena.trainers.algorithms.grpo import GRPO, GRPOConfig
from planarena.trainers.algorithms.gspo import GSPO, GSPOConfig
from planarena.trainers.algorithms.gtpo import GTPO, GTPOConfig
from planarena.trainers.algorithms.kto import KTO, KTOConfig
from planarena.trainers.algorithms.luffy import LUFFY, LUFFYConfig
from planarena.trainers.algorithms.opd import OPD, OPDConfig
from planarena.trainers.algorithms.opsd import OPSD, OPSDConfig
from planarena.trainers.algorithms.reinforce_pp import ReinforcePP, ReinforcePPConfig
from planarena.trainers.algorithms.relift import ReLIFT, ReLIFTConfig
from planarena.trainers.algorithms.rloo import RLOO, RLOOConfig
from planarena.trainers.algorithms.rlsd import RLSD, RLSDConfig
from planarena.trainers.algorithms.sapo import SAPO, SAPOConfig
from planarena.trainers.algorithms.sasr import SASR, SASRConfig
from planarena.trainers.algorithms.sft import SFT, SFTConfig
from planarena.trainers.algorithms.sft_rl import SFTThenRL, SFTThenRLConfig
from planarena.trainers.algorithms.srft import SRFT, SRFTConfig
from planarena.trainers.algorithms.toolupt import ToolUPT, ToolUPTConfig
from planarena.trainers.algorithms.uft import UFT, UFTConfig
from planarena.trainers.recipes import Recipe, load_recipe, recipe_names
from planarena.trainers.types import Algorithm, AlgorithmConfig

__all__ = [
    "AnyAlgorithmConfig",
    "build_config",
    "describe_options",
    "get",
    "list_algorithms",
    "names",
    "preset_names",
    "recipe",
]

_CLASSES: dict[type[AlgorithmConfig], type[Any]] = {
    AWPOConfig: AWPO,
    ChordMuConfig: Chord,
    ChordPhiConfig: Chord,
    CISPOConfig: CISPO,
    DAPOConfig: DAPO,
    DPOConfig: DPO,
    DPPOConfig: DPPO,
    DrGRPOConfig: DrGRPO,
    DUPOConfig: DUPO,
    FGDAPOConfig: FGDAPO,
    GDPOConfig: GDPO,
    GEARConfig: GEAR,
    GiGPOConfig: GiGPO,
    GMPOConfig: GMPO,
    GRPOConfig: GRPO,
    GSPOConfig: GSPO,
    GTPOConfig: GTPO,
    GAGPOConfig: GAGPO,
    KTOConfig: KTO,
    LUFFYConfig: LUFFY,
    OPDConfig: OPD,
    OPSDConfig: OPSD,
    ReinforcePPConfig: ReinforcePP,
    ReLIFTConfig: ReLIFT,
    RLOOConfig: RLOO,
    RLSDConfig: RLSD,
    SAPOConfig: SAPO,
    SASRConfig: SASR,
    SFTConfig: SFT,
    SFTThenRLConfig: SFTThenRL,
    SRFTConfig: SRFT,
    ToolUPTConfig: ToolUPT,
    UFTConfig: UFT,
}

# The field `algorithm` says which.
AnyAlgorithmConfig: Any = functools.reduce(operator.or_, _CLASSES)

_CONFIGS: dict[str, type[AlgorithmConfig]] = {
    str(config.__struct_config__.tag): config for config in _CLASSES
}


def names() -> list[str]:
    """Return the names of all algorithms, sorted."""
    return sorted(_CONFIGS)


@functools.cache
def preset_names() -> tuple[str, ...]:
    """Return the names of all presets: recipes named otherwise than their algorithm."""
    return tuple(name for name in recipe_names() if name not in _CONFIGS)


def recipe(name: str) -> Recipe:
    """Return the recipe of an algorithm or preset.

    Raises:
        ConfigError: If there is none of that name.
    """
    if name not in recipe_names():
        raise _unknown("recipe", name, list(recipe_names()))
    return load_recipe(name)


def build_config(options: Mapping[str, Any]) -> AlgorithmConfig:
    """Make a configuration from plain values, as a file or `--set` gives them.

    Args:
        options: `algorithm` and that algorithm's options.

    Raises:
        ConfigError: For an unknown algorithm or option (names the nearest) and for values out of range.
    """
    name = str(options.get("algorithm", ""))
    if name not in _CONFIGS:
        raise _unknown("algorithm", name, names())
    _refuse_unknown_keys(_CONFIGS[name], options, where=name)
    try:
        return msgspec.convert(dict(options), _CONFIGS[name])
    except msgspec.ValidationError as error:
        raise ConfigError(
            str(error), where=f"algorithm {name}", fix="see `planarena train --list`"
        ) from error


def get(name: str | AlgorithmConfig, **options: Any) -> Algorithm:
    """Return a fresh algorithm with its own state.

    Args:
        name: An algorithm (its defaults), a preset (its recipe's options), or a whole configuration.
        **options: Options that replace those.

    Raises:
        ConfigError: For an unknown name or option (names the nearest) and for values out of range.
    """
    if isinstance(name, AlgorithmConfig):
        base: dict[str, Any] = msgspec.to_builtins(name)
    elif name in _CONFIGS:
        base = {"algorithm": name}
    elif name in preset_names():
        base = dict(load_recipe(name).algorithm)
    else:
        raise _unknown("algorithm", name, [*names(), *preset_names()])
    config = build_config(base | options)
    algorithm: Algorithm = _CLASSES[type(config)](config)
    return algorithm


def list_algorithms() -> list[dict[str, Any]]:
    """Return one entry per algorithm, then one per preset, ready for JSON: what a run of that name takes.

    Each has `name`, `title`, `paper`, `needs`, `options`, `reward`, `format`, `approximate` and `preset_of`
    (None for an algorithm); an option has `name`, `default` (the recipe's value where it has one), `source`
    and `about`.
    """
    return [_entry(load_recipe(name)) for name in (*names(), *preset_names())]


def describe_options(config: msgspec.Struct) -> list[dict[str, Any]]:
    """Return name, value, source and meaning of every option of a configuration, nested ones dotted."""
    described: list[dict[str, Any]] = []
    hints = typing.get_type_hints(type(config), include_extras=True)
    for field in msgspec.structs.fields(config):
        value = getattr(config, field.name)
        meta = _meta(hints[field.name])
        if isinstance(value, msgspec.Struct):
            described.extend(
                {**inner, "name": f"{field.name}.{inner['name']}"} for inner in describe_options(value)
            )
            continue
        described.append(
            {
                "name": field.name,
                "default": msgspec.to_builtins(value),
                "source": (meta.extra or {}).get("source", "") if meta else "",
                "about": (meta.description or "") if meta else "",
            }
        )
    return described


def _entry(recipe: Recipe) -> dict[str, Any]:
    algorithm = get(build_config(recipe.algorithm))
    described: Any = algorithm
    tag = str(algorithm.config.__struct_config__.tag)
    options = describe_options(algorithm.config)
    for entry in options:
        entry["source"] = recipe.sources.get(f"algorithm.{entry['name']}", entry["source"])
    preset = recipe.name != tag
    return {
        "name": recipe.name,
        "title": recipe.title if preset else described.title,
        "paper": recipe.paper if preset else described.paper,
        "needs": algorithm.needs.names(),
        "options": options,
        "reward": recipe.reward.name if recipe.reward else None,
        "format": recipe.format,
        "approximate": described.approximate,
        "preset_of": tag if preset else None,
    }


def _meta(hint: Any) -> msgspec.Meta | None:
    if isinstance(hint, msgspec.Meta):
        return hint
    found = [_meta(part) for part in (*getattr(hint, "__metadata__", ()), *typing.get_args(hint))]
    return next((meta for meta in found if meta is not None), None)


def _refuse_unknown_keys(config: type[msgspec.Struct], options: Mapping[str, Any], *, where: str) -> None:
    known = [field.name for field in msgspec.structs.fields(config)]
    for key in options:
        if key != "algorithm" and key not in known:
            raise _unknown(f"option of {where}", key, known)


def _unknown(kind: str, name: str, known: list[str]) -> ConfigError:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    fix = f"write {near[0]!r}" if near else f"choose one of {', '.join(sorted(known))}"
    return ConfigError(f"there is no {kind} {name!r}", fix=fix)
