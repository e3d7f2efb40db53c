"""The rules of a suite of one's own: what makes an output right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from planarena.environments import Limits, ReplyError, Worker, WorkerDiedError, WorkerTimeoutError
from planarena.errors import UserError
from planarena.formats import Call
from planarena.records import CanonicalError, canonical_json

if TYPE_CHECKING:
    from planarena.eval.own import OwnSuite

__all__ = ["Rule", "open_rule"]

_SERVICE = Path(__file__).with_name("_own_service.py")
_LIMITS = Limits(memory_bytes=1 << 30, scratch_bytes=16 << 20, file_bytes=4 << 20, processes=8)


class Rule(Protocol):
    """Judges one output."""

    sandbox: str

    def judge(self, item: Mapping[str, Any], said: str, calls: Sequence[Call]) -> tuple[bool, str, str]:
        """Return the verdict, the reason and the detail."""


@contextmanager
def open_rule(about: OwnSuite, folder: Path, unsafe_no_sandbox: bool) -> Iterator[Rule]:
    """Open a suite's rule.

    Raises:
        UserError: There is no scorer.py, or no environment is named.
        EnvironmentUnavailableError: The rule needs the sandbox, and there is none.
    """
    if about.rule == "calls":
        yield _Calls(about.order)
    elif about.rule == "state":
        yield from _open_state(about, folder, unsafe_no_sandbox)
    else:
        scorer = folder / "scorer.py"
        if about.rule == "python" and not scorer.is_file():
            raise UserError(
                "has no scorer.py", where=str(folder), fix="write one: planarena eval new PATH shows it"
            )
        worker = Worker(
            _SERVICE, readable=[folder.absolute()], limits=_LIMITS, unsafe_no_sandbox=unsafe_no_sandbox
        )
        try:
            yield _Sandboxed(about, scorer.absolute(), worker)
        finally:
            worker.close()


def _open_state(about: OwnSuite, folder: Path, unsafe_no_sandbox: bool) -> Iterator[Rule]:
    """Open the environment of final states: a built-in domain, or a folder of its own, which runs in the sandbox."""
    if not about.environment.startswith("env:"):
        yield _State(about, folder)
        return
    from planarena.environments.catalog import unit_names
    from planarena.environments.sources.opening import OpenSources, allow, using
    from planarena.environments.sources.source import SourceOptions

    place = Path(about.environment.removeprefix("env:")).expanduser()
    place = place if place.is_absolute() or not (folder / place).is_dir() else folder / place
    sources = OpenSources()
    try:
        with using(sources):
            allow(SourceOptions(unsafe_no_sandbox=unsafe_no_sandbox))
            (unit,) = unit_names(f"env:{place.absolute()}")
            yield _State(about, folder, unit, "unsafe" if unsafe_no_sandbox else "bubblewrap")
    finally:
        sources.close()


def _keys(calls: Sequence[Call]) -> list[str] | None:
    try:
        return [canonical_json([call.name, call.arguments]) for call in calls]
    except CanonicalError:
        return None


def _expected(item: Mapping[str, Any]) -> list[Call]:
    return [Call(str(one["name"]), dict(one["arguments"])) for one in item["expected"]]


class _Calls:
    sandbox = ""

    def __init__(self, order: str) -> None:
        self._order = order

    def judge(self, item: Mapping[str, Any], said: str, calls: Sequence[Call]) -> tuple[bool, str, str]:
        del said
        wanted, given = _keys(_expected(item)), _keys(calls)
        if given is None or wanted is None:
            return False, "arguments that are no JSON", ""
        if given == wanted or (self._order == "any" and sorted(given) == sorted(wanted)):
            return True, "", ""
        if not given:
            return False, "no call", ""
        if sorted(given) == sorted(wanted):
            return False, "another order", ""
        lacking = [one for one in wanted if one not in given]
        beside = [one for one in given if one not in wanted]
        names = {call.name for call in calls} == {call.name for call in _expected(item)}
        detail = f"lacking {', '.join(lacking) or 'none'}; beside them {', '.join(beside) or 'none'}"
        return False, "wrong arguments" if names else "wrong tools", detail


class _State:
    """Final states are compared by their digest; every item begins anew."""

    def __init__(self, about: OwnSuite, folder: Path, unit: str = "", sandbox: str = "") -> None:
        self.sandbox = sandbox
        if not about.environment:
            raise UserError(
                "names no environment",
                where=str(folder / "suite.yaml"),
                fix="environment: env:PATH, or a built-in domain",
            )
        self._name = unit or about.environment.removeprefix("builtin:")

    def judge(self, item: Mapping[str, Any], said: str, calls: Sequence[Call]) -> tuple[bool, str, str]:
        del said
        wanted, faults = self._end(item, _expected(item))
        if faults:
            raise UserError(
                f"the expected calls of {item['id']!r} fail: {faults[0]}",
                where="items.jsonl",
                fix="correct expected",
            )
        reached, faults = self._end(item, calls)
        if reached == wanted:
            return True, "", ""
        reason = "no call" if not calls else "an error, and another state" if faults else "another state"
        return False, reason, "; ".join(faults)

    def _end(self, item: Mapping[str, Any], calls: Sequence[Call]) -> tuple[str, list[str]]:
        from planarena.episodes import Episode

        world = _world(self._name, item)
        episode, faults = Episode(world), []
        offered = {call.name for call in calls}
        for call in calls:
            outcome = episode.attempt(call.name, call.arguments, offered)
            if outcome.status != "ok":
                faults.append(f"{call.name}: {(outcome.error or {}).get('message', outcome.status)}")
        return str(world.digest()), faults


def _world(name: str, item: Mapping[str, Any]) -> Any:
    """The one place where a world is made: of a built-in domain, or of a folder's unit as `_open_state` names it."""
    from planarena.environments.catalog import restore_world

    return restore_world([name], item.get("tables") or {}, item.get("facts") or {})


class _Sandboxed:
    """A Python scorer, or a regular expression, whose matching may take any time."""

    def __init__(self, about: OwnSuite, scorer: Path, worker: Worker) -> None:
        self._about, self._scorer, self._worker = about, scorer, worker
        self.sandbox = worker.kind

    def judge(self, item: Mapping[str, Any], said: str, calls: Sequence[Call]) -> tuple[bool, str, str]:
        request: dict[str, Any] = {"item": dict(item), "output": said[:1_000_000]}
        if self._about.rule == "python":
            request["scorer"] = str(self._scorer)
            request["calls"] = [{"name": call.name, "arguments": call.arguments} for call in calls]
        try:
            correct, reason = self._worker.call(self._about.rule, request, seconds=self._about.seconds)
        except WorkerTimeoutError:
            return False, "limit:time", f"took longer than {self._about.seconds:g} seconds"
        except (WorkerDiedError, ReplyError) as error:
            return False, "scorer_error", str(error)
        return bool(correct), "" if correct else str(reason)[:80], str(reason)
