"""What banking's tools take and return."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.tools.semantics import Semantic

AccountId = Annotated[str, Semantic("account_id", hidden=True)]
CardId = Annotated[str, Semantic("card_id", hidden=True)]
BillId = Annotated[str, Semantic("bill_id", hidden=True)]
AccountName = Annotated[str, Semantic("account_name", surface="name")]
GoalName = Annotated[str, Semantic("savings_goal", surface="name")]
# A party can be named by a bill before the bank knows it; a payee is stored and can be paid.
Party = Annotated[str, Semantic("party_name", surface="name")]
Payee = Annotated[str, Semantic("payee", surface="name")]
Note = Annotated[str, Semantic("payment_note", surface="name")]
Iban = Annotated[str, Semantic("iban", pattern="^[A-Z]{2}[0-9]{2}[0-9A-Z]{10,30}$")]
Amount = Annotated[float, Semantic("payment_amount", surface="money", minimum=0.01)]
Savings = Annotated[float, Semantic("credit_amount", surface="money", minimum=0.01)]
Money = Annotated[float, Semantic("money", surface="money")]
CardLimit = Annotated[float, Semantic("card_limit", surface="money", minimum=50, maximum=3000)]
Day = Annotated[str, Semantic("date", surface="date", pattern=r"^\d{4}-\d{2}-\d{2}$")]
PaymentDay = Annotated[str, Semantic("payment_date", surface="date", pattern=r"^\d{4}-\d{2}-\d{2}$")]
Percent = Annotated[float, Semantic("percent", surface="percent")]
CardStatus = Annotated[Literal["active", "frozen", "cancelled"], Semantic("card_status", surface="word")]
Category = Annotated[
    Literal["electricity", "gas", "water", "internet", "phone", "insurance", "rent", "gym"],
    Semantic("bill_category", surface="word"),
]
Reason = Annotated[Literal["lost", "stolen", "damaged"], Semantic("replacement_reason", surface="word")]
Delivery = Annotated[Literal["standard", "express"], Semantic("card_delivery", surface="word")]
Frequency = Annotated[Literal["weekly", "monthly", "quarterly"], Semantic("frequency", surface="word")]


class Card(TypedDict):
    """A debit card of an account."""

    card_id: CardId
    last_digits: str
    status: CardStatus
    daily_limit: Money


class Account(TypedDict):
    """An account with its card."""

    account_id: AccountId
    name: AccountName
    iban: str
    balance: Money
    card: Card


class Entry(TypedDict):
    """One line of a statement; money out is negative."""

    date: Day
    description: str
    amount: Money


class Upcoming(TypedDict):
    """A future payment of a standing order."""

    date: Day
    payee: str
    amount: Money
    frequency: Frequency


class Statement(TypedDict):
    """A period of an account."""

    account: AccountName
    since: Day
    balance: Money
    money_in: Money
    money_out: Money
    entries: list[Entry]
    upcoming: list[Upcoming]


class NewCard(TypedDict):
    """A replacement card."""

    card_id: CardId
    last_digits: str
    replaces: str
    status: CardStatus
    daily_limit: Money
    arrives_on: Day


class StoredPayee(TypedDict):
    """A payee that can be paid from now on."""

    payee: Payee
    iban: str
    bank: str


class Transfer(TypedDict):
    """A transfer that was sent."""

    from_account: AccountName
    payee: str
    amount: Amount
    date: Day
    confirmation: str


class StandingOrder(TypedDict):
    """A repeated transfer."""

    from_account: AccountName
    payee: str
    amount: Money
    frequency: Frequency
    first_date: Day
    yearly_total: Money


class Bill(TypedDict):
    """An unpaid bill."""

    bill_id: BillId
    biller: Party
    biller_iban: Iban
    category: Category
    amount: Amount
    due_date: PaymentDay


class BillPayment(TypedDict):
    """A bill that was paid."""

    biller: str
    category: Category
    amount: Money
    from_account: AccountName
    paid_on: Day
    confirmation: str


class GoalMove(TypedDict):
    """Money moved into or out of a savings goal, and where the goal stands now."""

    goal: GoalName
    amount: Money
    saved: Money
    target: Money
    percent_reached: Percent
