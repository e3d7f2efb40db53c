"""Write the README.md of builtin domains: what it is, its tools, and one request with its trajectory.

The request is taken from a build of that domain alone. Run it after tools or words changed:
`python tests/packaging/domain_pages.py [NAME...]`.
"""

from __future__ import annotations

import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import orjson

import planarena
from planarena.config import BuildConfig, ExecutionConfig
from planarena.environments import Environment, operations
from planarena.environments.domains import DOMAINS, load_domain

_WIDTH = 110
# Enough of them to show how values are handed on.
_ACTIONS = (3, 4)


def tool_table(environment: type[Environment]) -> str:
    """Return a Markdown table of an environment's tools, one line each."""
    lines = ["| tool | what it does | effect |", "|---|---|---|"]
    for name, operation in operations(environment).items():
        required = set(operation.tool.required)
        arguments = ", ".join(
            argument if argument in required else f"[{argument}]" for argument in operation.tool.parameters
        )
        does = " ".join(operation.tool.description.split("\n\n")[0].split())
        lines.append(f"| `{name}({arguments})` | {does} | {operation.tool.effects} |")
    return "\n".join(lines)


def write_page(environment: type[Environment]) -> str:
    """Return the page of a domain."""
    return (
        f"# {environment.domain}\n\n{environment.summary}\n\n## Tools\n\n{tool_table(environment)}\n\n"
        f"Arguments in brackets may be left out.\n\n## A request\n\n{_sample(environment.domain)}"
    )


def _sample(domain: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "run"))
        config = BuildConfig(
            out=out,
            sources=(f"builtin:{domain}",),
            trajectories=60,
            seed=3,
            execution=ExecutionConfig(workers=1),
        )
        run = planarena.build(config)
        queries = {row["query_id"]: orjson.loads(row["turns"]) for row in _rows(run, "queries")}
        results = {row["execution_id"]: orjson.loads(row["result"]) for row in _rows(run, "executions")}
        steps: dict[str, list[dict[str, Any]]] = {}
        for step in sorted(_rows(run, "steps"), key=lambda row: row["step"]):
            steps.setdefault(step["trajectory_id"], []).append(step)
        scenes = {row["scenario_id"]: row["description"] for row in _rows(run, "scenarios")}
        scene_of = {row["task_id"]: scenes[row["scenario_id"]] for row in _rows(run, "tasks")}
        shown = [
            f"{textwrap.fill(scene_of[row['task_id']], _WIDTH)}\n\n"
            + _trajectory(queries[row["query_id"]][0], row["response"], steps[row["trajectory_id"]], results)
            for row in _rows(run, "trajectories")
            if row["kind"] == "gold" and row["n_actions"] in _ACTIONS and len(queries[row["query_id"]]) == 1
            if any(step["bound_from"] != "{}" for step in steps[row["trajectory_id"]])
            # A call that fails on its way shows the exception, not the domain.
            if all(results[step["execution_id"]] is not None for step in steps[row["trajectory_id"]])
        ]
    # Of all of them one that fits the screen.
    return min(shown, key=len)


def _rows(run: planarena.Run, table: str) -> list[dict[str, Any]]:
    return run.table(table).collect().to_dicts()


def _trajectory(query: str, response: str, steps: list[dict[str, Any]], results: dict[str, Any]) -> str:
    lines = [textwrap.fill(query, _WIDTH, initial_indent="> ", subsequent_indent="> "), "", "```text"]
    for step in steps:
        number, bound = step["step"] + 1, orjson.loads(step["bound_from"])
        texts = [
            f"{name}={_text(value)}"
            + (f" [from {bound['/' + name]['step'] + 1}]" if "/" + name in bound else "")
            for name, value in orjson.loads(step["arguments"]).items()
        ]
        lines += [
            _fill(f"{number}. {step['tool']}({', '.join(texts)})", "   "),
            _fill(f"   -> {_text(results[step['execution_id']])}", "      "),
        ]
    return "\n".join([*lines, "```", "", textwrap.fill(response, _WIDTH)]) + "\n"


def _fill(text: str, indent: str) -> str:
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _text(value: Any) -> str:
    return orjson.dumps(value).decode().replace('","', '", "').replace(',"', ', "').replace('":', '": ')


if __name__ == "__main__":
    for name in sys.argv[1:] or DOMAINS:
        domain = load_domain(name)
        (domain.folder() / "README.md").write_text(write_page(domain), encoding="utf-8")
