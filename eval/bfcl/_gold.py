"""The ground truth as a function-calling model would have written it. Runs inside the sandbox."""

from __future__ import annotations

import inspect
import json
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from _calls import parse_trusted_calls


def response(category: str, key: str, question: dict[str, Any], answer: dict[str, Any] | None) -> Any:
    """The output that the answer key asks for; text where the item asks for one of the prompt formats."""
    if "relevance" in category:
        return [] if "irrelevance" in category else [{question["function"][0]["name"]: "{}"}]
    assert answer is not None
    truth = answer["ground_truth"]
    if category.startswith("multi_turn"):
        classes = question["involved_classes"]
        return [[_step(turn, classes)] if turn else [] for turn in truth]
    if category.startswith(("memory", "web_search")):
        return [[truth[0]]]
    language = "javascript" if "javascript" in category else "java" if "java" in category else "python"
    types = {item["name"]: item["parameters"]["properties"] for item in question["function"]}
    required = {item["name"]: item["parameters"].get("required", []) for item in question["function"]}
    calls = []
    for call in truth:
        ((name, allowed),) = call.items()
        arguments = {}
        for parameter, values in allowed.items():
            stated = [item for item in values if item != ""]
            if parameter not in types[name]:
                continue  # an answer key that names a parameter its function does not have
            if not stated and parameter in required[name]:
                arguments[parameter] = ""
            elif stated:
                arguments[parameter] = _write(stated[0], types[name][parameter], language)
        calls.append((name, arguments))
    if category == "format_sensitivity":
        return _formatted(calls, key.split(":")[1])
    return [{name: json.dumps(arguments)} for name, arguments in calls]


def _formatted(calls: list[tuple[str, dict[str, Any]]], config: str) -> str:
    chosen = dict(part.split("=") for part in config.split("&"))
    if chosen["ret_fmt"] == "python":
        written = [
            f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
            for name, given in calls
        ]
        text = f"[{', '.join(written)}]"
    elif chosen["ret_fmt"] == "json":
        text = json.dumps([{"function": name, "parameters": given} for name, given in calls])
    else:
        verbose = chosen["ret_fmt"] == "verbose_xml"
        inner = "".join(
            f"<function name={quoteattr(name)}>{''.join(_xml(key, value, verbose) for key, value in given.items())}</function>"
            for name, given in calls
        )
        text = f"<functions>{inner}</functions>"
    return f"<TOOLCALL>{text}</TOOLCALL>" if chosen["tool_call_tag"] == "True" else text


_XML_TYPES = {str: "string", bool: "boolean", int: "integer", float: "float", list: "array", dict: "dict"}


def _xml(key: str, value: Any, verbose: bool) -> str:
    text = value if isinstance(value, str) else repr(value)
    head = f"<param name={quoteattr(key)} type={quoteattr(_XML_TYPES.get(type(value), 'null'))}"
    return f"{head} value={quoteattr(text)}/>" if verbose else f"{head}>{escape(text)}</param>"


def _step(turn: list[str], classes: list[str]) -> list[dict[str, str]]:
    """Rewrite positional arguments as keywords: a function-calling model has no other kind."""
    import _executor

    calls = []
    for name, positional, named in parse_trusted_calls(turn):
        for owner in classes:
            method = getattr(_executor.load_class(owner), name, None)
            if method is not None:
                parameters = [item for item in inspect.signature(method).parameters if item != "self"]
        calls.append({name: json.dumps(dict(zip(parameters, positional, strict=False)) | named)})
    return calls


def _write(value: Any, kind: dict[str, Any], language: str) -> Any:
    """One allowed value; a Java or JavaScript argument is source text."""
    if language == "python":
        return _pick(value, kind)
    if language == "java":
        return _java(value, kind["type"], kind.get("items", {}).get("type"))
    return _javascript(value, kind["type"])


def _pick(value: Any, kind: dict[str, Any]) -> Any:
    """A dictionary of the answer key lists the allowed values of each of its keys."""
    if isinstance(value, dict):
        return {
            key: next(item for item in allowed if item != "") if isinstance(allowed, list) else allowed
            for key, allowed in value.items()
            if not (isinstance(allowed, list) and all(item == "" for item in allowed))
        }
    if isinstance(value, list) and kind.get("items", {}).get("type") == "dict":
        return [_pick(item, {}) for item in value]
    return value


def _java(value: Any, kind: str, nested: str | None) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        items = ", ".join(_java_item(item, nested if kind != "Array" else "any") for item in value)
        return (
            f"new {nested}[]{{{items}}}"
            if kind == "Array"
            else f"new ArrayList<{nested}>(Arrays.asList({items}))"
        )
    if isinstance(value, dict):
        picked = _pick(value, {})
        puts = " ".join(f'put("{key}", {_java_item(item, None)});' for key, item in picked.items())
        return f"new HashMap<String, Object>() {{{{ {puts} }}}}"
    return f"{value}{ {'long': 'L', 'float': 'f'}.get(kind, '') }"


def _java_item(value: Any, kind: str | None) -> str:
    if isinstance(value, str):
        # bfcl-eval strips the quotes of text in a list of String or of char, and nowhere else in a list.
        return {"char": f"'{value}'", "String": f'"{value}"', None: f'"{value}"'}.get(kind, value)
    return _java(value, kind or "any", None)


def _javascript(value: Any, kind: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return json.dumps(_pick(value, {}))
    if isinstance(value, list):
        return json.dumps(value)
    return f"{value}n" if kind == "Bigint" else str(value)
