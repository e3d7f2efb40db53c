"""Driving dialogues: each item is a generator that yields what to ask and is sent the reply, until it has an output.

Calls to the policy run beside each other as far as it takes them. What is answered already is not asked again.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from planarena.bench import Asked, Policy, Reply
from planarena.eval.models.journal import Journal
from planarena.eval.responses import Response, Responses, count_tokens
from planarena.formats.blocks import write_json

__all__ = ["Counting", "Exchange", "Item", "Totals", "converse", "digest_of"]

# Suites that ask the same questions: what one has is an answer to the other.
_TWINS = {"bfcl-v3": "bfcl-v4", "bfcl-v4": "bfcl-v3"}

Exchange = Generator[Asked, Reply, Any]
"""Yields what to ask, is sent the reply, returns the output as `--responses` reads it."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a suite.

    Attributes:
        id: As scoring names it.
        begin: Opens the dialogue of a sample.
    """

    id: str
    begin: Callable[[int], Exchange]


@dataclass(slots=True)
class Totals:
    """What generating a suite took, over all runs of it.

    Attributes:
        outputs: Items times samples that are answered.
        replies: Requests answered for them.
        prompt_tokens: As whoever answered counted them.
        completion_tokens: Likewise.
        usd: None where any answer's price is not known.
        cut: Replies that a limit cut.
        failed: Outputs whose request failed, by class.
    """

    outputs: int = 0
    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0
    cut: int = 0
    failed: Counter[str] = field(default_factory=Counter)

    def add(self, usage: dict[str, Any]) -> None:
        """Take the usage of one output."""
        self.outputs += 1
        self.replies += int(usage.get("replies") or 0)
        self.prompt_tokens += int(usage.get("prompt_tokens") or 0)
        self.completion_tokens += int(usage.get("completion_tokens") or 0)
        self.cut += int(usage.get("cut") or 0)
        usd = usage.get("usd")
        self.usd = None if usd is None or self.usd is None else self.usd + float(usd)


def _no_usage() -> dict[str, Any]:
    return {"replies": 0, "prompt_tokens": 0, "completion_tokens": 0, "usd": 0.0, "cut": 0}


def _count(usage: dict[str, Any], reply: Reply) -> None:
    """Add a reply to the usage of its output."""
    usage["replies"] += 1
    usage["prompt_tokens"] += reply.prompt_tokens or 0
    usage["completion_tokens"] += reply.tokens or 0
    usage["usd"] = None if reply.usd is None or usage["usd"] is None else usage["usd"] + reply.usd
    usage["cut"] += int(reply.truncated)


def no_observation() -> dict[str, Any]:
    """What an output took before anything was asked."""
    return {"seconds": 0.0, "paid": 0.0, "cached": 0, "served_by": {}}


def observe(seen: dict[str, Any], reply: Reply) -> None:
    """Add what a reply took: a reply from the cache was paid for before."""
    seen["seconds"] = round(seen["seconds"] + reply.seconds, 4)
    if not reply.cached:
        seen["paid"] = None if reply.usd is None or seen["paid"] is None else seen["paid"] + reply.usd
    seen["cached"] += int(reply.cached)
    if reply.served_by:
        seen["served_by"][reply.served_by] = seen["served_by"].get(reply.served_by, 0) + 1


class Counting:
    """A policy whose replies are counted, for suites that drive their dialogues themselves.

    Args:
        policy: Who answers.

    Attributes:
        usage: By item and sample, as rows of the journal have it.
        seen: What they took, likewise.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.name, self.format = policy.name, policy.format
        self.usage: defaultdict[tuple[str, int], dict[str, Any]] = defaultdict(_no_usage)
        self.seen: defaultdict[tuple[str, int], dict[str, Any]] = defaultdict(no_observation)

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        """Answer; see `Policy.reply`."""
        replies = self._policy.reply(asked)
        for one, reply in zip(asked, replies, strict=True):
            if not reply.problem:
                _count(self.usage[one.id, one.sample], reply)
                observe(self.seen[one.id, one.sample], reply)
        return replies


class _Talk:
    """A dialogue under way."""

    def __init__(self, item: Item, sample: int) -> None:
        self.item, self.sample = item, sample
        self.exchange = item.begin(sample)
        self.asked = next(self.exchange)
        self.digest = digest_of(self.asked)
        self.usage = _no_usage()
        self.seen = no_observation()
        self.counted = True

    def take(self, reply: Reply) -> dict[str, Any] | None:
        """Go on with a reply; return the fields of the finished row, or None where there is more to ask."""
        if reply.problem:
            self.exchange.close()
            return {"error": reply.problem}
        _count(self.usage, reply)
        observe(self.seen, reply)
        self.counted = self.counted and reply.tokens is not None
        try:
            self.asked = self.exchange.send(reply)
        except StopIteration as end:
            fields: dict[str, Any] = {"response": end.value, "usage": self.usage}
            if self.counted:
                fields["tokens"] = self.usage["completion_tokens"]
            return fields
        return None


