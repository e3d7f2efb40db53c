"""What a field holds, by its format and name: `email`, `title`, `created`, `price`; "" where its name does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

__all__ = [
    "OPAQUE",
    "in_address",
    "in_place",
    "kind_of_number",
    "kind_of_text",
    "moment_for",
    "moment_of",
    "spaced",
]

# Known to the service and unspeakable: nobody says such values in a request.
OPAQUE = frozenset(
    ("byte", "file", "host", "html", "id", "ip", "mac", "mime", "query", "secret", "type", "uri", "uuid", "version", "cron", "time_zone", "latitude", "longitude", "epoch", "page", "technical")
)  # fmt: skip
_FORMATS = {
    "date": "date", "date-time": "date-time", "datetime": "date-time", "time": "time", "partial-time": "time",
    "duration": "duration", "uuid": "uuid", "guid": "uuid", "email": "email", "idn-email": "email", "uri": "uri",
    "url": "uri", "iri": "uri", "uri-reference": "uri", "hostname": "host", "idn-hostname": "host", "ipv4": "ip",
    "ipv6": "ipv6", "byte": "byte", "base64": "byte", "binary": "byte", "phone": "phone", "password": "secret",
}  # fmt: skip
_TEXTS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("mime", r"\bmime|content type|media type"),
        ("file", r"\bfile ?names?$|original name"),
        ("time_zone", r"\btime ?zones?\b|^tz$"),
        ("secret", r"\b(pass ?words?|secret|tokens?|api ?key|hash|checksum|sha\d*|etag|signature|cursor|nonce|fingerprint|cvv|pin|otp|certificate|private key|public key|credentials?|scopes?|md5)\b"),
        ("email", r"\be ?mails?( address(es)?)?$"),
        ("html", r"\bhtml\b"),
        ("uri", r"\b(ur[li]s?|links?|href|permalink|websites?|web ?site|homepage|endpoint|callback|redirect|avatar|thumbnail|web ?hook|self|src|logo|icon|image|picture|photo|cover)$|^(ur[li]|link|href)\b"),
        ("mac", r"\bmac( address)?$"),
        ("ip", r"\bip( address|v4)?$"),
        ("host", r"\b(host ?name|domain|fqdn|hosts?|server name)$"),
        ("cron", r"\bcron\b"),
        ("version", r"\b(version|revision|etag|build)$"),
        ("phone", r"\b(phone|mobile|fax|telephone|cell)\b"),
        ("currency", r"\bcurrenc(y|ies)\b"),
        ("country_code", r"\bcountry (iso )?code|\biso ?2\b"),
        ("nationality", r"\b(nationality|citizenship)$"),
        ("country", r"\bcountr(y|ies)\b(?! id)"),
        ("locale", r"\blocale\b|\blang(uage)? code\b|^(lang|hl)$"),
        ("language", r"\blanguages?\b(?! id)"),
        ("city", r"\b(city|town|municipality|locality|birthplace)( name)?$"),
        ("postcode", r"\b(zip|postal|postcode|plz)\b"),
        ("second_line", r"\b(line ?[2-9]|address ?[2-9]|street ?[2-9])$"),
        ("street", r"\b(street|address( ?line)?( ?1)?|line ?1|street name)$"),
        ("region_code", r"\b(state|province|region|county) (code|abbreviation|abbr)$"),
        ("region", r"\b(province|county|region|state or province|state province)( name)?$|\bstate name$|\b(address|location|mailing|billing|shipping|licen[sc]e|home|birth|origin|destination)\b.* state$"),
        ("first_name", r"\b(first|given|fore|nick) ?name$"),
        ("last_name", r"\b(last|family|sur) ?name$"),
        ("username", r"\b(user ?name|login|screen ?name|handle)$"),
        ("genre", r"\bgenres?$"),
        ("tag", r"\b(tags?|labels|keywords|interests|hashtags?)$"),
        ("colour", r"\bcolou?r$"),
        ("priority", r"\b(priority|severity|urgency|importance)$"),
        ("department", r"\bdepartment( name)?$"),
        ("job_title", r"\bjob ?title$|\b(occupation|profession)$"),
        ("gender", r"\b(gender|sex)$"),
        ("weather", r"\bweather( text)?$|^conditions?( text)$"),
        ("unit", r"\bunits?$"),
        ("moment", r"\b(dates?|datetime|timestamp|at|on|when|until|deadline|due|expiry|expires|expiration|created|updated|modified|birthday|dob|since|(start|end|departure|arrival|creation|update|modification|due|last|event) ?time)$"),
        ("time", r"\btime$"),
        ("person", r"\b(full|contact|owner|card ?holder|account holder|author|customer|buyer|payer|client contact|attendee|passenger|visitor|applicant|tenant|donor|signer|trainer|speaker|person|holder|recipient|sender|reviewer|employee|assignee|guest|driver|patient|student|teacher|manager|artist|creator|real|legal) ?name$|^(author|owner|assignee|contact person|attn|reporter|reviewer|organi[sz]er|host name|instructor)$"),
        ("company", r"\b(company|organi[sz]ation|vendor|supplier|employer|merchant|manufacturer|publisher|business|carrier)( name)?$"),
        ("id", r"\b([ugs]?u?id|ids|guid|gid|identifiers?|slug|key|keys|ref|reference|code|codes|number|no|serial|sku|barcode|ean|isbn|upc|handle|index|arn|urn|path|position id|iban|bic|vat|ein|ssn)$|(?<![aeiou ])id$"),
        ("subject", r"\b(subject|headline|subject line)$"),
        ("bio", r"\b(bio|biography)$"),
        ("reason", r"\b(reason|cause|justification)$"),
        ("message", r"\b(messages?|comments?|text|body|content|reply|greeting|caption|remarks?|answer)$"),
        ("description", r"\b(descriptions?|summary|notes?|details|about|purpose|instructions?|abstract|overview|memo|tagline|desc|explanation|hint)$"),
        ("query", r"^(q|query|search|search (text|term|query|string)|term|keyword|phrase)$"),
        ("title", r"\b(name|title|display ?name|label|question|caption|topic|heading)$"),
        ("status", r"\b(status|state)$"),
        ("type", r"\b(type|kind|object|resource|entity|class|model)$"),
    )
)  # fmt: skip
_NUMBERS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("latitude", r"\blat(itude)?$"),
        ("longitude", r"\b(lng|lon|long|longitude)$"),
        ("year", r"\byear$"),
        ("month", r"\bmonth$"),
        ("percent", r"\b(percent(age)?|ratio|progress|completion|humidity|battery( level)?|popularity|share|probability|vat|tax rate|discount)\b"),
        ("price", r"\b(price|amount|cost|total|fee|balance|sub ?total|salary|budget|revenue|tax|paid|spent|credit|debit|payment|sum|net|gross)\b(?!.*\b(id|count|pages|items|records|results|size)\b)"),
        ("rating", r"\b(rating|score|stars|grade)$"),
        ("temperature", r"\btemp(erature)?\b|feels like"),
        ("minutes", r"\b(minutes|duration|mins|length)$"),
        ("milliseconds", r"\b(ms|milliseconds|millis)$"),
        ("epoch", r"\b(created|updated|modified|expires|timestamp|date|at|on|time|deadline)$"),
        ("id", r"\b([ugs]?u?id|ids|gid|number|code|key)$"),
        ("total", r"^(total|total (count|results|items|records|elements)|count|num results|item count|record count|total size)$"),
        ("page", r"\b(page|offset|skip|start|cursor|pages|limit|per page|page size|first|top|max results|size|per ?page|start index|max|min|take|from|page number|page count|timeout|retry|retries|port|interval|ttl|version|depth)$"),
        ("count", r"\b(count|quantity|qty|num|number of \w+|followers?|likes?|views?|comments?|plays?|items?|members?|users?|guests?|adults|children|seats|rooms|people|persons|stock|inventory|votes|replies|shares|tracks|songs|episodes|books|copies|units|points|nights|days|weeks|hours|months|years|bedrooms|bathrooms|capacity)$"),
        ("age", r"\bage$"),
        ("position", r"\b(position|rank|order|place|sort|level|priority)$"),
        ("size", r"\b(bytes|file ?size)$"),
        ("measure", r"\b(weight|height|width|distance|radius|speed|depth|area|mileage|volume|wind( speed)?|pressure)$"),
    )
)  # fmt: skip
_MOMENTS = tuple(
    (role, re.compile(pattern))
    for role, pattern in (
        ("birth", r"birth|\bdob\b"),
        ("updated", r"\b(updated?|modified|modification|changed|last|latest|seen|edited|synced|completed|closed|resolved|finished|archived|deleted|read)\b"),
        ("created", r"\b(created?|creation|added|joined|registered|published|posted|sent|uploaded|ordered|placed|received|issued|recorded|booked|since|opened|signed|inserted|order date|invoice date|timestamp)\b"),
        ("end", r"\b(end|ends|until|expir\w*|valid (to|until)|deadline|clos(?:es|ing)|checkout|check out|return|arrival|renew\w*|to)\b"),
        ("start", r"\b(due|start|starts|begin|begins|scheduled?|next|departure|delivery|event|appointment|available|remind(er)?|from|checkin|check in|planned|pickup|publish)\b"),
    )
)  # fmt: skip


@lru_cache(maxsize=16384)
def spaced(name: str) -> str:
    """Return an identifier as plain words: `shipToAddress` becomes `ship to address`."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", words)
    return re.sub(r"[^A-Za-z0-9]+", " ", words).strip().lower()


