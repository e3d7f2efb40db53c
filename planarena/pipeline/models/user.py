"""The user of a gold conversation played by a model: message by message against the gold's answers, each one checked.

What is said then takes the place of the messages that were written; the answers stay. A conversation in which the model
says something false, gives away what it holds back, speaks for the assistant, ends early or does not end is discarded with
its class, and the messages that were written stay.
"""

from __future__ import annotations

from typing import Any

import msgspec

from planarena.config import PLAIN, ModelsConfig
from planarena.generate.model_checks import check_written_query
from planarena.generate.model_records import KEPT, Failure, Proposal, Written
from planarena.generate.model_texts import TextFaultError
from planarena.generate.model_writer import TaskWriter
from planarena.llm import LLMError, load_prompt
from planarena.pipeline.products import Language
from planarena.users import FAULTS, Brief, Part
from planarena.users.model import user_request

__all__ = ["is_written", "play_user", "plays_user"]

_PART = "user"


def is_written(said: Language) -> bool:
    """Say whether proposers write the words of a conversation: in other kinds too much of what happens is in them."""
    return said.brief.kind in (PLAIN, "long")


def plays_user(models: ModelsConfig, said: Language) -> bool:
    """Say whether a model plays the user of a conversation."""
    if not models.user:
        return False
    return not is_written(said) or (len(said.turns) > 1 and not models.proposers)


async def play_user(writer: TaskWriter, written: Written, said: Language) -> Written:
    """Have a model play the user, and put what it said into what models gave for the task.

    Args:
        writer: Asks and counts; its configuration names the model.
        written: What models gave so far.
        said: The gold conversation.

    Raises:
        LLMError: One whose `stops` is true; answers got so far are in the cache.
    """
    model = writer.config.user
    sample = writer.samples.get((_PART, model), 0)
    part = Part(_with_texts(said), begun=False)
    call_id, checks = "", dict[str, Any]()
    try:
        call_id = await _talk(writer, part, said, sample)
        checks = _checked(writer, part, said)
    except TextFaultError as fault:
        part.fail(fault.reason, fault.detail)
    found: dict[str, Any] = {"usage": writer.meter.usage, "requests": writer.meter.requests}
    verdict = part.spoiled or KEPT
    note = Proposal(_PART, model, call_id, load_prompt("user").label, list(part.said), verdict, part.detail)
    found["proposals"] = (*written.proposals, note)
    if part.spoiled in FAULTS:
        # Simulated users do fail: that is counted by its class, and no fault of the build.
        return msgspec.structs.replace(written, **found)
    if part.spoiled:
        failure = Failure(_PART, model, part.spoiled, part.detail, sample)
        return msgspec.structs.replace(written, failures=(*written.failures, failure), **found)
    return msgspec.structs.replace(written, turns=tuple(part.said), checks=checks, **found)


def _with_texts(said: Language) -> Brief:
    messages = tuple(
        msgspec.structs.replace(one, text=text)
        for one, text in zip(said.brief.messages, said.turns, strict=True)
    )
    return msgspec.structs.replace(said.brief, messages=messages)


async def _talk(writer: TaskWriter, part: Part, said: Language, sample: int) -> str:
    """Let the model say message by message and hear the gold's answers; return the id of its last call."""
    heard, calls, call_id = "", 0, ""
    answers = (*said.turn_responses, said.response)
    for turn in range(len(said.turns) + 1):
        material = part.hear(heard, calls)
        if material is None:
            raise TextFaultError("never_ends", "it does not go by the conversation")
        request = user_request(writer.config.user, material, writer.config.temperature, sample)
        try:
            answer = await writer.meter.complete(request)
        except LLMError as error:
            if error.stops:
                raise
            part.fail(error.kind, error.what)
            return call_id
        call_id = answer.call_id
        text = part.say(answer.value["move"], answer.value["message"])
        if text is None:
            return call_id
        if len(part.said) != turn + 1 or part.place != turn:
            # The gold answered what was asked: saying it again, or going on, is no message of this conversation.
            raise TextFaultError("never_ends", text)
        heard, calls = answers[turn], said.turn_of.count(turn)
    return call_id


def _checked(writer: TaskWriter, part: Part, said: Language) -> dict[str, Any]:
    """Return the checks that the messages pass, where the written ones pass them.

    Raises:
        TextFaultError: They do not.
    """
    if part.spoiled or not part.answered:
        return {}
    found: dict[str, Any] = {**said.checks, "user_checked": True}
    try:
        check_written_query(writer.brief, said.turns)
    except TextFaultError:
        # A value that is said and corrected, say: the checks of queries know no such conversation.
        return found
    return found | check_written_query(writer.brief, part.said)[1]
