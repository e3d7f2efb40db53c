"""An agency that plans events: venues, suppliers and what they cost, guests and their tables, running orders."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains import types
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.domains.types import Time
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import NO_TABLE, PROPOSALS, Kind, end_of, make_agency

__all__ = ["Events"]

LATE_DAYS, LATE_SHARE = 21, 0.3

EventId = Annotated[str, Semantic("planned_event_id", hidden=True)]
VenueId = Annotated[str, Semantic("event_venue_id", hidden=True)]
SupplierId = Annotated[str, Semantic("event_supplier_id", hidden=True)]
EngagementId = Annotated[str, Semantic("engagement_id", hidden=True)]
GuestId = Annotated[str, Semantic("event_guest_id", hidden=True)]
TableId = Annotated[str, Semantic("guest_table_id", hidden=True)]
EventTitle = Annotated[str, Semantic("planned_event", surface="name")]
Venue = Annotated[str, Semantic("event_venue", surface="name")]
District = Annotated[str, Semantic("venue_district", surface="name")]
Supplier = Annotated[str, Semantic("event_supplier", surface="name")]
GuestTable = Annotated[str, Semantic("guest_table", surface="name")]
Item = Annotated[str, Semantic("running_order_item", surface="name")]
Length = Annotated[int, Semantic("item_minutes", surface="minutes", minimum=5, maximum=240)]
Service = Annotated[Kind, Semantic("event_service", surface="word")]
Reply = Annotated[Literal["accepted", "declined"], Semantic("guest_reply", surface="word")]
AnyReply = Annotated[Literal["accepted", "declined", "waiting"], Semantic("any_guest_reply", surface="word")]

record = Fields(
    event_id=EventId, title=EventTitle, client=types.Person, email=types.EmailAddress, date=types.Workday,
    expected=types.Count, budget=types.Money, left=types.Money, venue=Venue, venue_id=VenueId, district=District,
    seats=types.Count, hire=types.Money, supplier_id=SupplierId, supplier=Supplier, service=Service,
    price=types.Money, rating=types.Rating, arrives=Time, engagement_id=EngagementId, total=types.Money,
    fee=types.Money, guest_id=GuestId, name=types.Person, reply=AnyReply, coming=types.Count, table_id=TableId,
    table=GuestTable, free_seats=types.Count, item=Item, starts=Time, ends=Time,
    minutes=types.Minutes, count=types.Count,
)  # fmt: skip
VENUE = record("venue_id venue seats hire")
SEATS = record("table_id table free_seats")
SUPPLIER = record("supplier_id supplier price rating")
ENGAGEMENT = record("engagement_id supplier service price arrives")


class Events(Environment):
    """The desk of somebody who plans weddings, parties and galas for others."""

    domain = "events"
    summary = (
        "An agency that plans events: venues, suppliers, budgets, guests with their tables, running orders."
    )
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make an agency with four events ahead."""
        return make_agency(cls.seeds(), rng, shared)

    @tool("read", gives=record("event_id title client email date expected budget left venue?"))
    def open_event_file(self, title: EventTitle) -> Result:
        """Open the file of an event: client, date, guests expected, budget, what is left of it, and the venue.

        Args:
            title: What the event is called.
        """
        for event in self.rows("events", title=title):
            return {**event, "left": self._left(event)}
        raise ToolError("no_such_event", f"The agency plans no {title}.")

    @tool("read", gives=record("count venues largest", venues=[VENUE], largest=VENUE))
    def find_venues(self, event_id: EventId, district: District) -> Result:
        """List the venues of a district that are large enough for an event, the cheapest first, and the largest.

        Args:
            event_id: The event.
            district: The part of the town.
        """
        event = self._event(event_id)
        found = [row for row in self.rows("venues", district=district) if row["seats"] >= event["expected"]]
        if not found:
            raise ToolError("nothing_found", f"No venue in {district} seats {event['expected']} people.")
        found.sort(key=lambda row: (row["hire"], row["venue_id"]))
        largest = max(found, key=lambda row: (row["seats"], row["venue_id"]))
        return {"count": len(found), "venues": found, "largest": largest}

    @tool("update", gives=record("title venue date hire left"))
    def reserve_venue(self, event_id: EventId, venue_id: VenueId) -> Result:
        """Reserve a venue for an event that has none; the hire comes out of its budget.

        Args:
            event_id: The event.
            venue_id: The venue, which must be large enough.
        """
        event, venue = self._event(event_id), self.require("venues", venue_id, "venue")
        if "venue" in event:
            raise ToolError("has_a_venue", f"The {event['title']} is held at {event['venue']}.")
        if venue["seats"] < event["expected"]:
            raise ToolError("too_small", f"{venue['venue']} seats only {venue['seats']} people.")
        if venue["hire"] > self._left(event):
            raise ToolError("over_budget", f"Only {self._left(event):.2f} euros of the budget are left.")
        event = self.state.patch("events", event_id, venue=venue["venue"], hire=venue["hire"])
        return {**event, **venue, "left": self._left(event)}

    @tool("read", gives=record("count suppliers best_rated", suppliers=[SUPPLIER], best_rated=SUPPLIER))
    def find_suppliers(self, service: Service) -> Result:
        """List the suppliers of a service, the cheapest first, and the best rated of them.

        Args:
            service: What they supply.
        """
        found = self.rows("suppliers", service=service)
        if not found:
            raise ToolError("nobody_found", "The agency knows no such supplier.")
        found.sort(key=lambda row: (row["price"], row["supplier_id"]))
        best = max(found, key=lambda row: (row["rating"], row["supplier_id"]))
        return {"count": len(found), "suppliers": found, "best_rated": best}

    @tool("create", gives=record("engagement_id title supplier service price arrives left"))
    def engage_supplier(self, event_id: EventId, supplier_id: SupplierId, arrives: Time) -> Result:
        """Engage a supplier for an event, at most one for each service; the price comes out of the budget.

        Args:
            event_id: The event.
            supplier_id: The supplier.
            arrives: When they are to be there on the day.
        """
        event, supplier = self._event(event_id), self.require("suppliers", supplier_id, "supplier")
        if self.rows("engagements", event_id=event_id, service=supplier["service"]):
            raise ToolError("service_covered", f"Somebody else does that for the {event['title']}.")
        if supplier["price"] > self._left(event):
            raise ToolError("over_budget", f"Only {self._left(event):.2f} euros of the budget are left.")
        engagement_id = self.new_id("eng", event_id, supplier_id)
        engagement = {"engagement_id": engagement_id, "event_id": event_id, "arrives": arrives}
        engagement |= {key: supplier[key] for key in ("supplier", "service", "price")}
        self.state.put("engagements", engagement_id, engagement)
        return {**engagement, "title": event["title"], "left": self._left(event)}

    @tool("read", gives=record("title count total engagements", engagements=[ENGAGEMENT]))
    def list_engagements(self, event_id: EventId) -> Result:
        """List who is engaged for an event and for how much, whoever arrives first at the head.

        Args:
            event_id: The event.
        """
        event, found = self._event(event_id), self.rows("engagements", event_id=event_id)
        if not found:
            raise ToolError("nobody_engaged", f"Nobody is engaged for the {event['title']} yet.")
        found.sort(key=lambda row: (row["arrives"], row["engagement_id"]))
        total = sum(row["price"] for row in found)
        return {"title": event["title"], "count": len(found), "total": total, "engagements": found}

    @tool("delete", gives=record("title supplier fee left"))
    def cancel_engagement(self, engagement_id: EngagementId) -> Result:
        """Cancel a supplier; in the three weeks before the event that costs 30 percent of the price, earlier nothing.

        Args:
            engagement_id: The engagement.
        """
        engagement = self.require("engagements", engagement_id, "engagement")
        event = self._event(engagement["event_id"])
        late = event["date"] <= day_after(self.today, LATE_DAYS)
        fee = round(LATE_SHARE * engagement["price"], 2) if late else 0.0
        self.state.delete("engagements", engagement_id)
        event = self.state.patch("events", event["event_id"], fees=round(event.get("fees", 0.0) + fee, 2))
        return {"title": event["title"], **engagement, "fee": fee, "left": self._left(event)}

    @tool("read", gives=record("title count guests", guests=[record("guest_id name reply table")]))
    def list_guests(self, event_id: EventId, reply: AnyReply | None = None) -> Result:
        """List the guests of an event by name, with their replies and whether they have a place at a table.

        Args:
            event_id: The event.
            reply: Only those who have accepted, have declined or are still waited for.
        """
        event = self._event(event_id)
        found = [row for row in self.rows("guests", event_id=event_id) if reply in (None, row["reply"])]
        if not found:
            raise ToolError("nobody_found", f"The {event['title']} has no such guests.")
        found.sort(key=lambda row: (row["name"], row["guest_id"]))
        return {"title": event["title"], "count": len(found), "guests": found}

    @tool("update", gives=record("name title reply coming"))
    def record_guest_reply(self, guest_id: GuestId, reply: Reply) -> Result:
        """Enter whether a guest is coming; whoever declines gives up the place at the table.

        Args:
            guest_id: The guest.
            reply: What the guest has answered.
        """
        guest = self.require("guests", guest_id, "guest")
        if guest["reply"] == reply:
            raise ToolError("known_already", f"{guest['name']} has {reply} before.")
        place = guest["table"] if reply == "accepted" else NO_TABLE
        self.state.put("guests", guest_id, {**guest, "reply": reply, "table": place})
        coming = len(self.rows("guests", event_id=guest["event_id"], reply="accepted"))
        return {**guest, "title": self._event(guest["event_id"])["title"], "reply": reply, "coming": coming}

    @tool("read", gives=record("title tables emptiest", tables=[SEATS], emptiest=SEATS))
    def find_free_seats(self, title: EventTitle) -> Result:
        """List the tables of an event with their free seats, and the emptiest of them; without a venue there are none.

        Args:
            title: What the event is called.
        """
        event_id = self.open_event_file(title)["event_id"]
        lines = [{**row, "free_seats": self._free(row)} for row in self.rows("tables", event_id=event_id)]
        if not any(line["free_seats"] for line in lines):
            raise ToolError("no_free_seats", f"No table has a free seat at the {title}.")
        lines.sort(key=lambda line: (line["table"], line["table_id"]))
        emptiest = max(lines, key=lambda line: (line["free_seats"], line["table_id"]))
        return {"title": title, "tables": lines, "emptiest": emptiest}

    @tool("update", gives=record("name title table free_seats"))
    def seat_guest(self, guest_id: GuestId, table_id: TableId) -> Result:
        """Give a guest a place at a table, or another one than before.

        Args:
            guest_id: The guest, who must not have declined.
            table_id: The table, which must have a free seat.
        """
        guest, table = self.require("guests", guest_id, "guest"), self.require("tables", table_id, "table")
        if guest["event_id"] != table["event_id"] or guest["reply"] == "declined":
            raise ToolError("not_coming", f"{guest['name']} is not coming to that event.")
        if guest["table"] == table["table"]:
            raise ToolError("seated_there", f"{guest['name']} sits at that table already.")
        if self._free(table) < 1:
            raise ToolError("table_full", f"The {table['table']} table has no free seat.")
        self.state.put("guests", guest_id, {**guest, "table": table["table"]})
        title = self._event(guest["event_id"])["title"]
        return {**guest, "title": title, "table": table["table"], "free_seats": self._free(table)}

    @tool("read", gives=record("title count items ends", items=[record("item starts minutes")]))
    def show_running_order(self, event_id: EventId) -> Result:
        """Show what happens at an event and when, from the first item to the last, and when it ends.

        Args:
            event_id: The event.
        """
        event, items = self._event(event_id), self.rows("items", event_id=event_id)
        if not items:
            raise ToolError("nothing_planned", f"The {event['title']} has no running order yet.")
        items.sort(key=lambda row: (row["starts"], row["item"]))
        ends = max(end_of(row) for row in items)
        return {"title": event["title"], "count": len(items), "items": items, "ends": ends}

    @tool("create", gives=record("title item starts ends"))
    def add_to_running_order(self, event_id: EventId, item: Item, starts: Time, minutes: Length) -> Result:
        """Add an item to the running order of an event, where there is time for it.

        Args:
            event_id: The event.
            item: What happens.
            starts: When it begins.
            minutes: How long it takes.
        """
        event = self._event(event_id)
        added = {"event_id": event_id, "item": item, "starts": starts, "minutes": minutes}
        for other in self.rows("items", event_id=event_id):
            if other["item"] == item or (other["starts"] < end_of(added) and starts < end_of(other)):
                raise ToolError("no_room", f"{other['item']} is at {other['starts']}.")
        self.state.put("items", self.new_id("itm", event_id, item), added)
        return {**added, "title": event["title"], "ends": end_of(added)}

    def _event(self, event_id: str) -> Record:
        return self.require("events", event_id, "event")

    def _left(self, event: Record) -> float:
        """Return what is left of a budget."""
        spent = sum(row["price"] for row in self.rows("engagements", event_id=event["event_id"]))
        return round(float(event["budget"] - event.get("hire", 0.0) - event.get("fees", 0.0) - spent), 2)

    def _free(self, table: Record) -> int:
        guests = self.rows("guests", event_id=table["event_id"])
        return int(table["seats"]) - len([row for row in guests if row["table"] == table["table"]])
