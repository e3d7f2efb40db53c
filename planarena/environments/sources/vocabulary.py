"""Values as people and services write them, by what a field holds; the same seed gives the same value."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from planarena.data import load_yaml
from planarena.environments.sources.field_kinds import kind_of_number, kind_of_text, moment_for, spaced
from planarena.environments.sources.prices import BY_NOUN, LARGE, PRICES, SPANS
from planarena.environments.sources.things import descriptions_of, has_people, topic_of

if TYPE_CHECKING:
    from faker import Faker

__all__ = ["LASTING", "Vocabulary", "everyday_facts", "is_placeholder"]

_WORDS = Path(__file__).with_name("everyday.yaml")
_PLAIN = ("standard", "regular", "basic", "general", "main", "default")
# How many days something takes of which everybody knows.
LASTING = (
    (
        re.compile(
            r"\b(event|meeting|appointment|session|webinar|workshop|lesson|party|viewing|visit|shift|exam)$"
        ),
        (0, 2),
    ),
    (re.compile(r"\b(conference|course|training|camp|tournament)$"), (1, 4)),
    (
        re.compile(
            r"\b(booking|reservation|trip|stay|rental|holiday|vacation|leave|absence|time off|time off request|leave request)$"
        ),
        (2, 11),
    ),
)
_DAYS = {"created": (20, 400), "updated": (1, 19), "past": (20, 200), "start": (2, 30), "end": (35, 90)}
_OF_WHO = {
    "person": "person", "first_name": "first", "last_name": "last", "email": "email", "username": "username",
    "company": "company", "city": "city", "region": "region", "region_code": "region_code", "country": "country", "country_code": "code",
    "time_zone": "zone", "street": "street", "postcode": "postcode",
}  # fmt: skip
_PICKED = {
    "colour": "colours",
    "status": "statuses", "priority": "priorities", "job_title": "job_titles", "department": "departments",
    "tag": "tags", "genre": "genres", "unit": "units", "weather": "weather", "file": "files", "subject": "subjects",
    "reason": "reasons", "message": "messages", "description": "descriptions", "bio": "bios",
}  # fmt: skip
# Of which things have values of their own.
_BY_THING = {"colour": "colours_of", "tag": "tags_of", "bio": "bios_of", "genre": "genres_of"}
_OWN_NAME = frozenset(
    ("display", "full", "short", "long", "friendly", "preferred", "public", "internal", "official", "common", "original", "product", "item", "sub", "nick", "resource", "object", "entity", "question", "caption", "topic", "heading", "headline")
)  # fmt: skip
# Whose birth lies how many days back.
_BORN = (
    (re.compile(r"\b(pet|animal|dog|cat|horse|cow|calf|rabbit|bird|puppy|kitten)$"), (430, 4_000)),
    (re.compile(r"\b(student|pupil|child|kid|schoolchild|camper)$"), (2_300, 6_200)),
)
_FIXED = {
    "mime": ("image/png", "application/pdf", "text/plain"), "version": ("1.4.0", "2.0.1", "2.3.0"),
    "byte": ("c2FtcGxl",), "cron": ("0 6 * * 1", "30 2 * * *"), "gender": ("female", "male"),
    "html": ("<p>Welcome, and thank you for reading.</p>", "<p>See you at the open day.</p>"),
    "duration": ("PT30M", "PT1H", "PT2H"),
}  # fmt: skip
_RANGES: dict[str, tuple[int, int]] = {
    "year": (2016, 2026), "month": (1, 12), "percent": (5, 95), "rating": (1, 5), "temperature": (-2, 29),
    "milliseconds": (120_000, 320_000), "total": (3, 3), "page": (1, 1), "count": (1, 24), "age": (21, 68),
    "position": (1, 9), "size": (20_000, 900_000), "measure": (2, 90),
}  # fmt: skip


_LIVE_SHORTER = re.compile(
    r"(^| )(pet|animal|dog|cat|rabbit|hamster|bird|horse|puppy|kitten|goat|sheep|cow)$"
)


@cache
def _faker() -> Faker:
    from faker import Faker

    return Faker("en_US")


def is_placeholder(example: Any, name: str) -> bool:
    """Say whether an example stands for a value rather than being one: `string`, `<name>`, the field's own name."""
    if not isinstance(example, str):
        return False
    text = example.strip().lower()
    return (
        not text
        or spaced(text) == spaced(name)
        or re.search(r"^(string|text|example|foo\w*|bar|test\w*|abc\w*|lorem.*|x+|n/?a|null|none|todo|name|title|value|sample.*|some .*|your .*|my .*|.*\bexample\b.*)$|[<>{}]|\.\.\.|_id$|_name$", text)
        is not None
    )  # fmt: skip


