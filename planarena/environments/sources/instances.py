"""Values that a JSON Schema allows, chosen by a generator alone: the same seed gives the same value.

The schema's own examples, default and enumeration come first, then what the field's name and format tell. The
caller validates: where a schema asks for what this cannot make (`not`, `if`, conflicting `allOf`), the value is
simply invalid or `NoInstanceError` is raised.
"""

from __future__ import annotations

import re
from random import Random
from typing import Any

from planarena.environments.sources.examples import fits, wants_code, within
from planarena.environments.sources.field_kinds import in_place, kind_of_number, kind_of_text, spaced
from planarena.environments.sources.folding import fold, kind_of
from planarena.environments.sources.vocabulary import Vocabulary, everyday_facts, is_placeholder
from planarena.tools.patterns import sample_pattern

__all__ = ["BAD", "FILLERS", "Generator", "NoInstanceError", "everyday_facts"]

_MAX_DEPTH = 24
_OPTIONAL_DEPTH = 4
_KNOWN_DEPTH = 3
_OVER = r"\b(completed|closed|resolved|deleted|archived|cancell?ed|finished|failed|rejected|expired|removed|suspended) (at|on|date|time|by)\b"
BAD = r"(?i)error|fail|reject|denied|declin|invalid|unknown|archiv|delet|expired|cancel|timed|abort|lost|void|suspend|block|undefined|^none$|nothing|charge|not.?set|unspecified|^n.?a$|disposed|terminat|void|declin|churn|no.?show"
FILLERS = ("standard", "regular", "basic", "general", "main", "default")
# What differs from item to item, and what an example shows the shape of at most.
_OWN = frozenset(
    (
        "title",
        "date",
        "date-time",
        "time",
        "id",
        "uuid",
        "person",
        "email",
        "username",
        "first_name",
        "last_name",
        "city",
        "region",
        "region_code",
        "country",
        "country_code",
        "postcode",
        "street",
    )
)
# What an object is called that says nothing of what it holds.
_WRAPPERS = frozenset(
    "data result results item items attributes response entry entries list rows row records record values value elements "
    "element name object objects entity entities hit hits doc docs node nodes content page".split()
)
_CODES = {"region": "region code", "country": "country code"}


class NoInstanceError(Exception):
    """No value could be made for the schema."""


