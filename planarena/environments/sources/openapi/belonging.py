"""What belongs to what: which fields people speak of for which things, and which actions they ask for."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["acts_on", "has_content", "is_moved_alone", "label_is_sum", "suits"]

_PLACES = r"location|place|venue|store|shop|branch|outlet|restaurant|cafe|hotel|office|building|facility|campus|site|clinic|hospital|practice|pharmacy|school|warehouse|depot|property|apartment|house|home|station|gym|library|museum|gallery|park|garage|cinema|theatre|theater|club|church|airport"  # fmt: skip
_EVENTS = r"event|conference|concert|festival|tour|meetup|workshop|tournament|wedding|trade fair|exhibition"
_WORKS = r"album|record|release|track|song|single|movie|film|video|clip|book|novel|ebook|audiobook|game|episode|podcast|series|show|app|product|magazine|comic"  # fmt: skip
_TEXTS = (
    r"article|post|page|blog post|story|news|report|paper|book|magazine|issue|chapter|video|episode|podcast"
)
_OF_PEOPLE = r"lead|application|account|subaccount|profile|enquiry|inquiry"
# Labels that are spoken of for some things alone: the label, the nouns, and whether people and companies have it too.
_SUITS: tuple[tuple[re.Pattern[str], re.Pattern[str], bool, bool], ...] = tuple(
    (re.compile(label), re.compile(rf"(^| )({nouns})$"), people, companies)
    for label, nouns, people, companies in (
        (r"(^| )email$", _OF_PEOPLE, True, True),
        (r"(^| )(phone|phone number|mobile|mobile number|telephone)$", f"{_OF_PEOPLE}|{_PLACES}|{_EVENTS}", True, True),
        (r"(^| )role$", "member|membership|invitation|employee|staff member", True, False),
        (r"^release date$", _WORKS, False, False),
        (r"^(publication date|publisher)$", f"{_TEXTS}|{_WORKS}", False, False),
        (r"(^| )(company|business|employer|organi[sz]ation)( name)?$", "lead|application|contact|booking|job|position|job posting|vacancy", True, False),
        (r"^(city|country|region|state|province|county|street|postcode|address)$", f"{_PLACES}|{_EVENTS}|listing|job|position|job posting|vacancy|address|stop|trip", True, True),
        (r"^(gender|age|nationality|job title|department|date of birth|birthplace)$", "pet|animal|horse|dog|cat", True, False),
        (r"^(rating|stars|score)$", f"review|rating|feedback|app|recipe|driver|{_WORKS}|{_PLACES}", True, True),
        (r"^number of (shares|likes|views|followers|plays|replies|downloads|votes)$", f"{_TEXTS}|{_WORKS}|photo|picture|image|channel|video channel|playlist|artist|comment|thread|topic|event|recipe|dashboard|file|document|question|poll", True, True),
        (r"^(amount|total|sum|subtotal)$", "invoice|bill|payment|expense|deal|opportunity|order|donation|transaction|line item|refund|grant|pledge|quote|estimate|purchase|credit note|budget|gift|contribution|loan|claim|transfer|charge|fee|subscription", False, False),
        (r"(^| )currency$", "account|wallet|bank account|invoice|bill|order|payment|transaction|budget|price list|quote|expense|shop|store|deal|balance", False, True),
        (r"^temperature$", "room|zone|freezer|fridge|device|sensor|thermostat|station|forecast|weather|observation|storage unit|incubator|oven|greenhouse", False, False),
        (r"^(weight|height|width|length)$", "product|parcel|shipment|package|item|animal|pet|person|patient", True, False),
    )
)  # fmt: skip
# Who writes these in: everybody else is rated by others.
_RATED = re.compile(r"(^| )(review|rating|feedback|testimonial)$")
# What makes sense only with what belongs to it: a town without its street, a currency without its amounts.
_TOGETHER = frozenset(("city", "country", "region", "street", "postcode", "currency"))
_CONTENT = re.compile(
    r"(^| )(file|attachment|image|photo|picture|video|recording|media|upload|audio|asset|logo|thumbnail)$"
)
_ACTS: dict[str, re.Pattern[str]] = {
    deed: re.compile(rf"(^| )({nouns})$")
    for deeds, nouns in (
        ("retry", "payment|job|delivery|build|export|import|transfer|download|upload|charge"),
        ("restart start stop", "server|instance|virtual machine|machine|device|timer|job|task|campaign|game|workflow|service|pump|robot|session|sprint|project|app|application|environment|deployment|engine|experiment|trip|shift|work order|tour|auction|poll|survey|broadcast|stream|recording|container|database|workout|print"),
        ("reset", "device|sensor|thermostat|counter|alarm|router|game|board|password"),
        ("send resend", "invoice|quote|quotation|estimate|message|email|campaign|newsletter|reminder|contract|envelope|form|survey|invitation|invite|offer|receipt|statement|report|letter|notification|proposal|purchase order|document|agreement|gift card|broadcast|email campaign"),
        ("publish unpublish", "article|post|page|form|survey|video|course|app|site|website|event|listing|product|template|story|episode|podcast|playlist|menu|report|document|job|job posting|position|vacancy|quiz|poll|recipe|album|book|blog post|exhibition|board|policy|schedule|catalogue|catalog|collection|help article|draft|newsletter|announcement"),
        ("feed", "pet|animal|dog|cat|horse|fish|hamster|rabbit"),
        ("refund", "payment|order|charge|purchase|booking|ticket|transaction|invoice|sale|donation|reservation"),
        ("void", "invoice|bill|payment|cheque|check|credit note|charge|ticket|envelope|estimate|quote|label|receipt"),
        ("renew", "subscription|membership|lease|contract|loan|domain|policy|licence|license|certificate|passport|plan|agreement|insurance|borrowing"),
        ("follow unfollow", "artist|playlist|podcast|show|author|channel|user|topic|company|project|board|event|team|account|person|task|store|creator"),
        ("like unlike", "post|photo|video|comment|song|track|article|recipe|story|picture|image|playlist|album|episode|movie"),
        ("subscribe unsubscribe", "channel|newsletter|podcast|calendar|feed|topic|list|plan|mailing list|thread|event|magazine"),
        ("mute unmute", "channel|conversation|thread|user|chat|group|alert|notification|monitor|participant|person|account"),
        ("lock unlock", "door|device|account|post|thread|topic|conversation|document|file|vehicle|car|bike|scooter|card|record|page|room|locker|issue|user|lock|ticket|board|project|folder"),
        ("bookmark", "article|post|page|book|recipe|video|song|episode|listing|job|product"),
    )
    for deed in deeds.split(" ")
}  # fmt: skip


@lru_cache(maxsize=8192)
def suits(label: str, noun: str, *, person: bool, company: bool) -> bool:
    """Say whether people speak of a field for a thing: albums have a release date, files have none.

    Args:
        label: What the field is called.
        noun: What it belongs to.
        person: Whether the things are people.
        company: Whether they are companies.
    """
    for pattern, nouns, people, companies in _SUITS:
        if pattern.search(label):
            return (
                (person and people)
                or (company and companies)
                or (not person and nouns.search(noun) is not None)
            )
    return True


@lru_cache(maxsize=8192)
def is_moved_alone(kind: str, label: str, noun: str) -> bool:
    """Say whether a field can be set without another: a street goes with its town, and a score is given by others."""
    if kind in _TOGETHER or label in {"state", "type", "species"} or label_is_sum(label):
        return False
    return kind != "rating" or _RATED.search(noun) is not None


def label_is_sum(label: str) -> bool:
    """Say whether a field is what others come to, which nobody sets."""
    return label.startswith(("total", "sum", "subtotal")) and label != "total"


@lru_cache(maxsize=8192)
def has_content(noun: str) -> bool:
    """Say whether a thing is nothing without a content that no sentence holds: a photo, an attachment."""
    return _CONTENT.search(noun) is not None


@lru_cache(maxsize=8192)
def acts_on(deed: str, noun: str) -> bool:
    """Say whether people ask for an action on things of a noun: payments are retried, subscriptions are not."""
    found = _ACTS.get(deed)
    return found is None or found.search(noun) is not None
