"""Options of a command that are settings: name, type, default and help stand once, in the configuration struct.

A command names the settings that are options of its own by their place in the struct. It gets what was given as
`Given`, which also knows `--config` and `--set` and reads all of them into the struct.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import typer

from planarena.config import load_config, merge_settings, parse_settings
from planarena.errors import ConfigError

__all__ = ["AsJson", "Given", "Quiet", "Setting", "attribute_docs", "with_settings"]

_T = TypeVar("_T")
_Command = Callable[..., Any]

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, print the result alone.")]


class Setting(NamedTuple):
    """A setting that is an option.

    Attributes:
        path: Its place in the struct, as `composition.max_actions`.
        flag: How the option is called; by default as the last word of the path.
        metavar: What stands for its value in the help.
        panel: The group in which the help shows it.
        listed: Of a field of several values: they are given as one text with commas, not by repeating the option.
    """

    path: str
    flag: str = ""
    metavar: str = ""
    panel: str = ""
    listed: bool = False

    @property
    def name(self) -> str:
        """How the option is called."""
        return self.flag or f"--{self.path.rsplit('.', 1)[-1].replace('_', '-')}"


class Given(NamedTuple):
    """What a command line gives of a configuration.

    Attributes:
        options: What its options set, nested as the struct.
        file: The file of `--config`.
        settings: The texts of `--set`.
    """

    options: dict[str, Any]
    file: Path | None
    settings: list[str]

    def load(
        self,
        kind: type[_T],
        *,
        preset: Mapping[str, Any] | None = None,
        also: Mapping[str, Any] | None = None,
    ) -> _T:
        """Read the configuration: the preset, then the file, then `also` and the options, then `--set`.

        Args:
            kind: The struct.
            preset: What a preset sets.
            also: What the command sets by other means than options of the struct.

        Raises:
            ConfigError: As `planarena.config.load_config`.
        """
        values = merge_settings(dict(also or {}), self.options)
        values = merge_settings(values, parse_settings(self.settings))
        return load_config(kind, file=self.file, preset=preset, values=values)


def with_settings(
    kind: type[msgspec.Struct], settings: Sequence[Setting], example: str, panel: str = ""
) -> Callable[[_Command], _Command]:
    """Give a command options for settings, and `--config` and `--set`; it gets them as its parameter `given`.

    Args:
        kind: The configuration struct.
        settings: The settings that have options of their own.
        example: A setting as `--set` takes it.
        panel: The group of `--config` and `--set` in the help.
    """
    file = Setting("config", "--config", "FILE", panel)
    further = Setting("settings", "--set", "K=V", panel)
    shared = [
        _parameter("config", Path, (file.flag,), file, "A YAML file of settings."),
        _parameter("settings", list[str], (further.flag,), further, f"One setting, as {example}."),
    ]
    options = [_option_of(kind, one) for one in settings]

    def decorate(command: _Command) -> _Command:
        own = [one for one in signature(command, eval_str=True).parameters.values() if one.name != "given"]

        def run(**values: Any) -> Any:
            found: dict[str, Any] = {}
            for one in options:
                value = values.pop(one.parameter.name)
                if value is not None and value != []:
                    _place(found, one.setting.path, one.read(value))
            given = Given(found, values.pop("config"), values.pop("settings") or [])
            return command(**values, given=given)

        # How the result is printed stands last, as in every command.
        own.sort(key=lambda one: one.annotation in (Quiet, AsJson))
        printing = sum(one.annotation in (Quiet, AsJson) for one in own)
        first, last = own[: len(own) - printing], own[len(own) - printing :]
        parameters = [
            one.replace(kind=Parameter.KEYWORD_ONLY)
            for one in (*first, *(one.parameter for one in options), *shared, *last)
        ]
        run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorate


def attribute_docs(kind: type) -> dict[str, str]:
    """Return what the docstring of a class says under "Attributes:", by name.

    Example:
        >>> attribute_docs(Setting)["metavar"]
        'What stands for its value in the help.'
    """
    _, _, block = (kind.__doc__ or "").partition("Attributes:\n")
    found: dict[str, str] = {}
    indent = None
    for line in block.splitlines():
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        if not text or (indent is not None and depth < indent):
            break
        indent = depth if indent is None else indent
        name, sign, rest = text.partition(":")
        if depth == indent and sign:
            found[name] = rest.strip()
        elif found:
            found[next(reversed(found))] += f" {text}"
    return found


class _Option(NamedTuple):
    """An option as it is made of a setting: its parameter, and what turns what was typed into the field's value."""

    setting: Setting
    parameter: Parameter
    read: Callable[[Any], Any]


def _option_of(kind: type[msgspec.Struct], setting: Setting) -> _Option:
    owner: Any = kind
    *parents, last = setting.path.split(".")
    for parent in parents:
        owner = _present(get_type_hints(owner)[parent])
    field = next(one for one in msgspec.structs.fields(owner) if one.name == last)
    inner = _present(get_type_hints(owner)[last])
    names: tuple[str, ...] = (setting.name,)
    default = None if field.default is msgspec.NODEFAULT else field.default
    outer: Any
    read: Callable[[Any], Any] = _as_it_is
    if inner is bool:
        outer = bool
        if default:
            names = (f"{setting.name}/--no-{setting.name.removeprefix('--')}",)
        default = None  # the help of a switch says what it does
    elif get_origin(inner) is tuple:
        outer, read = (str, _words) if setting.listed else (list[str], read)
    elif get_origin(inner) is dict:
        outer, read = list[str], partial(_pairs, setting)
    else:
        outer = str if get_origin(inner) is Literal else inner
    about = re.split(r"(?<=\.)\s", attribute_docs(owner).get(last, ""), maxsplit=1)[0].replace("`", "")
    if default not in (None, "", ()):
        about = f"{about} [default: {default}]"
    return _Option(setting, _parameter(setting.path.replace(".", "_"), outer, names, setting, about), read)


def _parameter(name: str, kind: Any, names: tuple[str, ...], setting: Setting, about: str) -> Parameter:
    option = typer.Option(
        *names, metavar=setting.metavar or None, help=about, rich_help_panel=setting.panel or None
    )
    annotation = Annotated[kind | None, option]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _present(annotation: Any) -> Any:
    """Return what a field holds when it is set: of a union the first member that is not None."""
    if get_origin(annotation) in {Union, UnionType}:
        return next(one for one in get_args(annotation) if one is not type(None))
    return annotation


def _place(options: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        options = options.setdefault(parent, {})
    options[last] = value


def _as_it_is(value: Any) -> Any:
    return value


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _pairs(setting: Setting, entries: Sequence[str]) -> dict[str, str]:
    found = {}
    for entry in entries:
        name, sign, value = entry.partition("=")
        if not sign or not name or not value:
            example = setting.metavar.partition("=")[0].lower()
            raise ConfigError(
                f"{entry!r} is not {setting.metavar}",
                where=setting.name,
                fix=f"write {setting.name} {example}=FOLDER",
            )
        found[name] = value
    return found
