"""OpenAPI 2, 3.0 and 3.1 descriptions become tools: one operation, one tool, with its whole schema.

References are never cut by depth: each definition is repaired once and travels with the tools that reach it,
under `$defs`. What had to be changed stands in `schema_repairs`; an operation that cannot be converted is
refused with its reason and the others go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from planarena.errors import SchemaError, SourceError, UserError
from planarena.tools.documents import Documents, read_document
from planarena.tools.openapi_definitions import Definitions, check_canonical
from planarena.tools.openapi_parts import describe_operation, schema_of_example, success_of
from planarena.tools.openapi_requests import RequestReader
from planarena.tools.repair import clean_value
from planarena.tools.tool import Effect, Tool
from planarena.tools.wire_names import with_wire_names

__all__ = ["Conversion", "RestOperation", "convert_openapi", "openapi_files"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_EFFECTS: dict[str, Effect] = {
    "get": "read", "head": "read", "options": "read", "trace": "read",
    "post": "create", "put": "update", "patch": "update", "delete": "delete",
}  # fmt: skip


class RestOperation(NamedTuple):
    """One operation of a description.

    Attributes:
        tool: What models see.
        method: In lower case.
        path: The template, as `/pets/{petId}`.
        placement: argument -> (location, name): `path`, `query`, `header`, `cookie`, `form`, `field` (of the body)
            or `body` (the whole of it).
        body_type: The media type of the body, or "".
        status: The status of the response that `tool.output_schema` describes.
        deprecated: As the description says.
    """

    tool: Tool
    method: str
    path: str
    placement: dict[str, tuple[str, str]]
    body_type: str
    status: str
    deprecated: bool


class Conversion(NamedTuple):
    """What a description gave.

    Attributes:
        namespace: Its name.
        title: Its title.
        servers: Base addresses, as written.
        operations: The converted ones.
        refused: (method and path, reason) of the others.
        alone: Whether it refers to no other file.
    """

    namespace: str
    title: str
    servers: tuple[str, ...]
    operations: tuple[RestOperation, ...]
    refused: tuple[tuple[str, str], ...]
    alone: bool = True


def openapi_files(source: Path) -> list[Path]:
    """Return the descriptions in a file or folder, sorted; other JSON and YAML files are passed over.

    Raises:
        SourceError: There is none.
    """
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise SourceError("there is no such file or folder", where=str(source), fix="check the path")
    files = []
    for file in sorted(source.rglob("*")):
        if file.suffix.lower() in {".json", ".yaml", ".yml"} and file.is_file():
            with file.open("rb") as handle:
                head = handle.read(1 << 16)
            if b"openapi" in head or b"swagger" in head:
                files.append(file)
    if not files:
        raise SourceError(
            "holds no OpenAPI description", where=str(source), fix="give a file that has `openapi: 3...`"
        )
    return files


def convert_openapi(file: Path, value: Any = None) -> Conversion:
    """Convert a description.

    Args:
        file: JSON or YAML.
        value: Its content, where it is read already.

    Raises:
        SourceError: It cannot be read or is no OpenAPI 2, 3.0 or 3.1 description.
    """
    digest = ""
    if value is None:
        value, digest = read_document(file)
    return _Converter(file, value, digest).run()


def _version(document: Any, file: Path) -> str:
    if isinstance(document, dict):
        for key in ("openapi", "swagger"):
            text = str(document.get(key, ""))
            if re.match(r"^(2\.|2$|3\.)", text) and isinstance(
                document.get("paths", document.get("webhooks")), dict
            ):
                return text
    raise SourceError(
        "is no OpenAPI 2, 3.0 or 3.1 description", where=str(file), fix='it must hold "openapi" and "paths"'
    )


class _Converter:
    def __init__(self, file: Path, document: Any, digest: str) -> None:
        self.version = _version(document, file)
        self.file, self.document, self.digest = file, document, digest
        self.documents = Documents(file, document)
        nullable = not self.version.startswith("3.1")
        self.definitions = Definitions(file, self.documents, nullable=nullable)
        self.requests = RequestReader(file, self.documents, self.definitions)
        info = document.get("info")
        self.info: dict[str, Any] = info if isinstance(info, dict) else {}

    def run(self) -> Conversion:
        """Convert every operation."""
        found: list[RestOperation] = []
        refused: list[tuple[str, str]] = []
        names: dict[str, int] = {}
        for path, item, method, operation in self._operations(refused):
            label = f"{method.upper()} {path}"
            try:
                if not isinstance(operation, dict):
                    raise SchemaError("the operation is no object", where=label, fix="write an object")
                name = self._name(operation, method, path, names)
                found.append(self._convert(path, item, method, operation, name))
            except UserError as error:
                refused.append((label, f"{error.what} ({error.where})" if error.where else error.what))
        tools = with_wire_names(operation.tool for operation in found)
        converted = [one._replace(tool=tool) for one, tool in zip(found, tools, strict=True)]
        title = str(self.info.get("title") or self.namespace)
        return Conversion(
            self.namespace,
            title,
            self._servers(),
            tuple(converted),
            tuple(refused),
            self.documents.alone,
        )

    @property
    def namespace(self) -> str:
        """The provider and service where the directory's words are there, else the file's name."""
        provider, service = self.info.get("x-providerName"), self.info.get("x-serviceName")
        words = [word for word in (provider, service) if isinstance(word, str) and word]
        return ":".join(words) or self.file.stem

    def _servers(self) -> tuple[str, ...]:
        servers = self.document.get("servers")
        if isinstance(servers, list):
            return tuple(
                str(s["url"]) for s in servers if isinstance(s, dict) and isinstance(s.get("url"), str)
            )
        host = self.document.get("host")
        if not isinstance(host, str):
            return ()
        schemes = self.document.get("schemes")
        scheme = (
            "https" if not isinstance(schemes, list) or "https" in schemes or not schemes else str(schemes[0])
        )
        base = self.document.get("basePath")
        return (f"{scheme}://{host}{base if isinstance(base, str) else ''}",)

    def _operations(self, refused: list[tuple[str, str]]) -> Iterator[tuple[str, dict[str, Any], str, Any]]:
        for path, item in self.document.get("paths", {}).items():
            try:
                item, _ = self.documents.deref(item, self.file)
            except UserError as error:
                refused.append((str(path), error.what))
                continue
            if not isinstance(item, dict) or not isinstance(path, str):
                continue
            for method in METHODS:
                if method in item:
                    yield path, item, method, item[method]

    @staticmethod
    def _name(operation: dict[str, Any], method: str, path: str, names: dict[str, int]) -> str:
        given = operation.get("operationId")
        name = given.strip() if isinstance(given, str) and given.strip() and clean_value(given) else ""
        if not name:
            words = re.sub(r"[{}]", "", path)
            name = f"{method}_{re.sub(r'[^A-Za-z0-9]+', '_', words).strip('_') or 'root'}"
        names[name] = names.get(name, 0) + 1
        return name if names[name] == 1 else f"{name}_{names[name]}"

    # -- operations --------------------------------------------------------------------------------

    def _convert(
        self, path: str, item: dict[str, Any], method: str, operation: dict[str, Any], name: str
    ) -> RestOperation:
        where = f"{self.file.name}: {method.upper()} {path}"
        needs: set[str] = set()
        arguments, body_type, repairs = self.requests.read(path, item, operation, needs)
        schema: dict[str, Any] = {"type": "object", "properties": arguments.properties}
        schema |= {"required": arguments.required, "additionalProperties": False}
        schema = self.definitions.closed(schema, needs, repairs, where)
        status, output = self._response(operation, where, repairs)
        tool = Tool(
            namespace=self.namespace,
            name=name,
            wire_name=name,
            description=describe_operation(operation, item, method, path),
            input_schema=schema,
            output_schema=output,
            effects=_EFFECTS[method],
            source_kind="openapi",
            source_ref=self.file.name,
            source_version=str(self.info.get("version", ""))[:64],
            source_sha256=self.digest,
            licence=self._licence(),
            schema_repairs=tuple(repairs),
        )
        check_canonical([tool.namespace, tool.name, tool.description], where)
        return RestOperation(
            tool, method, path, arguments.placement, body_type, status, operation.get("deprecated") is True
        )

    def _licence(self) -> str:
        licence = self.info.get("license")
        if not isinstance(licence, dict):
            return "unknown"
        return str(licence.get("identifier") or licence.get("name") or "unknown")[:64]

    def _response(self, operation: dict[str, Any], where: str, repairs: list[str]) -> tuple[str, Any]:
        """Return the status and schema of the first success; a schema that cannot be converted is none."""
        responses = operation.get("responses")
        if not isinstance(responses, dict):
            return "", None
        codes = sorted(str(code) for code in responses if re.match(r"^2(\d\d|XX)$", str(code), re.IGNORECASE))
        codes += [code for code in ("default",) if code in responses and not codes]
        for code in codes:
            try:
                response, base = self.documents.deref(
                    responses.get(code, responses.get(int(code) if code.isdigit() else code)), self.file
                )
                if not isinstance(response, dict):
                    continue
                raw, example = success_of(response)
                if raw is None or (
                    isinstance(raw, dict)
                    and raw.keys() <= {"type", "description", "title"}
                    and raw.get("type", "object") == "object"
                ):
                    if not isinstance(example, dict | list) or not clean_value(example):
                        if raw is None:
                            continue
                    else:
                        raw = schema_of_example(example)
                        repairs.append("response: its schema is that of the example given")
                needs: set[str] = set()
                repairer = self.definitions.repairer(base, needs)
                schema = repairer.schema(raw, "response")
                notes = list(repairer.take_repairs())
                schema = self.definitions.closed(schema, needs, notes, where)
                repairs.extend(note for note in notes if note not in repairs)
                return code, schema if isinstance(schema, dict) else None
            except UserError as error:
                repairs.append(f"response {code}: its schema is left out: {error.what[:200]}")
        return (codes[0] if codes else ""), None
