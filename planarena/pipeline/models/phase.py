"""The phase that asks models: in the parent, for the tasks that are kept, beside the workers.

Calls are bounded by the gateway and by the number of tasks under way. What models gave for a chunk is one product,
written whole; until then every answer lies in the gateway's cache, so that nothing received is paid for twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

import msgspec

from planarena.config import BuildConfig, ModelsConfig
from planarena.data import load_yaml
from planarena.environments.catalog import operations_of, wording_of
from planarena.formats import Call
from planarena.generate.model_brief import TaskBrief
from planarena.generate.model_records import UNJUDGED, Failure, Written
from planarena.generate.model_writer import Choice, Meter, TaskWriter
from planarena.llm import Budget, LLMError, ModelConfig, Spent, SyncGateway, read_model
from planarena.pipeline.execute.chunk import execute_chunk
from planarena.pipeline.execute.scenarios import rng_for
from planarena.pipeline.language.chosen import contrast_all
from planarena.pipeline.language.describe import describe_chunk, reported_in, steps_of
from planarena.pipeline.models.round_trip import RoundTrip
from planarena.pipeline.models.user import is_written, play_user, plays_user
from planarena.pipeline.products import (
    Assignment,
    Candidate,
    Discard,
    Executed,
    ExecutedChunk,
    ExecutedScenario,
    Language,
    LanguageChunk,
    ModelChunk,
    PhaseKeys,
    ProductStore,
)

__all__ = ["ModelPhase", "brief_of", "choices_of", "models_of", "with_plain_names"]

# A proposed trajectory may be so much longer than the longest task [ours].
_SPARE_CALLS = 3
# Failures without an answer: the same request may be made again. Answers are kept, only another sample asks again.
_NO_ANSWER = frozenset({"timeout", "dropped", "server_error", "rate_limited", "circuit_open", UNJUDGED})
_POLL = 0.5


class _ClosingError(Exception):
    """The build is being stopped: nothing more is asked."""


def models_of(config: BuildConfig) -> list[ModelConfig]:
    """Return the models of a build with the limits that its configuration sets.

    Raises:
        ConfigError: A name that is none.
    """
    calls = config.execution.calls
    return [
        msgspec.structs.replace(
            model,
            concurrency=calls.concurrency,
            requests_per_minute=calls.requests_per_minute,
            tokens_per_minute=calls.tokens_per_minute,
            timeout=calls.timeout,
            attempts=calls.attempts,
            price=calls.price,
        )
        for model in {read_model(name).name: read_model(name) for name in _names(config.models)}.values()
    ]


def with_plain_names(config: ModelsConfig) -> ModelsConfig:
    """Return the choice of models by the names that requests, tables and accounts have: without the keys' variables."""
    names = [read_model(name).name for name in config.proposers]
    judge = read_model(config.judge).name if config.judge else ""
    solver = read_model(config.round_trip).name if config.round_trip else ""
    user = read_model(config.user).name if config.user else ""
    return msgspec.structs.replace(
        config, proposers=tuple(dict.fromkeys(names)), judge=judge, round_trip=solver, user=user
    )


def _names(config: ModelsConfig) -> tuple[str, ...]:
    return (*config.proposers, *(name for name in (config.judge, config.round_trip, config.user) if name))


class Accounts(Protocol):
    """Where a build records what it asked and paid for."""

    def paid(self) -> tuple[int, int, float]:
        """Return the calls, tokens and USD that all commands on this run paid for."""

    def add_calls(self, rows: Iterable[tuple[str, str, int, int, float | None]]) -> None:
        """Record answers paid for, `(call_id, model, prompt_tokens, completion_tokens, usd)`."""

    def set_failures(self, chunk: int, rows: Iterable[tuple[int, int, str, str, str, str]]) -> None:
        """Record a chunk's requests that gave nothing of use."""


