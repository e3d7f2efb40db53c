"""What people call the fields of things: everyday words alone; what has none is neither asked for nor told."""

from __future__ import annotations

import re
from functools import lru_cache

from planarena.environments.sources.field_kinds import moment_of, spaced
from planarena.environments.sources.openapi.identifiers import singular

__all__ = [
    "choice_words",
    "is_counted",
    "is_label",
    "is_moment_told",
    "is_or_are",
    "label_of",
    "plural",
    "time_label",
    "with_article",
]

_HEADS = frozenset(
    "address age amount artist audience author availability balance bio brand budget calories "
    "capacity category city colour color company condition copies cost country county credits currency date "
    "deadline delivery department deposit description destination difficulty director discount distance duration "
    "email employer fee fees floor frequency fuel genre goal grade height hours humidity importance "
    "income instructions instructor item language length level limit location manager manufacturer method mileage "
    "mobile mood name nationality nights notes note number occupation organizer origin owner period phone plan "
    "population position postcode premium pressure price priority profession province publisher purpose quantity "
    "rate rating reason region relationship rent revenue role room salary score season seat section "
    "severity shelf size speaker speed stage start stars state status stock street subject subtotal summary supplier "
    "surname tag tags tax team telephone temperature term theme tier time tip title topic total town type unit "
    "urgency vendor venue visitors volume wage weather weight width wind year bedroom tariff "
    "humidity rainfall snowfall altitude elevation depth area points".split()
)
_BEFORE = frozenset(
    "account activation agreed organization team air annual application arrival asking available average base battery billing "
    "birth booking booked building business car card cash city closing company contact contract count course cover credit "
    "creation current customer daily deal delivery departure deposit discounted due early effective emergency "
    "employee employment end engine enrolment enrollment entry estimated event exam expected expense expiry fuel "
    "full game gross group guest hire hired holiday home hotel hourly house invoice issue item job last late lease list "
    "listing loan mailing main marital market maximum meeting member membership menu minimum mobile monthly "
    "mortgage net new number office opening open order outstanding overall paid parent parking party payment per "
    "personal phone pickup planned postal preferred previous primary product project promotional property purchase received "
    "reference refund regular release remaining renewal rental repair reservation response return room sale sales "
    "scheduled school sea seat security service shipment shipping shop special start stock storage store street student subscription "
    "supplier table target task tax team term ticket time total travel trial trip unit user vacation valid vehicle "
    "visit wage water weekly wholesale wind work yearly".split()
)
_COUNTED = frozenset(
    "answer applicant attendee bathroom bed bedroom booking child comment copy download employee episode floor follower "
    "game goal guest item joiner lesson like member membership message order page participant passenger patient person "
    "photo play player post product rating reply reservation review room sale seat session share song student "
    "subscriber subtask task team ticket track unit user video view visit visitor volunteer vote win adult book".split()
)
_NAMED = {
    "birth": "date of birth", "birthdate": "date of birth", "birthday": "date of birth", "dob": "date of birth",
    "date of birth": "date of birth", "birth date": "date of birth", "expires": "expiry date", "expiry": "expiry date",
    "expiration": "expiry date", "expire": "expiry date", "valid until": "expiry date", "expiration date": "expiry date", "expiry date": "expiry date",
    "start": "start date", "starts": "start date", "begin": "start date", "begins": "start date", "started": "start date",
    "end": "end date", "ends": "end date", "ended": "end date", "finish": "end date", "due": "due date",
    "hired": "hire date", "hire": "hire date", "joined": "joining date", "opened": "opening date", "issued": "issue date",
    "issue": "issue date", "released": "release date", "release": "release date", "renews": "renewal date", "renewal": "renewal date",
    "published": "publication date", "publication": "publication date", "created": "creation date", "creation": "creation date",
    "ordered": "order date", "paid": "payment date", "departs": "departure date", "departure": "departure date",
    "arrives": "arrival date", "arrival": "arrival date", "scheduled": "planned date", "deadline": "deadline",
    "delivery": "delivery date", "delivered": "delivery date", "purchased": "purchase date", "purchase": "purchase date",
    "order": "order date", "invoice": "invoice date", "event": "date", "booking": "booking date", "booked": "booking date",
    "move in": "move-in date", "move out": "move-out date", "check in": "check-in date", "check out": "check-out date",
    "checkin": "check-in date", "checkout": "check-out date", "close": "closing date", "closing": "closing date",
    "estimated delivery": "expected delivery date", "expected delivery": "expected delivery date", "renewed": "renewal date",
    "ship": "shipping date", "shipping": "shipping date", "pickup": "pickup date", "reserved for": "date",
    "next calibration": "next calibration date", "next service": "next service date", "follow up": "follow-up date",
    "termination": "leaving date", "enrollment": "enrolment date", "enrolment": "enrolment date", "effective": "effective date",
}  # fmt: skip
_ALSO = {
    "work email": "work email", "e mail": "email", "email address": "email", "phone number": "phone number",
    "mobile phone": "mobile number", "mobile number": "mobile number", "telephone number": "phone number",
    "mobile": "mobile number", "phone": "phone number", "telephone": "phone number", "zip": "postcode", "zip code": "postcode",
    "zipcode": "postcode", "postal code": "postcode", "qty": "quantity", "address state": "state", "state": "status",
    "job title": "job title", "desc": "description", "about": "description", "details": "details", "party size": "party size",
    "amount due": "amount", "total amount": "total amount", "cell": "mobile number", "cell phone": "mobile number", "stars": "rating",
    "square feet": "size in square feet", "calories": "calories", "workflow state": "status", "lifecycle state": "status",
}  # fmt: skip
_DATED = re.compile(r"^(.+?) (on|at|date|time|datetime|date time|timestamp|day)$")
_TECHNICAL_VALUES = re.compile(
    r"\b(none|null|unknown|undefined|default|auto|all|any|other|custom|not set|unset|unspecified|invalid|raw|uri|url|id|http|https|api|sftp|ftp|html|json|xml|csv|utc|cron|batch|async|sync|legacy|deprecated|internal|test|n a)\b"
)