# A build asks for the same few thousand names over and over.
@lru_cache(maxsize=16384)
def kind_of_text(form: str, name: str) -> str:
    """Return what a text is, or ""."""
    if form in _FORMATS:
        return _FORMATS[form]
    words = spaced(name)
    found = next((kind for kind, pattern in _TEXTS if pattern.search(words)), "")
    if found == "moment":
        return (
            "date-time"
            if re.search(r"\b(at|timestamp|datetime|time|created|updated|modified)$", words)
            else "date"
        )
    return found


# Of which the state is that of an address.
_ADDRESSED = frozenset(
    ("billing", "shipping", "mailing", "home", "delivery", "postal", "residence", "residential", "birth", "issuing", "licence", "license", "origin", "destination", "ship to", "bill to", "physical", "registered", "incorporation", "legal", "work address", "return address", "us")
)  # fmt: skip
_PLACE = frozenset(
    ("city", "town", "zip", "zipcode", "zip code", "postal code", "postcode", "postal", "country", "country code", "street", "street1", "line1", "line 1", "address line1", "address line 1", "address1", "address 1", "address line 2")
)  # fmt: skip


def in_address(siblings: Iterable[str]) -> bool:
    """Say whether fields are those of a place that people live in: a region of machines has no city."""
    return bool({spaced(one) for one in siblings} & _PLACE)


