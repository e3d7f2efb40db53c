"""What things usually cost, and the usual numbers of what has a usual number."""

from __future__ import annotations

import re

__all__ = ["BY_NOUN", "LARGE", "PRICES", "SPANS"]

PRICES: tuple[float, ...] = (
    4.95,
    7.25,
    12.75,
    15,
    19.95,
    24,
    29.25,
    35,
    42,
    49,
    59.95,
    75,
    85,
    99,
    120,
    149,
    180,
    240,
    310,
    380,
)
LARGE: tuple[tuple[re.Pattern[str], tuple[float, ...]], ...] = (
    (
        re.compile(r"\b(salary|wages?|revenue|budget|goal|income|deal|loan|mortgage)\b"),
        (24_000, 32_500, 41_000, 48_000, 56_500, 64_000),
    ),
    (re.compile(r"\bspent\b"), (3_200, 6_400, 8_900, 12_500)),
    (re.compile(r"\bcredit limit\b"), (500, 1_000, 1_500, 2_000, 2_500, 5_000)),
    (re.compile(r"\b(rent|deposit|premium)\b"), (690, 780, 850, 940, 1_050, 1_200, 1_380)),
    (re.compile(r"\b(hourly|per hour|wage)\b"), (14, 16, 18, 21, 24, 28)),
)
BY_NOUN: tuple[tuple[re.Pattern[str], tuple[float, ...]], ...] = (
    (
        re.compile(r"\b(menu item|dish|meal|drink|food|recipe|coffee|topping|modifier|dessert)$"),
        (4.5, 5.75, 6.25, 7, 8.5, 9.75, 11, 12.5, 14, 16.5),
    ),
    (
        re.compile(r"\b(treatment|service|medication|procedure|lesson|class)$"),
        (12, 15, 18, 24, 29, 35, 42, 55, 60, 75),
    ),
    (
        re.compile(r"\b(invoice|bill|quote|quotation|estimate|proposal|expense)$"),
        (75, 85, 120, 149, 180, 240, 310, 380, 420, 560),
    ),
    (re.compile(r"\b(sponsor|grant|pledge|sponsorship)$"), (500, 750, 1_000, 1_500, 2_500, 5_000)),
    (
        re.compile(r"\b(plan|subscription|membership|membership type|tier|tariff|package)$"),
        (9, 12, 15, 19, 24, 29, 35, 39, 49),
    ),
    (
        re.compile(r"\b(product|item|variant|merchandise|gift|good|part|accessory)$"),
        (4.95, 6.5, 7.95, 9.5, 12.75, 14.9, 17.5, 19.95, 24, 29.25, 35, 42, 49, 59.95),
    ),
    (
        re.compile(r"\b(ticket type|ticket|admission|book|ebook|song|track|album|movie|magazine|variant)$"),
        (6, 8, 9.5, 12, 14, 18, 22, 25, 32),
    ),
    (re.compile(r"\b(vehicle|car|van|truck|boat)$"), (8_900, 12_400, 15_800, 19_900, 24_500)),
    (
        re.compile(r"\b(property|house|home|apartment|deal|opportunity|building)$"),
        (18_500, 27_000, 34_000, 42_500, 58_000),
    ),
)
# Usual numbers of what has a usual number.
SPANS = tuple(
    (re.compile(pattern), span)
    for pattern, span in (
        (r"\b(bedrooms?|bathrooms?|adults)$", (1, 3)), (r"\bchildren$", (0, 2)), (r"\b(party size|guests?|guest count|persons|people)$", (2, 8)),
        (r"\b(seats|seat count)$", (2, 8)), (r"\b(nights|weeks|terms?)$", (1, 4)), (r"\b(views?|plays?|downloads?)( count)?$|\b(view|play|download) count$", (40, 900)), (r"\bcalories$", (120, 780)), (r"\b(capacity|max attendees|max enrollment|attendance)$", (20, 240)),
        (r"\b(employees|employee count|headcount|staff count|company size)$", (8, 240)), (r"\b(year built|construction year|built year)$", (1935, 2018)),
        (r"\bgrade( level)?$", (1, 12)), (r"\bcredits$", (2, 6)), (r"\b(pages|page count|number of pages)$", (12, 380)), (r"\bpopulation$", (4_000, 420_000)),
        (r"\bfloors?$", (1, 9)), (r"\b(rating|stars)$", (3, 5)), (r"\b(square feet|sqft|floor area)$", (420, 2_400)), (r"\b(stops?|stop count)$", (3, 14)), (r"\b(tax|vat|sales tax)( rate)?( percent(age)?)?$|^percentage$", (5, 21)), (r"\b(discount|percent off|commission)( percent(age)?| rate)?$", (5, 30)),
        (r"\b(storage |freezer )?temperature$", (-4, 24)), (r"\bprobability$", (10, 90)),
    )
)  # fmt: skip
