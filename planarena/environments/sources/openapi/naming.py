"""By what people know the items of a resource: a title, the name of a person, or the number on the paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from planarena.environments.sources.field_kinds import kind_of_text
from planarena.environments.sources.openapi.fields import kinds_of, merged_of
from planarena.environments.sources.openapi.identifiers import normal
from planarena.environments.sources.openapi.resources import Api, Resource
from planarena.environments.sources.things import has_titles, topic_of

__all__ = ["HANDLES", "Naming", "is_person", "names_of", "topic_noun"]

HANDLES = ("name", "title", "displayname", "label", "fullname", "subject", "headline", "question", "caption", "username", "login", "filename", "email")  # fmt: skip
_FIRST, _LAST = ("firstname", "givenname", "forename"), ("lastname", "familyname", "surname")
# What has a number that people read off a paper or a door.
_NUMBERED = re.compile(
    r"(^| )(invoice|bill|order|quote|estimate|shipment|parcel|claim|case|ticket|receipt|credit note|booking|reservation|work order|unit|room|table|locker|flight|transfer order|return)$"
)


# What has a subject line.
_SUBJECTED = re.compile(
    r"(^| )(message|email|e ?mail|mail|conversation|thread|announcement|news|newsletter|notification|ticket|case|letter|discussion|circular|request)$"
)
# What bears its holder's name: the profile of Ann Lee.
_HELD = re.compile(
    r"(^| )(account|subaccount|profile|address|registration|application|enrollment|enrolment|timesheet|time sheet|time entry|absence|payslip|leave|shift)$"
)
_OF_SOMEBODY = re.compile(r"(^| )(reservation|booking|appointment|order|visit|consultation)$")


class Naming(NamedTuple):
    """What people call an item.

    Attributes:
        fields: The properties that make up the name, in order.
        kind: `title`, `person`, `login`, `number`, `whose`: a reservation is that of its guest, or `held`: an account
            that bears its holder's name.
    """

    fields: tuple[str, ...]
    kind: str

    @property
    def main(self) -> str:
        """The first of the properties."""
        return self.fields[0]

    def text(self, placeholder: Callable[[str], str]) -> str:
        """Write the name after its noun: titles stand in quotation marks, people and numbers do not.

        Args:
            placeholder: Gives for a property what stands for its value.
        """
        if self.kind in {"whose", "held"}:
            return f"of {self._said(placeholder)}"
        return self.line(placeholder)

    def phrase(self, noun: str, placeholder: Callable[[str], str]) -> str:
        """Write what an item is called in a sentence: `the task "Paint the fence"`, but `invoice INV-2041`.

        Args:
            noun: The item's.
            placeholder: See `text`.
        """
        if noun == "person":
            return self.text(placeholder)
        return f"{noun if self.kind == 'number' else f'the {noun}'} {self.text(placeholder)}"

    def line(self, placeholder: Callable[[str], str]) -> str:
        """Write the name as a list has it."""
        said = self._said(placeholder)
        if self.kind == "whose":
            return f"{said}'s"
        return f'"{said}"' if self.kind in {"title", "login"} else said

    def _said(self, placeholder: Callable[[str], str]) -> str:
        return " ".join(f"{{{placeholder(field)}}}" for field in self.fields)


def is_person(api: Api, shape: str) -> bool:
    """Say whether the items of a resource are people: by what they are called, or by what is known of each."""
    known = {normal(name) for name in api.profiles.get(shape, {})}
    resource = api.resources.get(shape)
    topic = topic_of(resource.noun, api.setting) if resource is not None else ()
    if (
        resource is not None
        and resource.noun.endswith(("membership", "enrollment", "enrolment"))
        and "email" in known
    ):
        return True
    if known & set(_FIRST) and known & set(_LAST) and (topic == "person" or not topic):
        return resource is None or not _OF_SOMEBODY.search(resource.noun)
    if topic == "person":
        return not known & {"vatnumber", "taxid", "companyname", "companyid", "registrationnumber"} - {
            "companyid"
        }
    private = known & {"dateofbirth", "birthdate", "birthday", "dob", "gender", "jobtitle", "username"}
    return not topic and bool(private) and "email" in known


def topic_noun(api: Api, resource: Resource | None) -> str:
    """Return the noun that tells what items are called: `person` where they are people whatever the API calls them."""
    if resource is None:
        return "item"
    topic = topic_of(resource.noun, api.setting)
    if is_person(api, resource.shape):
        return resource.noun if topic == "person" else "person"
    return "company" if topic == "person" else resource.noun


def names_of(api: Api, shape: str) -> Naming | None:
    """Return by which properties people know the items of a resource, or None."""
    if shape not in api.memo:
        api.memo[shape] = _names_of(api, shape)
    found = api.memo[shape]
    assert found is None or isinstance(found, Naming)
    return found


def _names_of(api: Api, shape: str) -> Naming | None:
    profile, resource = api.profiles.get(shape, {}), api.resources.get(shape)
    if resource is None:
        return None
    texts = {normal(name): name for name, (schema, root) in profile.items() if _is_text(schema, root)}
    noun, person = normal(resource.noun), is_person(api, shape)
    if resource.noun.endswith("address"):
        return None  # it goes by whoever lives there, who may have two
    first = next((texts[word] for word in _FIRST if word in texts), "")
    last = next((texts[word] for word in _LAST if word in texts), "")
    if _NUMBERED.search(resource.noun) and not person:
        last_word = normal(resource.noun.rsplit(" ", maxsplit=1)[-1])
        known = {normal(name): name for name in profile}
        for want in (f"{noun}number", f"{last_word}number", "number", "documentnumber", "displayid", "trackingnumber", "confirmationnumber", "reference"):  # fmt: skip
            name = known.get(want)
            if name is not None and kinds_of(merged_of(*profile[name])) & {"string", "integer"}:
                return Naming((name,), "number")
    kind_of_person = "held" if _HELD.search(resource.noun) else "person"
    for want in (f"{noun}name", "fullname", "name", "displayname", f"{noun}title", *HANDLES):
        found = texts.get(want)
        if found is None:
            continue
        kind = kind_of_text("", found)
        if person and first and last and want not in {f"{noun}name", "fullname", "name"}:
            break
        if kind not in {"title", "subject", "username", "person", "company"}:
            continue
        if kind == "username":
            if person:
                return Naming((found,), "login")
            continue
        if person:
            if want in {"name", "fullname", "displayname", f"{noun}name"}:
                return Naming((found,), kind_of_person)
            continue
        if (kind == "subject" and _SUBJECTED.search(resource.noun)) or has_titles(
            topic_noun(api, resource), api.setting
        ):
            return Naming((found,), "title")
    firm = next(
        (
            texts[one]
            for one in ("companyname", "businessname", "organizationname", "legalname")
            if one in texts
        ),
        "",
    )
    if firm and not person and isinstance(topic_of(resource.noun, api.setting), str):
        return Naming((firm,), "title")
    if person and first and last:
        return Naming((first, last), kind_of_person)
    if _OF_SOMEBODY.search(resource.noun) and not person:
        known = {normal(name): name for name in profile if _is_text(*profile[name])}
        for whose in ("guest", "customer", "patient", "client", "passenger", "member", "buyer", "contact"):
            if f"{whose}name" in known:
                return Naming((known[f"{whose}name"],), "whose")
    return None


def _is_text(schema: object, root: object) -> bool:
    merged = merged_of(schema, root)
    pattern = merged.get("pattern")
    if pattern is not None and not any(
        re.search(pattern, one) for one in ("Road trip", "road-trip", "Roadtrip")
    ):
        return False  # a code
    return kinds_of(merged) == {"string"} and "enum" not in merged and "format" not in merged
