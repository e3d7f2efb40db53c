"""How the vendors' models write calls into text: one reader and one writer for each way.

A reader takes the whole text and returns None where the text does not carry its marks, so that reading is decided
output by output. Whatever a model wrote is data: a reader never raises, and takes time linear in the text's length.

| name | as in | looks like |
|---|---|---|
| llama | Llama 3 | `<|python_tag|>{"name": "f", "parameters": {}}`, with or without the tag, several with `;` |
| function-tag | Llama 3.1, Functionary 3.1 | `<function=f>{}</function>` |
| hermes | Hermes, Qwen 2.5 and 3, Granite 4 | `<tool_call>{"name": "f", "arguments": {}}</tool_call>` |
| qwen-xml | Qwen 3 Coder | `<tool_call><function=f><parameter=x>1</parameter></function></tool_call>` |
| qwen-agent | Qwen-Agent | `✿FUNCTION✿: f`, `✿ARGS✿: {}` |
| mistral | Mistral | `[TOOL_CALLS][{"name": "f", "arguments": {}}]`, `[TOOL_CALLS]f[ARGS]{}` |
| deepseek | DeepSeek V3, R1, V3.1 | `<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>` |
| xlam | xLAM, Hammer, ToolACE in JSON | `[{"name": "f", "arguments": {}}]`, `{"tool_calls": [...]}`, fenced or not |
| functionary | Functionary 2 and 3.2 | `<|recipient|>f <|content|>{}`, `>>>f` and a line of JSON |
| granite | Granite 3 | `<|tool_call|>[...]`, `<function_call> {...}` |
| gemma | Gemma 3, FunctionGemma | a `tool_code` block, `<start_function_call>call:f{x:1}<end_function_call>` |
| harmony | GPT-OSS | `<|channel|>commentary to=functions.f <|message|>{}<|call|>` |
| python | prompted models of BFCL, ToolACE, Llama 4 | `[f(x=1), g(y="a")]` |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from planarena.formats.parsed import Call
from planarena.formats.written import ReadCalls, call_list, call_object, write_arguments
from planarena.formats.written_marked import (
    gemma_text,
    read_deepseek,
    read_functionary,
    read_gemma,
    read_granite,
    read_harmony,
    read_mistral,
)
from planarena.formats.written_plainly import (
    read_function_tag,
    read_hermes,
    read_llama,
    read_python,
    read_qwen_agent,
    read_qwen_xml,
    read_xlam,
    write_python,
    write_qwen_xml,
)

__all__ = ["VENDORS", "Vendor"]


class Vendor(NamedTuple):
    """One way of writing calls.

    Attributes:
        read: Text -> what it says; None without the marks.
        write: Calls and words -> text that `read` returns them from.
    """

    read: Callable[[str], ReadCalls | None]
    write: Callable[[Sequence[Call], str], str]


def _before(content: str, text: str) -> str:
    return f"{content}\n{text}" if content else text


# The order is the order of detection: marks that hold other marks come first.
VENDORS: dict[str, Vendor] = {
    "harmony": Vendor(
        read_harmony,
        lambda calls, content: (
            (f"<|channel|>commentary<|message|>{content}<|end|><|start|>assistant" if content else "")
            + "<|start|>assistant".join(
                f"<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>{write_arguments(call)}<|call|>"
                for call in calls
            )
        ),
    ),
    "deepseek": Vendor(
        read_deepseek,
        lambda calls, content: (
            content
            + "<｜tool▁calls▁begin｜>"
            + "".join(
                f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call.name}\n```json\n{write_arguments(call)}\n```<｜tool▁call▁end｜>"
                for call in calls
            )
            + "<｜tool▁calls▁end｜>"
        ),
    ),
    "mistral": Vendor(read_mistral, lambda calls, content: f"{content}[TOOL_CALLS]{call_list(calls)}</s>"),
    "granite": Vendor(
        read_granite, lambda calls, content: _before(content, f"<|tool_call|>{call_list(calls)}")
    ),
    "gemma": Vendor(
        read_gemma,
        lambda calls, content: _before(
            content,
            "".join(
                f"<start_function_call>call:{call.name}{gemma_text(call.arguments)}<end_function_call>"
                for call in calls
            ),
        ),
    ),
    "qwen-xml": Vendor(read_qwen_xml, write_qwen_xml),
    "function-tag": Vendor(
        read_function_tag,
        lambda calls, content: _before(
            content, "\n".join(f"<function={call.name}>{write_arguments(call)}</function>" for call in calls)
        ),
    ),
    "hermes": Vendor(
        read_hermes,
        lambda calls, content: _before(
            content, "\n".join(f"<tool_call>\n{call_object(call)}\n</tool_call>" for call in calls)
        ),
    ),
    "qwen-agent": Vendor(
        read_qwen_agent,
        lambda calls, content: _before(
            content, "\n".join(f"✿FUNCTION✿: {call.name}\n✿ARGS✿: {write_arguments(call)}" for call in calls)
        ),
    ),
    "functionary": Vendor(
        read_functionary,
        lambda calls, content: (
            (f">>>all\n{content}\n" if content else "")
            + "".join(f">>>{call.name}\n{write_arguments(call)}" for call in calls)
        ),
    ),
    "llama": Vendor(
        read_llama,
        lambda calls, content: _before(
            content,
            "<|python_tag|>" + "; ".join(call_object(call, "parameters") for call in calls) + "<|eom_id|>",
        ),
    ),
    "xlam": Vendor(
        read_xlam,
        lambda calls, content: (
            f"{content}\n```json\n{call_list(calls)}\n```" if content else call_list(calls)
        ),
    ),
    "python": Vendor(read_python, write_python),
}
