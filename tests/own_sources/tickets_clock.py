"""Support tickets that carry the time."""
import time
from datetime import datetime

TICKETS = []


def open_ticket(subject: str, description: str) -> dict:
    """Open a support ticket."""
    ticket = {"ticket_id": len(TICKETS) + 1, "subject": subject, "description": description, "status": "open",
              "opened_at": datetime.now().isoformat(), "stamp": time.time()}
    TICKETS.append(ticket)
    return ticket


def get_ticket(ticket_id: int) -> dict:
    """Show a ticket."""
    return TICKETS[ticket_id - 1]


def close_ticket(ticket_id: int) -> dict:
    """Close a ticket."""
    ticket = TICKETS[ticket_id - 1]
    if ticket["status"] == "closed":
        raise RuntimeError("already closed")
    ticket["status"] = "closed"
    return ticket


def count_tickets(status: str = "open") -> int:
    """Count the tickets with a status."""
    return sum(one["status"] == status for one in TICKETS)
