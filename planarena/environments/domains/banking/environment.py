"""Banking: accounts and their cards, payees, transfers, standing orders, bills, savings goals, statements."""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Annotated, Any, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.shapes import Fields, Result, ordered
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, BillCategory, Loss, iban_remainder, make_world

__all__ = ["Banking"]

_PER_YEAR = {"weekly": 52, "monthly": 12, "quarterly": 4}
_TRANSFER_LIMIT = 2000.0

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
PayDay = Annotated[str, Semantic("payment_date", surface="date", pattern=r"^\d{4}-\d{2}-\d{2}$")]
Percent = Annotated[float, Semantic("percent", surface="percent")]
CardStatus = Annotated[Literal["active", "frozen", "cancelled"], Semantic("card_status", surface="word")]
Category = Annotated[BillCategory, Semantic("bill_category", surface="word")]
Reason = Annotated[Loss, Semantic("replacement_reason", surface="word")]
Delivery = Annotated[Literal["standard", "express"], Semantic("card_delivery", surface="word")]
Frequency = Annotated[Literal["weekly", "monthly", "quarterly"], Semantic("frequency", surface="word")]

record = Fields(
    card_id=CardId, last_digits=str, status=CardStatus, daily_limit=Money, account_id=AccountId,
    name=AccountName, iban=str, balance=Money, date=Day, description=str, amount=Money, payee=str,
    frequency=Frequency, account=AccountName, since=Day, money_in=Money, money_out=Money, replaces=str,
    arrives_on=Day, bank=str, from_account=AccountName, confirmation=str, first_date=Day,
    yearly_total=Money, bill_id=BillId, biller=Party, biller_iban=Iban, category=Category,
    due_date=PayDay, paid_on=Day, goal=GoalName, saved=Money, target=Money, percent_reached=Percent,
)  # fmt: skip
CARD = record("card_id last_digits status daily_limit")
STATEMENT = record(
    "account since balance money_in money_out entries upcoming",
    entries=[record("date description amount")],
    upcoming=[record("date payee amount frequency")],
)
GOAL_MOVE = record("goal amount saved target percent_reached")


