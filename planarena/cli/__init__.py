"""The command line: one thin file per command, imported only when that command runs or its help is asked.

A command lives in `planarena/cli/<name>.py` as a plain function with typer annotations, or as a `typer.Typer`
where it has commands of its own. Its first docstring line is what `planarena <name> --help` shows. It returns
None or its exit code, raises `UserError` for what the user can mend, and takes `--json` where it has results.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from planarena.errors import Interrupted, PlanArenaError, UserError

__all__ = ["app", "main", "plain"]


class _Entry(NamedTuple):
    module: str
    attribute: str
    summary: str


# The order is the order of a person's path, and of `planarena --help`. A row whose module is not installed is
# not shown, so a row may stand before its command does.
COMMANDS = {
    "build": _Entry("planarena.cli.build", "build", "Build executed, proven trajectories from tools."),
    "inspect": _Entry("planarena.cli.inspect", "inspect", "Show a run, or one trajectory as a tree."),
    "export": _Entry("planarena.cli.export", "export", "Write a run as rows for training."),
    "import": _Entry("planarena.cli.import_", "import_", "Turn existing traces and datasets into a run."),
    "augment": _Entry("planarena.cli.augment", "augment", "Make harder variants of a run's trajectories."),
    "rate": _Entry("planarena.cli.rate", "rate", "Measure how often a model does each task of a run."),
    "audit": _Entry("planarena.cli.audit", "app", "Let people judge trajectories, in Argilla or on a sheet."),
    "train": _Entry("planarena.cli.train", "train", "Train a policy with any of the algorithms."),
    "eval": _Entry("planarena.cli.eval", "evaluate", "Score a model or its responses on the benchmarks."),
    "bench": _Entry("planarena.cli.bench", "app", "Train many algorithms from one start and compare them."),
    "report": _Entry("planarena.cli.report", "report", "Write the HTML report of a run, or compare several."),
    "view": _Entry("planarena.cli.view", "view", "Look at runs, trainings and evaluations in the browser."),
    "tools": _Entry("planarena.cli.tools", "app", "List, import, check or call tools."),
    "env": _Entry("planarena.cli.env", "app", "Write, check, show and play environments."),
    "chat": _Entry("planarena.cli.chat", "chat", "Watch a policy at work in an environment, or talk to it."),
    "serve": _Entry("planarena.cli.serve", "app", "Serve environments and policies to other programs."),
    "doctor": _Entry(
        "planarena.cli.doctor", "doctor", "Say what works on this machine and how to get the rest."
    ),
}


def plain(text: str) -> str:
    """Return text that a terminal only prints: control codes and direction marks are written out."""
    from planarena.export.escaping import visible

    return visible(text)


class _LazyGroup(TyperGroup):
    """A group that knows its commands by name and summary, and imports one when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  the signature is typer's
        return [name for name, entry in COMMANDS.items() if _is_installed(entry.module)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.list_commands(ctx):
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the table of commands from their summaries, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].summary) for name in self.list_commands(ctx)])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that was asked for, or name the nearest one."""
        known = self.list_commands(ctx)
        if args[0] in known or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        near = get_close_matches(args[0], known, n=1)
        fix = f"did you mean `planarena {near[0]}`?" if near else f"write one of: {', '.join(known)}"
        raise UserError(f"no such command: {args[0]}", where="planarena", fix=fix)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted("interrupted") from error


class _GroupedCommand(TyperCommand):
    """A command whose help sorts the options by their `rich_help_panel`, in the order in which panels first appear."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then each group of options under its name."""
        groups: dict[str, list[Any]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                panel = "" if is_argument else getattr(parameter, "rich_help_panel", None)
                groups.setdefault("Arguments" if is_argument else panel or "Options", []).append(record)
        # What belongs to no group stands last: printing, help.
        for name in sorted(groups, key=lambda name: (name != "Arguments", name == "Options")):
            with formatter.section(name):
                formatter.write_dl(groups[name])


app = typer.Typer(
    name="planarena",
    cls=_LazyGroup,
    rich_markup_mode=None,  # help and errors quote what users wrote; nothing may read it as markup
    pretty_exceptions_enable=False,
    add_completion=True,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and its commit, and exit.")
    ] = False,
) -> None:
    """Build, audit, train on and evaluate multi-step tool-use data."""
    if version:
        from planarena.version import describe

        typer.echo(f"planarena {describe()}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 user error, 130 interrupted.

    Args:
        arguments: What stands after `planarena`; the process's own arguments by default.

    Returns:
        The exit code. Of a fault of the program itself the traceback goes to a log file that the message names;
        with PLANARENA_TRACEBACK=1 it is raised.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = words[: words.index("--")] if "--" in words else words
    as_json = "--json" in options
    try:
        code = app(args=words, prog_name="planarena", standalone_mode=False)
        sys.stdout.flush()
    except PlanArenaError as error:
        _print_error(error, as_json=as_json)
        return error.exit_code
    except typer.TyperException as error:
        _print_error(_translate(error), as_json=as_json)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _print_error(Interrupted("interrupted"), as_json=as_json)
        return Interrupted.exit_code
    except BrokenPipeError:
        _leave_quietly()
    except OSError as error:
        what = (error.strerror or str(error)).lower()
        _print_error(
            UserError(
                what, where=str(error.filename or "planarena"), fix=_OS_FIXES.get(error.errno or 0, "")
            ),
            as_json=as_json,
        )
        return PlanArenaError.exit_code
    except Exception as error:
        if isinstance(error, ImportError):
            from planarena.cli._extras import explain_missing

            if missing := explain_missing(error, words):
                _print_error(missing, as_json=as_json)
                return missing.exit_code
        if os.environ.get("PLANARENA_TRACEBACK") == "1":
            raise
        from planarena.cli._fault import explain

        explained = explain(error, words)
        _print_error(explained, as_json=as_json)
        return explained.exit_code
    return code if isinstance(code, int) else 0


_OS_FIXES = {
    13: "choose a folder that you may write to",  # EACCES
    28: "free some space and run the same command again; what was done is kept",  # ENOSPC
    30: "choose a folder on a file system that is not read-only",  # EROFS
}


def _leave_quietly() -> NoReturn:
    """End as `head` wants it: the reader has gone, and flushing at exit would complain about it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(PlanArenaError.exit_code)


def _is_installed(module: str) -> bool:
    return module in sys.modules or find_spec(module) is not None


def _load(name: str) -> Any:
    entry = COMMANDS[name]
    target = getattr(import_module(entry.module), entry.attribute)
    if not isinstance(target, typer.Typer):
        single = typer.Typer(rich_markup_mode=None, add_completion=False)
        single.command(name, cls=_GroupedCommand)(target)
        target = single
    target.rich_markup_mode = None
    command = typer.main.get_command(target)
    command.name = name
    return command


def _translate(error: typer.TyperException) -> UserError:
    """Say a parser's complaint in the shape of every other user error."""
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "planarena"
    near = getattr(error, "possibilities", None)
    what = error.format_message() if not near else error.message
    fix = f"did you mean {near[0]}?" if near else f"see `{where} --help`"
    return UserError(what.rstrip("."), where=where, fix=fix)


def _print_error(error: PlanArenaError, *, as_json: bool) -> None:
    if as_json:
        body: dict[str, Any] = {
            "kind": type(error).__name__,
            "message": str(error),
            "exit_code": error.exit_code,
        }
        if isinstance(error, UserError):
            body |= {"what": error.what, "where": error.where, "fix": error.fix}
        typer.echo(json.dumps({"error": body}), err=True)
    else:
        typer.echo(plain(f"error: {error}"), err=True)
