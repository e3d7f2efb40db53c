"""The whole check of an environment folder, in the sandbox unless it is trusted."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from planarena.environments.check.behaviour import SALTS, Walker, check_proposals, check_seeds
from planarena.environments.check.code import check_code
from planarena.environments.check.findings import Finding, Findings
from planarena.environments.check.goals import check_goals
from planarena.environments.check.words import check_words
from planarena.environments.contract import WORDS
from planarena.environments.goals import GOALS, load_goals
from planarena.environments.sandbox.bubblewrap import Limits
from planarena.environments.sources.folder.source import FolderUnit, open_folder_source
from planarena.environments.sources.source import SourceOptions
from planarena.environments.wording import load_wording
from planarena.environments.world import Operation
from planarena.errors import EnvironmentUnavailableError, UserError

__all__ = ["check_folder"]

_WALKS, _STEPS = 6, 200
_MOST_WALKS = 18  # while it is not sure that a change shows nowhere
_FEWEST_TOOLS = 3


def check_folder(
    folder: Path, options: SourceOptions | None = None, limits: Limits | None = None, *, acts: bool = True
) -> list[Finding]:
    """Hold an environment folder to the contract.

    What is checked: that it opens and that its code reads no clock and draws nothing by chance; tools and arguments
    with meanings; words for every tool; seeds that are pure and differ, in this process and in another; proposals that
    fit; and in random walks determinism, undo, results that fit their schemas, failures with a code and a
    sentence, ids made of content, and look-ups that show what was changed.

    Args:
        folder: The folder.
        options: `trusted` runs it in this process, `unsafe_no_sandbox` without a sandbox.
        limits: What the sandbox may use.
        acts: Make worlds and act in them; without it code, tools and words alone are looked at.

    Returns:
        The findings; none where all is well.

    Raises:
        EnvironmentUnavailableError: There is no way to sandbox here.
    """
    options = options or SourceOptions()
    findings = Findings()
    if not check_code(folder, findings):
        return findings.all()
    try:
        unit = open_folder_source(str(folder), options, limits)
        unit.offers  # noqa: B018  computing them refuses references to nothing
    except EnvironmentUnavailableError:
        raise
    except UserError as error:
        findings.add("opens", str(error.where or folder), error.what, error.fix or "correct it")
        _check_words_alone(folder, findings)
        return findings.all()
    try:
        _check_tools(unit.operations, findings)
        check_words(unit.operations, unit.wording, findings)
        _check_goals(folder, unit, findings)
        # What follows from a clock or from chance would only hide it.
        opened = [] if findings.has("code") or not acts else check_seeds(unit.open, findings)
        if opened:
            _check_elsewhere(folder, options, opened[0].world.digest(), findings)
            for one in opened[:2]:
                check_proposals(one.world, unit.operations, findings)
            _walk(unit, findings)
    finally:
        unit.close()
    return findings.all()


def _check_goals(folder: Path, unit: FolderUnit, findings: Findings) -> None:
    try:
        goals = load_goals.__wrapped__(folder / GOALS)
    except UserError as error:
        findings.add("goals", GOALS, error.what, error.fix or "docs/aims.md says what stands where")
        return
    check_goals(unit.operations, {name: aim for name, aim in goals.items() if not aim.domains}, findings)


def _check_words_alone(folder: Path, findings: Findings) -> None:
    """Read the words of a folder that does not open: their faults are worth knowing, too."""
    try:
        load_wording(folder / WORDS)
    except UserError as error:
        findings.add("words", WORDS, error.what, error.fix or "docs/wording.md says what stands where")


def _check_tools(operations: dict[str, Operation], findings: Findings) -> None:
    if len(operations) < _FEWEST_TOOLS:
        findings.add(
            "tools", "environment.py", f"has {len(operations)} tools", f"write at least {_FEWEST_TOOLS}"
        )
    if all(one.tool.effects == "read" for one in operations.values()):
        findings.add(
            "tools", "environment.py", "has no tool that changes anything", "add one, so that order matters"
        )
    for name, operation in operations.items():
        if re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", name) is None:
            findings.add("tools", name, "is no verb and noun", "name it like `open_ticket`")
        if len(operation.tool.description) < 20:
            findings.add(
                "tools", name, "is hardly described", "say in its docstring what it does and what it shows"
            )
        if (operation.tool.output_schema or {}).get("type") != "object":
            findings.add(
                "tools", name, "does not return an object", "say what it returns with `gives=record(...)`"
            )
        for argument, schema in operation.tool.parameters.items():
            if "x-semantic" not in schema and schema.get("type") != "boolean":
                findings.add(
                    "tools",
                    f"{name}({argument})",
                    "has no meaning, so nothing can be bound to it",
                    'annotate it: `Annotated[str, Semantic("ticket_id", hidden=True)]`',
                )


def _check_elsewhere(folder: Path, options: SourceOptions, digest: str, findings: Findings) -> None:
    """Open the folder in another process: sets and hashes of text differ there."""
    if options.trusted:
        return
    other = open_folder_source(str(folder), options)
    try:
        if other.open(SALTS[0]).world.digest() != digest:
            findings.add(
                "deterministic",
                "seed",
                "another process makes another world of the same random source",
                "iterate over sorted lists, not over sets, and use no hash()",
            )
    finally:
        other.close()


def _walk(unit: FolderUnit, findings: Findings) -> None:
    walker = Walker(unit.operations, findings)
    for number in range(_MOST_WALKS):
        if number >= _WALKS and not walker.unsure:
            break
        walker.walk(unit.open(SALTS[number % len(SALTS)]).world, Random(number), _STEPS)
        if findings.has("undo") or findings.has("deterministic"):
            return  # what follows from it would only hide it
    walker.report()