class Generator:
    """Makes values for the schemas of one document.

    Args:
        root: The schema that `#/$defs/...` and other pointers refer into.
        rng: The only source of choice.
        written: The values are to be sent: what only the service writes (`readOnly`) is left out.
        most_optional: Most optional properties of an object, then scalars alone; None for all of them.
        vocabulary: Of the world.
        known: Leave optional values out whose names do not tell what they hold.
        strict: Raise for required ones too.
        noun: What the value is or belongs to, as `playlist`.
        number: Of the item among its like.
    """

    def __init__(
        self,
        root: Any,
        rng: Random,
        *,
        written: bool = False,
        most_optional: int | None = None,
        vocabulary: Vocabulary | None = None,
        known: bool = False,
        strict: bool = False,
        noun: str = "",
        number: int | None = None,
    ) -> None:
        self._root = root
        self._rng = rng
        self._written, self._most_optional = written, most_optional
        self._words = vocabulary or _EVERYDAY
        self._known, self._strict = known or strict, strict
        self._noun, self._number = noun, number

    def with_few(self, most_optional: int) -> Generator:
        """Return a generator that goes on with the same choices and makes small objects."""
        return Generator(
            self._root,
            self._rng,
            written=self._written,
            most_optional=most_optional,
            vocabulary=self._words,
            known=self._known,
            strict=self._strict,
            noun=self._noun,
            number=self._number,
        )

    def is_read_only(self, schema: Any) -> bool:
        """Say whether only the service writes values of a schema."""
        return isinstance(schema, dict) and self.merged(schema).get("readOnly") is True

    def value(self, schema: Any, name: str = "", depth: int = 0) -> Any:
        """Return a value.

        Args:
            schema: A part of the root.
            name: The field's name, which chooses among words.
            depth: How deep the value stands; optional properties below 4 levels are left out.

        Raises:
            NoInstanceError: The schema allows nothing, or nothing short of 24 levels.
        """
        if depth > _MAX_DEPTH:
            raise NoInstanceError("the schema has no end")
        if schema is True or schema == {}:
            return self._word(name, {})
        if not isinstance(schema, dict):
            raise NoInstanceError("the schema allows nothing")
        schema = self.merged(schema)
        for key in ("const",):
            if key in schema:
                return schema[key]
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return self._alternative(schema, key, name, depth)
        if "enum" in schema:
            values = [value for value in schema["enum"] if value not in (None, "")] or schema["enum"]
            if self._known:  # a world in which most things failed is none
                values = [value for value in values if not re.search(BAD, str(value))] or values
            if kind_of_text("", name) == "currency" and self._words.currency() in values:
                return self._words.currency()
            return values[self._rng.randrange(len(values))]
        kind = kind_of(schema)
        shown = self._shown(schema, kind, name)
        return self._typed(schema, kind, name, depth) if shown is _NONE else shown

    def _shown(self, schema: dict[str, Any], kind: str, name: str) -> Any:
        """Return an example or default of the description's own, or `_NONE` where one would not do."""
        if kind not in {"string", "integer", "number", "boolean"}:
            return _NONE
        own = kind_of_text(str(schema.get("format", "")), name) if kind == "string" else kind_of_number(name)
        if own in _OWN or own == "epoch" or (own == "total" and self._known):
            return _NONE  # the same for every item it would be wrong
        examples = schema.get("examples")
        found = [one for one in examples if fits(one, schema, kind)] if isinstance(examples, list) else []
        if fits(schema.get("default"), schema, kind) and kind != "boolean":
            found.append(schema["default"])
        found = [one for one in found if not is_placeholder(one, name)]
        if not found or (own and own != "currency" and self._number and len(found) == 1):
            return _NONE
        return found[(self._number or 0) % len(found)]

    def merged(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Follow references and fold `allOf` into one schema."""
        for _ in range(64):
            if "$ref" in schema:
                target = self.target(schema["$ref"])
                rest = {key: value for key, value in schema.items() if key not in {"$ref", "description"}}
                if not isinstance(target, dict):
                    if target is False:
                        raise NoInstanceError("the schema allows nothing")
                    target = {}
                schema = fold(target, rest) if rest else target
            elif "allOf" in schema:
                folded = {key: value for key, value in schema.items() if key != "allOf"}
                for part in schema["allOf"]:
                    if part is False:
                        raise NoInstanceError("the schema allows nothing")
                    folded = fold(folded, self.merged(part)) if isinstance(part, dict) else folded
                schema = folded
            else:
                return schema
        raise NoInstanceError("references turn in a circle")

    def target(self, reference: str) -> Any:
        """Return what a reference into the root means.

        Raises:
            NoInstanceError: There is nothing there.
        """
        found = self._root
        for word in reference.lstrip("#").strip("/").split("/") if reference.strip("#/") else ():
            word = word.replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(word)] if isinstance(found, list) else found[word]
            except (KeyError, IndexError, TypeError, ValueError):
                raise NoInstanceError(f"{reference} has no target") from None
        return found

    def _alternative(self, schema: dict[str, Any], key: str, name: str, depth: int) -> Any:
        rest = {word: value for word, value in schema.items() if word not in {"oneOf", "anyOf"}}
        options = [option for option in schema[key] if option != {"type": "null"}] or schema[key]
        for option in options:
            if option is False:
                continue
            try:
                joined = fold(rest, self.merged(option)) if isinstance(option, dict) else rest
                return self.value(joined, name, depth + 1)
            except NoInstanceError:
                continue
        raise NoInstanceError("no alternative has a value")

    def _typed(self, schema: dict[str, Any], kind: str, name: str, depth: int) -> Any:
        if kind == "object":
            return self._object(schema, name, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind == "string":
            return self.text(schema, name)
        if kind in {"integer", "number"}:
            return self._numeric(schema, kind, name)
        if kind == "boolean":
            return self._truth(name)
        if kind == "null":
            return None
        return self._word(name, schema)

    def _object(self, schema: dict[str, Any], named: str, depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        made: dict[str, Any] = {}
        noun = self._noun
        if depth and named and named not in _WRAPPERS:
            self._noun = _singular(spaced(named))
        for name in [*required, *self._optional(properties, required)]:
            must = name in required
            if not must and depth >= (_KNOWN_DEPTH if self._known else _OPTIONAL_DEPTH):
                continue
            if self._known and not must and re.search(_OVER, spaced(name)):
                continue  # it would have to agree with whether it is so
            inner = properties.get(name, schema.get("additionalProperties", True))
            try:
                told = inner.get("description", "") if isinstance(inner, dict) else ""
                called = in_place(name, properties, told)
                value = self._property(inner if inner is not False else True, called, depth, must)
            except NoInstanceError:
                if must:
                    raise
                continue
            if must or not self._known or value not in ({}, []):
                made[name] = value
        self._noun = noun
        number = 0
        while len(made) < schema.get("minProperties", 0) and number < 50:
            number += 1
            extra = schema.get("additionalProperties", True)
            made[f"{FILLERS[number % len(FILLERS)]}_{number}"] = self.value(extra, "", depth + 1)
        if "maxProperties" in schema:
            for name in [name for name in made if name not in required][::-1]:
                if len(made) > schema["maxProperties"]:
                    del made[name]
        return made

    def _property(self, inner: Any, name: str, depth: int, must: bool) -> Any:
        """Return a property's value; a required one that nothing is known of gets a plain word, unless strict."""
        if not must or not self._known or self._strict:
            return self.value(inner, name, depth + 1)
        noun = self._noun
        try:
            return self.value(inner, name, depth + 1)
        except NoInstanceError:
            self._noun, self._known = noun, False
            try:
                return self.value(inner, name, depth + 1)
            finally:
                self._known = True

    def _optional(self, properties: dict[str, Any], required: list[str]) -> list[str]:
        optional = [name for name in properties if name not in required]
        if self._written:
            optional = [name for name in optional if not self.is_read_only(properties[name])]
        if self._most_optional is None:
            return optional
        plain = [name for name in optional if not self._is_compound(properties[name])]
        self._rng.shuffle(plain)
        return plain[: self._most_optional]

    def _is_compound(self, schema: Any) -> bool:
        return isinstance(schema, dict) and kind_of(self.merged(schema)) in {"object", "array", ""}

    def _array(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        prefix = schema.get("prefixItems", [])
        items = schema.get("items", True)
        few = 2 if self._known and depth < 2 else 1
        least = max(int(schema.get("minItems", 0)), few if depth < _OPTIONAL_DEPTH else 0)
        least = min(least, int(schema.get("maxItems", least)))
        if least > 1000:
            raise NoInstanceError("the array would be very long")
        made: list[Any] = []
        singular, own = _singular(name), self._number
        first = self._rng.randrange(12)
        words = self._words
        for number in range(max(least, len(prefix) if schema.get("minItems") else 0)):
            inner = prefix[number] if number < len(prefix) else items
            try:
                self._number = first + number if own is None or depth else own + number
                if self._known and self._is_compound(inner):
                    # What one of them says is about one person in one place.
                    whose = words.whose or str(self._rng.getrandbits(48))
                    self._words = words.about(f"{whose} {name} {number}")
                for _ in range(20):
                    value = self.value(inner, singular, depth + 1)
                    if value not in made or not (schema.get("uniqueItems") or self._known):
                        break
                if value not in made or schema.get("minItems", 0) > len(made):
                    made.append(value)
            except NoInstanceError:
                if schema.get("minItems", 0) > len(made):
                    raise
                break
            finally:
                self._number, self._words = own, words
        return made

    def _numeric(self, schema: dict[str, Any], kind: str, name: str) -> int | float:
        made = self._words.number(name, kind, self._rng, self._noun)
        if made is None and self._known:
            raise NoInstanceError("its name does not tell what it holds")
        if made is not None and "multipleOf" not in schema and within(made, schema):
            return made
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        if low is None:
            low = min(1, high - 100) if high is not None else 1
        if high is None:
            high = low + 20
        step = schema.get("multipleOf", 1 if kind == "integer" else 0.5)
        open_low = schema.get("exclusiveMinimum") == low
        first = -(-low // step)
        first += 1 if open_low and first * step <= low else 0
        last = high // step
        last -= 1 if schema.get("exclusiveMaximum") == high and last * step >= high else 0
        if last < first:
            if kind == "number" and low <= high:
                return float((low + high) / 2)
            raise NoInstanceError("no number lies between the bounds")
        last = min(last, first + 10_000)
        chosen = (int(first) + self._rng.randrange(int(last - first) + 1)) * step
        return int(chosen) if kind == "integer" or float(chosen).is_integer() else round(float(chosen), 6)

    def text(self, schema: dict[str, Any], name: str) -> str:
        """Return a string for a schema of strings."""
        pattern = schema.get("pattern")
        least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 10_000))
        code = _CODES.get(kind_of_text(str(schema.get("format", "")), name), "")
        if code and wants_code(schema, most):
            name, made = code, self._words.text("", code, self._noun, self._rng, self._number) or ""
            if pattern is None or re.search(pattern, made):
                return made
        if pattern is not None:
            plain = self._words.text("", name, self._noun, self._rng, self._number) or ""
            for form in (
                plain,
                plain.lower().replace(" ", "-"),
                plain.lower().replace(" ", "_"),
                plain.replace(" ", ""),
            ):
                if form and least <= len(form) <= most and re.search(pattern, form):
                    return form
            for _ in range(30):
                found = sample_pattern(pattern, self._rng)
                if found is None:
                    break
                if least <= len(found) <= most:
                    return found
            raise NoInstanceError("no text was found that matches the pattern")
        found = self._words.text(str(schema.get("format", "")), name, self._noun, self._rng, self._number)
        if found is None and self._known:
            raise NoInstanceError("its name does not tell what it holds")
        made = found or self._pick(FILLERS)
        if len(made) < least:
            if least > 100_000:
                raise NoInstanceError("the text would be very long")
            while len(made) < least:
                made += " " + self._pick(FILLERS)
            made = made[:least].rstrip().ljust(least, "x")
        if len(made) > most and found is not None and self._known and most > 3:
            raise NoInstanceError("what is known of it does not fit")
        return made if len(made) <= most else made[:most].rstrip().ljust(least, "x")

    def _truth(self, name: str) -> bool:
        """What goes wrong or ends is mostly not so."""
        if self._known and re.fullmatch(r"success\w*|ok|valid|succeeded", name, re.IGNORECASE):
            return True
        if self._known and re.fullmatch(r"(is|has)?_?(active|enabled|available)", name, re.IGNORECASE):
            return True
        rare = re.search(
            r"delet|archiv|block|disab|error|fail|spam|suspend|trash|lock|expired|cancel|closed|hidden|draft|test",
            name,
            re.IGNORECASE,
        )
        return self._rng.random() < (0.0 if rare and self._known else 0.5)

    def _pick(self, options: tuple[str, ...]) -> str:
        return options[self._rng.randrange(len(options))]

    def _word(self, name: str, schema: dict[str, Any]) -> Any:
        return self.text(schema, name)


_EVERYDAY = Vocabulary()
_NONE = object()


def _singular(name: str) -> str:
    if name.endswith("ies") and len(name) > 4:
        return f"{name[:-3]}y"
    if name.endswith(("uses", "sses", "xes", "ches", "shes")):
        return name[:-2]
    return name[:-1] if name.endswith("s") and not name.endswith(("ss", "us", "is", "news")) else name
