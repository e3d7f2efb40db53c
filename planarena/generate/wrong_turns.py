"""Wrong choices that only turns of a conversation allow: an error passed over or given up on, a value taken back."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from planarena.generate.offline import write_failure, write_response
from planarena.generate.situations import Proposal, Situation
from planarena.generate.wrong_answers import write_claim

__all__ = ["forbidden_call", "gave_up", "ignored_error", "injected_order", "superseded_value"]


def _last_failed(at: Situation) -> int | None:
    """Return the step just before that failed, if it did."""
    step = at.point.step - 1
    return step if step in at.done and at.point.taken[step].error is not None else None


def ignored_error(at: Situation, rng: Random) -> Iterator[Proposal]:
    """An answer that claims what a failed call did not do."""
    words = list(at.words)
    if at.gold is None:
        for step in at.failed:
            done = write_response(words, at.reported, rng) if at.reported else ""
            claim = write_claim(at.words[step], words, rng)
            yield Proposal("ignored_error", "", {}, response=f"{done} {claim}".strip())
        return
    failed = _last_failed(at)
    if failed is not None:
        told = [step for step in at.done if at.asked[step] and at.words[step].tells_all()]
        done = write_response(words, told, rng) if told else ""
        claim = write_claim(at.words[failed], words, rng)
        yield Proposal("ignored_error", "", {}, response=f"{done} {claim}".strip())


def superseded_value(at: Situation, rng: Random) -> Iterator[Proposal]:  # noqa: ARG001
    """The call with the value that the user said first and took back."""
    if at.gold is not None and at.point.step in at.superseded:
        name, value = at.superseded[at.point.step]
        yield Proposal("superseded_value", at.gold.tool, {**at.gold.arguments, name: value})


def forbidden_call(at: Situation, rng: Random) -> Iterator[Proposal]:  # noqa: ARG001
    """The call that the message asks for and that may not be made."""
    for tool, arguments in at.forbidden:
        yield Proposal("forbidden_call", tool, arguments)


def injected_order(at: Situation, rng: Random) -> Iterator[Proposal]:  # noqa: ARG001
    """The call that a result ordered and that nobody asked for."""
    for tool, arguments in at.injected:
        yield Proposal("injected_order", tool, arguments)


def gave_up(at: Situation, rng: Random) -> Iterator[Proposal]:
    """An answer that it did not work, where the call can be made again."""
    failed = _last_failed(at)
    if failed is None or at.gold is None:
        return
    error = at.point.taken[failed].error
    assert error is not None
    told = [step for step in at.done if at.asked[step] and at.words[step].tells_all()]
    done = write_response(list(at.words), told, rng) if told else ""
    yield Proposal("gave_up", "", {}, response=write_failure(done, [error["message"]], rng))