def digest_of(asked: Asked) -> str:
    """Return a digest of what an item asks first: of the same question and prompt, the same."""
    words = write_json([asked.messages, asked.tools, asked.max_tokens])
    return blake2b(words.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def converse(
    suite: str,
    items: Iterable[Item],
    policy: Policy,
    samples: int,
    journal: Journal,
    progress: Callable[[int], None],
) -> tuple[Responses, Totals]:
    """Get an output for every sample of every item.

    Args:
        suite: Its name, for the rows.
        items: Read lazily.
        policy: Asked; its `parallel` and `at_once` say how many calls run beside each other, of how many dialogues.
        samples: K.
        journal: Where answers are kept, and found again.
        progress: Told how many outputs there are so far.

    Returns:
        The outputs as scoring takes them, failed ones with their problem, and what they took.

    Raises:
        UserError: Nothing can be answered at all. Answers so far are in the journal.
    """
    driver = _Driver(suite, items, policy, samples, journal, progress)
    driver.run()
    return driver.finish(), driver.totals


class _Driver:
    def __init__(
        self,
        suite: str,
        items: Iterable[Item],
        policy: Policy,
        samples: int,
        journal: Journal,
        progress: Callable[[int], None],
    ) -> None:
        self.suite, self.policy, self.journal, self.progress = suite, policy, journal, progress
        self.totals = Totals()
        self._waiting = self._begin(items, samples)
        self._slots: dict[tuple[str, int], Response] = {}
        self._lock, self._reading = threading.Lock(), threading.Lock()
        self._errors: list[BaseException] = []

    def run(self) -> None:
        """Talk until nothing is left; the first error stops all, after what is under way."""
        lanes = int(getattr(self.policy, "parallel", 1))
        if lanes == 1:
            self._lane()
        else:
            threads = [threading.Thread(target=self._lane, daemon=True) for _ in range(lanes)]
            for thread in threads:
                thread.start()
            try:
                for thread in threads:
                    thread.join()
            except BaseException as error:  # Ctrl-C: no lane may begin another dialogue
                self._errors.insert(0, error)
                raise
        if self._errors:
            raise self._errors[0]

    def _lane(self) -> None:
        at_once = int(getattr(self.policy, "at_once", 64))
        active: list[_Talk] = []
        try:
            while not self._errors:
                while len(active) < at_once and (talk := self._next()) is not None:
                    active.append(talk)
                if not active:
                    return
                replies = self.policy.reply([talk.asked for talk in active])
                going = []
                for talk, reply in zip(active, replies, strict=True):
                    fields = talk.take(reply)
                    if fields is None:
                        going.append(talk)
                    else:
                        self._keep(talk, fields)
                active = going
        except BaseException as error:
            self._errors.append(error)

    def _next(self) -> _Talk | None:
        with self._reading:
            return next(self._waiting, None)

    def _begin(self, items: Iterable[Item], samples: int) -> Iterator[_Talk]:
        """Open the dialogues that are not answered yet."""
        for item in items:
            for sample in range(samples):
                talk = _Talk(item, sample)
                row = self.journal.answer((self.suite, item.id, sample), talk.digest)
                same = None
                if row is None and (twin := _TWINS.get(self.suite)) is not None:
                    same = self.journal.answer((twin, item.id, sample), talk.digest)
                if row is None and same is None:
                    yield talk
                    continue
                talk.exchange.close()
                if row is not None:
                    self._take(item.id, sample, row)
                elif same is not None:
                    kept = ("response", "usage", "tokens")
                    self._keep(talk, {key: value for key, value in same.items() if key in kept})

    def _keep(self, talk: _Talk, fields: dict[str, Any]) -> None:
        row = {
            "suite": self.suite,
            "id": talk.item.id,
            "sample": talk.sample,
            "asked": talk.digest,
            **fields,
        }
        self.journal.add(row)
        if talk.seen["seconds"] or talk.usage["replies"]:
            self.journal.observe((self.suite, talk.item.id, talk.sample), talk.seen)
        self._take(talk.item.id, talk.sample, row)

    def _take(self, key: str, sample: int, row: dict[str, Any]) -> None:
        with self._lock:
            if "response" in row:
                stated = row.get("tokens")
                counted = isinstance(stated, int)
                tokens = stated if isinstance(stated, int) else count_tokens(row["response"])
                self._slots[key, sample] = Response(row["response"], tokens, counted=counted)
                usage = row.get("usage")
                self.totals.add(usage if isinstance(usage, dict) else {})
            else:
                problem = str(row.get("error"))
                self._slots[key, sample] = Response(None, problem="the request failed")
                self.totals.failed[problem.partition(":")[0]] += 1
            self.progress(len(self._slots))

    def finish(self) -> Responses:
        """Return the outputs by item."""
        found = Responses()
        for (key, _), response in sorted(self._slots.items(), key=lambda pair: pair[0][1]):
            found.by_id.setdefault(key, []).append(response)
        return found
