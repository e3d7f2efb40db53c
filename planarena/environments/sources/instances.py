"""Values that a JSON Schema allows, chosen by a generator alone: the same seed gives the same value.

Words come from the name of the field, so that a `city` is a city. The caller validates: where a schema asks for
what this cannot make (`not`, `if`, conflicting `allOf`), the value is simply invalid or `NoInstanceError` is raised.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import lru_cache
from random import Random
from typing import Any

from planarena.tools.patterns import sample_pattern

__all__ = ["Generator", "NoInstanceError", "everyday_facts"]

_MAX_DEPTH = 24
_OPTIONAL_DEPTH = 4
_WORDS = (
    "amber", "birch", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "indigo", "juniper", "kestrel",
    "lantern", "meadow", "nimbus", "orchard", "pebble", "quartz", "ridge", "saffron", "timber", "umber", "velvet",
    "willow", "yarrow", "zephyr", "anchor", "beacon", "canyon", "drift", "echo", "falcon", "grove", "hazel",
    "island", "jasper", "lagoon", "maple", "north", "opal", "prairie", "raven", "summit", "tundra", "valley",
)  # fmt: skip
_PEOPLE = ("Ada", "Bruno", "Clara", "Dario", "Elin", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Liam", "Mona", "Nils", "Olga", "Pavel", "Rosa", "Sven", "Tara", "Yusuf")  # fmt: skip
_FAMILIES = ("Adler", "Brandt", "Costa", "Dubois", "Eriksen", "Fischer", "Grant", "Holm", "Ivanov", "Jansen", "Keller", "Lund", "Moreau", "Novak", "Okafor", "Petrov", "Quinn", "Rossi", "Silva", "Weber")  # fmt: skip
_PLACES = ("Lisbon", "Oslo", "Vienna", "Kyoto", "Toronto", "Nairobi", "Lima", "Prague", "Dublin", "Seoul", "Porto", "Ghent")  # fmt: skip
_COUNTRIES = ("Portugal", "Norway", "Austria", "Japan", "Canada", "Kenya", "Peru", "Ireland")
_BY_NAME: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"first_?name|given_?name|nickname", _PEOPLE),
    (r"last_?name|family_?name|surname", _FAMILIES),
    (r"city|town|location|place", _PLACES),
    (r"country_?code", ("PT", "NO", "AT", "JP", "CA", "KE")),
    (r"country", _COUNTRIES),
    (r"currency", ("EUR", "USD", "GBP", "CHF", "JPY")),
    (r"lang|locale", ("en", "de", "fr", "es", "pt")),
    (r"time_?zone|^tz$", ("Europe/Lisbon", "Europe/Oslo", "Asia/Tokyo", "America/Lima")),
    (r"colou?r", ("red", "green", "blue", "teal", "violet")),
    (r"status|state", ("active", "open", "pending", "draft")),
    (r"sort|order_?by", ("name", "date")),
)
_KINDS = (
    ("phone", re.compile(r"phone|mobile|fax", re.IGNORECASE)),
    ("postcode", re.compile(r"zip|postal|postcode", re.IGNORECASE)),
    ("person", re.compile(r"user|owner|author|person|contact|assignee|customer", re.IGNORECASE)),
    ("prose", re.compile(r"description|comment|message|note|text|body|content", re.IGNORECASE)),
    ("id", re.compile(r"(^|_)id$|Id$|ID$|key$|token$|hash$|uuid$")),
)


class NoInstanceError(Exception):
    """No value could be made for the schema."""


class Generator:
    """Makes values for the schemas of one document.

    Args:
        root: The schema that `#/$defs/...` and other pointers refer into.
        rng: The only source of choice.
        written: The values are to be sent: what only the service writes (`readOnly`) is left out.
        most_optional: Most optional properties of an object, then scalars alone; None for all of them.
    """

    def __init__(
        self, root: Any, rng: Random, *, written: bool = False, most_optional: int | None = None
    ) -> None:
        self._root = root
        self._rng = rng
        self._written, self._most_optional = written, most_optional

    def with_few(self, most_optional: int) -> Generator:
        """Return a generator that goes on with the same choices and makes small objects."""
        return Generator(self._root, self._rng, written=self._written, most_optional=most_optional)

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
            values = [value for value in schema["enum"] if value is not None] or schema["enum"]
            return values[self._rng.randrange(len(values))]
        return self._typed(schema, _kind_of(schema), name, depth)

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
                schema = _fold(target, rest) if rest else target
            elif "allOf" in schema:
                folded = {key: value for key, value in schema.items() if key != "allOf"}
                for part in schema["allOf"]:
                    if part is False:
                        raise NoInstanceError("the schema allows nothing")
                    folded = _fold(folded, self.merged(part)) if isinstance(part, dict) else folded
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
                joined = _fold(rest, self.merged(option)) if isinstance(option, dict) else rest
                return self.value(joined, name, depth + 1)
            except NoInstanceError:
                continue
        raise NoInstanceError("no alternative has a value")

    def _typed(self, schema: dict[str, Any], kind: str, name: str, depth: int) -> Any:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind == "string":
            return self.text(schema, name)
        if kind in {"integer", "number"}:
            return self._number(schema, kind, name)
        if kind == "boolean":
            return self._rng.random() < 0.5
        if kind == "null":
            return None
        return self._word(name, schema)

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        made: dict[str, Any] = {}
        for name in [*required, *self._optional(properties, required)]:
            must = name in required
            if not must and depth >= _OPTIONAL_DEPTH:
                continue
            inner = properties.get(name, schema.get("additionalProperties", True))
            try:
                made[name] = self.value(inner if inner is not False else True, name, depth + 1)
            except NoInstanceError:
                if must:
                    raise
        number = 0
        while len(made) < schema.get("minProperties", 0) and number < 50:
            number += 1
            extra = schema.get("additionalProperties", True)
            made[f"{_WORDS[number % len(_WORDS)]}_{number}"] = self.value(extra, "", depth + 1)
        if "maxProperties" in schema:
            for name in [name for name in made if name not in required][::-1]:
                if len(made) > schema["maxProperties"]:
                    del made[name]
        return made

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
        return isinstance(schema, dict) and _kind_of(self.merged(schema)) in {"object", "array", ""}

    def _array(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        prefix = schema.get("prefixItems", [])
        items = schema.get("items", True)
        least = max(int(schema.get("minItems", 0)), 1 if depth < _OPTIONAL_DEPTH else 0)
        least = min(least, int(schema.get("maxItems", least)))
        if least > 1000:
            raise NoInstanceError("the array would be very long")
        made: list[Any] = []
        singular = name[:-1] if name.endswith("s") else name
        for number in range(max(least, len(prefix) if schema.get("minItems") else 0)):
            inner = prefix[number] if number < len(prefix) else items
            try:
                for _ in range(20):
                    value = self.value(inner, singular, depth + 1)
                    if not schema.get("uniqueItems") or value not in made:
                        break
                made.append(value)
            except NoInstanceError:
                if schema.get("minItems", 0) > len(made):
                    raise
                break
        return made

    def _number(self, schema: dict[str, Any], kind: str, name: str) -> int | float:
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        if low is None:
            low = min(1, high - 100) if high is not None else 1
        if high is None:
            high = low + (20 if _is_count(name) else 900)
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
        if pattern is not None:
            for _ in range(30):
                found = sample_pattern(pattern, self._rng)
                if found is None:
                    break
                if least <= len(found) <= most:
                    return found
            raise NoInstanceError("no text was found that matches the pattern")
        made = self._formatted(str(schema.get("format", "")), name)
        if len(made) < least:
            if least > 100_000:
                raise NoInstanceError("the text would be very long")
            while len(made) < least:
                made += " " + self._pick(_WORDS)
            made = made[:least].rstrip().ljust(least, "x")
        return made if len(made) <= most else made[:most].rstrip().ljust(least, "x")

    def _pick(self, options: tuple[str, ...]) -> str:
        return options[self._rng.randrange(len(options))]

    def _formatted(self, form: str, name: str) -> str:
        rng = self._rng
        day = date(2026, 1, 1) + timedelta(days=rng.randrange(700))
        kind = _kind_of_text(form, name)
        if isinstance(kind, tuple):
            return self._pick(kind)
        if kind == "date":
            return day.isoformat()
        if kind == "date-time":
            return f"{day.isoformat()}T{rng.randrange(8, 19):02d}:{rng.randrange(0, 60, 5):02d}:00Z"
        if kind == "time":
            return f"{rng.randrange(8, 19):02d}:{rng.randrange(0, 60, 5):02d}:00Z"
        if kind == "duration":
            return f"PT{rng.randrange(1, 48)}H"
        if kind == "uuid":
            bits = f"{rng.getrandbits(128):032x}"
            return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-a{bits[17:20]}-{bits[20:]}"
        if kind == "email":
            return f"{self._pick(_PEOPLE).lower()}.{self._pick(_FAMILIES).lower()}@example.com"
        if kind == "uri":
            return f"https://example.com/{self._pick(_WORDS)}-{rng.randrange(100, 999)}"
        if kind == "hostname":
            return f"{self._pick(_WORDS)}.example.com"
        if kind == "ipv4":
            return f"192.0.2.{rng.randrange(1, 255)}"
        if kind == "ipv6":
            return f"2001:db8::{rng.randrange(1, 9999):x}"
        if kind == "byte":
            return "c2FtcGxl"
        if kind == "phone":
            return f"+1 555 01{rng.randrange(10, 100)}"
        if kind == "postcode":
            return f"{rng.randrange(10000, 99999)}"
        if kind == "person":
            return f"{self._pick(_PEOPLE)} {self._pick(_FAMILIES)}"
        if kind == "prose":
            return f"{self._pick(_WORDS)} {self._pick(_WORDS)} {self._pick(_WORDS)}"
        if kind == "id":
            return f"{self._pick(_WORDS)}-{rng.randrange(1000, 9999)}"
        return f"{self._pick(_WORDS)} {self._pick(_WORDS)}"

    def _word(self, name: str, schema: dict[str, Any]) -> Any:
        return self.text(schema, name)


# A build asks for the same few thousand names over and over.
@lru_cache(maxsize=16384)
def _kind_of_text(form: str, name: str) -> str | tuple[str, ...]:
    """Return what a text is by its format and its field's name: a kind, or the words to choose among."""
    if form == "date" or (not form and re.search(r"(^|_)(date|day)$|Date$", name)):
        return "date"
    if form in {"date-time", "duration", "uuid"}:
        return form
    if form in {"time", "partial-time"}:
        return "time"
    if form in {"email", "idn-email"} or re.search(r"e-?mail", name, re.IGNORECASE):
        return "email"
    if form in {"uri", "url", "iri", "uri-reference"} or re.search(
        r"(^|_)(url|uri|link|href)$|Url$|Uri$", name
    ):
        return "uri"
    if form in {"hostname", "idn-hostname"}:
        return "hostname"
    if form in {"ipv4", "ipv6"}:
        return form
    if form in {"byte", "base64"}:
        return "byte"
    for pattern, words in _BY_NAME:
        if re.search(pattern, name, re.IGNORECASE):
            return words
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), "")