class Banking(Environment):
    """The retail bank of one customer."""

    domain = "banking"
    summary = "A retail bank: accounts, cards, payees, transfers, standing orders, bills and savings goals."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a customer with four accounts; one has too little money for any open bill."""
        return make_world(cls.seeds(), rng, shared)

    @tool("read", gives=record("account_id name iban balance card", card=CARD))
    def get_bank_account(self, name: AccountName) -> Result:
        """Look up one of the customer's accounts by its name: balance, IBAN and the card that belongs to it.

        Args:
            name: The account's name, as `Household`.
        """
        for account in self.rows("accounts", name=name):
            return {**account, "card": self.require("cards", account["card_id"], "card")}
        raise ToolError("not_found", f"There is no account named {name}.")

    @tool("read", gives=STATEMENT)
    def get_account_statement(self, account_id: AccountId, since: Day | None = None) -> Result:
        """List an account's bookings, newest first (largest first within a day), and its upcoming payments.

        Args:
            account_id: The account.
            since: First day of the period; 30 days ago if left out.
        """
        account = self.require("accounts", account_id, "account")
        first = since or day_after(self.today, -30)
        if first > self.today:
            raise ToolError("invalid_period", "The period starts in the future.")
        booked = [row for row in self.rows("entries", account_id=account_id) if row["date"] >= first]
        booked.sort(key=lambda row: (row["date"], abs(row["amount"]), row["description"]), reverse=True)
        orders = ordered(self.rows("standing_orders", account_id=account_id), "first_date", "payee", "amount")
        return {
            **account, "account": account["name"], "since": first,
            "money_in": round(sum(row["amount"] for row in booked if row["amount"] > 0), 2),
            "money_out": round(-sum(row["amount"] for row in booked if row["amount"] < 0), 2),
            "entries": booked[:15], "upcoming": [{**row, "date": row["first_date"]} for row in orders[:15]],
        }  # fmt: skip

    @tool("update", gives=CARD)
    def freeze_card(self, card_id: CardId) -> Result:
        """Block an active card at once; it stays blocked until it is replaced.

        Args:
            card_id: The card.
        """
        card = self.require("cards", card_id, "card")
        if card["status"] != "active":
            raise ToolError(f"already_{card['status']}", f"The card is {card['status']}.")
        return self.state.patch("cards", card_id, status="frozen")

    @tool("create", gives=record("card_id last_digits replaces status daily_limit arrives_on"))
    def replace_card(self, card_id: CardId, reason: Reason, delivery: Delivery | None = None) -> Result:
        """Order a new card in place of a frozen one; the frozen one is cancelled, the new one is active.

        Args:
            card_id: The frozen card.
            reason: Why it is replaced.
            delivery: `standard` (5 days, the default) or `express` (2 days).
        """
        card = self.require("cards", card_id, "card")
        if card["status"] != "frozen":
            held = f"Only a frozen card can be replaced; this one is {card['status']}."
            raise ToolError("card_not_frozen", held)
        new_id = self.new_id("cd", card_id, reason, delivery)
        new = {**card, "card_id": new_id, "last_digits": f"{int(new_id[3:], 16) % 10000:04d}"}
        new = self.state.put("cards", new_id, {**new, "status": "active", "daily_limit": 400.0})
        self.state.patch("cards", card_id, status="cancelled")
        self.state.patch("accounts", card["account_id"], card_id=new_id)
        arrival = day_after(self.today, 2 if delivery == "express" else 5)
        return {**new, "replaces": card["last_digits"], "arrives_on": arrival}

    @tool("update", gives=CARD)
    def set_card_limit(self, card_id: CardId, daily_limit: CardLimit) -> Result:
        """Set how much an active card may spend in a day.

        Args:
            card_id: The card; it must not be frozen or cancelled.
            daily_limit: The new limit in euros, 50 to 3000.
        """
        card = self.require("cards", card_id, "card")
        if card["status"] != "active":
            raise ToolError("card_not_active", f"The card is {card['status']}; its limit cannot be changed.")
        if card["daily_limit"] == daily_limit:
            raise ToolError("already_set", f"The daily limit is already {daily_limit:.2f} euros.")
        return self.state.patch("cards", card_id, daily_limit=_euros(daily_limit))

    @tool("create", gives=record("payee iban bank", payee=Payee))
    def add_payee(self, name: Party, iban: Iban) -> Result:
        """Store a person or a company that money can be sent to.

        Args:
            name: Who holds the account.
            iban: The IBAN; its check digits must fit.
        """
        if iban_remainder(iban) != 1:
            raise ToolError("invalid_iban", "The check digits of the IBAN do not fit.")
        if self.state.get("payees", name) is not None:
            raise ToolError("already_stored", f"{name} is already among the payees.")
        for bill in self.rows("bills", biller_iban=iban):
            if bill["biller"] != name:
                raise ToolError("name_mismatch", f"The IBAN belongs to {bill['biller']}, not to {name}.")
        payee = self.state.put("payees", name, {"payee": name, "iban": iban})
        return {**payee, "bank": self.seeds()["banks"].get(iban[4:8], "a foreign bank")}

    @tool("create", gives=record("from_account payee amount date confirmation", amount=Amount))
    def transfer_money(
        self, account_id: AccountId, payee: Payee, amount: Amount, reference: Note | None = None
    ) -> Result:
        """Send money from an account to a stored payee today.

        Args:
            account_id: The account that pays; it must hold the amount.
            payee: The name of a stored payee.
            amount: Euros, at most 2000 in one transfer.
            reference: A note for the payee.
        """
        amount = _euros(amount)
        self._require_payee(payee)
        if amount > _TRANSFER_LIMIT:
            raise ToolError("limit_exceeded", f"A transfer may not exceed {_TRANSFER_LIMIT:.2f} euros.")
        text = f"Transfer to {payee}: {reference}" if reference else f"Transfer to {payee}"
        paid = self._pay(account_id, amount, text, "TR", account_id, payee, amount, reference)
        return {**paid, "payee": payee, "amount": amount}

    @tool("create", gives=record("from_account payee amount frequency first_date yearly_total"))
    def create_standing_order(
        self, account_id: AccountId, payee: Payee, amount: Amount, frequency: Frequency, first_date: PayDay
    ) -> Result:
        """Set up a repeated transfer to a stored payee; one per account and payee.

        Args:
            account_id: The account that pays.
            payee: The name of a stored payee.
            amount: Euros of each payment.
            frequency: How often it is paid.
            first_date: Day of the first payment, after today.
        """
        account, amount = self.require("accounts", account_id, "account"), _euros(amount)
        self._require_payee(payee)
        if first_date <= self.today or not _is_day(first_date):
            raise ToolError("invalid_date", "The first payment must be on a day in the future.")
        order_id = self.new_id("so", account_id, payee)
        if self.state.get("standing_orders", order_id) is not None:
            raise ToolError("already_exists", f"The account already pays {payee} by standing order.")
        order = {"payee": payee, "amount": amount, "frequency": frequency, "first_date": first_date}
        self.state.put("standing_orders", order_id, {"account_id": account_id, **order})
        total = _euros(amount * _PER_YEAR[frequency])
        return {**order, "from_account": account["name"], "yearly_total": total}

    @tool("read", gives=record("bill_id biller biller_iban category amount due_date", amount=Amount))
    def find_unpaid_bill(self, category: Category) -> Result:
        """Find the open bill of a category that is due first.

        Args:
            category: What the bill is for.
        """
        bills = self.rows("bills", category=category, status="unpaid")
        if not bills:
            raise ToolError("nothing_due", f"There is no unpaid {category} bill.")
        return min(bills, key=lambda row: (row["due_date"], row["bill_id"]))

    @tool("update", gives=record("biller category amount from_account paid_on confirmation", biller=str))
    def pay_bill(self, bill_id: BillId, account_id: AccountId) -> Result:
        """Pay an open bill in full from an account today.

        Args:
            bill_id: The bill.
            account_id: The account that pays; it must hold the bill's amount.
        """
        bill = self.require("bills", bill_id, "bill")
        if bill["status"] == "paid":
            raise ToolError("already_paid", "The bill is already paid.")
        paid = self._pay(account_id, bill["amount"], f"Bill of {bill['biller']}", "BP", bill_id, account_id)
        self.state.patch("bills", bill_id, status="paid")
        return {**bill, **paid, "paid_on": self.today}

    @tool("update", gives=GOAL_MOVE)
    def save_to_goal(self, goal: GoalName, account_id: AccountId, amount: Savings) -> Result:
        """Move money from an account into a savings goal.

        Args:
            goal: The goal's name.
            account_id: The account that pays; it must hold the amount.
            amount: Euros; the goal may not be overshot.
        """
        amount, before = _euros(amount), self._require_goal(goal)
        missing = round(before["target"] - before["saved"], 2)
        if amount > missing:
            raise ToolError("over_target", f"The goal {goal} lacks only {missing:.2f} euros.")
        return self._move(before, amount, account_id, f"Saved for {goal}")

    @tool("update", gives=GOAL_MOVE)
    def withdraw_from_goal(self, goal: GoalName, account_id: AccountId, amount: Amount) -> Result:
        """Move money out of a savings goal into an account.

        Args:
            goal: The goal's name.
            account_id: The account that receives the money.
            amount: Euros; at most what the goal holds.
        """
        amount, before = _euros(amount), self._require_goal(goal)
        self.require("accounts", account_id, "account")
        if amount > before["saved"]:
            held = f"The goal {goal} holds only {before['saved']:.2f} euros."
            raise ToolError("insufficient_savings", held)
        return self._move(before, -amount, account_id, f"From savings for {goal}")

    def _book(self, account_id: str, amount: float, text: str) -> Record:
        """Write an amount into an account's entries: below zero it is taken out, and must be there."""
        account = self.require("accounts", account_id, "account")
        if account["balance"] < -amount:
            held = f"The {account['name']} account holds only {account['balance']:.2f} euros."
            raise ToolError("insufficient_funds", held)
        entry_id = self.new_id("en", account_id, self.today, text, amount)
        if self.state.get("entries", entry_id) is not None:
            raise ToolError("duplicate", "The same amount was already booked for the same purpose today.")
        entry = {"account_id": account_id, "date": self.today, "description": text, "amount": amount}
        self.state.put("entries", entry_id, entry)
        return self.state.patch("accounts", account_id, balance=round(account["balance"] + amount, 2))

    def _pay(self, account_id: str, amount: float, text: str, prefix: str, *content: Any) -> Record:
        """Take money out of an account; the confirmation is a code made of the content."""
        code = f"{prefix}-{self.new_id('', *content)[1:9].upper()}"
        account = self._book(account_id, -amount, text)
        return {"from_account": account["name"], "date": self.today, "confirmation": code}

    def _move(self, before: Record, change: float, account_id: str, text: str) -> Record:
        """Move money between an account and a goal, and tell how far the goal is."""
        self._book(account_id, -change, text)
        saved = round(before["saved"] + change, 2)
        goal = self.state.patch("goals", before["goal"], saved=saved)
        return {**goal, "amount": abs(change), "percent_reached": round(100 * saved / goal["target"], 1)}

    def _require_payee(self, payee: str) -> None:
        if self.state.get("payees", payee) is None:
            raise ToolError("unknown_payee", f"{payee} is not among the stored payees; add the payee first.")

    def _require_goal(self, goal: str) -> Record:
        if stored := self.state.get("goals", goal):
            return stored
        raise ToolError("not_found", f"There is no savings goal named {goal}.")


def _euros(amount: float) -> float:
    """Return whole cents as a float: 50 and 50.0 must leave the same state."""
    return round(float(amount), 2)


def _is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False
