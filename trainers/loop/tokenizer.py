"""Text to tokens: chat messages through a tokenizer's template, and the tokenizer of `--model tiny`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from planarena.errors import UserError
from planarena.formats import decode_with_offsets

__all__ = ["ChatTokenizer", "train_tokenizer"]

_PAD, _END = "<|pad|>", "<|end|>"
_ROLES = ("system", "user", "assistant", "tool")

# Merges never join letters with what stands beside them, so a value is cut the same way in a question and inside
# JSON; that is what makes copying learnable.
_PIECES = r"\p{L}+|\p{N}| ?[^\p{L}\p{N}\s]+|\s"
_SIGNATURE = re.compile(r"^[a-z]\w*\([^()\n]*\)$", re.MULTILINE)
_TAG = re.compile(r"</?[a-z_]+>")
_MOST_SIGNATURES = 512

_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{- '<|' + message['role'] + '|>' -}}"
    "{%- if message['content'] -%}{{- message['content'] -}}{%- endif -%}"
    "{%- if message['tool_calls'] -%}"
    "{%- for call in message['tool_calls'] -%}"
    "{{- '\\n<tool_call>' + (call['function'] | tojson) + '</tool_call>' -}}"
    "{%- endfor -%}{%- endif -%}"
    "{{- '<|end|>' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}"
)


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Any:
    """Train a byte-level tokenizer that loses nothing; it saves and loads as any fast tokenizer.

    It is of Qwen2's class: for a model of that type transformers replaces any other class, and with it how text is
    cut, without a word. Tool signatures that stand on a line of their own, names of tools and tags become one token
    each.

    Args:
        texts: Prompts and targets of the run.
        vocabulary: Most tokens, added tokens excluded; at least the 256 bytes are there.

    Returns:
        A fast tokenizer with a chat template.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import Qwen2Tokenizer

    texts = list(texts)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            Qwen2Tokenizer().backend_tokenizer.pre_tokenizer,
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=max(vocabulary, 300),
        min_frequency=2,
        show_progress=False,
        special_tokens=[_PAD, _END, *(f"<|{role}|>" for role in _ROLES)],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(texts, trainer)
    learned = msgspec.json.decode(tokenizer.to_str())["model"]
    found = Qwen2Tokenizer(
        vocab=learned["vocab"],
        merges=[tuple(merge) for merge in learned["merges"]],
        unk_token=_PAD,
        pad_token=_PAD,
        eos_token=_END,
        additional_special_tokens=[f"<|{role}|>" for role in _ROLES],
        chat_template=_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
    signatures = _found(texts, _SIGNATURE)
    names = sorted({signature.partition("(")[0] for signature in signatures})
    found.add_tokens([AddedToken(text, normalized=False) for text in (*_found(texts, _TAG), *signatures)])
    found.add_tokens([AddedToken(name, normalized=False, single_word=True) for name in names])
    return found


def _found(texts: Sequence[str], pattern: re.Pattern[str]) -> list[str]:
    """Return the different matches in some texts, sorted; the first few hundred."""
    seen: dict[str, None] = {}
    for text in texts:
        for match in pattern.finditer(text):
            if len(seen) < _MOST_SIGNATURES:
                seen.setdefault(match[0])
    return sorted(seen)


class ChatTokenizer:
    """A tokenizer as the engine uses it.

    Args:
        tokenizer: A transformers tokenizer.
        where: Its folder, for messages.

    Attributes:
        tokenizer: The same.
        ends: Ids that end a response.
        end: The id that demonstrations end with.
        pad: The id of padding.
        special: Ids that give no text.

    Raises:
        UserError: It has no token that ends a sequence.
    """

    def __init__(self, tokenizer: Any, where: str = "") -> None:
        self.tokenizer = tokenizer
        if tokenizer.eos_token_id is None:
            raise UserError(
                "the tokenizer names no token that ends a sequence",
                where=where,
                fix="set eos_token in tokenizer_config.json",
            )
        self.end = int(tokenizer.eos_token_id)
        ends = {self.end}
        for text in ("<|im_end|>", "<|eot_id|>", "<end_of_turn>"):
            found = tokenizer.get_vocab().get(text)
            if found is not None:
                ends.add(int(found))
                # A chat model ends its turn with this one, whatever ends its documents.
                self.end = int(found) if tokenizer.chat_template else self.end
        self.ends = tuple(sorted(ends))
        self.pad = self.end if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
        self._backend = tokenizer.backend_tokenizer if tokenizer.is_fast else None
        self.special = frozenset(int(one) for one in tokenizer.all_special_ids) | ends

    def prompt(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None = None
    ) -> list[int]:
        """Return the ids of a conversation up to the assistant's next message.

        Args:
            messages: Chat messages.
            tools: In the OpenAI shape, where the template is to state them.
        """
        return self._encode(self.render(messages, tools=tools))

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        open_turn: bool = True,
    ) -> str:
        """Return a conversation as text.

        Raises:
            UserError: The template refuses the messages.
        """
        if not self.tokenizer.chat_template:
            lines = [f"{message['role']}: {message.get('content') or ''}" for message in messages]
            return "\n\n".join([*lines, "assistant: "] if open_turn else lines)
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    [dict(message) for message in messages],
                    tools=list(tools) if tools else None,
                    add_generation_prompt=open_turn,
                    tokenize=False,
                )
            )
        except Exception as error:  # templates raise errors of jinja's and of their own
            raise UserError(
                f"the chat template refuses the messages: {error}",
                where="tokenizer",
                fix="choose another `data.template` or format, or a model whose template takes these roles",
            ) from error

    def target(self, text: str) -> list[int]:
        """Return the ids of a whole response, its end included."""
        return [*self._encode(text), self.end]

    def between(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the ids between the end token of a response and the next one.

        Args:
            messages: What comes between: tool results, a user's next turn.

        Raises:
            UserError: The template writes what stood before differently once more follows.
        """
        opening = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        before = self.render(opening, open_turn=False)
        whole = self.render([*opening, *messages])
        if not whole.startswith(before):
            raise UserError(
                "the chat template rewrites earlier messages, so a dialogue cannot be continued token by token",
                where="tokenizer",
                fix="use `data.mode: steps`, or a model whose template only appends",
            )
        end = self.tokenizer.convert_ids_to_tokens(self.end)
        place = before.rfind(end)
        tail = before[place + len(end) :] if place >= 0 else ""
        return self._encode(tail + whole[len(before) :])

    def text(self, ids: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
        """Return sampled ids as text without special tokens, and the characters of each id."""
        return decode_with_offsets(self._decode, ids, self.special)

    def plain(self, ids: Sequence[int]) -> str:
        """Return sampled ids as text without special tokens: the text of `text`, in one pass."""
        return self._decode([one for one in ids if one not in self.special])

    def _decode(self, ids: Sequence[int]) -> str:
        if self._backend is not None:
            # A tenth of the time of the wrapper, which is called for every token where offsets are asked for.
            return str(self._backend.decode(list(ids), skip_special_tokens=False))
        return str(self.tokenizer.decode(list(ids), clean_up_tokenization_spaces=False))

    def _encode(self, text: str) -> list[int]:
        # The template has written every special token that belongs there.
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
