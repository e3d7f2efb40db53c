"""The words of an environment: how users ask for its tools, what answers report, how values are referred to.

Each environment keeps them in `words.yaml` of its folder. Two parts of them steer execution too: `outputs` (what
a final answer reports, hence what a goal requires) and the pointers of `refer` (what can be bound).
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

import msgspec
import yaml

from planarena.environments.contract import WORDS, Environment
from planarena.environments.world import operations
from planarena.errors import SchemaError, SourceError
from planarena.records.foreign_yaml import bounded_yaml
from planarena.tools.tool import Tool

__all__ = [
    "FIELD",
    "Offer",
    "Omission",
    "Record",
    "Reference",
    "ToolWording",
    "load_wording",
    "names_in",
    "offers",
    "offers_in",
    "parse_pointer",
    "schema_at",
]

Path = tuple[str | int, ...]
# In templates made by machine: one more argument is named. The first that is told reads " with", later ones ",".
FIELD = "\x1f"


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a user refers to a value.

    Attributes:
        short: Right after the request that finds it.
        full: Anywhere, also where the look-up is not asked for: it says what is meant by the look-up's own arguments.
        again: When the same message has mentioned it already; without it "that NOUN" is made from the record.
        noun: What it is, where that is not what the record is that it stands in, as the folder of a document.
        name: What it is called once it was named, likewise; over the fields of the record.
        untold: Who may be asked for by a description that no answer told: "always", in "look_ups" alone, or "never";
            where it is empty, `planarena.generate.naming` sees it from the pointer.
        beside: A pointer: what changes something takes this value only together with that one, as the sum of a bill
            goes to nobody but whoever sent it.
        said: What else says which one is meant, in whole requests; nothing is written with it.
    """

    short: tuple[str, ...]
    full: tuple[str, ...]
    again: tuple[str, ...] = ()
    noun: str = ""
    name: str = ""
    untold: Literal["", "always", "look_ups", "never"] = ""
    beside: str = ""
    said: tuple[str, ...] = ()


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How people speak of a record in a result; its templates name the record's own fields, as `{title}`.

    Attributes:
        noun: What it is, as "card".
        name: What it is called once an answer has told the values in it, as `"{title}"`.
        line: How an answer lists it; the name where empty.
        order: Of a list: the fields that it is sorted by. "The first" is ambiguous when two records tie in one of them.
        among: Of a record that is the best of a list by `order`, as "best_rated": the pointer of the list.
        named: How somebody who knows its name speaks of it before any answer did, with all that the look-up is told:
            templates over the look-up's arguments and, as `{/title}`, the record's own fields.
    """

    noun: str
    name: str
    line: str = ""
    order: tuple[str, ...] = ()
    among: str = ""
    named: tuple[str, ...] = ()


class Omission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a user asks who leaves a required argument out, and what to ask back for.

    Attributes:
        ask: Templates that do not name the argument.
        label: What is missing, as in "which LABEL".
    """

    ask: tuple[str, ...]
    label: str


