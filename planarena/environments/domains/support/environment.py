"""A help desk: customers, tickets, queues, agents, replies, escalations, a knowledge base and refunds."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.domains.types import Count, Date, Datetime, EmailAddress, Money, Percent, Person
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_help_desk

__all__ = ["Support"]

MAX_OPEN_TICKETS = 6

TicketId = Annotated[str, Semantic("support_ticket_id", hidden=True)]
CustomerId = Annotated[str, Semantic("support_customer_id", hidden=True)]
AgentId = Annotated[str, Semantic("support_agent_id", hidden=True)]
ArticleId = Annotated[str, Semantic("help_article_id", hidden=True)]
PurchaseId = Annotated[str, Semantic("purchase_id", hidden=True)]
Subject = Annotated[str, Semantic("ticket_subject", surface="name")]
IssueText = Annotated[str, Semantic("ticket_text", surface="name")]
ReplyText = Annotated[str, Semantic("ticket_reply", surface="name")]
Topic = Annotated[str, Semantic("help_topic", surface="name")]
ArticleTitle = Annotated[str, Semantic("help_article_title", surface="name")]
ProductName = Annotated[str, Semantic("product_name", surface="name")]
Queue = Annotated[
    Literal["billing", "technical", "delivery", "returns"], Semantic("support_queue", surface="word")
]
Priority = Annotated[Literal["low", "normal", "high", "urgent"], Semantic("ticket_priority", surface="word")]
Status = Annotated[
    Literal["open", "waiting", "escalated", "closed"], Semantic("ticket_status", surface="word")
]
Team = Annotated[
    Literal["supervisors", "engineering", "quality"], Semantic("escalation_team", surface="word")
]
Resolution = Annotated[
    Literal["solved", "refunded", "duplicate"], Semantic("ticket_resolution", surface="word")
]

record = Fields(
    ticket_id=TicketId, subject=Subject, customer=Person, priority=Priority, status=Status,
    opened=Datetime, purchase_id=PurchaseId, product=ProductName, price=Money, bought=Date,
    refunded_percent=Percent, count=Count, customer_id=CustomerId, name=Person, address=EmailAddress,
    queue=Queue, text=IssueText, agent=Person, reply_count=Count, articles=[ArticleTitle],
    article_id=ArticleId, title=ArticleTitle, helpful_votes=Count, agent_id=AgentId, open_tickets=Count,
    due=Date, refund=Money, topic=Topic,
)  # fmt: skip
TICKET_LINE = record("ticket_id subject customer priority status opened")
TICKET = record(
    "ticket_id subject text topic customer_id customer queue priority status opened agent reply_count"
    " articles purchase_id product price"
)
CUSTOMER = record(
    "customer_id name address tickets purchases",
    tickets=[TICKET_LINE],
    purchases=[record("purchase_id product price bought refunded_percent")],
)


class Support(Environment):
    """A team leader's view of a help desk."""

    domain = "support"
    summary = (
        "A help desk with customers, tickets, queues, agents, escalations, a knowledge base and refunds."
    )
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a help desk."""
        return make_help_desk(cls.seeds(), rng, shared)

    @tool("read", gives=record("count tickets", tickets=[TICKET_LINE]))
    def list_queue_tickets(self, queue: Queue, priority: Priority | None = None) -> Result:
        """List the tickets of a queue that are not closed, the longest waiting first.

        Args:
            queue: The queue.
            priority: Only tickets of this priority.
        """
        found = [ticket for ticket in self.rows("tickets", queue=queue) if ticket["status"] != "closed"]
        found = [ticket for ticket in found if priority in (None, ticket["priority"])]
        found.sort(key=lambda ticket: (ticket["opened"], ticket["ticket_id"]))
        return {"count": len(found), "tickets": [self._line(ticket) for ticket in found[:10]]}

    @tool("read", gives=CUSTOMER)
    def find_support_customer(self, name: Person) -> Result:
        """Look up a customer by full name, with tickets and purchases, each the most recent first.

        Args:
            name: Full name of the customer.
        """
        for customer in self.rows("customers", name=name):
            customer_id = customer["customer_id"]
            tickets = self.rows("tickets", customer_id=customer_id)
            tickets.sort(key=lambda ticket: (ticket["opened"], ticket["ticket_id"]), reverse=True)
            lines = [self._line(ticket) for ticket in tickets[:10]]
            return {**customer, "tickets": lines, "purchases": self._purchases(customer_id)}
        raise ToolError("customer_not_found", f"There is no customer named {name}.")

    @tool("create", gives=record("ticket_id subject customer queue"))
    def create_support_ticket(
        self, customer_id: CustomerId, subject: Subject, text: IssueText, queue: Queue
    ) -> Result:
        """Open a ticket for a customer, of normal priority, about the customer's most recent purchase.

        Args:
            customer_id: The customer.
            subject: Subject of the ticket.
            text: What the customer says.
            queue: Queue that the ticket joins.
        """
        customer = self.require("customers", customer_id, "customer")
        ticket_id = self.new_id("tkt", customer_id, subject)
        if self.state.get("tickets", ticket_id):
            raise ToolError("already_exists", f"{customer['name']} already has a ticket on {subject}.")
        ticket = {
            "ticket_id": ticket_id, "subject": subject, "text": text, "customer_id": customer_id,
            "topic": next((row["topic"] for row in self.rows("tickets", subject=subject)), ""),
            "queue": queue, "priority": "normal", "status": "open", "opened": self.now, "agent_id": "",
            "replies": [], "answered_on": "", "articles": [],
            "purchase_id": self._purchases(customer_id)[0]["purchase_id"],
        }  # fmt: skip
        return {**self.state.put("tickets", ticket_id, ticket), "customer": customer["name"]}

    @tool("read", gives=TICKET)
    def get_support_ticket(self, ticket_id: TicketId) -> Result:
        """Open a ticket: what the customer wrote, its topic, its state, its agent and the purchase that it is about.

        Args:
            ticket_id: The ticket.
        """
        ticket = self.require("tickets", ticket_id, "ticket")
        purchase = self.require("purchases", ticket["purchase_id"], "purchase")
        agent = self.state.get("agents", ticket["agent_id"]) or {"name": "nobody"}
        titles = [self.require("articles", key, "article")["title"] for key in ticket["articles"]]
        sent = {"agent": agent["name"], "reply_count": len(ticket["replies"]), "articles": titles}
        return {**purchase, **self._line(ticket), **sent}

    @tool("read", gives=record("count articles", articles=[record("article_id title helpful_votes")]))
    def search_help_articles(self, topic: Topic) -> Result:
        """List the articles of the knowledge base on a topic, the most helpful first.

        Args:
            topic: The topic.
        """
        found = self.rows("articles", topic=topic)
        if not found:
            raise ToolError("nothing_found", f"There is no article on {topic}.")
        found.sort(key=lambda article: (-article["helpful_votes"], article["article_id"]))
        return {"count": len(found), "articles": found}

    @tool("update", gives=record("subject customer title"))
    def send_help_article(self, ticket_id: TicketId, article_id: ArticleId) -> Result:
        """Send an article of the knowledge base to the customer of a ticket.

        Args:
            ticket_id: The ticket.
            article_id: The article; it must be on the topic of the ticket.
        """
        ticket = self._unclosed(ticket_id)
        article = self.require("articles", article_id, "article")
        if article["topic"] != ticket["topic"]:
            raise ToolError("other_topic", f"{article['title']} is no answer to {ticket['subject']}.")
        if article_id in ticket["articles"]:
            raise ToolError("already_sent", f"{article['title']} has already been sent.")
        self.state.patch("tickets", ticket_id, articles=sorted([*ticket["articles"], article_id]))
        return {**self._line(ticket), "title": article["title"]}

    @tool("read", gives=record("count agents", agents=[record("agent_id name open_tickets")]))
    def find_available_agent(self, queue: Queue) -> Result:
        """List the agents of a queue who can take another ticket, the least busy first.

        Args:
            queue: The queue.
        """
        agents = self.rows("agents", queue=queue)
        found = [{**agent, "open_tickets": self._load(agent["agent_id"])} for agent in agents]
        found = [agent for agent in found if agent["open_tickets"] < MAX_OPEN_TICKETS]
        found.sort(key=lambda agent: (agent["open_tickets"], agent["agent_id"]))
        return {"count": len(found), "agents": found}

    @tool("update", gives=record("subject agent queue"))
    def assign_ticket_to_agent(self, ticket_id: TicketId, agent_id: AgentId) -> Result:
        """Give a ticket to an agent; it moves to the agent's queue.

        Args:
            ticket_id: The ticket.
            agent_id: The agent.
        """
        ticket = self._unclosed(ticket_id)
        agent = self.require("agents", agent_id, "agent")
        if ticket["agent_id"] == agent_id:
            raise ToolError("already_assigned", f"{agent['name']} already has this ticket.")
        if self._load(agent_id) >= MAX_OPEN_TICKETS:
            raise ToolError("agent_busy", f"{agent['name']} has no room for another ticket.")
        ticket = self.state.patch("tickets", ticket_id, agent_id=agent_id, queue=agent["queue"])
        return {**ticket, "agent": agent["name"]}

    @tool("update", gives=record("subject customer status"))
    def reply_to_ticket(self, ticket_id: TicketId, text: ReplyText) -> Result:
        """Write to the customer of a ticket; the ticket then waits for the customer's answer.

        Args:
            ticket_id: The ticket; it must not be waiting already, nor have been answered today.
            text: Text of the reply.
        """
        ticket = self._unclosed(ticket_id)
        if ticket["status"] == "waiting" or ticket["answered_on"] == self.today:
            raise ToolError("already_answered", "The customer has been answered and not written since.")
        replies = [*ticket["replies"], text]
        changes = {"replies": replies, "status": "waiting", "answered_on": self.today}
        return self._line(self.state.patch("tickets", ticket_id, **changes))

    @tool("update", gives=record("subject customer due"))
    def escalate_ticket(self, ticket_id: TicketId, team: Team) -> Result:
        """Escalate a ticket to a team: it becomes urgent and gets a date by which it must be settled.

        Args:
            ticket_id: The ticket; one that is escalated already cannot be escalated again.
            team: The team.
        """
        ticket = self._unclosed(ticket_id)
        if self.state.get("escalations", ticket_id):
            raise ToolError("already_escalated", "The ticket has already been escalated.")
        customer = self.require("customers", ticket["customer_id"], "customer")
        days = {"supervisors": 1, "engineering": 4, "quality": 6}[team]
        due = day_after(self.now, days if customer["plan"] == "premium" else days + 2)
        self.state.put("escalations", ticket_id, {"ticket_id": ticket_id, "team": team, "due": due})
        self.state.patch("tickets", ticket_id, status="escalated", priority="urgent")
        return {**self._line(ticket), "due": due}

    @tool("update", gives=record("product customer refund refunded_percent"))
    def refund_purchase(self, purchase_id: PurchaseId, percent: Percent) -> Result:
        """Refund a share of the price of a purchase; all refunds of a purchase together stay within 100 percent.

        Args:
            purchase_id: The purchase.
            percent: Share of the price, in percent.
        """
        purchase = self.require("purchases", purchase_id, "purchase")
        if percent == 0:
            raise ToolError("nothing_to_refund", "A refund of 0 percent changes nothing.")
        total = purchase["refunded_percent"] + percent
        if total > 100:
            raise ToolError("exceeds_price", "The purchase would be refunded more than once.")
        purchase = self.state.patch("purchases", purchase_id, refunded_percent=total)
        return {**self._line(purchase), "refund": round(purchase["price"] * percent / 100, 2)}

    @tool("update", gives=record("subject customer status"))
    def close_support_ticket(self, ticket_id: TicketId, resolution: Resolution) -> Result:
        """Close a ticket for good.

        Args:
            ticket_id: The ticket.
            resolution: `solved` needs a reply or an article, `refunded` a refund of the purchase, `duplicate`
                another ticket of the customer.
        """
        ticket = self._unclosed(ticket_id)
        if resolution == "solved" and not ticket["replies"] and not ticket["articles"]:
            raise ToolError("not_answered", "The customer has not been answered yet.")
        purchase = self.require("purchases", ticket["purchase_id"], "purchase")
        if resolution == "refunded" and purchase["refunded_percent"] == 0:
            raise ToolError("not_refunded", "The purchase has not been refunded.")
        others = self.rows("tickets", customer_id=ticket["customer_id"])
        if resolution == "duplicate" and all(row["ticket_id"] == ticket_id for row in others):
            raise ToolError("no_duplicate", "The customer has no other ticket.")
        return self._line(self.state.patch("tickets", ticket_id, status="closed", resolution=resolution))

    def _line(self, record: Record) -> Record:
        """Return a ticket or a purchase with the name of its customer."""
        customer = self.require("customers", record["customer_id"], "customer")
        return {**record, "customer": customer["name"]}

    def _unclosed(self, ticket_id: str) -> Record:
        ticket = self.require("tickets", ticket_id, "ticket")
        if ticket["status"] == "closed":
            raise ToolError("ticket_closed", "The ticket is closed.")
        return ticket

    def _purchases(self, customer_id: str) -> list[Record]:
        found = self.rows("purchases", customer_id=customer_id)
        return sorted(found, key=lambda item: (item["bought"], item["purchase_id"]), reverse=True)

    def _load(self, agent_id: str) -> int:
        return sum(ticket["status"] != "closed" for ticket in self.rows("tickets", agent_id=agent_id))
