"""A help desk: customers, tickets, queues, agents, replies, escalations, a knowledge base and refunds."""

from __future__ import annotations

from datetime import date, timedelta
from typing import cast

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import Percent, Person
from planarena.environments.state import Record

from .types import (
    AgentId,
    AgentLine,
    Agents,
    ArticleId,
    ArticleLine,
    Articles,
    Assigned,
    Closed,
    Created,
    Customer,
    CustomerId,
    Escalated,
    IssueText,
    Priority,
    PurchaseId,
    PurchaseLine,
    Queue,
    QueueTickets,
    Refund,
    Replied,
    ReplyText,
    Resolution,
    SentArticle,
    Subject,
    Team,
    Ticket,
    TicketId,
    TicketLine,
    Topic,
)
from .world import SupportScenario

__all__ = ["Support"]

MAX_OPEN_TICKETS = 6


class Support(SupportScenario):
    """A team leader's view of a help desk."""

    domain = "support"
    summary = (
        "A help desk with customers, tickets, queues, agents, escalations, a knowledge base and refunds."
    )

    @tool("read")
    def list_queue_tickets(self, queue: Queue, priority: Priority | None = None) -> QueueTickets:
        """List the tickets of a queue that are not closed, the longest waiting first.

        Args:
            queue: The queue.
            priority: Only tickets of this priority.
        """
        found = [
            ticket
            for ticket in self.state.scan("tickets")
            if ticket["queue"] == queue
            and ticket["status"] != "closed"
            and (priority is None or ticket["priority"] == priority)
        ]
        found.sort(key=lambda ticket: (ticket["opened"], ticket["ticket_id"]))
        return {"count": len(found), "tickets": [self._line(ticket) for ticket in found[:10]]}

    @tool("read")
    def find_support_customer(self, name: Person) -> Customer:
        """Look up a customer by full name, with tickets and purchases, each the most recent first.

        Args:
            name: Full name of the customer.
        """
        for customer in self.state.scan("customers"):
            if customer["name"] == name:
                break
        else:
            raise ToolError("customer_not_found", f"There is no customer named {name}.")
        customer_id = customer["customer_id"]
        tickets = [ticket for ticket in self.state.scan("tickets") if ticket["customer_id"] == customer_id]
        tickets.sort(key=lambda ticket: (ticket["opened"], ticket["ticket_id"]), reverse=True)
        keys = PurchaseLine.__annotations__
        return {
            "customer_id": customer_id,
            "name": name,
            "address": customer["address"],
            "tickets": [self._line(ticket) for ticket in tickets[:10]],
            "purchases": [
                cast(PurchaseLine, {key: purchase[key] for key in keys})
                for purchase in self._purchases(customer_id)
            ],
        }

    @tool("create")
    def create_support_ticket(
        self, customer_id: CustomerId, subject: Subject, text: IssueText, queue: Queue
    ) -> Created:
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
            "ticket_id": ticket_id,
            "subject": subject,
            "text": text,
            "customer_id": customer_id,
            "queue": queue,
            "priority": "normal",
            "status": "open",
            "opened": self.now,
            "agent_id": "",
            "replies": [],
            "answered_on": "",
            "articles": [],
            "purchase_id": self._purchases(customer_id)[0]["purchase_id"],
        }
        self.state.put("tickets", ticket_id, ticket)
        return {"ticket_id": ticket_id, "subject": subject, "customer": customer["name"], "queue": queue}

    @tool("read")
    def get_support_ticket(self, ticket_id: TicketId) -> Ticket:
        """Open a ticket: what the customer wrote, its state, its agent and the purchase that it is about.

        Args:
            ticket_id: The ticket.
        """
        ticket = self.require("tickets", ticket_id, "ticket")
        purchase = self.require("purchases", ticket["purchase_id"], "purchase")
        agent = self.state.get("agents", ticket["agent_id"])
        return {
            "ticket_id": ticket_id,
            "subject": ticket["subject"],
            "text": ticket["text"],
            "customer_id": ticket["customer_id"],
            "customer": self._name_of(ticket),
            "queue": ticket["queue"],
            "priority": ticket["priority"],
            "status": ticket["status"],
            "opened": ticket["opened"],
            "agent": "nobody" if agent is None else agent["name"],
            "reply_count": len(ticket["replies"]),
            "articles": [self.require("articles", key, "article")["title"] for key in ticket["articles"]],
            "purchase_id": purchase["purchase_id"],
            "product": purchase["product"],
            "price": purchase["price"],
        }

    @tool("read")
    def search_help_articles(self, topic: Topic) -> Articles:
        """List the articles of the knowledge base on a topic, the most helpful first.

        Args:
            topic: The topic.
        """
        found = [article for article in self.state.scan("articles") if article["topic"] == topic]
        if not found:
            raise ToolError("nothing_found", f"There is no article on {topic}.")
        found.sort(key=lambda article: (-article["helpful_votes"], article["article_id"]))
        keys = ArticleLine.__annotations__
        lines = [cast(ArticleLine, {key: article[key] for key in keys}) for article in found]
        return {"count": len(found), "articles": lines}

    @tool("update")
    def send_help_article(self, ticket_id: TicketId, article_id: ArticleId) -> SentArticle:
        """Send an article of the knowledge base to the customer of a ticket.

        Args:
            ticket_id: The ticket.
            article_id: The article.
        """
        ticket = self._unclosed(ticket_id)
        article = self.require("articles", article_id, "article")
        if article_id in ticket["articles"]:
            raise ToolError("already_sent", f"{article['title']} has already been sent.")
        self.state.patch("tickets", ticket_id, articles=sorted([*ticket["articles"], article_id]))
        return {"subject": ticket["subject"], "customer": self._name_of(ticket), "title": article["title"]}

    @tool("read")
    def find_available_agent(self, queue: Queue) -> Agents:
        """List the agents of a queue who can take another ticket, the least busy first.

        Args:
            queue: The queue.
        """
        found: list[AgentLine] = [
            {
                "agent_id": agent["agent_id"],
                "name": agent["name"],
                "open_tickets": self._load(agent["agent_id"]),
            }
            for agent in self.state.scan("agents")
            if agent["queue"] == queue
        ]
        found = [agent for agent in found if agent["open_tickets"] < MAX_OPEN_TICKETS]
        found.sort(key=lambda agent: (agent["open_tickets"], agent["agent_id"]))
        return {"count": len(found), "agents": found}

    @tool("update")
    def assign_ticket_to_agent(self, ticket_id: TicketId, agent_id: AgentId) -> Assigned:
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
        self.state.patch("tickets", ticket_id, agent_id=agent_id, queue=agent["queue"])
        return {"subject": ticket["subject"], "agent": agent["name"], "queue": agent["queue"]}

    @tool("update")
    def reply_to_ticket(self, ticket_id: TicketId, text: ReplyText) -> Replied:
        """Write to the customer of a ticket; the ticket then waits for the customer's answer.

        Args:
            ticket_id: The ticket; it must not be waiting already, nor have been answered today.
            text: Text of the reply.
        """
        ticket = self._unclosed(ticket_id)
        today = self.now[:10]
        if ticket["status"] == "waiting" or ticket["answered_on"] == today:
            raise ToolError("already_answered", "The customer has been answered and not written since.")
        replies = [*ticket["replies"], text]
        self.state.patch("tickets", ticket_id, replies=replies, status="waiting", answered_on=today)
        return {"subject": ticket["subject"], "customer": self._name_of(ticket), "status": "waiting"}

    @tool("update")
    def escalate_ticket(self, ticket_id: TicketId, team: Team) -> Escalated:
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
        due = self._day_after(days if customer["plan"] == "premium" else days + 2)
        self.state.put("escalations", ticket_id, {"ticket_id": ticket_id, "team": team, "due": due})
        self.state.patch("tickets", ticket_id, status="escalated", priority="urgent")
        return {"subject": ticket["subject"], "customer": customer["name"], "due": due}

    @tool("update")
    def refund_purchase(self, purchase_id: PurchaseId, percent: Percent) -> Refund:
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
        self.state.patch("purchases", purchase_id, refunded_percent=total)
        return {
            "product": purchase["product"],
            "customer": self._name_of(purchase),
            "refund": round(purchase["price"] * percent / 100, 2),
            "refunded_percent": total,
        }

    @tool("update")
    def close_support_ticket(self, ticket_id: TicketId, resolution: Resolution) -> Closed:
        """Close a ticket for good.

        Args:
            ticket_id: The ticket.
            resolution: `solved` needs a reply or an article, `refunded` a refund of the purchase.
        """
        ticket = self._unclosed(ticket_id)
        if resolution == "solved" and not ticket["replies"] and not ticket["articles"]:
            raise ToolError("not_answered", "The customer has not been answered yet.")
        purchase = self.require("purchases", ticket["purchase_id"], "purchase")
        if resolution == "refunded" and purchase["refunded_percent"] == 0:
            raise ToolError("not_refunded", "The purchase has not been refunded.")
        self.state.patch("tickets", ticket_id, status="closed", resolution=resolution)
        return {"subject": ticket["subject"], "customer": self._name_of(ticket), "status": "closed"}

    def _line(self, ticket: Record) -> TicketLine:
        return {
            "ticket_id": ticket["ticket_id"],
            "subject": ticket["subject"],
            "customer": self._name_of(ticket),
            "priority": ticket["priority"],
            "status": ticket["status"],
            "opened": ticket["opened"],
        }

    def _unclosed(self, ticket_id: str) -> Record:
        ticket = self.require("tickets", ticket_id, "ticket")
        if ticket["status"] == "closed":
            raise ToolError("ticket_closed", "The ticket is closed.")
        return ticket

    def _name_of(self, record: Record) -> str:
        return cast(str, self.require("customers", record["customer_id"], "customer")["name"])

    def _purchases(self, customer_id: str) -> list[Record]:
        found = [item for item in self.state.scan("purchases") if item["customer_id"] == customer_id]
        return sorted(found, key=lambda item: (item["bought"], item["purchase_id"]), reverse=True)

    def _load(self, agent_id: str) -> int:
        return sum(
            ticket["agent_id"] == agent_id and ticket["status"] != "closed"
            for ticket in self.state.scan("tickets")
        )

    def _day_after(self, days: int) -> str:
        return (date.fromisoformat(self.now[:10]) + timedelta(days=days)).isoformat()
