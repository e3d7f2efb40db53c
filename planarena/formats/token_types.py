"""Token types from character offsets, for any fast tokenizer (DUPO section 4.1)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence

from planarena.formats.parsed import Parsed, TokenType

__all__ = ["decode_with_offsets", "selective_keep", "token_types"]

_TAGS = frozenset({TokenType.TAG_PLAN, TokenType.TAG_TOOL, TokenType.TAG_RESP})
# A UTF-8 character has at most four bytes, so a fifth token cannot complete it.
_LONGEST_CHARACTER = 4


def token_types(parsed: Parsed, offsets: Sequence[tuple[int, int]]) -> list[TokenType]:
    """Give each token one of the six types, or OTHER.

    A token is of a tag's type when its characters overlap the tag; else of the type of the content that
    it overlaps; else OTHER. Empty ranges, which tokenizers give to special tokens, are OTHER. A segment
    without closing tag runs to the end of the text; a closing tag that closes nothing is OTHER.

    Args:
        parsed: The output; its segments give the spans.
        offsets: (start, end) character range of each token in `parsed.text`, length T.

    Returns:
        T types.
    """
    spans = parsed.spans
    starts = [span.start for span in spans]
    types: list[TokenType] = []
    for start, end in offsets:
        found = TokenType.OTHER
        if end > start:
            index = max(bisect_right(starts, start) - 1, 0)
            while index < len(spans) and spans[index].start < end:
                span = spans[index]
                index += 1
                if span.end <= start:
                    continue
                if span.type in _TAGS:
                    found = span.type
                    break
                if found is TokenType.OTHER:
                    found = span.type
        types.append(found)
    return types


def selective_keep(parsed: Parsed, offsets: Sequence[tuple[int, int]]) -> list[bool]:
    """Say which tokens of a demonstration stay in the selective loss (ToolUPT Eq. 19).

    All tokens of a demonstration that calls; of one that answers only the opening tag, that is the tokens
    whose first character lies inside it: tokenizers merge its last character with what follows.

    Args:
        parsed: The demonstration.
        offsets: (start, end) character range of each token in `parsed.text`, length T.

    Returns:
        T flags.
    """
    if parsed.calls or parsed.response is None:
        return [True] * len(offsets)
    opening = [(s.open, s.start) for s in parsed.segments if s.kind == "response"][:1]
    return [any(low <= start < high for low, high in opening) and end > start for start, end in offsets]


def decode_with_offsets(
    decode: Callable[[Sequence[int]], str], ids: Sequence[int], special: Collection[int] = ()
) -> tuple[str, list[tuple[int, int]]]:
    """Decode sampled tokens once and say which characters each gave.

    Encoding the text again may cut it into other tokens than those that were sampled. A token that ends
    inside a character waits for the next ones and shares their range; decoding looks back one
    step, so the whole is linear in the number of tokens.

    Args:
        decode: Ids -> text, without cleaning up spaces.
        ids: T sampled ids.
        special: Ids that give no text (end of sequence, padding): an empty range.

    Returns:
        The text and T ranges.
    """
    offsets: list[tuple[int, int]] = []
    pieces: list[str] = []
    length = 0
    before: list[int] = []
    waiting: list[int] = []

    def flush(piece: str) -> None:
        nonlocal length, before, waiting
        pieces.append(piece)
        offsets.extend([(length, length + len(piece))] * len(waiting))
        length += len(piece)
        before, waiting = waiting, []

    for token in ids:
        if token in special:
            if waiting:
                flush(decode([*before, *waiting])[len(decode(before)) :])
            offsets.append((length, length))
            before = []
            continue
        waiting.append(token)
        prefix = decode(before) if before else ""
        piece = decode([*before, *waiting])[len(prefix) :]
        if not piece.endswith("\ufffd") or len(waiting) >= _LONGEST_CHARACTER:
            flush(piece)
    if waiting:
        flush(decode([*before, *waiting])[len(decode(before)) if before else 0 :])
    return "".join(pieces), offsets
