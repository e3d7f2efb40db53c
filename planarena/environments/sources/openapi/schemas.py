"""The compiled schemas of an API: of all its results together, of the arguments family by family."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from planarena.environments.sources.openapi.resources import Api
from planarena.errors import SchemaError
from planarena.tools.tool import Tool
from planarena.tools.validation import SchemaValidator, compile_together

__all__ = ["Results", "compile_arguments"]


class Results:
    """The schemas of all results of an API, compiled once for all its families: they share most definitions.

    Args:
        api: The API.
    """

    def __init__(self, api: Api) -> None:
        self._api = api

    @cached_property
    def validators(self) -> dict[str, SchemaValidator | None]:
        """By wire name; None where there is no schema, or one that does not compile."""
        schemas = {
            name: route.operation.tool.output_schema
            for name, route in self._api.routes.items()
            if route.operation.tool.output_schema is not None
        }
        try:
            found: dict[str, SchemaValidator | None] = dict(compile_together(schemas))
        except SchemaError:
            found = {name: _compiled(name, schema) for name, schema in schemas.items()}
        return {**dict.fromkeys(self._api.routes), **found}


def _compiled(name: str, schema: Any) -> SchemaValidator | None:
    try:
        return SchemaValidator(schema, name, checked=True)
    except SchemaError:
        return None


def compile_arguments(tools: Mapping[str, Tool]) -> dict[str, SchemaValidator]:
    """Compile the schemas of arguments, which conversion has checked, once for all worlds of a family.

    Raises:
        SchemaError: One does not compile.
    """
    schemas = {name: tool.input_schema for name, tool in tools.items()}
    try:
        return compile_together(schemas)
    except SchemaError:
        return {name: SchemaValidator(schema, name, checked=True) for name, schema in schemas.items()}
