"""Groups decoded from one copy of their prompt: the same tokens and values as a pass over each row alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from planarena.trainers.local.generate import generate
from planarena.trainers.local.model import Policy
from planarena.trainers.local.shared_prefix import can_share
from planarena.trainers.loop.tokenizer import ChatTokenizer

PROMPTS = [[7, 8, 9], [10, 11], [12, 13, 14, 15, 16, 17], [18]]
SIZE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}


def made(chat: ChatTokenizer, name: str) -> Policy:
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    config = AutoConfig.for_model(
        name, vocab_size=len(chat.tokenizer), pad_token_id=chat.pad, eos_token_id=chat.end, **SIZE
    )
    return Policy(AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval(), chat)


@pytest.mark.parametrize("name", ["llama", "mistral", "qwen2", "qwen3"])
def test_families_with_shared_heads_give_what_a_whole_pass_gives(chat: ChatTokenizer, name: str) -> None:
    torch.set_num_threads(1)
    policy = made(chat, name)
    if name == "mistral":  # its default is a window, which no prompt can be shared under
        assert not can_share(policy, 3)
        policy.model.config.sliding_window = None
        policy = Policy(policy.model, chat)
    assert can_share(policy, 3)
    assert not can_share(policy, 1)
    before = policy.model.config._attn_implementation
    rolled = generate(policy, PROMPTS, repeats=3, limits=[40, 3, 9, 40], temperature=1.0, seed=5)
    assert policy.model.config._attn_implementation == before
    for prompt, group in zip(PROMPTS, rolled, strict=True):
        for one in group:
            with torch.no_grad():
                logits = policy.model(torch.tensor([[*prompt, *one.ids]])).logits[0]
            expected = torch.log_softmax(logits[len(prompt) - 1 : -1], -1)
            expected = expected[torch.arange(len(one.ids)), torch.tensor(one.ids)]
            # float32 through another order of additions.
            assert torch.allclose(torch.tensor(one.logp), expected, atol=2e-5)


def test_rows_that_outgrow_their_buffer_go_on(
    make_policy: Callable[..., Policy], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make_policy()
    policy.chat.ends, ends = (), policy.chat.ends
    try:
        whole = generate(policy, PROMPTS, repeats=2, limits=[30] * 4, temperature=1.0, seed=2)
        monkeypatch.setattr("planarena.trainers.local.shared_prefix._GROWTH", 4)
        grown = generate(policy, PROMPTS, repeats=2, limits=[30] * 4, temperature=1.0, seed=2)
    finally:
        policy.chat.ends = ends
    assert grown == whole


def test_other_families_are_decoded_row_by_row(chat: ChatTokenizer) -> None:
    assert not can_share(made(chat, "gemma2"), 3)  # its scores have a soft cap
