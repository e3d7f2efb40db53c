"""The reference of the command line, written from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from planarena.cli import COMMANDS, _load

__all__ = ["write_reference"]

_HEAD = """# Command line

Every command with its arguments and options, as `planarena COMMAND --help` shows them. Exit codes: 0 done, 1 failed, \
2 something to change in the command or the data, 130 interrupted. `planarena --install-completion` completes commands \
and options in your shell; `planarena --version` names the version and its commit.
"""


def write_reference() -> str:
    """Return the page, in Markdown."""
    parts = [_HEAD]
    for name, entry in COMMANDS.items():
        command = _load(name)
        inner: dict[str, Any] = getattr(command, "commands", {})
        if not inner:
            parts += _section(f"planarena {name}", command, "##")
            continue
        parts += [f"## planarena {name}", entry.summary]
        for word, one in inner.items():
            parts += _section(f"planarena {name} {word}", one, "###")
    return "\n\n".join(parts) + "\n"


def _section(name: str, command: Any, level: str) -> Iterator[str]:
    yield f"{level} {name}"
    yield inspect.cleandoc(_text(command.help or ""))
    rows = [row for param in command.params if (row := _row(param))]
    if rows:
        yield "| argument or option | meaning |\n|---|---|\n" + "\n".join(rows)


def _row(param: Any) -> str:
    if getattr(param, "hidden", False):
        return ""
    help_text = _text(" ".join((getattr(param, "help", "") or "").split()))
    if not param.opts[0].startswith("-"):
        required = " Required." if param.required else ""
        return f"| `{param.metavar or param.name.upper()}` | {help_text}{required} |"
    names = ", ".join(f"`{one}`" for one in [*param.opts, *param.secondary_opts])
    value = "" if param.is_flag else f" `{(param.metavar or param.name or 'VALUE').upper()}`"
    default = _default(param)
    return f"| {names}{value} | {help_text}{default} |"


def _default(param: Any) -> str:
    value = param.default
    plain = isinstance(value, (int, float, str)) and not isinstance(value, bool) and value != ""
    if param.required:
        return " Required."
    return f" Default: `{value}`." if plain and not param.is_flag else ""


def _text(value: str) -> str:
    """Return text in which Markdown and HTML find nothing of their own; a table's bar is escaped."""
    kept = value.replace("&", "&amp;").replace("<", "&lt;").replace("*", "\\*").replace("|", "\\|")
    return kept.replace("_", "\\_") if "`" not in kept else kept
