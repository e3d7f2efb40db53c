"""The phases of a build, what each depends on, and the keys under which their products are stored.

A phase is a folder beside this file. Its key covers its configuration, the key of the phase before, the source of its
folder and of the packages that it declares here, and the data that it reads: a product never outlives what made it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from planarena.config import BuildConfig, CallsConfig
from planarena.environments.catalog import is_builtin, operations_of, wording_of
from planarena.environments.contract import WORDS
from planarena.environments.sources import SourceOptions, allow
from planarena.environments.wording import ToolWording
from planarena.pipeline.execute.decontamination import benchmarks_digest
from planarena.pipeline.execute.scenarios import domains_of
from planarena.pipeline.products import PhaseKeys
from planarena.records.canonical import content_id

__all__ = ["PHASES", "allow_for", "phase_keys", "source_digest", "sources_of"]


# By phase, in the order in which they run, what it depends on beside what earlier phases do: packages and modules below
# `planarena`, where a package counts with all that lies in it, and data. `planarena.config` is in no list: what a phase
# reads of it is in its key by value, as are the words of environments: execution can do without most of them.
PHASES: dict[str, tuple[str, ...]] = {
    "execute": (
        *(
            "pipeline.execute",
            "pipeline.products",
            "pipeline.talk",
            "pipeline.aimed",
            "environments",
            "episodes",
            "proofs",
            "tasks",
        ),
        *("tools", "users", "records", "llm", "managed", "quality.contamination", "generate.model_records"),
        # How a value is named says whether a message may take it up before an answer told it.
        *("generate.naming", "generate.semantic_values", "generate.spelling", "generate.surfaces"),
        *("generate.templates", "errors", "lazy"),
        *("data/prompts/answer_by_schema.yaml", "data/prompts/repair.yaml", "data/prompts/user.yaml"),
    ),
    # Briefs of users say what was told by the overlap of words, which reads answers in every format.
    "language": ("pipeline.language", "generate", "judges", "formats"),
    "models": ("pipeline.models", "formats", "judges", "data/prompts"),
    "quality": ("pipeline.finish", "quality"),
}


def sources_of(names: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield the files of packages, modules and data, each with its name below `planarena/`, in order."""
    for name in names:
        if name.startswith("data/"):
            top, suffixes = Path(str(files("planarena.data"))).parent, None
            place = top / name
        else:
            top, suffixes = Path(str(files("planarena"))), {".py", ".yaml"}
            place = top / name.replace(".", "/")
            place = place if place.is_dir() else place.with_suffix(".py")
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.is_file() and (suffixes is None or file.suffix in suffixes) and file.name != WORDS:
                yield str(file.relative_to(top)), file


@cache
def source_digest(*names: str) -> str:
    """Hash the files of packages, modules and data."""
    digest = blake2b(digest_size=16)
    for name, file in sources_of(names):
        digest.update(f"{name}\0".encode())
        digest.update(blake2b(file.read_bytes(), digest_size=16).digest())
    return digest.hexdigest()


def allow_for(config: BuildConfig) -> None:
    """Allow in this process what a build allows."""
    allowed = config.allowed
    allow(
        SourceOptions(
            allowed.unsafe_no_sandbox,
            allowed.effects,
            allowed.simulate,
            trusted=allowed.trusted,
            calls=_share_of(config) if allowed.simulate else None,
        )
    )


def _share_of(config: BuildConfig) -> CallsConfig:
    """Return what one worker may spend on results that a model makes up: workers do not know of each other's calls."""
    calls = config.execution.calls
    workers = config.execution.workers or os.cpu_count() or 1
    return msgspec.structs.replace(
        calls,
        budget_usd=None if calls.budget_usd is None else calls.budget_usd / workers,
        budget_tokens=None if calls.budget_tokens is None else calls.budget_tokens // workers,
        budget_calls=None if calls.budget_calls is None else calls.budget_calls // workers,
    )


def _interface_of(words: ToolWording) -> list[Any]:
    orders = {pointer: [one.order, one.among] for pointer, one in words.records.items() if one.order}
    return [words.outputs, list(words.refer), orders, words.undoes, words.ends, words.dates]


def phase_keys(config: BuildConfig, sources: str = "") -> PhaseKeys:
    """Return the keys of a build's phases.

    Args:
        config: The build.
        sources: Under quotas: the digest of the descriptions, which are not all opened for it.

    Raises:
        SourceError: The sources name no environment.
    """
    allow_for(config)
    opened = config.sources
    if config.quotas.enabled:
        opened = tuple(source for source in opened if not source.startswith("openapi:"))
    domains = domains_of(opened) if opened else ()
    wording = {domain: wording_of(domain) for domain in domains}
    # Of the wording, execution reads only what is bound and what is reported, and what makes sense.
    interface = {
        domain: {name: _interface_of(words) for name, words in found.items()}
        for domain, found in wording.items()
    }
    # Of a source, what its tools are counts too: built-in ones are covered by the code's digest.
    given = {
        domain: [[op.tool.tool_id, op.tool.source_sha256] for op in operations_of(domain).values()]
        for domain in domains
        if not is_builtin(domain)
    }
    fields = config.identity()
    read = {
        name: fields[name]
        for name in (
            "sources",
            "scenarios",
            "chunk_scenarios",
            "seed",
            "composition",
            "conversations",
            "allowed",
        )
    }
    execute = _key(
        "execute",
        read,
        interface,
        *([given] if given else []),
        *([sources, fields["quotas"]] if config.quotas.enabled else []),
        *([benchmarks_digest(config)] if config.contamination else []),
    )
    words = msgspec.to_builtins(wording, str_keys=True)
    language = _key("language", execute, fields["contrast"], words)
    models = _key("models", language, fields["models"]) if config.models.active else ""
    return PhaseKeys(execute, language, _key("quality", models or language, fields["split"]), models)


def _key(phase: str, *read: object) -> str:
    return content_id(phase, source_digest(*PHASES[phase]), *read)