class ToolWording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one tool; `docs/wording.md` describes every field and the template language.

    Attributes:
        ask: Imperative clauses that ask for the call.
        plan: Lines of a plan.
        outputs: JSON pointers of what an answer tells of the result, hence what a goal requires.
        report: Clauses of an answer; each tells every output.
        brief: Those that tell one record and no list, for requests that ask for one or for a number.
        refer: By JSON pointer into the result: how a user refers to the value there.
        values: By argument: the words of enumeration values and booleans.
        missing: By argument: how a user asks who leaves it out.
        aims: Whole sentences and questions that ask for the call by its purpose.
        records: By JSON pointer of a list or an object in the result ("" for all of it): how its records are spoken of.
        undoes: Tools whose effect on the same record this one undoes, overwrites or repeats.
        ends: Arguments that name what no longer exists, or is closed, afterwards.
        dates: By argument: on which side of now it lies; those of writes lie ahead unless this says otherwise.
        once: Arguments for whose same value nobody asks for it twice in a conversation.
        completes: Tools that come before it or not at all: the cart is full before it is ordered.
        apart: Tools that nobody asks for beside it about the same thing, unless one takes a value from the other.
        never_from: Tools whose results it takes no value from: nobody wishes for what an order shows they bought.
    """

    ask: tuple[str, ...]
    plan: tuple[str, ...]
    outputs: tuple[str, ...]
    report: tuple[str, ...]
    refer: dict[str, Reference] = {}
    values: dict[str, dict[Any, str]] = {}
    missing: dict[str, Omission] = {}
    aims: tuple[str, ...] = ()
    records: dict[str, Record] = {}
    undoes: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    dates: dict[str, Literal["past", "future", "any"]] = {}
    once: tuple[str, ...] = ()
    brief: tuple[str, ...] = ()
    completes: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    never_from: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    domain: str
    tools: dict[str, ToolWording]


class Offer(NamedTuple):
    """A value that a tool's result offers for binding.

    Attributes:
        pointer: JSON pointer into the result.
        path: The pointer, split.
        semantic: The semantic type of the value.
        hidden: Whether a user cannot know it.
    """

    pointer: str
    path: Path
    semantic: str
    hidden: bool


@cache
def load_wording(file: pathlib.Path) -> dict[str, ToolWording]:
    """Return the wording of a domain's tools by wire name.

    Args:
        file: `words.yaml` of the environment's folder.

    Raises:
        SourceError: There is no such file.
        SchemaError: The file does not fit `ToolWording`.
    """
    try:
        return msgspec.yaml.decode(bounded_yaml(file), type=_File).tools
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror}",
            where=str(file),
            fix=f"write the words of the tools into {WORDS}",
        ) from error
    except (msgspec.DecodeError, yaml.YAMLError) as error:
        raise SchemaError(str(error), where=str(file), fix="correct the wording file") from error


_OFFERS: dict[type[Environment], dict[str, tuple[Offer, ...]]] = {}


def offers(environment: type[Environment]) -> dict[str, tuple[Offer, ...]]:
    """Return for each tool of an environment what its result offers for binding."""
    known = _OFFERS.get(environment)
    if known is None:
        file = environment.folder() / WORDS
        tools = {name: operation.tool for name, operation in operations(environment).items()}
        known = _OFFERS[environment] = offers_in(tools, load_wording(file), str(file))
    return known


def offers_in(
    tools: Mapping[str, Tool], wording: Mapping[str, ToolWording], file: str
) -> dict[str, tuple[Offer, ...]]:
    """Return what the results of tools offer for binding, by wire name.

    Args:
        tools: By wire name.
        wording: Their words.
        file: Where the words stand, for errors.

    Raises:
        SchemaError: The words refer to a value that has no semantic type in the result.
    """
    found: dict[str, tuple[Offer, ...]] = {}
    for name, tool in tools.items():
        entries = []
        for pointer in wording[name].refer:
            path = parse_pointer(pointer)
            schema = schema_at(tool.output_schema, path)
            if schema is None or "x-semantic" not in schema:
                raise SchemaError(
                    f"refer names {pointer}, which has no semantic type in the result",
                    where=f"{file}: {name}",
                    fix="annotate the result's field with Semantic, or remove the entry",
                )
            entries.append(Offer(pointer, path, schema["x-semantic"], bool(schema.get("x-hidden"))))
        found[name] = tuple(entries)
    return found


@lru_cache(maxsize=8192)
def names_in(template: str) -> frozenset[str]:
    """Return the arguments that a template names."""
    return frozenset(re.findall(r"\{([^{}/|*][^{}|]*)", template))


@cache
def parse_pointer(pointer: str) -> Path:
    """Split a JSON pointer (RFC 6901); digits become list indexes."""
    words = [word.replace("~1", "/").replace("~0", "~") for word in pointer.split("/")[1:]]
    return tuple(int(word) if word.isdigit() else word for word in words)


def schema_at(schema: Any, path: Path) -> dict[str, Any] | None:
    """Return the schema of the value at a path, or None."""
    for word in path:
        if not isinstance(schema, dict):
            return None
        schema = schema.get("items") if isinstance(word, int) else schema.get("properties", {}).get(word)
    return schema if isinstance(schema, dict) else None
