"""Reading documents of other people: JSON and YAML with caps, references inside the source folder only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from planarena.errors import SchemaError, SourceError
from planarena.records.foreign import fits

__all__ = ["MAX_DOCUMENT", "Documents", "read_document"]

MAX_DOCUMENT = 64 << 20
_MAX_ALIASES = 10_000
_MAX_NODES = 5_000_000
# A node of YAML takes 700 bytes and fifteen millionths of a second until it is a value.
_MAX_EVENTS = 1_000_000
_MAX_DEPTH = 200


def read_document(file: Path) -> tuple[Any, str]:
    """Read a JSON or YAML file.

    Args:
        file: At most 64 MiB; YAML with at most 10,000 aliases. Dates stay texts; `yes`, `no`, `on` and `off` too.

    Returns:
        The value and the SHA-256 of the bytes.

    Raises:
        SourceError: It cannot be read, is too large or deep, or is neither JSON nor YAML.
    """
    try:
        with file.open("rb") as handle:
            data = handle.read(MAX_DOCUMENT + 1)
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror}", where=str(file), fix="check the path and its permissions"
        ) from error
    if len(data) > MAX_DOCUMENT:
        raise SourceError(f"is larger than {MAX_DOCUMENT >> 20} MiB", where=str(file), fix="split it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"is not UTF-8: byte {error.start}", where=str(file), fix="save it as UTF-8"
        ) from error
    try:
        if file.suffix.lower() == ".json" or text.lstrip()[:1] in {"{", "["}:
            if not fits(data):
                raise ValueError("it holds more values than a file of its size may hold")
            value = json.loads(text)
        else:
            value = _read_yaml(text)
        if "\\ud" in text or "\\uD" in text:
            # Half of a surrogate pair can be written as an escape, and is no text.
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise SourceError("is nested too deeply", where=str(file), fix="use definitions and $ref") from error
    except ValueError as error:
        reason = str(error).splitlines()[0][:200]
        raise SourceError(
            f"is neither JSON nor YAML: {reason}", where=str(file), fix="correct it there"
        ) from error
    _check_size(value, file)
    return value, sha256(data).hexdigest()


def _read_yaml(text: str) -> Any:
    import yaml

    loader = _yaml_loader()
    try:
        aliases = 0
        for number, event in enumerate(yaml.parse(text, Loader=loader)):
            if number > _MAX_EVENTS:
                raise ValueError(f"more than {_MAX_EVENTS:,} values; as JSON it may hold more")
            aliases += isinstance(event, yaml.AliasEvent)
            if aliases > _MAX_ALIASES:
                raise ValueError(f"more than {_MAX_ALIASES} aliases")
        return yaml.load(text, Loader=loader)  # noqa: S506  a safe loader with fewer types
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _yaml_loader() -> Any:
    """A safe loader that reads scalars as JSON would: no dates, no sexagesimals, no `yes`."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    loader: Any = type("JsonLoader", (base,), {"yaml_implicit_resolvers": {}})
    for tag, pattern, first in (
        ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
        ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
        ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
        (
            "float",
            r"^[-+]?(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)$",
            "-+.0123456789",
        ),
        ("merge", r"^(?:<<)$", "<"),
    ):
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))
    return loader


def _check_size(value: Any, file: Path) -> None:
    """Aliases make a small file a large value: count what it would be when written out."""
    nodes, depth = 1, 0
    level = [value] if isinstance(value, dict | list) else []
    while level:
        depth += 1
        inside = sum(map(len, level))
        nodes += inside
        if inside and depth > _MAX_DEPTH:
            raise SourceError(
                f"is nested deeper than {_MAX_DEPTH}", where=str(file), fix="use definitions and $ref"
            )
        if nodes > _MAX_NODES:
            raise SourceError(f"holds more than {_MAX_NODES} values", where=str(file), fix="split it")
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]


class Documents:
    """The documents that one description refers to, all inside its folder; nothing is fetched.

    Args:
        main: The description's file.
        value: Its content, where it is read already.
    """

    def __init__(self, main: Path, value: Any = None) -> None:
        self.main = main
        self._folder = main.resolve().parent
        self._known: dict[Path, Any] = {} if value is None else {main: value}

    @property
    def alone(self) -> bool:
        """Whether no other document was read."""
        return len(self._known) <= 1

    def load(self, file: Path) -> Any:
        """Return a document's content, read once."""
        if file not in self._known:
            self._known[file] = read_document(file)[0]
        return self._known[file]

    def locate(self, target: str, base: Path) -> tuple[Path, str]:
        """Split a reference into the file and the pointer that it means.

        Args:
            target: The value of a `$ref`.
            base: The document that holds it.

        Raises:
            SchemaError: It leads out of the source folder, to the network, or to no file.
        """
        place, _, fragment = target.partition("#")
        pointer = unquote(fragment)
        if not place:
            return base, pointer
        if re.match(r"^[A-Za-z][A-Za-z0-9+.-]*:", place) or place.startswith(("//", "/", "\\")):
            raise SchemaError(
                f"the reference leaves the source folder: {target[:120]!r}",
                where=str(base.name),
                fix="copy the document into the folder; nothing is fetched",
            )
        file = base.parent / unquote(place)
        try:
            inside = file.resolve().is_relative_to(self._folder)
            there = inside and file.is_file()
        except (OSError, ValueError):
            inside = there = False
        if not there:
            what = "there is no such file" if inside else "the reference leaves the source folder"
            raise SchemaError(
                f"{what}: {target[:120]!r}", where=str(base.name), fix="copy the document into the folder"
            )
        known = next((path for path in self._known if path.resolve() == file.resolve()), file)
        return known, pointer

    def follow(self, target: str, base: Path) -> tuple[Any, Path, str]:
        """Return what a reference means, the document it stands in and its pointer there.

        Raises:
            SchemaError: There is no such value, or the reference must not be followed.
        """
        file, pointer = self.locate(target, base)
        value = self.load(file)
        for word in _words(pointer):
            try:
                value = value[int(word)] if isinstance(value, list) else value[word]
            except (KeyError, IndexError, TypeError, ValueError):
                raise SchemaError(
                    f"the reference has no target: {target[:120]!r}", where=str(base.name), fix="correct it"
                ) from None
        return value, file, pointer

    def deref(self, value: Any, base: Path) -> tuple[Any, Path]:
        """Follow references that stand where a parameter, a body or a response must stand.

        Raises:
            SchemaError: As `follow`, or the references turn in a circle.
        """
        for _ in range(32):
            if not (isinstance(value, dict) and isinstance(value.get("$ref"), str)):
                return value, base
            value, base, _ = self.follow(value["$ref"], base)
        raise SchemaError("references turn in a circle", where=str(base.name), fix="break the circle")


def _words(pointer: str) -> Iterator[str]:
    for word in pointer.strip("/").split("/") if pointer.strip("/") else ():
        yield word.replace("~1", "/").replace("~0", "~")
