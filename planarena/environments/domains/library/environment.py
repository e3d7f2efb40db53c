"""A public library seen from a household: what is borrowed, reserved and owed, branches and events."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.domains.types import (
    Count,
    Date,
    Datetime,
    Payable,
    Person,
    Time,
    Workday,
)
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_branches

__all__ = ["Library"]

MAX_RENEWALS, MAX_HOLDS = 2, 4

BookId = Annotated[str, Semantic("book_id", hidden=True)]
LoanId = Annotated[str, Semantic("book_loan_id", hidden=True)]
HoldId = Annotated[str, Semantic("book_hold_id", hidden=True)]
FineId = Annotated[str, Semantic("library_fine_id", hidden=True)]
EventId = Annotated[str, Semantic("library_event_id", hidden=True)]
Subject = Annotated[str, Semantic("book_subject", surface="name")]
BookTitle = Annotated[str, Semantic("book_title", surface="name")]
Author = Annotated[str, Semantic("book_author", surface="name")]
Branch = Annotated[str, Semantic("library_branch", surface="name")]
Shelf = Annotated[str, Semantic("shelf_mark", surface="name")]
Street = Annotated[str, Semantic("library_address", surface="name")]
EventTitle = Annotated[str, Semantic("library_event_title", surface="name")]
Code = Annotated[str, Semantic("library_code", surface="name")]
Cause = Annotated[str, Semantic("fine_cause", surface="name")]
Weekday = Annotated[str, Semantic("weekday", surface="name")]
Year = Annotated[int, Semantic("book_year")]
Weeks = Annotated[int, Semantic("renewal_weeks", surface="number", minimum=1, maximum=4)]
Audience = Annotated[
    Literal["children", "teenagers", "adults", "families"], Semantic("event_audience", surface="word")
]

record = Fields(
    book_id=BookId, loan_id=LoanId, hold_id=HoldId, fine_id=FineId, event_id=EventId, title=BookTitle,
    author=Author, year=Year, branch=Branch, shelf=Shelf, reader=Person, due=Workday, before=Workday,
    start=Datetime, borrowed=Date, amount=Payable, total=Payable, left=Payable, cause=Cause, code=Code,
    address=Street, closes=Time, closed_on=Weekday, count=Count, waiting=Count, position=Count,
    places_left=Count,
)  # fmt: skip
BOOK = record("book_id title author year")
LOAN = record("loan_id title branch borrowed due")
HOLD = record("hold_id title branch position")
EVENT = record("event_id title branch start places_left", title=EventTitle)


class Library(Environment):
    """The cards of one household at a city library, which one of them looks after."""

    domain = "library"
    summary = (
        "A public library: books, loans, holds, fines, branches and events, for the cards of a household."
    )
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a library and the cards of a household."""
        return make_branches(cls.seeds(), rng, shared)

    @tool("read", gives=record("count books most_borrowed", books=[BOOK], most_borrowed=BOOK))
    def find_library_books(self, subject: Subject) -> Result:
        """List the books of one kind, the newest first, and the one that is borrowed most.

        Args:
            subject: The kind of books, as the library names it.
        """
        books = self.rows("books", subject=subject)
        if not books:
            raise ToolError("nothing_found", f"The library has no {subject}.")
        books.sort(key=lambda book: (-book["year"], book["book_id"]))
        return {
            "count": len(books),
            "books": books,
            "most_borrowed": max(books, key=lambda book: book["lent"]),
        }

    @tool("read", gives=record("title author count shelved waiting", shelved=[record("branch shelf")]))
    def check_book_copies(self, book_id: BookId) -> Result:
        """Show where a book stands on the shelf, the nearest branch first, and how many readers wait for it.

        Args:
            book_id: The book.
        """
        book = self.require("books", book_id, "book")
        near = sorted(
            book["shelved"], key=lambda one: self.require("branches", one["branch"], "branch")["metres"]
        )
        return {**book, "count": len(near), "shelved": near, "waiting": self._waiting(book)}

    @tool("read", gives=record("reader count loans first_due", loans=[LOAN], first_due=LOAN))
    def list_borrowed_books(self, reader: Person) -> Result:
        """List what a reader of the household has borrowed, what was borrowed first at the top, and what is due first.

        Args:
            reader: Full name of the reader.
        """
        loans = sorted(self._of("loans", reader), key=lambda loan: (loan["borrowed"], loan["loan_id"]))
        if not loans:
            raise ToolError("nothing_borrowed", f"{reader} has nothing at home.")
        first = min(loans, key=lambda loan: (loan["due"], loan["loan_id"]))
        return {"reader": reader, "count": len(loans), "loans": loans, "first_due": first}

    @tool("update", gives=record("title reader before due"))
    def renew_book_loan(self, loan_id: LoanId, weeks: Weeks | None = None) -> Result:
        """Renew a loan for which nobody waits; a loan is renewed twice at most.

        Args:
            loan_id: The loan.
            weeks: For how many weeks; three without it.
        """
        loan = self.require("loans", loan_id, "loan")
        if self.require("books", loan["book_id"], "book")["waiting"]:
            raise ToolError("reserved_by_others", f'Somebody else waits for "{loan["title"]}".')
        if loan["renewals"] == MAX_RENEWALS:
            raise ToolError("renewed_too_often", f'"{loan["title"]}" was renewed twice already.')
        due = day_after(loan["due"], 7 * (weeks or 3))
        self.state.patch("loans", loan_id, due=due, renewals=loan["renewals"] + 1)
        return {**loan, "before": loan["due"], "due": due}

    @tool("create", gives=record("hold_id title reader branch position"))
    def place_book_hold(self, book_id: BookId, reader: Person, branch: Branch) -> Result:
        """Reserve a book for a reader, to be picked up at a branch.

        Args:
            book_id: The book; the reader must not have borrowed or reserved it.
            reader: Full name of the reader.
            branch: Where it is picked up.
        """
        book = self.require("books", book_id, "book")
        self.require("branches", branch, "branch")
        if any(loan["book_id"] == book_id for loan in self._of("loans", reader)):
            raise ToolError("already_borrowed", f'{reader} has "{book["title"]}" at home.')
        holds = self._of("holds", reader)
        if any(hold["book_id"] == book_id for hold in holds):
            raise ToolError("already_reserved", f'"{book["title"]}" is reserved for {reader} already.')
        if len(holds) == MAX_HOLDS:
            raise ToolError(
                "too_many_holds", f"{reader} has {MAX_HOLDS} books reserved; more are not possible."
            )
        hold_id = self.new_id("hld", book_id, reader)
        hold = {
            "hold_id": hold_id, "book_id": book_id, "title": book["title"], "reader": reader,
            "branch": branch, "position": self._waiting(book) + 1,
        }  # fmt: skip
        return self.state.put("holds", hold_id, hold)

    @tool("read", gives=record("reader count holds", holds=[HOLD]))
    def list_book_holds(self, reader: Person) -> Result:
        """List what is reserved for a reader, the book whose turn comes soonest first.

        Args:
            reader: Full name of the reader.
        """
        holds = sorted(self._of("holds", reader), key=lambda hold: (hold["position"], hold["hold_id"]))
        return {"reader": reader, "count": len(holds), "holds": holds}

    @tool("update", gives=record("title reader branch before", before=Branch))
    def change_hold_branch(self, hold_id: HoldId, branch: Branch) -> Result:
        """Have a reserved book sent to another branch.

        Args:
            hold_id: The reservation.
            branch: Where it will be picked up instead.
        """
        hold = self.require("holds", hold_id, "reservation")
        self.require("branches", branch, "branch")
        if hold["branch"] == branch:
            raise ToolError("same_branch", f'"{hold["title"]}" is to be picked up at {branch} already.')
        return {**self.state.patch("holds", hold_id, branch=branch), "before": hold["branch"]}

    @tool("delete", gives=record("title reader count"))
    def cancel_book_hold(self, hold_id: HoldId) -> Result:
        """Give up a reservation; the result says how many the reader has left.

        Args:
            hold_id: The reservation.
        """
        hold = self.require("holds", hold_id, "reservation")
        self.state.delete("holds", hold_id)
        return {**hold, "count": len(self._of("holds", hold["reader"]))}

    @tool("read", gives=record("reader total count fines", fines=[record("fine_id title cause amount")]))
    def list_library_fines(self, reader: Person) -> Result:
        """List the fines that a reader has not paid, the highest first, and what they come to.

        Args:
            reader: Full name of the reader.
        """
        fines = sorted(self._of("fines", reader), key=lambda fine: (-fine["amount"], fine["fine_id"]))
        return {"reader": reader, "total": _sum(fines), "count": len(fines), "fines": fines}

    @tool("update", gives=record("title reader amount code left"))
    def pay_library_fine(self, fine_id: FineId) -> Result:
        """Pay a fine from the card's deposit; the result holds the receipt and what the reader still owes.

        Args:
            fine_id: The fine.
        """
        fine = self.require("fines", fine_id, "fine")
        self.state.delete("fines", fine_id)
        code = f"R-{int(fine_id[4:], 16) % 90_000 + 10_000}"
        return {**fine, "code": code, "left": _sum(self._of("fines", fine["reader"]))}

    @tool("read", gives=record("branch address closes closed_on"))
    def get_library_branch(self, branch: Branch) -> Result:
        """Look up a branch: its address, until when it is open in the evening and its closing day.

        Args:
            branch: Name of the branch.
        """
        return self.require("branches", branch, "branch")

    @tool("read", gives=record("count events", events=[EVENT]))
    def list_library_events(self, audience: Audience, before: Date | None = None) -> Result:
        """List the coming events for an audience, the next one first.

        Args:
            audience: For whom they are.
            before: Only those that take place before this day.
        """
        events = [
            one for one in self.rows("events", audience=audience) if not before or one["start"] < before
        ]
        events.sort(key=lambda one: (one["start"], one["event_id"]))
        if not events:
            raise ToolError("nothing_found", f"There is no event for {audience} in that time.")
        return {"count": len(events), "events": events}

    @tool("create", gives=record("title reader branch start code places_left", title=EventTitle))
    def join_library_event(self, event_id: EventId, reader: Person) -> Result:
        """Put a reader down for an event that has places left; the code is shown at the door.

        Args:
            event_id: The event.
            reader: Full name of the reader.
        """
        event = self.require("events", event_id, "event")
        self._of("places", reader)
        key = self.new_id("plc", event_id, reader)
        if self.state.get("places", key):
            raise ToolError("already_on_the_list", f'{reader} is on the list for "{event["title"]}" already.')
        if not event["places_left"]:
            raise ToolError("fully_booked", f'There is no place left at "{event["title"]}".')
        self.state.put("places", key, {"event_id": event_id, "reader": reader})
        left = self.state.patch("events", event_id, places_left=event["places_left"] - 1)
        return {**left, "reader": reader, "code": f"E-{int(key[4:], 16) % 9_000 + 1_000}"}

    def _of(self, table: str, reader: str) -> list[Record]:
        """Return a reader's records; the reader must have a card of the household."""
        if self.state.get("cards", reader) is None:
            raise ToolError("no_such_reader", f"{reader} has no card in this household.")
        return self.rows(table, reader=reader)

    def _waiting(self, book: Record) -> int:
        """How many readers wait for a book: those of other households, and of this one."""
        return int(book["waiting"]) + len(self.rows("holds", book_id=book["book_id"]))


def _sum(fines: list[Record]) -> float:
    return float(round(sum(fine["amount"] for fine in fines), 2))
