"""Arguments that make sense in the present state of an emulated API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from random import Random
from typing import Any

from planarena.environments.sources.field_kinds import moment_for
from planarena.environments.sources.generic_wording import is_sayable, sayable_value
from planarena.environments.sources.instances import BAD, Generator, NoInstanceError
from planarena.environments.sources.openapi.asking import styles_of
from planarena.environments.sources.openapi.deeds import DEEDS, outcome_of
from planarena.environments.sources.openapi.emulator import EmulatedApi
from planarena.environments.sources.openapi.identifiers import normal, words_of
from planarena.environments.sources.openapi.naming import is_person, names_of, topic_noun
from planarena.environments.sources.openapi.resources import Api, Route
from planarena.environments.sources.openapi.telling import main_fields, noun_of
from planarena.environments.sources.vocabulary import Vocabulary
from planarena.records.canonical import CanonicalError, canonical_bytes
from planarena.tools.tool import Tool

__all__ = ["ArgumentMaker"]


class ArgumentMaker:
    """Makes arguments for the tools of a family.

    Args:
        api: The API.
        tools: By wire name, with the semantic types of ids.
        shapes: The resources that the family's worlds hold.
    """

    def __init__(self, api: Api, tools: Mapping[str, Tool], shapes: Sequence[str]) -> None:
        self._api, self._tools, self._shapes = api, tools, shapes
        self._styles = {
            name: styles_of(api, api.routes[name], tool, noun_of(api, api.routes[name]))
            for name, tool in tools.items()
        }

    def make(
        self, name: str, handlers: EmulatedApi, rng: Random, *, hidden: bool
    ) -> Iterator[dict[str, Any]]:
        """Yield arguments that make sense in the present state; hidden ids are left out unless asked for."""
        route, tool = self._api.routes[name], self._tools[name]
        # More of the same in one scenario makes requests that nobody would make.
        times = 3 if route.role == "update" else 2
        seen: set[bytes] = set()
        names: set[str] = set()  # two new things of one scenario have two names
        handles = self._handles(route)
        for _ in range(times):
            arguments = self._path_arguments(route, tool, handlers, rng, hidden=hidden)
            if arguments is None or not self._linked(route, tool, handlers, rng, arguments, hidden=hidden):
                continue
            if not self._other_arguments(route, tool, handlers, rng, arguments):
                continue
            try:
                identity = canonical_bytes(arguments)
            except CanonicalError:
                continue
            named = " ".join(
                str(value)
                for key, value in arguments.items()
                if normal(route.operation.placement[key][1]) in handles
            )
            if named and named in names:
                continue
            names.add(named)
            if identity not in seen:
                seen.add(identity)
                yield arguments

    def _handles(self, route: Route) -> set[str]:
        naming = names_of(self._api, route.shape)
        return set(map(normal, naming.fields)) if naming is not None else set()

    def _path_arguments(
        self, route: Route, tool: Tool, handlers: EmulatedApi, rng: Random, *, hidden: bool
    ) -> dict[str, Any] | None:
        arguments: dict[str, Any] = {}
        inside: list[str] | None = []
        for argument, shape in route.steps:
            if shape:
                rows = list(handlers.state.scan(shape))
                if inside is not None:
                    rows = [row for row in rows if row["in"] == inside]
                deed = DEEDS.get(words_of(route.verb)) if route.role == "act" else None
                if deed is not None and shape == route.shape:
                    rows = [
                        row for row in rows if outcome_of(self._api, shape, deed, row["fields"]) is not None
                    ]
                if not rows:
                    return None
                value = rows[rng.randrange(len(rows))]["id"]
            else:
                value = self._plain_value(route, argument, handlers)
                if value is None:
                    return None
            if tool.parameters[argument].get("x-hidden") and not hidden:
                inside = None
                continue
            arguments[argument] = value
            if inside is not None:
                inside = [*inside, str(value)]
        return arguments

    def _plain_value(self, route: Route, argument: str, handlers: EmulatedApi) -> Any:
        """The value that a path parameter of no resource has throughout this world."""
        place = [step for step, _ in route.steps].index(argument)
        for shape in self._shapes:
            for row in handlers.state.scan(shape):
                names = next(
                    (
                        [step for step, _ in one.steps]
                        for one in self._api.routes.values()
                        if one.shape == shape
                    ),
                    [],
                )
                if len(row["in"]) > place and names[place : place + 1] == [argument]:
                    return _typed(row["in"][place], route.operation.tool.parameters[argument])
        schema = route.operation.tool.parameters[argument]
        rng = Random(f"{handlers.salt} {argument}")
        generator = Generator(
            route.operation.tool.input_schema, rng, vocabulary=handlers.responder.vocabulary, strict=True
        )
        try:
            value = generator.value(schema, argument)
        except (NoInstanceError, RecursionError):
            return None
        return value if is_sayable(value) else None

    def _linked(
        self,
        route: Route,
        tool: Tool,
        handlers: EmulatedApi,
        rng: Random,
        arguments: dict[str, Any],
        *,
        hidden: bool,
    ) -> bool:
        """Fill in the ids of other resources' items; say whether there are such items."""
        for argument, shape in route.links:
            rows = list(handlers.state.scan(shape))
            if not rows:
                return False
            value = rows[rng.randrange(len(rows))]["id"]
            if hidden or not tool.parameters[argument].get("x-hidden"):
                arguments[argument] = value
        return True

    def _other_arguments(
        self, route: Route, tool: Tool, handlers: EmulatedApi, rng: Random, arguments: dict[str, Any]
    ) -> bool:
        """Fill in what is required and what people would add; say whether all that must be said could be made."""
        styles = self._styles[tool.wire_name]
        paths = {argument for argument, _ in (*route.steps, *route.links)}
        required = [key for key in tool.required if key not in paths]
        # The name and the address that are said together belong to one person.
        words = handlers.responder.vocabulary.about(f"said {rng.getrandbits(48)}")
        for key in required:
            value = self._value(route, tool, key, handlers, rng, words)
            if value is None:
                return False
            arguments[key] = value
        optional = [key for key in styles if key not in tool.required]
        rng.shuffle(optional)
        handles = self._handles(route)
        main = (main_fields(self._api, route.shape) or frozenset()) | handles
        must = [key for key in optional if normal(route.operation.placement[key][1]) in main]
        if route.role == "create":
            optional = must + [key for key in optional if key not in must]
            wanted = len(must)
        elif route.role == "update":
            wanted = int(not required)  # one change at a time, as people ask for it
        else:
            wanted = 0
            if route.role == "search" and not any(styles[key].kind == "query" for key in required):
                optional, wanted = [key for key in optional if styles[key].kind == "query"], 1
        for key in optional:
            if wanted <= 0:
                break
            value = self._value(route, tool, key, handlers, rng, words)
            if value is not None:
                arguments[key] = value
                wanted -= 1
            elif normal(route.operation.placement[key][1]) in handles:
                return False
        return wanted <= 0 or route.role not in {"update", "search"}

    def _value(
        self, route: Route, tool: Tool, key: str, handlers: EmulatedApi, rng: Random, words: Vocabulary
    ) -> Any:
        """Return a value that a person would say, or None."""
        style = self._styles[tool.wire_name].get(key)
        if style is None:
            return None
        name = route.operation.placement[key][1]
        rows = list(handlers.state.scan(route.shape))
        if style.kind == "query":
            return self._known_word(route, rows, rng)
        taken = {str(value) for row in rows for value in row["fields"].values() if isinstance(value, str)}
        noun = topic_noun(self._api, self._api.resources.get(route.shape))
        if style.kind == "choice":
            fine = [one for one, words in style.words if not re.search(BAD, words)] or [style.words[0][0]]
            return fine[rng.randrange(len(fine))]
        if (
            style.kind == "date"
            and route.role == "create"
            and moment_for(name, noun) in {"created", "updated", "past"}
        ):
            # What is new was opened, hired or paid the other day.
            return (
                (handlers.responder.vocabulary.now - timedelta(days=rng.randrange(1, 11))).date().isoformat()
            )
        # What is renamed and what is new have different names.
        first = 2 * rng.randrange(6) + int(route.role == "update")
        for more in range(0, 12, 2):
            generator = Generator(
                tool.input_schema,
                rng,
                written=True,
                vocabulary=words,
                strict=style.kind not in {"choice", "example"},
                noun=noun,
                number=first + more,
            )
            value = sayable_value(generator, tool.parameters[key], name)
            if value is None or not is_sayable(value) or '"' in str(value):
                return None
            if style.kind != "title" or value not in taken:
                return value
        return None

    def _known_word(self, route: Route, rows: Sequence[Any], rng: Random) -> Any:
        """A search asks for what the name of some item begins with."""
        naming = names_of(self._api, route.shape)
        if naming is None or naming.kind == "number":
            return None
        last = naming.fields[-1]  # people are looked for by their family name
        names = [row["fields"].get(last) for row in rows]
        part = -1 if is_person(self._api, route.shape) else 0
        names = [name.split(" ")[part] for name in names if isinstance(name, str)]
        words = [re.sub(r"[^\w-]", "", name.split(" ")[0]) for name in names if isinstance(name, str)]
        words = [word for word in words if len(word) > 3]
        return words[rng.randrange(len(words))] if words else None


def _typed(text: str, schema: Any) -> Any:
    """Read a key of the path as its schema wants it: a number where that is allowed and it is one."""
    stated = schema.get("type") if isinstance(schema, dict) else None
    kinds = {stated} if isinstance(stated, str) else set(stated or ())
    if "string" not in kinds and kinds & {"integer", "number"}:
        for read in (int, float):
            try:
                return read(text)
            except ValueError:
                continue
    return text