class ModelPhase:
    """Asks models for the kept tasks of chunks, several chunks at a time where they are small.

    Args:
        config: The build.
        keys: Its phases' keys.
        root: The run directory.
        accounts: Where calls and failures are recorded; used by the caller's thread alone.
    """

    def __init__(self, config: BuildConfig, keys: PhaseKeys, root: Path, accounts: Accounts) -> None:
        self._config, self._store, self._accounts = config, ProductStore(root, keys), accounts
        self._models = with_plain_names(config.models)
        calls = config.execution.calls
        models = models_of(config)
        budget = Budget(usd=calls.budget_usd, tokens=calls.budget_tokens, calls=calls.budget_calls)
        self._gateway = SyncGateway(models, budget=budget, spent=Spent(*accounts.paid()))
        # Twice as many tasks as calls: some wait for their next call to be written.
        self._slots = asyncio.Semaphore(2 * sum(model.concurrency for model in models))
        self._turn = asyncio.Lock()
        self._done: SimpleQueue[tuple[int, Future[ModelChunk]]] = SimpleQueue()
        self._stop: Exception | None = None
        self.under_way = 0

    def put(
        self, chunk: int, kept: Collection[int], assignment: Assignment | None = None, *, again: bool = False
    ) -> None:
        """Have a chunk written.

        Args:
            chunk: Its number; its other products are on disk.
            kept: Which of its items are kept, numbered through.
            assignment: Where quotas had it draw from.
            again: Ask again for what failed before.
        """
        self.under_way += 1
        future = self._gateway.submit(self._write(chunk, kept, assignment, again))
        future.add_done_callback(lambda done: self._done.put((chunk, done)))

    def ready(self, *, wait: bool = False) -> list[int]:
        """Return the chunks written since the last time.

        Args:
            wait: Wait for one, if any is under way.

        Raises:
            LLMError: One that stops everything; every call that was under way has been heard out.
        """
        found: list[int] = []
        while self.under_way:
            try:
                chunk, done = self._done.get(timeout=_POLL if wait and not found else 0)
            except Empty:
                self._record_calls()
                if wait and not found:
                    continue
                break
            self.under_way -= 1
            if error := done.exception():
                self._hear_out()
                raise error
            self._accounts.set_failures(chunk, _failures(done.result()))
            found.append(chunk)
        self._record_calls()
        return found

    def _hear_out(self) -> None:
        while self.under_way:
            self._done.get()
            self.under_way -= 1
        self._record_calls()

    def _record_calls(self) -> None:
        if self._gateway.gateway.calls:
            self._accounts.add_calls(call.row() for call in self._gateway.drain_calls())

    def close(self) -> None:
        """Ask nothing more, hear out what was sent, and record it."""
        self._stop = self._stop or _ClosingError()
        self._gateway.close()
        self._record_calls()

    # -- in the gateway's loop -----------------------------------------------------------------

    def _check(self) -> None:
        if self._stop is not None:
            raise self._stop.with_traceback(None)

    async def _write(
        self, chunk: int, kept: Collection[int], assignment: Assignment | None, again: bool
    ) -> ModelChunk:
        tasks: list[asyncio.Task[Written]] = []
        # Chunks start one after the other: the next is read when every task of this one has started.
        async with self._turn:
            self._check()
            executed, language, stored = await asyncio.to_thread(self._load, chunk, assignment)
            known = {(one.scenario, one.item): one for one in stored.items} if stored is not None else {}
            for scenario, item in _places(language, kept, self._models):
                before = known.get((scenario, item))
                await self._slots.acquire()
                work = self._task(executed.scenarios[scenario], language, (scenario, item), before, again)
                tasks.append(asyncio.create_task(work))
        done = await asyncio.gather(*tasks, return_exceptions=True)
        failed = [one for one in done if isinstance(one, BaseException)]
        if failed:
            # Of several, the one that began it; the others were told to stop.
            raise self._stop or failed[0]
        product = ModelChunk(chunk, tuple(one for one in done if isinstance(one, Written)))
        if product != stored:
            await asyncio.to_thread(self._store.save, "models", chunk, product)
        return product

    def _load(
        self, chunk: int, assignment: Assignment | None
    ) -> tuple[ExecutedChunk, LanguageChunk, ModelChunk | None]:
        stored = self._store.load("models", chunk, ModelChunk)
        executed = self._store.load("execute", chunk, ExecutedChunk)
        language = self._store.load("language", chunk, LanguageChunk)
        if executed is None or language is None:
            # A worker has them in memory alone, because work/ was deleted.
            executed = execute_chunk(self._config, chunk, self._config.scenarios or None, assignment)
            language = describe_chunk(self._config, executed, contrast=False)
        return executed, contrast_all(self._config, executed, language), stored

    async def _task(
        self,
        scenario: ExecutedScenario,
        language: LanguageChunk,
        place: tuple[int, int],
        before: Written | None,
        again: bool,
    ) -> Written:
        try:
            self._check()
            if before is not None and not (again and before.failures):
                return before
            task, said = scenario.items[place[1]], language.items[place[0]][place[1]]
            assert not isinstance(task, Discard)
            assert not isinstance(said, Discard)
            brief = brief_of(self._config, scenario, task, said)
            identity = f"{scenario.scenario_id} {task.expression} {[step.bound for step in task.steps]}"
            meter = Meter(self._gateway.gateway, self._check)
            writer = TaskWriter(meter, self._models, brief, identity, _samples(before))
            if self._models.round_trip:
                writer.serve = RoundTrip(scenario, task, brief).serve
            written = Written(*place)
            if is_written(said):
                written = await writer.write(*place, choices_of(task, said, brief))
            if plays_user(self._models, said):
                written = await play_user(writer, written, said)
            return written
        except LLMError as error:
            self._stop = self._stop or error
            raise
        except (_ClosingError, asyncio.CancelledError):
            raise
        except Exception as error:
            # As a scenario that fails: one answer nobody thought of must not lose a build that was paid for.
            kind = type(error).__name__
            return Written(*place, failures=(Failure("task", "", kind, str(error)[:500]),), requests=1)
        finally:
            self._slots.release()


