from decimal import Decimal
from typing import Literal

RATES = {"EUR": Decimal("1"), "USD": Decimal("1.08"), "CHF": Decimal("0.95"), "JPY": Decimal("163.2")}


def convert(amount: float, from_currency: Literal["EUR", "USD", "CHF", "JPY"], to_currency: Literal["EUR", "USD", "CHF", "JPY"]) -> float:
    """Convert an amount between currencies."""
    return round(float(Decimal(str(amount)) / RATES[from_currency] * RATES[to_currency]), 2)


def get_rate(currency: Literal["EUR", "USD", "CHF", "JPY"]) -> float:
    """Units of a currency for one euro."""
    return float(RATES[currency])


def supported_currencies() -> list[str]:
    """All currencies."""
    return sorted(RATES)


def bmi(weight_kg: float, height_cm: float) -> float:
    """Body mass index."""
    return round(weight_kg / (height_cm / 100) ** 2, 1)
