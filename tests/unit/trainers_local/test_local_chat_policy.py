"""A model as a policy: its replies are what `generate` samples, whatever shares a batch, within the context."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planarena.bench import Asked
from planarena.trainers.local.chat_policy import ChatPolicy
from planarena.trainers.local.generate import generate
from planarena.trainers.local.model import Policy

WORDS = ("find a room with 4 seats", "book it for Ana", "a room at 10:30 please", "and one more for Ana")


def dialogues(sample: int = 0, turn: int = 0) -> list[Asked]:
    return [
        Asked(
            id=str(place),
            messages=({"role": "user", "content": text * (place + 1)},),
            sample=sample,
            turn=turn,
        )
        for place, text in enumerate(WORDS)
    ]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_replies_are_drawn_by_turn_sample_and_place(
    make_policy: Callable[..., Policy], temperature: float
) -> None:
    policy = make_policy()
    asked = dialogues(sample=2, turn=3)
    player = ChatPolicy(policy, "planarena", limit=12, temperature=temperature, seed=5)
    rolled = generate(
        policy,
        [policy.chat.prompt(one.messages) for one in asked],
        limits=[12] * len(asked),
        temperature=temperature,
        seed=5 * 1_009 + 3 * 101 + 2,
    )
    replies = player.reply(asked)
    # What a study sampled stays what it samples: the numbers of a study that goes on later depend on it.
    assert [reply.text for reply in replies] == [policy.chat.plain(group[0].ids) for group in rolled]
    assert [reply.tokens for reply in replies] == [len(group[0].ids) for group in rolled]
    other = ChatPolicy(policy, "planarena", limit=12, temperature=temperature, seed=6).reply(asked)
    assert ([one.text for one in other] == [one.text for one in replies]) == (temperature == 0.0)


def test_small_batches_give_the_same_replies_and_no_room_gives_silence(
    make_policy: Callable[..., Policy],
) -> None:
    policy = make_policy()
    asked = dialogues()
    whole = ChatPolicy(policy, "planarena", limit=12, temperature=1.0).reply(asked)
    # Room for the longest dialogue alone: every batch holds one or two.
    longest = max(len(policy.chat.prompt(one.messages)) for one in asked) + 12
    parts = ChatPolicy(policy, "planarena", limit=12, temperature=1.0, room=longest).reply(asked)
    assert [one.text for one in parts] == [one.text for one in whole]
    asked[1] = Asked(id="long", messages=({"role": "user", "content": "book it for Ana " * 200},))
    assert len(policy.chat.prompt(asked[1].messages)) >= policy.context
    cut = ChatPolicy(policy, "planarena", limit=12).reply(asked)
    assert (cut[1].text, cut[1].tokens, cut[1].truncated) == ("", 0, True)
    assert cut[0].tokens
    asked[0] = Asked(id="short", messages=asked[0].messages, max_tokens=1)
    assert ChatPolicy(policy, "planarena", limit=12).reply(asked)[0].tokens == 1