class Who(NamedTuple):
    """Somebody, and where they are."""

    person: str
    first: str
    last: str
    email: str
    username: str
    company: str
    city: str
    region: str
    region_code: str
    country: str
    code: str
    zone: str
    street: str
    postcode: str


@lru_cache(maxsize=4096)
def _invent(key: str) -> Who:
    fake, rng = _faker(), Random(key)
    fake.seed_instance(rng.getrandbits(48))
    first, last = fake.first_name(), fake.last_name()
    city, region, country, code, zone, short = _pick(load_yaml(_WORDS)["places"], rng)
    login = f"{first}.{last}".lower()
    return Who(
        f"{first} {last}",
        first,
        last,
        f"{login}@example.com",
        login,
        str(fake.company()).replace(",", "").replace(" and ", " & "),
        city,
        region,
        short,
        country,
        code,
        zone,
        f"{rng.randrange(1, 140)} {fake.street_name()}",
        str(fake.postcode()),
    )


class Vocabulary:
    """The values of one world.

    Args:
        now: Its present, ISO 8601: what was created lies before it, what is due after it.
        whose: What the values belong to: equal texts, one person in one place.
        setting: What the API speaks of, which tells what a noun means: see `topic_of`.
    """

    def __init__(self, now: str = "2026-03-02T10:00", whose: str = "", setting: str = "") -> None:
        self.now, self.whose, self.setting = datetime.fromisoformat(now), whose, setting
        self.name = "", ""

    def about(self, whose: str) -> Vocabulary:
        """Return the same vocabulary for the fields of one thing: its names, addresses and places belong together."""
        return Vocabulary(self.now.isoformat(), whose, self.setting)

    def named(self, first: str, last: str) -> Vocabulary:
        """Return the same vocabulary for one person whose name is known."""
        found = self.about(self.whose)
        found.name = first, last
        return found

    def _who(self, noun: str, rng: Random) -> Who:
        """Return whom a field is about: what belongs to one thing is about one, but for its other people."""
        if not self.whose:
            return _invent(str(rng.getrandbits(48)))
        other = noun if has_people(noun) else ""
        found = _invent(f"{self.whose} {other}")
        first, last = self.name
        if not first or noun.endswith(" by"):
            return found
        login = f"{first}.{last}".lower()
        return found._replace(
            person=f"{first} {last}", first=first, last=last, email=f"{login}@example.com", username=login
        )

    # -- texts -------------------------------------------------------------------------------------

    def text(self, form: str, name: str, noun: str, rng: Random, number: int | None = None) -> str | None:
        """Return a text for a field, or None where its name does not tell what it holds.

        Args:
            form: The schema's format.
            name: The field's.
            noun: What the field belongs to, as `playlist`.
            rng: Chooses.
            number: Of the item among its like: items of different numbers have different titles.
        """
        kind = kind_of_text(form, name)
        if not kind:
            return None
        words = load_yaml(_WORDS)
        if kind == "title" or (
            kind == "subject"
            and isinstance(topic_of(noun, self.setting), tuple)
            and topic_of(noun, self.setting)
        ):
            stem = re.sub(r" (name|title|label)$", "", spaced(name))
            if stem != spaced(name) and stem not in _OWN_NAME and not f" {noun}".endswith(f" {stem}"):
                # What something else is called: the group of a person, the project of a task.
                return self.title(stem, rng, number) if topic_of(stem, self.setting) else None
            return self.title(noun or spaced(name), rng, number)
        if kind == "person" and "full" in spaced(name) and noun and not has_people(noun):
            return self.title(noun, rng, number)
        if (
            kind == "email"
            and spaced(name) in {"email", "email address"}
            and topic_of(noun, self.setting) == "company"
        ):
            return f"office@{re.sub(r'[^a-z]+', '-', self._who(noun, rng).company.lower()).strip('-')}.example.com"
        if kind == "nationality":
            return str(words["nationalities"][self._who(noun, rng).country])
        if kind in _OF_WHO:
            return str(getattr(self._who(noun, rng), _OF_WHO[kind]))
        if kind in {"message", "description"} and re.search(words["troubles"], noun):
            return str(_pick(words["reports"], rng))
        if kind == "description" and noun:
            kind_of_thing = "company" if topic_of(noun, self.setting) == "company" else noun
            return str(_pick(words["bios"] if has_people(noun) else descriptions_of(kind_of_thing), rng))
        if kind in _BY_THING:
            usual = next(
                (found for pattern, found in words[_BY_THING[kind]] if re.search(rf"\b({pattern})$", noun)),
                None,
            )
            if usual is not None:
                return str(_pick(usual, rng))
        if kind == "currency":
            return self.currency()
        if kind in _PICKED:
            return str(_pick(words[_PICKED[kind]], rng))
        if kind in _FIXED:
            return str(_pick(_FIXED[kind], rng))
        if kind in {"language", "locale"}:
            return str(_pick(words["languages"], rng)[kind == "language"])
        if kind in {"date", "date-time", "time"}:
            return self.moment(name, rng, kind, noun)
        if kind == "type":
            return re.sub(r"\W+", "_", noun) if noun else None
        return self._made(kind, name, noun, rng)

    def _made(self, kind: str, name: str, noun: str, rng: Random) -> str | None:
        fake = _faker()
        fake.seed_instance(rng.getrandbits(48))
        bits = f"{rng.getrandbits(128):032x}"
        slug = re.sub(r"\W+", "-", noun) or "item"
        made: dict[str, Any] = {
            "phone": lambda: f"+1 555 01{rng.randrange(10, 100)}",
            "uri": lambda: _address(spaced(name), slug, rng),
            "host": lambda: f"{slug}.example.com",
            "ip": lambda: f"192.0.2.{rng.randrange(1, 255)}",
            "ipv6": lambda: f"2001:db8::{rng.randrange(1, 9999):x}",
            "mac": fake.mac_address,
            "secret": lambda: bits[:24],
            "uuid": lambda: f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-a{bits[17:20]}-{bits[20:]}",
            "id": lambda: self.code(spaced(name), rng),
        }
        return str(made[kind]()) if kind in made else None

    @staticmethod
    def person(rng: Random) -> str:
        """Return a first and a last name."""
        fake = _faker()
        fake.seed_instance(rng.getrandbits(48))
        return f"{fake.first_name()} {fake.last_name()}"

    @staticmethod
    def code(words: str, rng: Random) -> str:
        """Return an opaque code as services write them."""
        fake = _faker()
        fake.seed_instance(rng.getrandbits(48))
        for word, make in (
            ("iban", fake.iban),
            ("isbn", fake.isbn13),
            ("ean", fake.ean13),
            ("barcode", fake.ean13),
        ):
            if word in words:
                return str(make())
        if re.search(r"\b(number|no|serial|sku|code|reference|ref)$", words):
            return f"{words[:1].upper()}{rng.randrange(10_000, 99_999)}"
        return f"{rng.getrandbits(40):010x}"

    def title(self, noun: str, rng: Random, number: int | None = None) -> str:
        """Return what something of a noun is called."""
        topic = "person" if noun.endswith(" by") else topic_of(noun, self.setting)
        if isinstance(topic, str) and topic:
            return str(getattr(self._who(noun, rng), topic))
        names = topic or tuple(load_yaml(_WORDS)["generic"])
        return names[(rng.randrange(len(names)) if number is None else number) % len(names)]

    def currency(self) -> str:
        """Return the currency of the world: what one service keeps is in one."""
        return str(_pick(load_yaml(_WORDS)["currencies"], Random(f"currency {self.setting} {self.now}")))

    # -- moments and numbers -------------------------------------------------------------------------

    def moment(self, name: str, rng: Random, kind: str, noun: str = "") -> str:
        """Return a date, a time or both, on the right side of now."""
        found = self._moment(name, rng, kind, noun)
        if kind == "date":
            return found.date().isoformat()
        return found.strftime("%H:%M:%SZ" if kind == "time" else "%Y-%m-%dT%H:%M:%SZ")

    def _moment(self, name: str, rng: Random, kind: str = "", noun: str = "") -> datetime:
        role = moment_for(name, noun)
        young = next((days for pattern, days in _BORN if pattern.search(noun)), None)
        if role == "birth" and young is not None:
            return self.now - timedelta(days=rng.randrange(*young))
        if role == "birth":
            return datetime(1960 + rng.randrange(42), rng.randrange(1, 13), rng.randrange(1, 28))
        if kind in {"date-time", "time"} and role in {"start", "end"} and self.whose:
            # What has an hour begins and ends on one day.
            own = Random(f"day of {self.whose}")
            day = self.now + timedelta(days=own.randrange(2, 30))
            begin = day.replace(hour=own.randrange(8, 18), minute=15 * own.randrange(4), second=0)
            return begin if role == "start" else begin + timedelta(minutes=30 * own.randrange(2, 7))
        short = next((days for pattern, days in LASTING if pattern.search(noun)), None)
        if short is not None and role in {"start", "end"} and self.whose:
            own = Random(f"days of {self.whose}")
            begin = self.now + timedelta(days=own.randrange(2, 30))
            return begin if role == "start" else begin + timedelta(days=own.randrange(*short))
        low, high = _DAYS[role]
        days = timedelta(days=rng.randrange(low, high))
        day = self.now + days if role in {"start", "end"} else self.now - days
        return day.replace(hour=rng.randrange(8, 18), minute=rng.randrange(0, 60, 5), second=0)

    def number(self, name: str, kind: str, rng: Random, noun: str = "") -> int | float | None:
        """Return a number for a field, or None where its name does not tell what it holds.

        Args:
            name: The field's.
            kind: `integer` or `number`.
            rng: Chooses.
            noun: What the field belongs to: a dish costs less than a van.
        """
        meaning = kind_of_number(name)
        words = spaced(name)
        usual = next((span for pattern, span in SPANS if pattern.search(words)), None)
        if (
            usual is not None
            and words.endswith("capacity")
            and re.search(r"(^| )(class|course|lesson|workshop|session)$", noun)
        ):
            usual = (8, 30)
        if (
            usual is not None
            and meaning not in {"epoch", "id", "minutes"}
            and (meaning != "price" or "rate" in words)
        ):
            return rng.randrange(usual[0], usual[1] + 1)
        if re.search(r"^(http )?status code$", words):
            return 200
        if not meaning:
            return None
        if meaning == "epoch":
            return int(self._moment(name, rng).timestamp())
        if meaning == "id":
            return rng.randrange(1000, 99_999)
        if meaning in {"latitude", "longitude"}:
            low, high = (36, 60) if meaning == "latitude" else (-9, 24)
            return (
                round(low + rng.random() * (high - low), 4) if kind == "number" else rng.randrange(low, high)
            )
        if meaning == "price":
            usual_prices = next((found for pattern, found in LARGE if pattern.search(words)), None)
            if usual_prices is None:
                usual_prices = next((found for pattern, found in BY_NOUN if pattern.search(noun)), PRICES)
            price = float(_pick(usual_prices, rng))
            return price if kind == "number" and price % 1 else round(price)
        if meaning == "minutes":
            return 15 * rng.randrange(1, 9)
        low, high = _RANGES[meaning]
        if meaning == "age" and _LIVE_SHORTER.search(noun):
            low, high = 1, 14
        return rng.randrange(low, high + 1)


def _address(words: str, slug: str, rng: Random) -> str:
    path = f"https://example.com/{slug}s/{rng.randrange(100, 999)}"
    picture = re.search(r"\b(avatar|thumbnail|logo|icon|image|picture|photo|cover)\b", words)
    return f"{path}/{picture.group(1)}.png" if picture else path


def _pick(options: Any, rng: Random) -> Any:
    return options[rng.randrange(len(options))]


def everyday_facts(salt: str) -> dict[str, Any]:
    """Return what every scenario knows of its user: `user_name`, and `now`, which does not move."""
    rng = Random(f"facts {salt}")
    name = Vocabulary.person(rng)
    day = datetime(2026, 1, 5) + timedelta(days=rng.randrange(300))
    return {
        "user_name": name,
        "now": f"{day.date().isoformat()}T{rng.randrange(8, 18):02d}:{rng.choice((0, 15, 30, 45)):02d}",
    }