@lru_cache(maxsize=16384)
def label_of(name: str, noun: str, *, moment: bool = False) -> str:
    """Return what a field of something is called: the status of a project is no "project status".

    Args:
        name: The field's.
        noun: What it belongs to.
        moment: Whether it is a date or a time.
    """
    words = spaced(name)
    head = f"{noun.rsplit(' ', maxsplit=1)[-1]} "
    words = words.removeprefix(f"{noun} ").removeprefix(head)
    words = re.sub(r" (text|value|str|string)$", "", words)
    if moment:
        dated = _DATED.match(words)
        stem = dated.group(1) if dated else words
        known = _NAMED.get(stem)
        if known is None and dated is not None and all(word in _BEFORE for word in stem.split(" ")):
            known = f"{stem} date"
        return known or ("date" if words in {"date", "day", "when"} else words)
    counted = re.fullmatch(r"(?:num|number of|total) (\w+)|(\w+) (?:count|total|number)", words)
    if counted is not None:
        thing = singular(counted.group(1) or counted.group(2))
        if thing in _COUNTED:
            return f"number of {plural(thing)}"
    if words.endswith("s") and singular(words) in _COUNTED and words not in _HEADS:
        return f"number of {words}"
    if words == "amount" and re.search(
        r"(^| )(plan|product|item|ticket type|treatment|service|package|membership|variant)$", noun
    ):
        return "price"
    return _ALSO.get(words, words)


def plural(noun: str) -> str:
    """Return the plural of an English noun, roughly."""
    if noun.endswith("person"):
        return f"{noun[:-6]}people"
    if noun.endswith("child"):
        return f"{noun}ren"
    if noun.endswith("staff"):
        return noun
    if noun.endswith("s") and not noun.endswith(("ss", "us")):
        return noun
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search(r"(s|x|z|ch|sh)$", noun) else f"{noun}s"


@lru_cache(maxsize=16384)
def is_label(label: str) -> bool:
    """Say whether people call something so: known words before a known head."""
    if label in _NAMED.values() or label in _ALSO.values():
        return True
    if label.startswith("number of "):
        return singular(label.rsplit(" ", maxsplit=1)[-1]) in _COUNTED
    *before, head = label.split(" ")
    return len(before) <= 2 and head in _HEADS and all(word in _BEFORE for word in before)


@lru_cache(maxsize=16384)
def choice_words(value: str) -> str:
    """Return a value of an enumeration as people say it, as `in progress` for `InProgress`; "" where nobody would."""
    if not re.fullmatch(r"[A-Za-z]+([ _-][A-Za-z]+)*", value):
        return ""
    words = spaced(value) if not value.isupper() else re.sub(r"[ _-]+", " ", value).lower()
    parts = words.split(" ")
    fine = all(re.fullmatch(r"[a-z]{2,14}", part) and re.search(r"[aeiouy]", part) for part in parts)
    return words if fine and len(parts) <= 3 and not _TECHNICAL_VALUES.search(words) else ""


def is_moment_told(name: str) -> bool:
    """Say whether people ask for a moment: what is planned, or when somebody was born or joined."""
    return moment_of(name) in {"start", "end", "birth"}


def time_label(label: str) -> str:
    """Return what the beginning or the end of something is called that has an hour."""
    return re.sub(r"\b(start|end) date$", r"\1 time", label)


def is_counted(label: str) -> bool:
    """Say whether a label says how many: no words answer that."""
    return label.startswith("number of") or (singular(label) in _COUNTED and label.endswith("s"))


def with_article(noun: str) -> str:
    """Return a noun after "a" or "an"."""
    return f"an {noun}" if noun[:1] in "aeiou" and not noun.startswith(("use", "uni", "eu")) else f"a {noun}"


def is_or_are(label: str) -> str:
    """Return the verb after a label: notes are, an address is."""
    return (
        "are"
        if re.search(r"[^su]s$", label)
        and not label.endswith(("address", "status", "is"))
        and not label.startswith("number")
        else "is"
    )