@lru_cache(maxsize=16384)
def _is_count(name: str) -> bool:
    return re.search(r"page|limit|count|per|size|quantity|number", name, re.IGNORECASE) is not None


def _kind_of(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind is None:
        if "properties" in schema or "required" in schema or "additionalProperties" in schema:
            return "object"
        if "items" in schema or "prefixItems" in schema:
            return "array"
        if any(key in schema for key in ("minimum", "maximum", "multipleOf")):
            return "number"
        return ""
    return str(kind)


def _fold(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Join two schemas that must both hold; where they conflict the caller's validation decides."""
    joined = dict(left)
    for key, value in right.items():
        if key not in joined or joined[key] == value:
            joined[key] = value
        elif key == "properties":
            both = {n: {"allOf": [joined[key][n], s]} if n in joined[key] else s for n, s in value.items()}
            joined[key] = {**joined[key], **both}
        elif key == "required":
            joined[key] = [*joined[key], *(name for name in value if name not in joined[key])]
        elif key in {"minimum", "minLength", "minItems", "minProperties", "exclusiveMinimum"}:
            joined[key] = max(joined[key], value)
        elif key in {"maximum", "maxLength", "maxItems", "maxProperties", "exclusiveMaximum"}:
            joined[key] = min(joined[key], value)
        elif key == "enum":
            joined[key] = [one for one in joined[key] if one in value] or joined[key]
        elif key in {"oneOf", "anyOf"}:
            joined["allOf"] = [*joined.get("allOf", []), {key: value}]
        elif key == "type":
            joined[key] = _common(joined[key], value)
        elif key in {"description", "title", "default", "examples"}:
            joined[key] = value
    return joined


def _common(left: Any, right: Any) -> Any:
    lefts, rights = [x if isinstance(x, list) else [x] for x in (left, right)]
    both = [kind for kind in lefts if kind in rights]
    if not both:
        both = ["integer"] if {"integer", "number"} <= {*lefts, *rights} else lefts
    return both[0] if len(both) == 1 else both


def everyday_facts(salt: str) -> dict[str, Any]:
    """Return what every scenario knows of its user: `user_name`, and `now`, which does not move."""
    rng = Random(f"facts {salt}")
    name = f"{rng.choice(_PEOPLE)} {rng.choice(_FAMILIES)}"
    day = date(2026, 1, 5) + timedelta(days=rng.randrange(300))
    return {
        "user_name": name,
        "now": f"{day.isoformat()}T{rng.randrange(8, 18):02d}:{rng.choice((0, 15, 30, 45)):02d}",
    }
