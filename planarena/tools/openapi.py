"""OpenAPI 2, 3.0 and 3.1 descriptions become tools: one operation, one tool, with its whole schema.

References are never cut by depth: each definition is repaired once and travels with the tools that reach it,
under `$defs`. What had to be changed stands in `schema_repairs`; an operation that cannot be converted is
refused with its reason and the others go on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from planarena.errors import SchemaError, SourceError, UserError
from planarena.records.canonical import canonical_bytes
from planarena.tools.documents import Documents, read_document
from planarena.tools.openapi_parts import (
    Arguments,
    describe_operation,
    media_of,
    schema_of_example,
    success_of,
)
from planarena.tools.repair import Repairer, clean_value
from planarena.tools.tool import Effect, Tool
from planarena.tools.validation import MAX_SCHEMA_NODES, SchemaValidator, check_schema
from planarena.tools.wire_names import with_wire_names

__all__ = ["Conversion", "RestOperation", "convert_openapi", "openapi_files"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_EFFECTS: dict[str, Effect] = {
    "get": "read", "head": "read", "options": "read", "trace": "read",
    "post": "create", "put": "update", "patch": "update", "delete": "delete",
}  # fmt: skip
_LOCATIONS = ("path", "query", "header", "cookie")
# The transport's own headers; OpenAPI says that parameters of these names are ignored.
_TRANSPORT = ("accept", "content-type", "authorization")


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
    """

    namespace: str
    title: str
    servers: tuple[str, ...]
    operations: tuple[RestOperation, ...]
    refused: tuple[tuple[str, str], ...]


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


class _Definition(NamedTuple):
    schema: Any
    needs: frozenset[str]
    repairs: tuple[str, ...]
    nodes: int


def _check_part(schema: Any, needs: Collection[str], where: str) -> int:
    """Check a schema whose definitions are checked by themselves; return how many values it holds.

    Raises:
        SchemaError: It does not compile, is too large or deep, or has no canonical JSON.
    """
    _check_canonical(schema, where)
    part = {**schema, "$defs": dict.fromkeys(needs, True)} if isinstance(schema, dict) else schema
    nodes = check_schema(part, where)
    SchemaValidator(part, where, checked=True)
    return nodes


def _check_canonical(value: Any, where: str) -> None:
    try:
        canonical_bytes(value)
    except ValueError as error:
        raise SchemaError(f"has no canonical JSON: {error}", where=where, fix="use finite numbers") from error


class _Converter:
    def __init__(self, file: Path, document: Any, digest: str) -> None:
        self.version = _version(document, file)
        self.file, self.document, self.digest = file, document, digest
        self.documents = Documents(file, document)
        self.nullable = not self.version.startswith("3.1")
        self._names: dict[tuple[Path, str], str] = {}
        self._places: dict[str, tuple[Path, str, str]] = {}
        self._definitions: dict[str, _Definition | SchemaError] = {}
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
        return Conversion(self.namespace, title, self._servers(), tuple(converted), tuple(refused))

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

    # -- definitions -------------------------------------------------------------------------------

    def _repairer(self, base: Path, needs: set[str]) -> Repairer:
        def resolve(target: str) -> str:
            file, pointer = self.documents.locate(target, base)
            name = self._names.get((file, pointer))
            if name is None:
                self.documents.follow(target, base)
                name = self._new_name(file, pointer)
                self._places[name] = (file, pointer, target if file == base else f"{file.name}#{pointer}")
            needs.add(name)
            return f"#/$defs/{name}"

        return Repairer(resolve, nullable=self.nullable)

    def _new_name(self, file: Path, pointer: str) -> str:
        last = pointer.rstrip("/").rsplit("/", 1)[-1] or file.stem
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", last)[:80] or "definition"
        name, number = stem, 2
        while name in self._places:
            name, number = f"{stem}_{number}", number + 1
        self._names[file, pointer] = name
        return name

    def _definition(self, name: str) -> _Definition:
        known = self._definitions.get(name)
        if known is None:
            file, pointer, _ = self._places[name]
            needs: set[str] = set()
            repairer = self._repairer(file, needs)
            try:
                value, _, _ = self.documents.follow(f"#{pointer}", file)
                schema = repairer.schema(value, f"$defs/{name}")
                nodes = _check_part(schema, needs, f"{self.file.name}: $defs/{name}")
                known = _Definition(schema, frozenset(needs), repairer.take_repairs(), nodes)
            except SchemaError as error:
                known = error
            self._definitions[name] = known
        if isinstance(known, SchemaError):
            raise known
        return known

    def _closed(self, schema: Any, needs: set[str], repairs: list[str], where: str) -> Any:
        """Check a schema and add every definition that it reaches.

        Some APIs reach half of their model from every answer: each definition is checked once, by itself.
        """
        nodes = _check_part(schema, needs, where)
        if not needs or not isinstance(schema, dict):
            return schema
        reached: dict[str, Any] = {}
        queue = sorted(needs)
        while queue:
            name = queue.pop()
            if name in reached:
                continue
            definition = self._definition(name)
            reached[name] = definition.schema
            nodes += definition.nodes
            if nodes > MAX_SCHEMA_NODES:
                raise SchemaError(f"more than {MAX_SCHEMA_NODES} values", where=where, fix="split the tool")
            repairs.extend(note for note in definition.repairs if note not in repairs)
            queue.extend(sorted(definition.needs))
        return {**schema, "$defs": dict(sorted(reached.items()))}

    # -- operations --------------------------------------------------------------------------------

    def _convert(
        self, path: str, item: dict[str, Any], method: str, operation: dict[str, Any], name: str
    ) -> RestOperation:
        where = f"{self.file.name}: {method.upper()} {path}"
        needs: set[str] = set()
        arguments = Arguments()
        repairer = self._repairer(self.file, needs)
        for parameter, base in self._parameters(path, item, operation):
            self._parameter(parameter, base, arguments, needs, repairer)
        body_type = self._body(operation, arguments, needs, repairer)
        repairs = list(repairer.take_repairs())
        schema: dict[str, Any] = {"type": "object", "properties": arguments.properties}
        schema |= {"required": arguments.required, "additionalProperties": False}
        schema = self._closed(schema, needs, repairs, where)
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
        _check_canonical([tool.namespace, tool.name, tool.description], where)
        return RestOperation(
            tool, method, path, arguments.placement, body_type, status, operation.get("deprecated") is True
        )

    def _licence(self) -> str:
        licence = self.info.get("license")
        if not isinstance(licence, dict):
            return "unknown"
        return str(licence.get("identifier") or licence.get("name") or "unknown")[:64]

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
        here = repairer if base == self.file else self._repairer(base, needs)
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
        here = repairer if base == self.file else self._repairer(base, needs)
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
                here = repairer if inner_base == base else self._repairer(inner_base, needs)
                arguments.add(name, "field", here.schema(inner, name), required and name in names)
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
                repairer = self._repairer(base, needs)
                schema = repairer.schema(raw, "response")
                notes = list(repairer.take_repairs())
                schema = self._closed(schema, needs, notes, where)
                repairs.extend(note for note in notes if note not in repairs)
                return code, schema if isinstance(schema, dict) else None
            except UserError as error:
                repairs.append(f"response {code}: its schema is left out: {error.what[:200]}")
        return (codes[0] if codes else ""), None
