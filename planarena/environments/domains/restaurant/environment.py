"""The front desk of a restaurant: tables, bookings, guests and their wishes, the menu, dishes ordered ahead, and bills."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains import types
from planarena.environments.domains.shared import Shared
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_restaurant, new_booking

__all__ = ["Restaurant"]

SITTING = timedelta(hours=2)
OPENS, LAST_SITTING = "12:00", "21:30"

BookingId = Annotated[str, Semantic("table_booking_id", hidden=True)]
TableId = Annotated[str, Semantic("restaurant_table_id", hidden=True)]
DishId = Annotated[str, Semantic("dish_id", hidden=True)]
BillId = Annotated[str, Semantic("table_bill_id", hidden=True)]
Table = Annotated[str, Semantic("restaurant_table", surface="name")]
Dish = Annotated[str, Semantic("dish", surface="name")]
Code = Annotated[str, Semantic("table_booking_code", surface="name")]
Wish = Annotated[str, Semantic("guest_wish", surface="name")]
Sitting = Annotated[str, Semantic("sitting", surface="datetime", pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d$")]
Party = Annotated[int, Semantic("party", surface="number", minimum=1, maximum=12)]
Seats = Annotated[int, Semantic("table_seats", surface="number", minimum=1)]
Portions = Annotated[int, Semantic("portions", surface="number", minimum=1, maximum=20)]
Tip = Annotated[float, Semantic("tip", surface="money", minimum=0, maximum=100)]
Area = Annotated[Literal["front_room", "back_room", "terrace", "winter_garden"], Semantic("restaurant_area", surface="word")]  # fmt: skip
Course = Annotated[Literal["starters", "mains", "desserts"], Semantic("menu_course", surface="word")]
Diet = Annotated[Literal["vegetarian", "vegan", "meat", "fish"], Semantic("dish_diet", surface="word")]
Allergy = Annotated[
    Literal["none", "peanuts", "kiwi", "mustard", "lupin"], Semantic("food_allergy", surface="word")
]
Method = Annotated[Literal["card", "cash", "voucher"], Semantic("bill_method", surface="word")]

record = Fields(
    booking_id=BookingId, table_id=TableId, dish_id=DishId, bill_id=BillId, guest=types.Person,
    name=types.Person, address=types.EmailAddress, visits=types.Count, last_visit=types.Date, favourite=Dish,
    allergy=Allergy, date=types.Date, at=types.Time, start=types.Datetime, before=types.Datetime, party=Party,
    covers=types.Count, table=Table, before_table=Table, area=Area, seats=Seats, noise=types.Count, code=Code,
    wish=Wish, dish=Dish, diet=Diet, price=types.Money, sold=types.Count, portions=Portions, cost=types.Money,
    total=types.Money, paid=types.Money, receipt=Code, count=types.Count,
)  # fmt: skip
BOOKING = record("booking_id guest at party table")
SHEET = record(
    "booking_id guest date start party table area code wishes ordered",
    wishes=[record("wish")], ordered=[record("dish portions")],
)  # fmt: skip
FREE = record("table_id table area seats noise")
DISH = record("dish_id dish price diet sold")


class Restaurant(Environment):
    """What somebody sees who takes bookings at a restaurant, knows the guests and makes out the bills."""

    domain = "restaurant"
    summary = "The front desk of a restaurant: tables, bookings, guests with wishes, the menu and bills."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a restaurant with three days of bookings."""
        return make_restaurant(cls.seeds(), rng, shared)

    @tool("read", gives=record("date count covers bookings largest", bookings=[BOOKING], largest=BOOKING))
    def list_table_bookings(self, date: types.Date) -> Result:
        """List the bookings of a day by their time, with the number of guests in all.

        Args:
            date: The day.
        """
        found = [row for row in self.state.scan("bookings") if row["start"][:10] == date]
        if not found:
            raise ToolError("nothing_booked", f"There is no booking on {date}.")
        found.sort(key=lambda row: (row["start"], row["booking_id"]))
        lines = [{**row, "at": row["start"][11:], "table": self._table(row)["table"]} for row in found]
        largest = max(lines, key=lambda line: (line["party"], line["booking_id"]))
        covers = sum(row["party"] for row in found)
        return {"date": date, "count": len(found), "covers": covers, "bookings": lines, "largest": largest}

    @tool("read", gives=SHEET)
    def find_guest_booking(self, guest: types.Person) -> Result:
        """Look up the booking of a guest: time, number of people, table, wishes, and dishes ordered ahead.

        Args:
            guest: Full name of whoever has booked.
        """
        for row in self.rows("bookings", guest=guest):
            wishes = [{"wish": wish} for wish in row["wishes"]]
            return {**self._table(row), **row, "date": row["start"][:10], "wishes": wishes}
        raise ToolError("no_booking", f"{guest} has no booking.")

    @tool("read", gives=record("name address visits last_visit favourite allergy"))
    def find_guest_profile(self, name: types.Person) -> Result:
        """Look up what is known of a guest: mail address, visits so far, favourite dish and allergy.

        Args:
            name: Full name of the guest.
        """
        guest = self.state.get("guests", name)
        if guest is None:
            raise ToolError("guest_unknown", f"{name} has not been here yet.")
        return guest

    @tool("read", gives=record("count tables smallest", tables=[FREE], smallest=FREE))
    def find_free_tables(self, start: Sitting, party: Party) -> Result:
        """List the tables that are free for two hours and large enough, the quietest first.

        Args:
            start: When the guests come.
            party: How many they are.
        """
        self._refuse_time(start)
        found = [row for row in self.state.scan("tables") if row["seats"] >= party]
        found = [row for row in found if self._is_free(row["table_id"], start, "")]
        if not found:
            raise ToolError("fully_booked", "No table of that size is free then.")
        found.sort(key=lambda row: (row["noise"], row["table_id"]))
        smallest = min(found, key=lambda row: (row["seats"], row["table_id"]))
        return {"count": len(found), "tables": found, "smallest": smallest}

    @tool("create", gives=record("booking_id guest table area date start party code"))
    def take_table_booking(
        self, table_id: TableId, guest: types.Person, start: Sitting, party: Party
    ) -> Result:
        """Book a table for a guest, who has no other booking.

        Args:
            table_id: The table; it must be free for two hours.
            guest: Full name of the guest.
            start: When they come.
            party: How many they are.
        """
        table = self.require("tables", table_id, "table")
        self._refuse(table, start, party, "")
        if self.rows("bookings", guest=guest):
            raise ToolError("already_booked", f"{guest} has a booking already.")
        booking = new_booking(table_id, guest, start, party)
        self.state.put("bookings", booking["booking_id"], booking)
        return {**table, **booking, "date": start[:10]}

    @tool("update", gives=record("guest table party before date start"))
    def move_table_booking(self, booking_id: BookingId, start: Sitting) -> Result:
        """Move a booking to another time at the same table.

        Args:
            booking_id: The booking.
            start: The new time.
        """
        row = self.require("bookings", booking_id, "booking")
        if row["start"] == start:
            raise ToolError("already_then", f"{row['guest']} comes at that time already.")
        table = self._table(row)
        self._refuse(table, start, row["party"], booking_id)
        self.state.patch("bookings", booking_id, start=start)
        return {**table, **row, "before": row["start"], "start": start, "date": start[:10]}

    @tool("update", gives=record("guest before_table table area start"))
    def change_booking_table(self, booking_id: BookingId, table_id: TableId) -> Result:
        """Give a booking another table at the same time.

        Args:
            booking_id: The booking.
            table_id: The new table; it must be free then and large enough.
        """
        row = self.require("bookings", booking_id, "booking")
        table, old = self.require("tables", table_id, "table"), self._table(row)
        if row["table_id"] == table_id:
            raise ToolError("already_there", f"{row['guest']} has that table already.")
        self._refuse(table, row["start"], row["party"], booking_id)
        self.state.patch("bookings", booking_id, table_id=table_id)
        return {**row, **table, "before_table": old["table"]}

    @tool("delete", gives=record("guest table start party"))
    def cancel_table_booking(self, booking_id: BookingId) -> Result:
        """Cancel a booking, which frees its table.

        Args:
            booking_id: The booking.
        """
        row = self.require("bookings", booking_id, "booking")
        self.state.delete("bookings", booking_id)
        return {**row, **self._table(row)}

    @tool("update", gives=record("guest wish count"))
    def add_booking_wish(self, booking_id: BookingId, wish: Wish) -> Result:
        """Note a wish with a booking, which the waiters see.

        Args:
            booking_id: The booking.
            wish: What the guests would like to have.
        """
        row = self.require("bookings", booking_id, "booking")
        if wish in row["wishes"]:
            raise ToolError("already_noted", f"That is noted for {row['guest']} already.")
        wishes = sorted([*row["wishes"], wish])
        return {**self.state.patch("bookings", booking_id, wishes=wishes), "wish": wish, "count": len(wishes)}

    @tool("read", gives=record("count dishes most_popular", dishes=[DISH], most_popular=DISH))
    def list_menu_dishes(self, course: Course, diet: Diet | None = None) -> Result:
        """List the dishes of a course, the cheapest first.

        Args:
            course: The course.
            diet: Only such dishes.
        """
        found = [row for row in self.rows("dishes", course=course) if diet in (None, row["diet"])]
        if not found:
            raise ToolError("nothing_found", f"There are no {diet} {course} on the menu.")
        found.sort(key=lambda row: (row["price"], row["dish_id"]))
        popular = max(found, key=lambda row: (row["sold"], row["dish_id"]))
        return {"count": len(found), "dishes": found, "most_popular": popular}

    @tool("update", gives=record("guest dish portions cost start"))
    def preorder_dish(self, booking_id: BookingId, dish_id: DishId, portions: Portions) -> Result:
        """Order a dish ahead for a booking.

        Args:
            booking_id: The booking.
            dish_id: The dish; it has not been ordered ahead for this booking yet.
            portions: How many of it.
        """
        row = self.require("bookings", booking_id, "booking")
        dish = self.require("dishes", dish_id, "dish")
        if any(line["dish"] == dish["dish"] for line in row["ordered"]):
            raise ToolError("already_ordered", f"{row['guest']} has ordered that ahead already.")
        line = {"dish": dish["dish"], "portions": portions}
        ordered = sorted([*row["ordered"], line], key=lambda one: str(one["dish"]))
        self.state.patch("bookings", booking_id, ordered=ordered)
        return {**row, **line, "cost": round(portions * dish["price"], 2)}

    @tool("read", gives=record("bill_id table total lines", lines=[record("dish portions cost")]))
    def open_table_bill(self, table: Table) -> Result:
        """Show the open bill of a table: what was ordered, and the total.

        Args:
            table: Name of the table.
        """
        for bill in self.rows("bills", settled=False):
            if bill["table"] == table:
                return {**bill, "total": _total(bill)}
        raise ToolError("no_open_bill", f"There is no open bill for the {table} table.")

    @tool("update", gives=record("table dish portions total"))
    def add_dish_to_bill(self, bill_id: BillId, dish_id: DishId, portions: Portions) -> Result:
        """Put a dish on the open bill of a table.

        Args:
            bill_id: The bill.
            dish_id: The dish; one that is on the bill already is not added again.
            portions: How many of it.
        """
        bill, dish = self._open_bill(bill_id), self.require("dishes", dish_id, "dish")
        if any(line["dish"] == dish["dish"] for line in bill["lines"]):
            raise ToolError("already_on_the_bill", f"{dish['dish']} is on that bill already.")
        line = {"dish": dish["dish"], "portions": portions, "cost": round(portions * dish["price"], 2)}
        lines = sorted([*bill["lines"], line], key=lambda one: str(one["dish"]))
        bill = self.state.patch("bills", bill_id, lines=lines)
        return {**bill, **line, "total": _total(bill)}

    @tool("update", gives=record("table paid receipt"))
    def settle_table_bill(self, bill_id: BillId, method: Method, tip: Tip | None = None) -> Result:
        """Settle the bill of a table.

        Args:
            bill_id: The bill.
            method: How it is paid.
            tip: What the guests add, in euros.
        """
        bill = self._open_bill(bill_id)
        paid = round(_total(bill) + (tip or 0), 2)
        receipt = f"B-{int(self.new_id('', bill_id, paid)[1:], 16) % 90_000 + 10_000}"
        self.state.patch("bills", bill_id, settled=True, method=method, tip=tip or 0.0)
        return {**bill, "paid": paid, "receipt": receipt}

    def _table(self, booking: Record) -> Record:
        return self.require("tables", booking["table_id"], "table")

    def _open_bill(self, bill_id: str) -> Record:
        bill = self.require("bills", bill_id, "bill")
        if bill["settled"]:
            raise ToolError("already_settled", f"The bill of the {bill['table']} table has been settled.")
        return bill

    def _refuse_time(self, start: str) -> None:
        if start <= self.now or not OPENS <= start[11:] <= LAST_SITTING:
            raise ToolError("closed", f"Tables are given from {OPENS} to {LAST_SITTING}, from now on.")

    def _refuse(self, table: Record, start: str, party: int, but: str) -> None:
        self._refuse_time(start)
        if party > table["seats"]:
            raise ToolError("too_small", f"The {table['table']} table has {table['seats']} seats.")
        if not self._is_free(table["table_id"], start, but):
            raise ToolError("table_taken", f"The {table['table']} table is taken then.")

    def _is_free(self, table_id: str, start: str, but: str) -> bool:
        """Say whether nobody else has a table within two hours of a moment."""
        others = [row for row in self.rows("bookings", table_id=table_id) if row["booking_id"] != but]
        times = [datetime.fromisoformat(row["start"]) for row in others]
        return all(abs(time - datetime.fromisoformat(start)) >= SITTING for time in times)


def _total(bill: Record) -> float:
    total: float = round(sum(line["cost"] for line in bill["lines"]), 2)
    return total
