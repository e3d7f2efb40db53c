"""Descriptions of made-up APIs for the tests of emulated worlds, in few lines."""

from __future__ import annotations

import re
from typing import Any

TEXT, DAY, MOMENT = (
    {"type": "string"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "date-time"},
)
WHOLE = {"type": "integer"}


def one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def collection(
    path: str,
    fields: dict[str, Any],
    required: tuple[str, ...] = (),
    acts: tuple[str, ...] = (),
    shown: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The paths of a collection with everything that services offer for it; `shown` is what only the service writes."""
    item = {"type": "object", "required": ["id"], "properties": {"id": TEXT, **fields, **(shown or {})}}
    new = {"type": "object", "required": list(required), "properties": fields}
    name = "".join(word.capitalize() for word in re.findall(r"[a-z]+", path.rsplit("/", 1)[-1]))
    owners = re.findall(r"\{(\w+)\}", path)
    key = f"{name[0].lower()}{name[1:-1]}Id"

    def parameters(*names: str) -> list[dict[str, Any]]:
        return [{"name": one, "in": "path", "required": True, "schema": TEXT} for one in names]

    def answer(schema: Any) -> dict[str, Any]:
        return {
            "responses": {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}
        }

    def body(schema: Any) -> dict[str, Any]:
        return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}

    listed = {"type": "object", "properties": {"items": {"type": "array", "items": item}, "count": WHOLE}}
    return {
        path: {
            "parameters": parameters(*owners),
            "get": {"operationId": f"list{name}", **answer(listed)},
            "post": {"operationId": f"create{name}", **body(new), **answer(item)},
        },
        f"{path}/{{{key}}}": {
            "parameters": parameters(*owners, key),
            "get": {"operationId": f"get{name}", **answer(item)},
            "patch": {"operationId": f"update{name}", **body({**new, "required": []}), **answer(item)},
            "delete": {"operationId": f"delete{name}", "responses": {"204": {"description": ""}}},
        },
        **{
            f"{path}/{{{key}}}/{act}": {
                "parameters": parameters(*owners, key),
                "post": {"operationId": f"{act}{name}", **answer(item)},
            }
            for act in acts
        },
    }
