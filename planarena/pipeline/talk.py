"""What happens in a conversation beyond asking and serving, as phases hand it on; see docs/conversations.md."""

from __future__ import annotations

from typing import Any

import msgspec

from planarena.episodes import ExecutedCall, Goal

__all__ = ["Act", "RuleCheck", "Step", "Talk"]


class Step(ExecutedCall, frozen=True, array_like=True):
    """One executed step of a task, in unrolled order.

    Attributes:
        atom: Number of the atom within the scenario.
        group: Number of its generation.
        bound: (argument, source step, JSON pointer) of each data edge into it.
    """

    atom: int
    group: int
    bound: tuple[tuple[str, int, str], ...]

    @classmethod
    def at(cls, call: ExecutedCall, atom: int, group: int, bound: tuple[tuple[str, int, str], ...]) -> Step:
        """Return an executed call as a step of a task."""
        return cls(
            call.tool, call.arguments, call.status, call.result, call.error,
            call.state_before, call.state_after, atom, group, bound,
        )  # fmt: skip


class Act(msgspec.Struct, frozen=True, array_like=True):
    """What a message does beyond asking for its steps: see `docs/conversations.md`.

    Attributes:
        turn: The message.
        what: `lacks`, `gives` and so on; what the other fields mean depends on it.
        step: The step that it is about.
        argument: The argument that it is about.
        value: A value that is said and does not hold; of what `fails`, whether a look-up before it had shown otherwise.
    """

    turn: int
    what: str
    step: int = -1
    argument: str = ""
    value: Any = None


class RuleCheck(msgspec.Struct, frozen=True):
    """What a rule of the system message checks of a call: see `planarena.environments.policies.Policy`."""

    tool: str
    demands: str
    argument: str = ""
    limit: Any = None
    exact: bool = False


class Talk(msgspec.Struct, frozen=True, array_like=True):
    """What happens in a conversation.

    Attributes:
        kind: Its kind; empty for a plain one.
        acts: What its messages do, in their order.
        turns: The number of messages; 0 where the steps say it.
        goals: By message the goal of all that was asked for up to it, where the last one does not say it.
        unmade: Calls that a message asks for and that are not made, numbered behind the steps; executed once to see
            that the environment would carry them out.
        rules: The rules that the context states.
    """

    kind: str = ""
    acts: tuple[Act, ...] = ()
    turns: int = 0
    goals: tuple[Goal, ...] = ()
    unmade: tuple[Step, ...] = ()
    rules: tuple[RuleCheck, ...] = ()

    def at(self, turn: int, *what: str) -> Act | None:
        """Return what a message does, if it is one of these."""
        return next((act for act in self.acts if act.turn == turn and act.what in what), None)
