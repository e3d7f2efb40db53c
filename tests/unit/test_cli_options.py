"""Options that are settings: each sets its field as `--set` does, and its help is what the struct says of it."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from planarena.cli import _options
from planarena.cli._options import Given, Setting, attribute_docs, with_settings
from planarena.config import BuildConfig, CompositionConfig
from planarena.errors import ConfigError

# Command module -> the struct that its options set.
_COMMANDS = {
    "augment": "planarena.augment:AugmentConfig",
    "bench": "planarena.eval.algorithms.plan:StudyConfig",
    "build": "planarena.config:BuildConfig",
    "eval": "planarena.eval:EvalConfig",
    "export": "planarena.export:ExportOptions",
    "rate": "planarena.eval.rates:RateConfig",
    "train": "planarena.trainers.config:TrainConfig",
}
_NEEDED = {
    "augment": {"run": "r", "out": "o"},
    "eval": {"suites": ["planarena"], "out": "o", "responses": "gold"},
    "rate": {"run": "r", "model": "m"},
}


def _struct(command: str) -> type[msgspec.Struct]:
    module, _, name = _COMMANDS[command].partition(":")
    found: type[msgspec.Struct] = getattr(import_module(module), name)
    return found


def _settings(command: str) -> tuple[Setting, ...]:
    found: tuple[Setting, ...] = import_module(f"planarena.cli.{command}")._SETTINGS
    return found


def _field(kind: Any, path: str) -> tuple[Any, Any]:
    *parents, last = path.split(".")
    for parent in parents:
        kind = next(one.type for one in msgspec.structs.fields(kind) if one.name == parent)
    return kind, next(one for one in msgspec.structs.fields(kind) if one.name == last)


def _value(config: Any, path: str) -> Any:
    for name in path.split("."):
        config = getattr(config, name)
    return config


def _example(setting: Setting, kind: Any) -> tuple[list[str], Any]:
    """Return words of a command line that set a field to something else than its default, and that value."""
    _, field = _field(kind, setting.path)
    inner = _options._present(field.type)
    if inner is bool:
        value = not field.default
        return [setting.name if value else f"--no-{setting.name.removeprefix('--')}"], value
    if get_origin(inner) is Literal:
        value = next(one for one in get_args(inner) if one != field.default)
        return [setting.name, value], value
    if get_origin(inner) is dict:
        return [setting.name, "planarena=here"], {"planarena": "here"}
    if get_origin(inner) is tuple:
        words = {"kinds": ("missing", "noisy")}.get(setting.path, ("a", "b"))
        return ([setting.name, ",".join(words)] if setting.listed else [setting.name, words[0]]), (
            words if setting.listed else words[:1]
        )
    if inner is str:
        return [setting.name, "some"], "some"
    return [setting.name, "3"], 3


@pytest.mark.parametrize("command", sorted(_COMMANDS))
def test_every_option_sets_its_field(command: str) -> None:
    kind = _struct(command)
    for setting in _settings(command):
        words, wanted = _example(setting, kind)
        seen: list[Given] = []

        app = _one_command(with_settings(kind, [setting], "a=b")(_keeping(seen)))
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, (setting, result.output)
        also = dict(_NEEDED.get(command, {}))
        if setting.path == "model":
            also.pop("responses", None)  # the one takes the place of the other
        config = seen[0].load(kind, also=also)
        assert _value(config, setting.path) == wanted, setting


def _keeping(seen: list[Given]) -> Any:
    def run(*, given: Given) -> None:
        """Run."""
        seen.append(given)

    return run


def _one_command(function: Any) -> Any:
    import typer

    app = typer.Typer(add_completion=False)
    app.command()(function)
    return app


@pytest.mark.parametrize("command", sorted(_COMMANDS))
def test_the_help_says_what_the_struct_says(command: str) -> None:
    module = import_module(f"planarena.cli.{command}")
    name = {"bench": "algorithms", "eval": "evaluate"}.get(command, command)
    helps = {
        option: parameter.help
        for parameter in get_command(_one_command(getattr(module, name))).params
        for option in getattr(parameter, "opts", ())
    }
    kind = _struct(command)
    for setting in _settings(command):
        owner, field = _field(kind, setting.path)
        about = attribute_docs(owner)[field.name].replace("`", "")
        shown = helps[setting.name]
        assert about.startswith(re.sub(r" \[default: .*\]$", "", shown)), setting
        plain = isinstance(field.default, int | float | str) and not isinstance(field.default, bool)
        assert ("[default: " in shown) == (plain and field.default != ""), shown


def test_every_attribute_of_every_struct_that_has_options_is_documented() -> None:
    def structs(kind: Any) -> set[Any]:
        found = {kind}
        for field in msgspec.structs.fields(kind):
            inner = _options._present(field.type)
            if inspect.isclass(inner) and issubclass(inner, msgspec.Struct):
                found |= structs(inner)
        return found

    for command in _COMMANDS:
        for kind in structs(_struct(command)):
            missing = {field.name for field in msgspec.structs.fields(kind)} - set(attribute_docs(kind))
            inner = {
                field.name
                for field in msgspec.structs.fields(kind)
                if inspect.isclass(_options._present(field.type))
                and issubclass(_options._present(field.type), msgspec.Struct)
            }
            assert missing <= inner, (kind, missing)


def test_set_wins_over_an_option_and_an_option_over_what_the_command_adds(tmp_path: Any) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("seed: 1\ncomposition: {max_depth: 4, budget: 9}\n")
    given = Given(
        {"seed": 2, "composition": {"max_depth": 5}}, file, ["composition.max_depth=6", "trajectories=7"]
    )
    read = given.load(BuildConfig, preset={"seed": 0, "scenarios": 8}, also={"seed": 3, "out": "run"})
    assert (read.seed, read.trajectories, read.scenarios, read.out) == (2, 7, 8, "run")
    assert (read.composition.max_depth, read.composition.budget) == (6, 9)


def test_pairs_that_are_none_say_what_to_write() -> None:
    setting = Setting("contamination", "--against", "NAME=PATH")
    option = _options._option_of(BuildConfig, setting)
    assert option.read(["a=b=c"]) == {"a": "b=c"}
    for wrong in ("a", "=b", "a="):
        with pytest.raises(ConfigError, match=r"is not NAME=PATH(.|\n)*--against name=FOLDER"):
            option.read([wrong])


def test_attributes_are_read_over_several_lines() -> None:
    docs = attribute_docs(CompositionConfig)
    assert docs["max_actions"] == "Most actions of a task, N <= 7 [paper]."
    assert list(docs) == [field.name for field in msgspec.structs.fields(CompositionConfig)]
    assert "\n" not in attribute_docs(BuildConfig)["scenarios"]
