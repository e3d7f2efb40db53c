"""Semantic types that several domains share: an output of one domain can be bound to an argument of another."""

from __future__ import annotations

from typing import Annotated, Literal

from planarena.tools.semantics import Semantic

__all__ = [
    "Address", "Airport", "City", "Count", "Credit", "Date", "Datetime", "EmailAddress", "FreeTime", "Landing",
    "Minutes", "Money", "Payable", "Percent", "Person", "Rating", "RoomName", "Time", "Title", "Workday",
]  # fmt: skip

City = Annotated[str, Semantic("city", surface="name")]
Airport = Annotated[str, Semantic("airport", surface="name")]
Address = Annotated[str, Semantic("address", surface="name")]
Person = Annotated[str, Semantic("person", surface="name")]
EmailAddress = Annotated[str, Semantic("email_address", pattern=r"^[^@\s]+@[^@\s]+$")]
Title = Annotated[str, Semantic("title", surface="name")]
Date = Annotated[str, Semantic("date", surface="date", pattern=r"^\d{4}-\d\d-\d\d$")]
# A day for doing something at work (a deadline, a delivery), which not any date is.
Workday = Annotated[str, Semantic("workday", surface="date", pattern=r"^\d{4}-\d\d-\d\d$")]
Time = Annotated[str, Semantic("time", surface="time", pattern=r"^\d\d:\d\d$")]
Datetime = Annotated[str, Semantic("datetime", surface="datetime", pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d$")]
# A moment to put something into, of another type than the start of an event, which is taken.
FreeTime = Annotated[str, Semantic("free_time", surface="datetime", pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d$")]
# Where to be fetched from an airport, and nothing else, is asked for by the moment of a landing.
Landing = Annotated[str, Semantic("landing", surface="datetime", pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d$")]
Money = Annotated[float, Semantic("money", surface="money", minimum=0)]
# Prices and balances are money; what somebody asks to be paid can be transferred, what comes back be saved.
Payable = Annotated[float, Semantic("payment_amount", surface="money", minimum=0)]
Credit = Annotated[float, Semantic("credit_amount", surface="money", minimum=0)]
Minutes = Annotated[int, Semantic("minutes", surface="minutes", minimum=0)]
Percent = Annotated[int, Semantic("percent", surface="percent", minimum=0, maximum=100)]
Count = Annotated[int, Semantic("count", surface="number", minimum=0)]
Rating = Annotated[float, Semantic("rating", surface="number", minimum=0, maximum=10)]
# Rooms of a home: music plays where lights are switched.
RoomName = Annotated[
    Literal[
        "kitchen",
        "living room",
        "bedroom",
        "bathroom",
        "study",
        "hallway",
        "dining room",
        "guest room",
        "nursery",
    ],
    Semantic("room", surface="word"),
]
