"""The values and results of the help desk's tools."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import Count, Date, Datetime, EmailAddress, Money, Percent, Person
from planarena.tools.semantics import Semantic

__all__ = [
    "AgentId",
    "AgentLine",
    "Agents",
    "ArticleId",
    "ArticleLine",
    "Articles",
    "Assigned",
    "Closed",
    "Created",
    "Customer",
    "CustomerId",
    "Escalated",
    "IssueText",
    "Priority",
    "PurchaseId",
    "PurchaseLine",
    "Queue",
    "QueueTickets",
    "Refund",
    "Replied",
    "ReplyText",
    "Resolution",
    "SentArticle",
    "Subject",
    "Team",
    "Ticket",
    "TicketId",
    "TicketLine",
    "Topic",
]

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


class TicketLine(TypedDict):
    """A line of a list of tickets."""

    ticket_id: TicketId
    subject: Subject
    customer: Person
    priority: Priority
    status: Status
    opened: Datetime


class PurchaseLine(TypedDict):
    """Something that a customer bought."""

    purchase_id: PurchaseId
    product: ProductName
    price: Money
    bought: Date
    refunded_percent: Percent


class QueueTickets(TypedDict):
    """What waits in a queue."""

    count: Count
    tickets: list[TicketLine]


class Customer(TypedDict):
    """A customer with tickets and purchases."""

    customer_id: CustomerId
    name: Person
    address: EmailAddress
    tickets: list[TicketLine]
    purchases: list[PurchaseLine]


class Created(TypedDict):
    """A new ticket."""

    ticket_id: TicketId
    subject: Subject
    customer: Person
    queue: Queue


class Ticket(TypedDict):
    """A ticket in full."""

    ticket_id: TicketId
    subject: Subject
    text: IssueText
    customer_id: CustomerId
    customer: Person
    queue: Queue
    priority: Priority
    status: Status
    opened: Datetime
    agent: Person
    reply_count: Count
    articles: list[ArticleTitle]
    purchase_id: PurchaseId
    product: ProductName
    price: Money


class ArticleLine(TypedDict):
    """A line of a list of articles."""

    article_id: ArticleId
    title: ArticleTitle
    helpful_votes: Count


class Articles(TypedDict):
    """Articles on a topic."""

    count: Count
    articles: list[ArticleLine]


class SentArticle(TypedDict):
    """An article that went to a customer."""

    subject: Subject
    customer: Person
    title: ArticleTitle


class AgentLine(TypedDict):
    """A line of a list of agents."""

    agent_id: AgentId
    name: Person
    open_tickets: Count


class Agents(TypedDict):
    """The agents of a queue."""

    count: Count
    agents: list[AgentLine]


class Assigned(TypedDict):
    """A ticket with its new agent."""

    subject: Subject
    agent: Person
    queue: Queue


class Replied(TypedDict):
    """A ticket after a reply."""

    subject: Subject
    customer: Person
    status: Status


class Escalated(TypedDict):
    """A ticket in the hands of a team."""

    subject: Subject
    customer: Person
    due: Date


class Refund(TypedDict):
    """Money that goes back to a customer."""

    product: ProductName
    customer: Person
    refund: Money
    refunded_percent: Percent


class Closed(TypedDict):
    """A closed ticket."""

    subject: Subject
    customer: Person
    status: Status
