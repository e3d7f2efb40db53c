"""The terminal session of `planarena env play`: commands on one line each, with completion."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import typer

from planarena.cli import plain
from planarena.environments.contract import BOUND
from planarena.environments.sources.source import Unit
from planarena.errors import PlanArenaError
from planarena.session import Session

__all__ = ["Game"]

_HELP = """\
  TOOL name=value ...   call a tool; values are JSON, or text without spaces (Tab completes tools, arguments and values)
  tools                 list the tools                    try TOOL        propose arguments that make sense now
  show [TABLE [ID]]     look at the state                 undo            take the last call back
  log                   what was done so far              save FILE       write it as a script of calls
  run FILE              make the calls of a script        quit            leave (Ctrl-D does, too)"""
_COMMANDS = ("tools", "try", "show", "undo", "log", "save", "run", "help", "quit")


class Game:
    """One session.

    Args:
        unit: The environment.
        source: How it is called.
        salt: Decides the world.
    """

    help = _HELP
    commands: tuple[str, ...] = _COMMANDS

    def __init__(self, unit: Unit, source: str, salt: str) -> None:
        self.unit, self.source, self.salt = unit, source, salt
        self.operations = unit.operations
        opened = unit.open(salt)
        self.session = Session()
        self.session.enter(opened.world)
        self.world, self.title, self.description = opened.world, opened.title, opened.description
        self.done: list[tuple[str, Any]] = []
        self.seen: dict[str, list[Any]] = {}  # semantic type -> values that were shown

    def run(self) -> int:
        """Read and carry out lines until the end; return the exit code."""
        typer.echo(plain(f"{self.title}\n  {self.description}"))
        typer.echo(plain(f"  known: {json.dumps(self.world.facts, ensure_ascii=False)}"))
        typer.echo(self.help)
        self.open()
        self._complete_lines()
        while not self.over:
            try:
                line = input("> ").strip()
            except EOFError:
                typer.echo("")
                return 0
            except KeyboardInterrupt:
                typer.echo("")
                continue
            if line in {"quit", "exit"}:
                return 0
            if line and not line.startswith("#"):
                self.act(line)
        return 0

    def open(self) -> None:
        """Show what there is at the beginning, beside the world."""

    @property
    def over(self) -> bool:
        """Whether nothing more can be done."""
        return False

    def act(self, line: str) -> None:
        """Carry out one line; what is wrong with it is printed."""
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word in self.operations:
            arguments = self._read_arguments(word, rest)
            if arguments is not None:
                self.call(word, arguments)
        elif word in self.commands:
            getattr(self, f"_{word}")(rest)
        else:
            from difflib import get_close_matches

            near = get_close_matches(word, [*self.operations, *self.commands], n=1)
            typer.echo(
                plain(
                    f"there is no {word!r}; {f'did you mean {near[0]}?' if near else 'help lists what there is'}"
                )
            )

    def call(self, name: str, arguments: dict[str, Any]) -> None:
        """Call a tool and print its result and what it changed."""
        before = self._flat()
        outcome = self.session.call(name, arguments)
        if outcome.error is not None:
            self.fail(name, arguments)
            typer.echo(plain(f"  {outcome.error['code']}: {outcome.error['message']}"))
            return
        typer.echo(plain(json.dumps(outcome.result, indent=2, ensure_ascii=False)))
        self._learn(self.operations[name].tool.output_schema or {}, outcome.result)
        after = self._flat()
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key):
                typer.echo(
                    plain(f"  changed {'/'.join(key)}: {_difference(before.get(key), after.get(key))}")
                )
        if before == after:
            typer.echo("  nothing changed")
        self.done.append((name, arguments))

    def fail(self, name: str, arguments: dict[str, Any]) -> None:
        """Deal with a call that failed: it is as if it had not been made."""
        del name, arguments
        self.session.undo()

    def _read_arguments(self, name: str, text: str) -> dict[str, Any] | None:
        """Read `name=value` pairs, or one JSON object."""
        if text.startswith("{"):
            try:
                found = json.loads(text)
            except ValueError as error:
                typer.echo(plain(f"that is no JSON object: {error}"))
                return None
            return found if isinstance(found, dict) else None
        import shlex

        try:
            words = shlex.split(text)
        except ValueError as error:
            typer.echo(plain(f"cannot be read: {error}"))
            return None
        parameters = self.operations[name].tool.parameters
        arguments: dict[str, Any] = {}
        for word in words:
            key, equals, value = word.partition("=")
            if not equals or key not in parameters:
                typer.echo(plain(f"write {name} {' '.join(f'{one}=...' for one in parameters)}"))
                return None
            arguments[key] = _value(value, parameters[key])
        return arguments

    def _flat(self) -> dict[tuple[str, str], Any]:
        return {
            (table, key): record
            for table, rows in self.world.store.dump().items()
            for key, record in rows.items()
        }

    def _learn(self, schema: Any, value: Any) -> None:
        if isinstance(value, dict):
            for name, child in value.items():
                self._learn(schema.get("properties", {}).get(name, {}), child)
        elif isinstance(value, list):
            for child in value:
                self._learn(schema.get("items", {}), child)
        elif "x-semantic" in schema and value not in self.seen.setdefault(schema["x-semantic"], []):
            self.seen[schema["x-semantic"]].append(value)

    # -- commands ---------------------------------------------------------------------------------------------

    def _help(self, _rest: str) -> None:
        typer.echo(self.help)

    def _tools(self, _rest: str) -> None:
        for name, operation in self.operations.items():
            arguments = ", ".join(
                key if key in operation.tool.required else f"[{key}]" for key in operation.tool.parameters
            )
            typer.echo(
                plain(
                    f"  {name}({arguments})  {operation.tool.effects}: {operation.tool.description.split(chr(10))[0]}"
                )
            )

    def _try(self, rest: str) -> None:
        if rest not in self.operations:
            typer.echo("write: try TOOL")
            return
        for one in self.world.propose(rest, Random(len(self.done))):
            words = [f"{key}={'...' if value is BOUND else json.dumps(value)}" for key, value in one.items()]
            needed = [f"{key}=..." for key in self.operations[rest].tool.required if key not in one]
            typer.echo(plain(f"  {rest} {' '.join([*words, *needed])}"))

    def _show(self, rest: str) -> None:
        words = rest.split()
        tables = self.world.store.dump()
        if not words:
            for table, rows in tables.items():
                typer.echo(plain(f"  {table}: {len(rows)} records"))
            return
        table = next((one for one in tables if one == words[0] or one.endswith(f".{words[0]}")), None)
        if table is None:
            typer.echo(plain(f"there is no table {words[0]!r}: {', '.join(tables)}"))
            return
        for key, record in tables[table].items():
            if len(words) == 1 or key == words[1]:
                typer.echo(plain(f"  {key}: {json.dumps(record, ensure_ascii=False)}"))

    def _undo(self, _rest: str) -> None:
        if not self.done:
            typer.echo("nothing was done yet")
            return
        name, _ = self.done.pop()
        self.session.undo()
        typer.echo(plain(f"  took back {name}"))

    def _log(self, _rest: str) -> None:
        for name, arguments in self.done:
            typer.echo(plain(f"  {name} {json.dumps(arguments, ensure_ascii=False)}"))

    def _save(self, rest: str) -> None:
        if not rest:
            typer.echo("write: save FILE")
            return
        lines = [
            f"# {self.source}, world {int(self.salt, 16)}",
            *(f"{name} {json.dumps(made)}" for name, made in self.done),
        ]
        try:
            Path(rest).write_text("\n".join(lines) + "\n", encoding="utf-8")
        except OSError as error:
            typer.echo(plain(f"cannot write {rest}: {error.strerror}"))
            return
        typer.echo(plain(f"  wrote {len(self.done)} calls to {rest}"))

    def _run(self, rest: str) -> None:
        try:
            lines = Path(rest).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            typer.echo(plain(f"cannot read {rest}: {error}"))
            return
        for line in lines:
            if line.strip() and not line.startswith("#"):
                typer.echo(plain(f"> {line}"))
                self.act(line.strip())

    # -- completion -------------------------------------------------------------------------------------------

    def _complete_lines(self) -> None:
        """Complete with Tab where a person types and readline is there."""
        if not sys.stdin.isatty():
            return
        try:
            import readline
        except ImportError:
            return
        readline.set_completer_delims(" \t\n")
        readline.set_completer(self._completion)
        readline.parse_and_bind("tab: complete")

    def _completion(self, text: str, state: int) -> str | None:
        import readline

        found = list(self.complete(readline.get_line_buffer(), text))
        return found[state] if state < len(found) else None

    def complete(self, line: str, text: str) -> Iterator[str]:
        """Yield what a word of a line can become.

        Args:
            line: The whole line so far.
            text: Its last word.
        """
        first = line.split(" ", 1)[0]
        if " " not in line:
            yield from (f"{one} " for one in (*self.operations, *self.commands) if one.startswith(text))
        elif first == "try":
            yield from (one for one in self.operations if one.startswith(text))
        elif first in self.operations:
            parameters = self.operations[first].tool.parameters
            key, equals, begun = text.partition("=")
            if not equals:
                yield from (f"{one}=" for one in parameters if one.startswith(text) and f"{one}=" not in line)
                return
            schema = parameters.get(key, {})
            known = [*schema.get("enum", ()), *self.seen.get(schema.get("x-semantic", ""), ())]
            if not schema.get("x-hidden"):
                known += [one[key] for one in self._proposed(first) if one.get(key, BOUND) is not BOUND]
            for value in dict.fromkeys(map(_word, known)):
                if value.startswith(begun):
                    yield f"{key}={value}"

    def _proposed(self, name: str) -> list[dict[str, Any]]:
        try:
            return self.world.propose(name, Random(0))
        except PlanArenaError:
            return []


def _value(text: str, schema: dict[str, Any]) -> Any:
    """Read a value as the argument's type asks; text stays text."""
    kinds = schema.get("type", "string")
    if "string" in (kinds if isinstance(kinds, list) else [kinds]):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _word(value: Any) -> str:
    import shlex

    return shlex.quote(value if isinstance(value, str) else json.dumps(value))


def _difference(before: Any, after: Any) -> str:
    """Say how a record changed."""
    if before is None:
        return f"new {json.dumps(after, ensure_ascii=False)}"
    if after is None:
        return "gone"
    return ", ".join(
        f"{key} {json.dumps(before.get(key), ensure_ascii=False)} -> {json.dumps(after.get(key), ensure_ascii=False)}"
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    )
