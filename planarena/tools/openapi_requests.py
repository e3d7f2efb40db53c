"""What an operation is sent: parameters and bodies of OpenAPI 2, 3.0 and 3.1 become arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planarena.tools.documents import Documents
from planarena.tools.openapi_definitions import Definitions
from planarena.tools.openapi_parts import Arguments, media_of
from planarena.tools.repair import Repairer, clean_value

__all__ = ["RequestReader"]

_LOCATIONS = ("path", "query", "header", "cookie")
# The transport's own headers; OpenAPI says that parameters of these names are ignored.
_TRANSPORT = ("accept", "content-type", "authorization")


class RequestReader:
    """Reads the requests of one description.

    Args:
        file: The description.
        documents: Its files.
        definitions: Its definitions.
    """

    def __init__(self, file: Path, documents: Documents, definitions: Definitions) -> None:
        self.file, self.documents, self.definitions = file, documents, definitions

    def read(
        self, path: str, item: dict[str, Any], operation: dict[str, Any], needs: set[str]
    ) -> tuple[Arguments, str, list[str]]:
        """Read an operation's request.

        Args:
            path: The template.
            item: The path's object.
            operation: The operation's.
            needs: Filled with the definitions that its schemas refer to.

        Returns:
            The arguments, the media type of the body or "", and what was changed.

        Raises:
            SchemaError: A schema that cannot be converted.
        """
        arguments = Arguments()
        repairer = self.definitions.repairer(self.file, needs)
        for parameter, base in self._parameters(path, item, operation):
            self._parameter(parameter, base, arguments, needs, repairer)
        body_type = self._body(operation, arguments, needs, repairer)
        return arguments, body_type, list(repairer.take_repairs())

    def _parameters(
        self, path: str, item: dict[str, Any], operation: dict[str, Any]
    ) -> Iterator[tuple[dict[str, Any], Path]]:
        """Yield the parameters that count: an operation's own replace its path's of the same name and place."""
        found: dict[tuple[str, str], tuple[dict[str, Any], Path]] = {}
        for holder in (item, operation):
            listed = holder.get("parameters")
            entries = (
                list(listed.values())
                if isinstance(listed, dict)
                else listed
                if isinstance(listed, list)
                else []
            )
            for entry in entries:
                parameter, base = self.documents.deref(entry, self.file)
                if isinstance(parameter, dict) and isinstance(parameter.get("name"), str):
                    found[parameter["name"], str(parameter.get("in"))] = parameter, base
        for name in re.findall(r"\{([^{}]+)\}", path):
            if (name, "path") not in found:
                found[name, "path"] = (
                    {"name": name, "in": "path", "required": True, "schema": {"type": "string"}},
                    self.file,
                )
        yield from found.values()

    def _parameter(
        self,
        parameter: dict[str, Any],
        base: Path,
        arguments: Arguments,
        needs: set[str],
        repairer: Repairer,
    ) -> None:
        name, location = parameter["name"], str(parameter.get("in"))
        if location == "header" and name.lower() in _TRANSPORT:
            return
        if location not in {*_LOCATIONS, "body", "formData"}:
            repairer.note(f"{name}: a parameter in {location!r} is left out")
            return
        here = repairer if base == self.file else self.definitions.repairer(base, needs)
        if location == "body":
            self._take_body(
                parameter.get("schema", {}), base, parameter.get("required") is True, arguments, needs, here
            )
        else:
            schema = self._parameter_schema(parameter, here)
            if (
                isinstance(parameter.get("description"), str)
                and isinstance(schema, dict)
                and clean_value(parameter["description"])
            ):
                schema = {**schema, "description": parameter["description"]}
            required = parameter.get("required") is True or location == "path"
            arguments.add(name, "form" if location == "formData" else location, schema, required)
        if here is not repairer:
            for note in here.take_repairs():
                repairer.note(note)

    @staticmethod
    def _parameter_schema(parameter: dict[str, Any], repairer: Repairer) -> Any:
        content = parameter.get("content")
        if "schema" in parameter:
            raw = parameter["schema"]
        elif isinstance(content, dict) and content:
            first = next(iter(content.values()))
            raw = first.get("schema", {}) if isinstance(first, dict) else {}
        else:  # OpenAPI 2: the parameter is its own schema
            words = (
                "name",
                "in",
                "required",
                "description",
                "schema",
                "content",
                "deprecated",
                "allowReserved",
            )
            raw = {key: value for key, value in parameter.items() if key not in words}
        return repairer.schema(raw, parameter["name"])

    def _body(
        self, operation: dict[str, Any], arguments: Arguments, needs: set[str], repairer: Repairer
    ) -> str:
        body, base = self.documents.deref(operation.get("requestBody"), self.file)
        if not isinstance(body, dict):
            return "application/json" if arguments.has_body else ""
        media, content = media_of(body.get("content"))
        if content is None:
            return ""
        here = repairer if base == self.file else self.definitions.repairer(base, needs)
        self._take_body(content.get("schema", {}), base, body.get("required") is True, arguments, needs, here)
        if here is not repairer:
            for note in here.take_repairs():
                repairer.note(note)
        return media

    def _take_body(
        self, raw: Any, base: Path, required: bool, arguments: Arguments, needs: set[str], repairer: Repairer
    ) -> None:
        """Make each property of a plain object an argument of its own; any other body is one argument."""
        flat = self._plain_object(raw, base, 0)
        if flat is not None and flat[0] and not any(name in arguments.properties for name in flat[0]):
            properties, names = flat
            for name, (inner, inner_base) in properties.items():
                if isinstance(inner, dict) and inner.get("readOnly") is True:
                    continue
                here = repairer if inner_base == base else self.definitions.repairer(inner_base, needs)
                # A body that may be left out still needs its own required names where it is sent, and a call sends it.
                arguments.add(name, "field", here.schema(inner, name), name in names)
                if here is not repairer:
                    for note in here.take_repairs():
                        repairer.note(note)
            arguments.has_body = True
            return
        name = "body" if "body" not in arguments.properties else "request_body"
        arguments.add(name, "body", repairer.schema(raw, "body"), required)
        arguments.has_body = True

    def _plain_object(
        self, raw: Any, base: Path, depth: int
    ) -> tuple[dict[str, tuple[Any, Path]], set[str]] | None:
        """Return the properties and required names of an object without conditions; `allOf` of such is one too."""
        raw, base = self.documents.deref(raw, base)
        words = {"type", "properties", "required", "description", "title", "example", "examples", "default",
                 "additionalProperties", "allOf", "xml", "externalDocs", "$schema", "discriminator"}  # fmt: skip
        if not isinstance(raw, dict) or depth > 8 or raw.get("type", "object") != "object":
            return None
        if any(word not in words and not str(word).startswith("x-") for word in raw):
            return None
        if raw.get("additionalProperties", True) not in (False, True, {}):
            return None
        properties, required = raw.get("properties") or {}, raw.get("required") or []
        if not isinstance(properties, dict) or not isinstance(required, list):
            return None
        found = {name: (inner, base) for name, inner in properties.items()}
        names = {name for name in required if isinstance(name, str)}
        names.update(
            n for n, inner in properties.items() if isinstance(inner, dict) and inner.get("required") is True
        )
        if not all(isinstance(name, str) and clean_value(name) for name in found):
            return None
        parts = raw.get("allOf", [])
        for part in parts if isinstance(parts, list) else [parts]:
            inner_object = self._plain_object(part, base, depth + 1)
            if inner_object is None or any(name in found for name in inner_object[0]):
                return None
            found.update(inner_object[0])
            names.update(inner_object[1])
        return found, names
