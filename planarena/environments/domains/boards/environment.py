"""Project boards: columns of cards, members, due dates, checklists and comments."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared
from planarena.environments.domains.types import Count, Person, Workday
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_boards

__all__ = ["Boards"]

MAX_IN_PROGRESS = 5

CardId = Annotated[str, Semantic("board_card_id", hidden=True)]
ItemId = Annotated[str, Semantic("checklist_item_id", hidden=True)]
BoardName = Annotated[str, Semantic("board_name", surface="name")]
CardTitle = Annotated[str, Semantic("card_title", surface="name")]
ItemText = Annotated[str, Semantic("checklist_item", surface="name")]
CommentText = Annotated[str, Semantic("card_comment", surface="name")]
Column = Annotated[
    Literal["backlog", "in progress", "review", "done"], Semantic("board_column", surface="word")
]
# Who has a card; "nobody" is no person.
Holder = Annotated[str, Semantic("card_holder", surface="name")]

record = Fields(
    card_id=CardId,
    title=CardTitle,
    board=BoardName,
    column=Column,
    creator=Person,
    assignee=Holder,
    due=Workday,
    item_id=ItemId,
    text=ItemText,
    item=ItemText,
    name=Person,
    open_cards=Count,
    count=Count,
    open_item_count=Count,
)


class Boards(Environment):
    """The boards of one team, seen by whoever runs its projects."""

    domain = "boards"
    summary = "Project boards with columns, cards, members, due dates, checklists and comments."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make three boards of one team."""
        return make_boards(cls.seeds(), rng, shared)

    @tool("read", gives=record("count cards", cards=[record("card_id title assignee due")]))
    def list_board_cards(self, board: BoardName, column: Column) -> Result:
        """List the cards in a column of a board, the one that is due first at the head.

        Args:
            board: Name of the board.
            column: The column.
        """
        self._board(board)
        found = self.rows("cards", board=board, column=column)
        if not found:
            raise ToolError("column_empty", f"No card of {board} is in {column}.")
        return {"count": len(found), "cards": _by_due(found)}

    @tool("read", gives=record("count cards", cards=[record("card_id title board column due")]))
    def list_due_cards(self, until: Workday, board: BoardName | None = None) -> Result:
        """List the cards that are not done and due until some day, the one that is due first at the head.

        Args:
            until: The last day that counts.
            board: Only cards of this board.
        """
        if board is not None:
            self._board(board)
        found = [
            card
            for card in self.state.scan("cards")
            if card["column"] != "done" and card["due"] <= until and board in (None, card["board"])
        ]
        if not found:
            raise ToolError("nothing_due", f"No card is due until {until}.")
        return {"count": len(found), "cards": _by_due(found)}

    @tool(
        "read",
        gives=record(
            "card_id title board column creator assignee due open_item_count open_items comments",
            open_items=[record("item_id text")],
            comments=[CommentText],
        ),
    )
    def open_board_card(self, card_id: CardId) -> Result:
        """Open a card: who made it and who has it, its date, the open lines of its checklist, a comment.

        Args:
            card_id: The card.
        """
        card = self.require("cards", card_id, "card")
        left = [item for item in self._items(card_id) if not item["done"]]
        comments = sorted(row["text"] for row in self.rows("comments", card_id=card_id))
        return {**self._by(card), "open_item_count": len(left), "open_items": left, "comments": comments}

    @tool("create", gives=record("card_id title board column creator assignee due open_item_count"))
    def create_board_card(self, board: BoardName, title: CardTitle, due: Workday) -> Result:
        """Put a new card into the backlog of a board; nobody has it yet, and its checklist is empty.

        Args:
            board: Name of the board.
            title: Title of the card; no other card of the board has the same.
            due: Day on which it is due, not in the past.
        """
        self._board(board)
        self._refuse_past(due)
        card_id = self.new_id("crd", board, title)
        if self.state.get("cards", card_id):
            raise ToolError("already_exists", f"{board} already has a card {title}.")
        card = {
            "card_id": card_id, "title": title, "board": board, "column": "backlog",
            "creator": self.facts["user_name"], "assignee": "nobody", "due": due,
        }  # fmt: skip
        return {**self._by(self.state.put("cards", card_id, card)), "open_item_count": 0}

    @tool("update", gives=record("title board column"))
    def move_board_card(self, card_id: CardId, column: Column) -> Result:
        """Move a card to another column of its board.

        Args:
            card_id: The card. To be in progress it must be assigned, and to be done its checklist ticked off.
            column: The column. Only what was in progress comes into review, only what was reviewed is done,
                and at most five cards of a board are in progress.
        """
        card = self.require("cards", card_id, "card")
        if card["column"] == column:
            raise ToolError("already_there", f"{card['title']} is in {column} already.")
        if column == "review" and card["column"] == "backlog":
            raise ToolError("not_started", f"{card['title']} has not been in progress yet.")
        if column == "done" and card["column"] != "review":
            raise ToolError("not_reviewed", f"{card['title']} has not been reviewed yet.")
        if column == "done" and any(not item["done"] for item in self._items(card_id)):
            raise ToolError("items_open", f"The checklist of {card['title']} is not finished.")
        if column == "in progress":
            if card["assignee"] == "nobody":
                raise ToolError("not_assigned", f"Nobody has {card['title']} yet.")
            if len(self.rows("cards", board=card["board"], column=column)) >= MAX_IN_PROGRESS:
                raise ToolError("column_full", f"{card['board']} has no room for more in progress.")
        return self.state.patch("cards", card_id, column=column)

    @tool("update", gives=record("title board assignee", assignee=Person))
    def assign_board_card(self, card_id: CardId, member: Person) -> Result:
        """Give a card to a member of its board, in place of whoever had it.

        Args:
            card_id: The card; it must not be done.
            member: Full name of the member.
        """
        card = self._unfinished(card_id)
        if member not in self._board(card["board"])["members"]:
            raise ToolError("not_a_member", f"{member} is not a member of {card['board']}.")
        if card["assignee"] == member:
            raise ToolError("already_assigned", f"{member} has {card['title']} already.")
        return self.state.patch("cards", card_id, assignee=member)

    @tool("read", gives=record("board members", members=[record("name open_cards")]))
    def find_least_busy_member(self, board: BoardName) -> Result:
        """List the members of a board with their unfinished cards on all boards, the least busy first.

        Args:
            board: Name of the board.
        """
        load = dict.fromkeys(self._board(board)["members"], 0)
        for card in self.state.scan("cards"):
            if card["column"] != "done" and card["assignee"] in load:
                load[card["assignee"]] += 1
        members = sorted((number, name) for name, number in load.items())
        return {"board": board, "members": [{"name": name, "open_cards": number} for number, name in members]}

    @tool("update", gives=record("board name"))
    def add_board_member(self, board: BoardName, name: Person) -> Result:
        """Make somebody a member of a board, so that cards can be assigned to them.

        Args:
            board: Name of the board.
            name: Full name of the person.
        """
        members = self._board(board)["members"]
        if name in members:
            raise ToolError("already_a_member", f"{name} is a member of {board} already.")
        self.state.patch("boards", board, members=sorted([*members, name]))
        return {"board": board, "name": name}

    @tool("update", gives=record("title board due"))
    def set_card_due_date(self, card_id: CardId, due: Workday) -> Result:
        """Give a card another due date.

        Args:
            card_id: The card; it must not be done.
            due: The new day, not in the past.
        """
        card = self._unfinished(card_id)
        self._refuse_past(due)
        if card["due"] == due:
            raise ToolError("same_date", f"{card['title']} is due on {due} already.")
        return self.state.patch("cards", card_id, due=due)

    @tool("update", gives=record("title item"))
    def add_checklist_item(self, card_id: CardId, text: ItemText) -> Result:
        """Add a line to the checklist of a card, which must be ticked before the card can be done.

        Args:
            card_id: The card; it must not be done.
            text: What is to be done.
        """
        card = self._unfinished(card_id)
        item_id = self.new_id("itm", card_id, text)
        if self.state.get("items", item_id):
            raise ToolError("already_listed", f"{text} is on the checklist already.")
        item = {"item_id": item_id, "card_id": card_id, "text": text, "done": False}
        self.state.put("items", item_id, item)
        return {"title": card["title"], "item": text}

    @tool("update", gives=record("title item"))
    def tick_checklist_item(self, item_id: ItemId) -> Result:
        """Tick a line of a checklist as done.

        Args:
            item_id: The line; it must still be open.
        """
        item = self.require("items", item_id, "line of a checklist")
        if item["done"]:
            raise ToolError("already_ticked", f"{item['text']} is ticked already.")
        self.state.patch("items", item_id, done=True)
        card = self.require("cards", item["card_id"], "card")
        return {"title": card["title"], "item": item["text"]}

    @tool("update", gives=record("title board"))
    def comment_on_card(self, card_id: CardId, text: CommentText) -> Result:
        """Write a comment on a card.

        Args:
            card_id: The card.
            text: The comment.
        """
        card = self.require("cards", card_id, "card")
        comment_id = self.new_id("cmt", card_id, text)
        if self.state.get("comments", comment_id):
            raise ToolError("already_said", "The same comment is on the card already.")
        comment = {"card_id": card_id, "text": text, "author": self.facts["user_name"]}
        self.state.put("comments", comment_id, comment)
        return card

    def _by(self, card: Record) -> Record:
        """Return a card as its reader sees it, who may have created it."""
        return {**card, "creator": "you"} if card["creator"] == self.facts["user_name"] else card

    def _board(self, name: str) -> Record:
        board = self.state.get("boards", name)
        if board is None:
            raise ToolError("no_such_board", f"There is no board named {name}.")
        return board

    def _unfinished(self, card_id: str) -> Record:
        card = self.require("cards", card_id, "card")
        if card["column"] == "done":
            raise ToolError("card_done", f"{card['title']} is done.")
        return card

    def _items(self, card_id: str) -> list[Record]:
        return sorted(self.rows("items", card_id=card_id), key=lambda item: (item["text"], item["item_id"]))

    def _refuse_past(self, day: str) -> None:
        if day < self.today:
            raise ToolError("in_the_past", f"{day} has passed.")


def _by_due(cards: list[Record]) -> list[Record]:
    return sorted(cards, key=lambda card: (card["due"], card["card_id"]))