def in_place(name: str, siblings: Iterable[str], description: str = "") -> str:
    """Return a field's name with what stands beside it in mind: the state beside a city is the state of an address.

    Args:
        name: The field's.
        siblings: The names of all fields of the same object.
        description: What the schema says of the field.
    """
    words = spaced(name)
    if words.rsplit(" ", maxsplit=1)[-1] != "state":
        return name
    told = re.search(
        r"(?i)\b(province|region|county|two.letter|iso.?3166|postal|abbreviat)", description or ""
    )
    head = words.removesuffix("state").strip()
    beside = {spaced(one) for one in siblings}
    near = bool(beside & _PLACE) if not head else bool(beside & {f"{head} {one}" for one in _PLACE})
    return f"{head} address state".strip() if told or near or head in _ADDRESSED else name


@lru_cache(maxsize=16384)
def kind_of_number(name: str) -> str:
    """Return what a number is, or ""."""
    words = spaced(name)
    return next((kind for kind, pattern in _NUMBERS if pattern.search(words)), "")


# What lies ahead when it is spoken of: its plain "date" does, too.
_PLANNED = re.compile(
    r"(^| )(appointment|booking|reservation|event|meeting|session|lesson|workshop|visit|viewing|trip|shift|wedding|concert|delivery|pickup|exam|match|game|performance|screening|party|tour|class)$"
)


@lru_cache(maxsize=16384)
def moment_for(name: str, noun: str) -> str:
    """Return which moment a date of something is: see `moment_of`; the date of an appointment is its start."""
    found = moment_of(name)
    plain = re.fullmatch(r"(\w+ )?(date|day|time|datetime|date time|when)", spaced(name)) is not None
    own = spaced(name).split(" ")[0] in {
        "date",
        "day",
        "time",
        "datetime",
        "when",
        noun.rsplit(" ", maxsplit=1)[-1],
    }
    return "start" if found == "past" and plain and own and _PLANNED.search(noun) else found


@lru_cache(maxsize=16384)
def moment_of(name: str) -> str:
    """Return which moment a date is: `created`, `updated`, `start`, `end`, `birth` or `past`."""
    words = spaced(name)
    return next((role for role, pattern in _MOMENTS if pattern.search(words)), "past")
