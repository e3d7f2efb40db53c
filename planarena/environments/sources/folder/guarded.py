"""A world of an environment that nobody vouches for: whatever goes wrong in a tool is a failed call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planarena.environments.sources.session_world import failure, make_outcome
from planarena.environments.world import Outcome, World

__all__ = ["GuardedWorld"]


class GuardedWorld(World):
    """A world whose tools may fail in ways that were not foreseen: that is a failed call, not the build's end."""

    def _run(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        mark = self.store.mark()
        try:
            outcome = super()._run(name, arguments)
            if outcome.status == "ok":
                outcome = make_outcome(outcome.result)
            self.store.digest()  # what cannot be hashed cannot be a record
        except (Exception, SystemExit) as error:
            outcome = failure("tool_error", type(error).__name__, str(error))
        if outcome.status != "ok":
            self.store.rollback(mark)
        return outcome