def _places(language: LanguageChunk, kept: Collection[int], models: ModelsConfig) -> list[tuple[int, int]]:
    places = [(number, item) for number, words in enumerate(language.items) for item in range(len(words))]
    return [
        places[one]
        for one in kept
        if not isinstance(words := language.items[places[one][0]][places[one][1]], Language)
        or is_written(words)
        or plays_user(models, words)
    ]


def _samples(before: Written | None) -> dict[tuple[str, str], int]:
    """Return which sample to ask for now: the next one where the last answer is kept and cannot be used."""
    if before is None:
        return {}
    return {(one.part, one.model): one.sample + (one.kind not in _NO_ANSWER) for one in before.failures}


def _failures(product: ModelChunk) -> Iterator[tuple[int, int, str, str, str, str]]:
    for one in product.items:
        for failure in one.failures:
            yield one.scenario, one.item, failure.part, failure.model, failure.kind, failure.detail


def brief_of(config: BuildConfig, scenario: ExecutedScenario, task: Executed, said: Language) -> TaskBrief:
    """Return what a model is given of a task."""
    operations = {name: op for domain in scenario.domains for name, op in operations_of(domain).items()}
    wording = {name: words for domain in scenario.domains for name, words in wording_of(domain).items()}
    steps = steps_of(scenario, task, operations, wording)
    # The same task has the same speaker, however it came to be.
    who = rng_for(config.seed, "persona", scenario.scenario_id, task.expression)
    people = load_yaml("prompts/people.yaml")
    return TaskBrief(
        steps=steps,
        before=task.before,
        order_edges=task.order_edges,
        groups=[step.group for step in task.steps],
        tools={name: operations[name].tool for name in scenario.tools},
        facts=scenario.facts,
        told=said.context,
        register=said.register,
        turns=said.turns,
        turn_of=said.turn_of,
        plan=said.plan,
        reported=[reported_in(task, turn) for turn in range(len(said.turns))],
        most_calls=config.composition.max_actions + _SPARE_CALLS,
        persona=who.choice(people["personas"]),
        motive=who.choice(people["motives"]),
        scenario=f"{scenario.title}. {scenario.description}",
    )


def choices_of(task: Executed, said: Language, brief: TaskBrief) -> list[list[Choice]]:
    """Return the choices at each step that a judge compares, the gold one first."""
    if said.contrast is not None:
        return [[_choice(one) for one in point] for point in said.contrast.points[: len(task.steps)]]
    return [
        [Choice((Call(step.operation.tool.wire_name, step.arguments),))]
        for step in brief.steps[: len(task.steps)]
    ]


def _choice(candidate: Candidate) -> Choice:
    calls = [Call(candidate.tool, candidate.arguments)] if candidate.tool else []
    if candidate.beside is not None:
        calls.append(Call(*candidate.beside))
    return Choice(tuple(calls), candidate.response)
