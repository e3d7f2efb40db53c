"""Queries by models: inferred, checked for what they state, read by a judge, and served by another model unseen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from planarena.generate.model_actions import check_actions, read_actions
from planarena.generate.model_checks import check_written_query
from planarena.generate.model_records import KEPT, UNJUDGED, Failure
from planarena.generate.model_requests import build_turn, judge_of, proposer_of
from planarena.generate.model_texts import TextFaultError
from planarena.llm import Answer, LLMError

if TYPE_CHECKING:
    from planarena.generate.model_writer import TaskWriter

__all__ = ["Query", "QueryWriter", "Serve", "Trip", "Turn"]

# The conversation so far and the tools on offer -> the model's next action.
Turn = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], Awaitable[Answer]]


class Trip(NamedTuple):
    """How a model fared that served a query unseen.

    Attributes:
        verdict: `reached`, `missed`, or `not_run` where nothing may be executed.
        calls: `{tool, arguments, status}` of each call that it made.
        detail: The evidence.
        call_id: Of its last answer.
    """

    verdict: str
    calls: list[dict[str, Any]]
    detail: str
    call_id: str = ""


# Serves a query in the environment from its initial state.
Serve = Callable[[Sequence[str], Turn], Awaitable[Trip]]


class Query(NamedTuple):
    """A query that was accepted, with the checks that it passed."""

    turns: list[str]
    checks: dict[str, Any]


class QueryWriter:
    """Infers queries for one task and accepts the best that asks for it and for nothing else (DUPO section 3.1).

    Args:
        task: Asks, notes and counts.
        serve: The round trip; None for none.
    """

    def __init__(self, task: TaskWriter, serve: Serve | None) -> None:
        self._task, self._serve = task, serve
        self._config, self._brief = task.config, task.brief

    async def infer(self) -> Query | None:
        """Return the query that is kept, or None where none passed, asked twice."""
        model = proposer_of(self._config, self._task.identity)

        async def read(answer: Answer) -> Query:
            return await self._choose(model, answer)

        material = self._brief.for_query(self._config.queries)
        found: tuple[Answer, Query] | None = await self._task.ask("query", model, material, read)
        return None if found is None else found[1]

    async def _choose(self, model: str, answer: Answer) -> Query:
        versions: list[list[str]] = answer.value["versions"][: self._config.queries]
        noted: list[tuple[list[str], str, str]] = []
        good: list[tuple[float, int, dict[str, Any]]] = []
        fault: TextFaultError | None = None
        for place, version in enumerate(versions):
            try:
                turns, checks, score = check_written_query(self._brief, version)
            except TextFaultError as error:
                fault = fault or error
                noted.append((version, error.reason, error.detail))
            else:
                good.append((-score, place, checks))
                noted.append((turns, "not_best", f"score {score:.3f}"))
        kept: Query | None = None
        # The best is read first, and the next only where it is refused: most tasks take one look.
        for _, place, checks in sorted(good, key=lambda one: one[:2]):
            turns, _, detail = noted[place]
            try:
                passed = await self._accept(turns)
            except TextFaultError as error:
                fault = error
                noted[place] = turns, error.reason, error.detail
                continue
            kept, noted[place] = Query(turns, {**checks, **passed}), (turns, KEPT, detail)
            break
        for turns, verdict, detail in noted:
            self._task.note("query", model, answer, turns, verdict, detail)
        if kept is None:
            assert fault is not None
            raise fault
        return kept

    async def _accept(self, turns: list[str]) -> dict[str, Any]:
        """Have a query read and served.

        Returns:
            What it passed.

        Raises:
            TextFaultError: An action is missing, forbidden or added; the round trip missed; or nobody could tell.
        """
        judge = judge_of(self._config, self._task.identity)

        def read(answer: Answer) -> list[dict[str, Any]]:
            return read_actions(turns, answer.value["actions"])

        found = await self._task.ask("actions", judge, self._brief.for_actions(turns), read)
        if found is None:
            raise TextFaultError(UNJUDGED, f"{judge} gave no list of the actions that it asks for")
        answer, listed = found
        content = {"query": turns, "actions": listed}
        try:
            check_actions(self._brief, listed)
        except TextFaultError as error:
            self._task.note("actions", judge, answer, content, error.reason, error.detail)
            raise
        self._task.note("actions", judge, answer, content, "agrees")
        passed: dict[str, Any] = {"actions_agree": True}
        if self._serve is not None:
            passed["round_trip"] = await self._round_trip(turns, self._serve)
        return passed

    async def _round_trip(self, turns: list[str], serve: Serve) -> str:
        model = self._config.round_trip
        sample = self._task.samples.get(("round_trip", model), 0)

        async def turn(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Answer:
            request = build_turn(model, messages, tools, self._config, sample)
            return await self._task.meter.complete(request)

        try:
            trip = await serve(turns, turn)
        except LLMError as error:
            if error.stops:
                raise
            self._task.fail(Failure("round_trip", model, error.kind, error.what, sample))
            raise TextFaultError(UNJUDGED, f"{model} could not be had to serve it") from None
        content = {"query": turns, "calls": trip.calls}
        self._task.note("round_trip", model, trip.call_id, content, trip.verdict, trip.detail)
        if trip.verdict == "missed":
            raise TextFaultError("round_trip_missed", trip.detail)
        return trip.verdict
