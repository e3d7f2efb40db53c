"""Many drafts at a time, over one gateway with one budget; what is done is not done again."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import msgspec

from planarena.drafting.drafter import Drafter
from planarena.drafting.report import DraftReport, read_report, write_report
from planarena.drafting.settings import DraftConfig, names_of
from planarena.errors import Interrupted, RunError, UserError
from planarena.llm import Answer, LLMError, Request, Spent, SyncGateway, read_model

__all__ = ["draft_all"]

_FOLDER = ".draft"
_PAID = "paid.jsonl"


def draft_all(
    config: DraftConfig, progress: Callable[[DraftReport], None] = lambda _: None
) -> tuple[list[DraftReport], Spent]:
    """Draft an environment for each topic.

    Those that pass lie in `config.out` as folders; what became of each stands in `NAME.draft.json` beside them. Answers
    are kept in `config.out/.draft`, so that a draft that was interrupted goes on and pays for nothing twice.

    Args:
        config: The settings.
        progress: Given each report as it is done.

    Returns:
        The reports in the order of the topics, and what was spent over this folder in all.

    Raises:
        UserError: Bad settings, a folder that does not fit; the budget is spent, no key, no server.
        EnvironmentUnavailableError: There is no way to sandbox here.
        Interrupted: Ctrl-C; the same call goes on.
    """
    config.check()
    root = Path(config.out)
    names = names_of(config.topics)
    with _locked(root):
        _check_names(root, names, config.topics)
        purse = _Purse(root / _FOLDER / _PAID)
        model = msgspec.structs.replace(
            read_model(config.model), timeout=config.timeout, attempts=config.attempts
        )
        with SyncGateway(
            [model], budget=config.budget, spent=purse.spent(), cache=root / _FOLDER / "answers.sqlite"
        ) as gateway:

            def ask(request: Request) -> Answer:
                try:
                    return gateway.complete(request)
                finally:
                    purse.note(gateway)

            reports = _draft(config, names, ask, progress)
            spent = gateway.spent
    return reports, spent


def _draft(
    config: DraftConfig,
    names: list[str],
    ask: Callable[[Request], Answer],
    progress: Callable[[DraftReport], None],
) -> list[DraftReport]:
    root = Path(config.out)
    stop = threading.Event()

    def one(topic: str, name: str) -> DraftReport | None:
        if stop.is_set():
            return None
        file = root / f"{name}.draft.json"
        before = read_report(file)
        sample = 0
        if before is not None and before.model == config.model:
            again = before.status == "given_up" and config.retry_failed
            # A model that could not be asked says nothing of the draft: it is asked again.
            unasked = before.status == "given_up" and bool(before.parts and before.parts[-1].fault)
            whole = before.status == "given_up" or Path(before.folder).is_dir()
            if whole and not again and not unasked:
                return before
            sample = before.sample + again
        try:
            report = Drafter(config, topic, name, ask, sample).draft()
        except BaseException:
            stop.set()  # what stops one stops all: the budget, the server, the sandbox
            raise
        write_report(file, report)
        progress(report)
        return report

    pool = ThreadPoolExecutor(min(config.workers, len(names)))
    try:
        futures = [pool.submit(one, topic, name) for topic, name in zip(config.topics, names, strict=True)]
        found, fault = [], None
        for future in futures:
            try:
                report = future.result()
            except (LLMError, UserError) as error:
                fault = fault or error
                continue
            if report is not None:
                found.append(report)
        if fault is not None:
            raise fault
        return found
    except KeyboardInterrupt:
        stop.set()
        raise Interrupted(f"stopped; run the same command again to go on ({root})") from None
    finally:
        pool.shutdown(wait=not stop.is_set(), cancel_futures=True)


def _check_names(root: Path, names: list[str], topics: tuple[str, ...]) -> None:
    """Refuse to write over a folder that is no draft of the same topic."""
    for name, topic in zip(names, topics, strict=True):
        report = read_report(root / f"{name}.draft.json")
        if report is not None and report.topic != topic:
            raise RunError(
                f"holds a draft of another topic as {name}: {report.topic[:80]}",
                where=str(root),
                fix="give another --out",
            )
        if report is None and (root / name).exists():
            raise RunError(f"holds {name} already", where=str(root), fix="give another --out, or remove it")


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Keep other drafts out of the folder; the lock goes with the process, however it ends."""
    folder = root / _FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / "lock").open("wb")
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror}", where=str(root), fix="give another --out"
        ) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(
                "another process is drafting here", where=str(root), fix="wait for it, or give another --out"
            ) from None
        yield


class _Purse:
    """What was paid over a folder, answer by answer, for the budget of the next call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def spent(self) -> Spent:
        """Return the sum; a line that a killed process left unfinished is left out."""
        total = Spent()
        if self._path.is_file():
            for line in self._path.read_bytes().splitlines():
                try:
                    total += msgspec.json.decode(line, type=Spent)
                except msgspec.DecodeError:
                    continue
        return total

    def note(self, gateway: SyncGateway) -> None:
        """Append what was paid since the last time."""
        with self._lock:
            records = gateway.drain_calls()
            if not records:
                return
            lines = [
                msgspec.json.encode(Spent(1, one.prompt_tokens + one.completion_tokens, one.usd or 0.0))
                for one in records
            ]
            with self._path.open("ab") as sink:
                # A new line first: the one before may be torn.
                sink.write(b"\n" + b"\n".join(lines) + b"\n")
                sink.flush()
                os.fsync(sink.fileno())
