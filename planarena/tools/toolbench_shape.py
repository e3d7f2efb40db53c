"""Tool lists in the shape of ToolBench: a tool with a list of APIs, or one API with its tool's name."""

from __future__ import annotations

from typing import Any

from planarena.tools.repair import Repairer

__all__ = ["is_toolbench", "read_toolbench"]

_LISTS = ("required_parameters", "optional_parameters")


def is_toolbench(entry: Any) -> bool:
    """Say whether an entry has ToolBench's lists of parameters, or a list of APIs that have them."""
    if not isinstance(entry, dict):
        return False
    listed = entry.get("api_list")
    if isinstance(listed, list):
        return all(isinstance(api, dict) and any(key in api for key in _LISTS) for api in listed) and bool(
            listed
        )
    return any(isinstance(entry.get(key), list) for key in _LISTS)


def read_toolbench(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one function per API, in OpenAI's shape; the changes stand under `x-repairs`.

    Raises:
        SchemaError: A schema nested too deeply.
    """
    listed = entry.get("api_list")
    if isinstance(listed, list):
        tool = str(entry.get("tool_name") or entry.get("name") or entry.get("title") or "tool")
        about = str(entry.get("tool_description") or "")
        return [_read({"tool_name": tool, "tool_description": about, **api}) for api in listed]
    return [_read(entry)]


def _read(api: dict[str, Any]) -> dict[str, Any]:
    repairer = Repairer(nullable=False)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for key in _LISTS:
        for parameter in api.get(key) or ():
            if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str):
                repairer.note(f"{key}: an entry without a name is left out")
                continue
            name = parameter["name"]
            schema = repairer.schema({"type": str(parameter.get("type", "string")).lower()}, name)
            if isinstance(parameter.get("description"), str) and parameter["description"]:
                schema["description"] = parameter["description"]
            # An empty default says that there is none; the others are texts, whatever the type.
            if parameter.get("default") not in (None, "") and schema.get("type") == "string":
                schema["default"] = str(parameter["default"])
            properties[name] = schema
            if key == "required_parameters" and name not in required:
                required.append(name)
    tool = str(api.get("tool_name") or "")
    name = str(api.get("api_name") or api.get("name") or "api")
    described = str(api.get("api_description") or api.get("description") or api.get("tool_description") or "")
    return {
        "name": f"{tool}.{name}" if tool else name,
        "description": described,
        "parameters": {"type": "object", "properties": properties, "required": required},
        "x-repairs": list(repairer.take_repairs()),
    }
