"""The tiny tokenizer loses nothing, cuts values alike everywhere, and continues dialogues token by token."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models

from planarena.errors import UserError
from planarena.trainers.loop.tokenizer import ChatTokenizer

TEXTS = [
    "find_room(seats, start)\nbook_room(room)\n",
    'Find a room for Ana Kowalski at 10:30. {"name": "find_room", "arguments": {"seats": 4, "for": "Kowalski"}}',
]


@pytest.mark.parametrize(
    "text",
    [
        *TEXTS,
        "Ana has 3 rooms, at 10:30.",
        '{"a": [1, 2.50], "b": "x_y"}\n',
        "żółć 你好 🙂 \x00\t  two  spaces",
        "",
        "<plan>x</plan>",
    ],
)
def test_any_text_comes_back_whole(chat: ChatTokenizer, text: str) -> None:
    ids = chat.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert chat.plain(ids) == text
    assert chat.text(ids)[0] == text


def test_a_value_is_the_same_tokens_in_a_question_and_in_json(chat: ChatTokenizer) -> None:
    def tokens(text: str) -> list[str]:
        return list(chat.tokenizer.tokenize(text))

    value = tokens("Kowalski")
    for around in ('{"name": "Kowalski"}', "for Kowalski.", "Ana Kowalski and"):
        found = tokens(around)
        assert any(found[place : place + len(value)] == value for place in range(len(found))), around


def test_digits_stay_single_and_signatures_are_one_token(chat: ChatTokenizer) -> None:
    assert [piece for piece in chat.tokenizer.tokenize("2026") if piece.isdigit()] == ["2", "0", "2", "6"]
    assert chat.tokenizer.tokenize("find_room(seats, start)") == ["find_room(seats, start)"]


def test_transformers_loads_the_same_tokenizer_beside_a_model(chat: ChatTokenizer, tmp_path: Path) -> None:
    # For models of this type AutoTokenizer puts its own class, and its own way of cutting, in place of others.
    from transformers import AutoTokenizer, Qwen2Config

    chat.tokenizer.save_pretrained(tmp_path)
    Qwen2Config().save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert len(loaded) == len(chat.tokenizer)
    for text in (*TEXTS, "żółć 你好 🙂\t  two  find_room_now find_rooms <plan>"):
        assert loaded(text)["input_ids"] == chat.tokenizer(text)["input_ids"]
        assert loaded.decode(loaded(text)["input_ids"]) == text
    messages = [{"role": "user", "content": "Hi"}]
    assert ChatTokenizer(loaded).prompt(messages) == chat.prompt(messages)


def test_prompts_and_targets_meet_at_the_assistants_turn(chat: ChatTokenizer) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    whole = chat.render([*messages, {"role": "assistant", "content": "Done."}], open_turn=False)
    joined = chat.tokenizer.decode([*chat.prompt(messages), *chat.target("Done.")])
    assert joined == whole


def test_what_comes_between_turns_continues_the_dialogue(chat: ChatTokenizer) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    said = [{"role": "tool", "content": '{"ok": true}'}, {"role": "tool", "content": "2"}]
    ids = [*chat.prompt(messages), *chat.target("call"), *chat.between(said)]
    expected = chat.render([*messages, {"role": "assistant", "content": "call"}, *said])
    assert chat.tokenizer.decode(ids) == expected


def test_a_template_that_rewrites_history_is_refused(chat: ChatTokenizer) -> None:
    import copy

    other = copy.deepcopy(chat.tokenizer)
    other.chat_template = "{{ messages | length }}{% for m in messages %}{{ m['content'] }}{% endfor %}"
    with pytest.raises(UserError, match="rewrites earlier messages"):
        ChatTokenizer(other).between([{"role": "tool", "content": "x"}])


def test_templates_that_refuse_roles_say_so(chat: ChatTokenizer) -> None:
    import copy

    other = copy.deepcopy(chat.tokenizer)
    other.chat_template = "{{ raise_exception('no tools here') }}"
    with pytest.raises(UserError, match="no tools here"):
        ChatTokenizer(other).prompt([{"role": "tool", "content": "x"}])


def test_a_tokenizer_without_an_end_is_refused() -> None:
    from transformers import PreTrainedTokenizerFast

    bare = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
    with pytest.raises(UserError, match="no token that ends"):
        ChatTokenizer(bare, "folder")


def test_chat_models_end_turns_with_their_own_token(chat: ChatTokenizer) -> None:
    import copy

    other = copy.deepcopy(chat.tokenizer)
    other.add_special_tokens({"additional_special_tokens": ["<|im_end|>"]})
    found = ChatTokenizer(other)
    assert found.end == other.convert_tokens_to_ids("<|im_end|>")
    assert set(found.ends) == {found.end, other.eos_token_id}


def test_without_a_template_roles_are_written_out(chat: ChatTokenizer) -> None:
    import copy

    other = copy.deepcopy(chat.tokenizer)
    other.chat_template = None
    assert ChatTokenizer(other).render([{"role": "user", "content": "Hi"}]) == "user: Hi\n\nassistant: "
