"""One exception tree: what went wrong, where, and what to write instead."""

from __future__ import annotations

__all__ = [
    "ConfigError",
    "EnvironmentUnavailableError",
    "Interrupted",
    "PlanArenaError",
    "RunError",
    "SandboxError",
    "SchemaError",
    "SourceError",
    "UserError",
]


class PlanArenaError(Exception):
    """Base of every error that planarena raises on purpose; the command line exits 1 on it."""

    exit_code = 1


class UserError(PlanArenaError):
    """A mistake that the user can mend; the command line prints it as one message and exits 2.

    Args:
        what: What is wrong, in one clause.
        where: The file, option or row it concerns.
        fix: What to write or do instead.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        super().__init__(what, where, fix)

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  fix: {self.fix}" if self.fix else head


class ConfigError(UserError):
    """A configuration file, key or value that cannot be used."""


class SourceError(UserError):
    """A tool source that cannot be read."""


class SchemaError(UserError):
    """A JSON Schema that does not compile, or that points outside its own document."""


class RunError(UserError):
    """A run directory that does not fit: another version, another configuration, not a run."""


class EnvironmentUnavailableError(UserError):
    """A managed environment or a system program that is absent and cannot be had."""


class SandboxError(PlanArenaError):
    """The sandbox broke its contract; nothing was executed outside it."""


class Interrupted(PlanArenaError):  # noqa: N818  an event, not a fault
    """Ctrl-C or a termination signal: work done so far is kept and can be continued."""

    exit_code = 130
