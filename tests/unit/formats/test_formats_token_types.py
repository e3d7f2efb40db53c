"""Token types from character offsets, and offsets of sampled tokens."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from planarena import formats
from planarena.formats import TokenType, decode_with_offsets, selective_keep, token_types

PLAN_TAG, TOOL_TAG, RESP_TAG = TokenType.TAG_PLAN, TokenType.TAG_TOOL, TokenType.TAG_RESP
PLAN, TOOL, RESP, OTHER = TokenType.PLAN, TokenType.TOOL, TokenType.RESP, TokenType.OTHER


def by_character(text: str, name: str = "planarena") -> list[TokenType]:
    return token_types(formats.get(name).parse(text), [(i, i + 1) for i in range(len(text))])


def runs(types: Sequence[TokenType]) -> list[tuple[TokenType, int]]:
    found: list[tuple[TokenType, int]] = []
    for kind in types:
        if found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + 1)
        else:
            found.append((kind, 1))
    return found


def test_every_character_has_its_type() -> None:
    text = "<plan>ab</plan>\n<tool_call>xyz</tool_call>!"
    assert runs(by_character(text)) == [
        (PLAN_TAG, 6),
        (PLAN, 2),
        (PLAN_TAG, 7),
        (OTHER, 1),
        (TOOL_TAG, 11),
        (TOOL, 3),
        (TOOL_TAG, 12),
        (OTHER, 1),
    ]


def test_an_unclosed_segment_runs_to_the_end() -> None:
    assert runs(by_character("<response>cut off")) == [(RESP_TAG, 10), (RESP, 7)]


def test_a_stray_closing_tag_is_other_and_tags_do_not_nest() -> None:
    assert runs(by_character("</plan><plan><plan>a</plan>")) == [
        (OTHER, 7),
        (PLAN_TAG, 6),
        (PLAN, 7),
        (PLAN_TAG, 7),
    ]


def test_a_token_that_overlaps_a_tag_is_of_the_tags_type() -> None:
    text = "<plan>ab</plan><tool_call>x</tool_call>"
    parsed = formats.get("planarena").parse(text)
    offsets = [(0, 7), (7, 9), (9, 15), (13, 18), (18, 26), (26, 27), (27, len(text)), (0, 0), (99, 99)]
    assert token_types(parsed, offsets) == [
        PLAN_TAG,
        PLAN_TAG,
        PLAN_TAG,
        PLAN_TAG,
        TOOL_TAG,
        TOOL,
        TOOL_TAG,
        OTHER,
        OTHER,
    ]


@pytest.mark.parametrize("name", formats.names())
def test_all_formats_give_types(name: str) -> None:
    form = formats.get(name)
    text = form.render(plan="p", response="42")
    types = by_character(text, name)
    assert RESP in types
    assert (PLAN in types) == (name not in {"native", "toolupt"})
    assert len(types) == len(text)


def byte_level_tokenizer():
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=330,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<eos>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(["<plan>go there</plan>\n<tool_call>{}</tool_call>"] * 4, trainer)
    return tokenizer


def test_types_agree_between_encoding_and_sampled_tokens() -> None:
    tokenizer = byte_level_tokenizer()
    text = '<plan>gehe über 🙂</plan>\n<tool_call>{"name": "日本", "arguments": {}}</tool_call>'
    encoding = tokenizer.encode(text)
    ids = [*encoding.ids, 0]
    decoded, offsets = decode_with_offsets(
        lambda part: tokenizer.decode(list(part), skip_special_tokens=False), ids, special={0}
    )
    assert decoded == text
    parsed = formats.get("planarena").parse(decoded)
    ours = token_types(parsed, offsets)
    assert ours == [*token_types(parsed, encoding.offsets), OTHER]
    assert {PLAN_TAG, PLAN, TOOL_TAG, TOOL, OTHER} == set(ours)


def test_sampled_tokens_that_no_encoder_would_choose() -> None:
    tokenizer = byte_level_tokenizer()
    vocabulary = tokenizer.get_vocab()
    # One token per byte: a tag and an emoji cut into pieces, then a first byte that never ends.
    text = "<plan>🙂</plan>"
    encoded = tokenizers_bytes(text)
    ids = [vocabulary[symbol] for symbol in encoded] + [vocabulary[tokenizers_bytes("é")[0]]]
    decoded, offsets = decode_with_offsets(lambda part: tokenizer.decode(list(part)), ids)
    assert decoded == text + "\ufffd"
    types = token_types(formats.get("planarena").parse(decoded), offsets)
    assert types == [PLAN_TAG] * 6 + [PLAN] * 4 + [PLAN_TAG] * 7 + [OTHER]


def tokenizers_bytes(text: str) -> list[str]:
    """Spell a text in the byte-level alphabet, one symbol per byte."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    symbols = {byte: chr(byte) for byte in kept}
    for shift, byte in enumerate(byte for byte in range(256) if byte not in symbols):
        symbols[byte] = chr(256 + shift)
    return [symbols[byte] for byte in text.encode()]


def test_a_special_token_ends_a_character_that_waits() -> None:
    text, offsets = decode_with_offsets(
        lambda part: bytes(part).decode(errors="replace"), [97, 195, 0, 98], {0}
    )
    assert (text, offsets) == ("a\ufffdb", [(0, 1), (1, 2), (2, 2), (2, 3)])


def test_decoding_is_linear_in_the_number_of_tokens() -> None:
    calls = 0
    longest = 0

    def decode(part: Sequence[int]) -> str:
        nonlocal calls, longest
        calls += 1
        longest = max(longest, len(part))
        return "\ufffd" * len(part)

    text, offsets = decode_with_offsets(decode, [1] * 1000)
    assert len(offsets) == 1000 and len(text) == 1000
    assert calls <= 2000 and longest <= 8


def test_selective_keep_leaves_the_opening_tag_of_an_answer() -> None:
    form = formats.get("toolupt")
    text = "<answer>\nyes</answer>"
    offsets = [(0, 4), (4, 7), (7, 9), (9, 12), (12, 21), (21, 21)]
    # The third token begins with the ">" of the tag and goes on with the line feed.
    assert selective_keep(form.parse(text), offsets) == [True, True, True, False, False, False]
    call = '<tool_call>{"name": "f", "params": {}}</tool_call>'
    assert selective_keep(form.parse(call), [(0, 5), (5, len(call))]) == [True, True]
    chord = formats.get("chord").parse("<think>t</think> yes")
    assert selective_keep(chord, [(0, 7), (17, 20)]) == [False, False]
