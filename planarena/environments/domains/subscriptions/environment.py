"""Billing of subscriptions from the merchant's side: plans, subscribers, invoices, reminders, pauses and credit."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains import types
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_business, month_after

__all__ = ["Subscriptions"]

SubscriberId = Annotated[str, Semantic("subscriber_id", hidden=True)]
PlanId = Annotated[str, Semantic("subscription_plan_id", hidden=True)]
InvoiceId = Annotated[str, Semantic("subscription_invoice_id", hidden=True)]
Plan = Annotated[str, Semantic("subscription_plan", surface="name")]
Content = Annotated[str, Semantic("plan_content", surface="name")]
Number = Annotated[str, Semantic("subscription_invoice_number", surface="name")]
Amount = Annotated[float, Semantic("subscriber_credit", surface="money", minimum=1, maximum=200)]
DaysLate = Annotated[int, Semantic("days_overdue", surface="number", minimum=1, maximum=90)]
Status = Annotated[Literal["active", "paused", "ended"], Semantic("subscription_status", surface="word")]
Payment = Annotated[Literal["paid", "overdue"], Semantic("subscription_payment", surface="word")]
Failure = Annotated[
    Literal["card_expired", "insufficient_funds", "refused_by_the_bank"],
    Semantic("charge_failure", surface="word"),
]
Reason = Annotated[Literal["cost", "relocation", "lack_of_use", "poor_service"], Semantic("ending_reason", surface="word")]  # fmt: skip

record = Fields(
    subscriber_id=SubscriberId, plan_id=PlanId, invoice_id=InvoiceId, name=types.Person,
    address=types.EmailAddress, plan=Plan, before=Plan, content=Content, price=types.Money, status=Status,
    since=types.Date, next_billing=types.Date, paused_until=types.Date, ends_on=types.Date,
    credit=types.Money, number=Number, issued=types.Date, due=types.Date, pay_by=types.Date,
    paid_on=types.Date, amount=types.Money, payment=Payment, failure=Failure, attempts=types.Count,
    reminders=types.Count, unpaid=types.Money, total=types.Money, subscribers=types.Count, count=types.Count,
)  # fmt: skip
PLAN = record("plan_id plan content price subscribers")
OVERDUE = record("invoice_id subscriber_id number name amount due")


class Subscriptions(Environment):
    """What somebody sees who does the billing of a business that lives on subscriptions."""

    domain = "subscriptions"
    summary = "The billing of a small subscription business: plans, subscribers, invoices, pauses and credit."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a business with a dozen subscribers."""
        return make_business(cls.seeds(), rng, shared)

    @tool(
        "read",
        gives=record(
            "subscriber_id name address plan_id plan price status since next_billing credit paused_until? ends_on?"
        ),
    )
    def find_subscriber(self, name: types.Person) -> Result:
        """Look up a subscriber: mail address, plan, price, status, when the next billing is, and credit.

        Args:
            name: Full name of the subscriber.
        """
        for row in self.rows("subscribers", name=name):
            return {**self._plan(row), **{key: value for key, value in row.items() if value != ""}}
        raise ToolError("not_subscribed", f"{name} is no subscriber.")

    @tool("read", gives=record("count plans most_popular", plans=[PLAN], most_popular=PLAN))
    def list_subscription_plans(self) -> Result:
        """List the plans with their monthly prices, the cheapest first."""
        found = [
            {**row, "subscribers": len(self._subscribers(row["plan_id"]))} for row in self.state.scan("plans")
        ]
        found.sort(key=lambda row: (row["price"], row["plan_id"]))
        popular = max(found, key=lambda row: (row["subscribers"], row["plan_id"]))
        return {"count": len(found), "plans": found, "most_popular": popular}

    @tool(
        "read", gives=record("plan count people", people=[record("subscriber_id name status next_billing")])
    )
    def list_plan_subscribers(self, plan_id: PlanId) -> Result:
        """List those who have subscribed to a plan, by name.

        Args:
            plan_id: The plan.
        """
        plan = self.require("plans", plan_id, "plan")
        people = sorted(self._subscribers(plan_id), key=lambda row: row["name"])
        return {**plan, "count": len(people), "people": people}

    @tool("create", gives=record("subscriber_id name plan price next_billing"))
    def enrol_subscriber(self, name: types.Person, address: types.EmailAddress, plan_id: PlanId) -> Result:
        """Sign somebody up for a plan, which starts today; the first billing is a month from now.

        Args:
            name: Full name of the person, who has not subscribed yet.
            address: Mail address for the invoices.
            plan_id: The plan.
        """
        plan = self.require("plans", plan_id, "plan")
        if self.rows("subscribers", name=name):
            raise ToolError("already_subscribed", f"{name} has subscribed already.")
        key = self.new_id("sub", name)
        row = {"subscriber_id": key, "name": name, "address": address, "plan_id": plan_id, "status": "active"}
        row |= {
            "since": self.today,
            "next_billing": month_after(self.today),
            "paused_until": "",
            "ends_on": "",
        }
        return {**plan, **self.state.put("subscribers", key, {**row, "credit": 0.0})}

    @tool("update", gives=record("name before plan price next_billing"))
    def switch_subscriber_plan(self, subscriber_id: SubscriberId, plan_id: PlanId) -> Result:
        """Move a subscriber to another plan from the next billing on.

        Args:
            subscriber_id: The subscriber.
            plan_id: The new plan.
        """
        row = self._running(subscriber_id)
        plan = self.require("plans", plan_id, "plan")
        if row["plan_id"] == plan_id:
            raise ToolError("same_plan", f"{row['name']} has that plan already.")
        self.state.patch("subscribers", subscriber_id, plan_id=plan_id)
        return {**row, **plan, "before": self._plan(row)["plan"]}

    @tool("update", gives=record("name plan paused_until next_billing"))
    def pause_subscription(self, subscriber_id: SubscriberId, until: types.Date) -> Result:
        """Pause a subscription until a day; nothing is billed before that.

        Args:
            subscriber_id: The subscriber, who has not paused yet.
            until: The day on which it goes on.
        """
        row = self._running(subscriber_id)
        if row["status"] == "paused":
            raise ToolError("already_paused", f"{row['name']} has paused already.")
        if until <= self.today:
            raise ToolError("in_the_past", f"{until} has passed.")
        billing = max(until, row["next_billing"])
        self.state.patch(
            "subscribers", subscriber_id, status="paused", paused_until=until, next_billing=billing
        )
        return {**self._plan(row), **row, "paused_until": until, "next_billing": billing}

    @tool("update", gives=record("name plan price next_billing"))
    def resume_subscription(self, subscriber_id: SubscriberId) -> Result:
        """Let a paused subscription go on today; the next billing is a month from now.

        Args:
            subscriber_id: The subscriber, who has paused.
        """
        row = self._running(subscriber_id)
        if row["status"] != "paused":
            raise ToolError("not_paused", f"{row['name']} has not paused.")
        billing = month_after(self.today)
        self.state.patch("subscribers", subscriber_id, status="active", paused_until="", next_billing=billing)
        return {**self._plan(row), **row, "next_billing": billing}

    @tool("update", gives=record("name plan ends_on"))
    def end_subscription(self, subscriber_id: SubscriberId, reason: Reason) -> Result:
        """End a subscription on the day before the next billing.

        Args:
            subscriber_id: The subscriber.
            reason: Why they leave.
        """
        row = self._running(subscriber_id)
        ends_on = day_after(row["next_billing"], -1)
        self.state.patch("subscribers", subscriber_id, status="ended", ends_on=ends_on, reason=reason)
        return {**self._plan(row), **row, "ends_on": ends_on}

    @tool(
        "read",
        gives=record(
            "name count unpaid invoices", invoices=[record("invoice_id number issued amount payment")]
        ),
    )
    def list_subscriber_invoices(self, subscriber_id: SubscriberId) -> Result:
        """List the invoices of a subscriber, the latest first, and what is unpaid altogether.

        Args:
            subscriber_id: The subscriber.
        """
        row = self.require("subscribers", subscriber_id, "subscriber")
        found = self.rows("invoices", subscriber_id=subscriber_id)
        if not found:
            raise ToolError("no_invoice", f"{row['name']} has no invoice yet.")
        found.sort(key=lambda one: (one["issued"], one["invoice_id"]), reverse=True)
        unpaid = sum(one["amount"] for one in found if one["payment"] == "overdue")
        return {**row, "count": len(found), "unpaid": round(unpaid, 2), "invoices": found}

    @tool("read", gives=record("count total invoices", invoices=[OVERDUE]))
    def list_overdue_invoices(self, days_late: DaysLate | None = None) -> Result:
        """List the invoices that are overdue, the one due first at the top.

        Args:
            days_late: Only those that were due at least so many days ago.
        """
        last = day_after(self.now, -(days_late or 1))
        found = [self._named(row) for row in self.rows("invoices", payment="overdue") if row["due"] <= last]
        if not found:
            raise ToolError("nothing_overdue", "No invoice is overdue by that much.")
        found.sort(key=lambda row: (row["due"], row["invoice_id"]))
        return {
            "count": len(found),
            "total": round(sum(row["amount"] for row in found), 2),
            "invoices": found,
        }

    @tool(
        "read",
        gives=record(
            "invoice_id number name amount due payment attempts reminders failure? pay_by? paid_on?"
        ),
    )
    def open_subscription_invoice(self, invoice_id: InvoiceId) -> Result:
        """Show an invoice: amount, due date, whether it is paid, why charging failed, and how many reminders went out.

        Args:
            invoice_id: The invoice.
        """
        row = self._named(self.require("invoices", invoice_id, "invoice"))
        return {key: value for key, value in row.items() if value != ""}

    @tool("update", gives=record("number name amount pay_by reminders"))
    def send_payment_reminder(self, invoice_id: InvoiceId) -> Result:
        """Remind a subscriber of an invoice that is overdue, which gives them ten more days; once a day at most.

        Args:
            invoice_id: The invoice.
        """
        row = self._overdue(invoice_id)
        pay_by = day_after(self.now, 10)
        if row["pay_by"] == pay_by:
            raise ToolError("already_reminded", f"A reminder of {row['number']} went out today.")
        changed = self.state.patch("invoices", invoice_id, pay_by=pay_by, reminders=row["reminders"] + 1)
        return self._named(changed)

    @tool("update", gives=record("number name amount paid_on"))
    def retry_invoice_charge(self, invoice_id: InvoiceId) -> Result:
        """Try once more to charge the subscriber's card for an invoice that is overdue.

        Args:
            invoice_id: The invoice; a card that has expired is refused again.
        """
        row = self._overdue(invoice_id)
        if row["failure"] != "insufficient_funds":
            raise ToolError("card_declined", f"The card for {row['number']} was declined again.")
        paid = self.state.patch("invoices", invoice_id, payment="paid", failure="", paid_on=self.today)
        return self._named({**paid, "attempts": row["attempts"] + 1})

    @tool("update", gives=record("name amount credit"))
    def grant_subscriber_credit(self, subscriber_id: SubscriberId, amount: Amount) -> Result:
        """Give a subscriber credit, which is taken off the next billing.

        Args:
            subscriber_id: The subscriber.
            amount: The sum in euros.
        """
        row = self._running(subscriber_id)
        credit = round(row["credit"] + amount, 2)
        return {**self.state.patch("subscribers", subscriber_id, credit=credit), "amount": amount}

    def _plan(self, subscriber: Record) -> Record:
        return self.require("plans", subscriber["plan_id"], "plan")

    def _subscribers(self, plan_id: str) -> list[Record]:
        return [row for row in self.rows("subscribers", plan_id=plan_id) if row["status"] != "ended"]

    def _named(self, invoice: Record) -> Record:
        return {
            **invoice,
            "name": self.require("subscribers", invoice["subscriber_id"], "subscriber")["name"],
        }

    def _running(self, subscriber_id: str) -> Record:
        row = self.require("subscribers", subscriber_id, "subscriber")
        if row["status"] == "ended":
            raise ToolError("has_ended", f"The subscription of {row['name']} has ended.")
        return row

    def _overdue(self, invoice_id: str) -> Record:
        row = self.require("invoices", invoice_id, "invoice")
        if row["payment"] == "paid":
            raise ToolError("already_paid", f"{row['number']} has been paid.")
        return row
