"""A microscopic policy over a real build, shared by the tests of the local engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from planarena.trainers.config import TinyConfig
from planarena.trainers.local.model import Policy, make_tiny
from planarena.trainers.loop.tokenizer import ChatTokenizer, train_tokenizer

TEXTS = [
    'find_room(seats, start)\nbook_room(room)\n\n- user: Ana\n{"name": "find_room", "arguments": {"seats": 4}}',
    "Please find a room with 4 seats at 10:30 and book it for Ana Kowalski.",
    "<plan>find it</plan>\n<tool_call>\n</tool_call> <response>Done, it is booked.</response>",
] * 3


@pytest.fixture(scope="session")
def chat() -> ChatTokenizer:
    return ChatTokenizer(train_tokenizer(TEXTS, 400))


@pytest.fixture(scope="session")
def make_policy(chat: ChatTokenizer) -> Callable[..., Policy]:
    def make(**changes: Any) -> Policy:
        torch.set_num_threads(1)
        size = TinyConfig(hidden=32, layers=2, heads=2, intermediate=48)
        return Policy(make_tiny(size, chat, seed=0, positions=512, **changes), chat)

    return make
