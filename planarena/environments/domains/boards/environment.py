"""Project boards: columns of cards, members, due dates, checklists and comments."""

from __future__ import annotations

from typing import cast

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import Person, Workday
from planarena.environments.state import Record

from .types import (
    Assigned,
    BoardName,
    Card,
    CardId,
    CardLine,
    Cards,
    CardTitle,
    Column,
    Commented,
    CommentText,
    Created,
    DueCards,
    DueLine,
    DueSet,
    ItemAdded,
    ItemId,
    ItemText,
    ItemTicked,
    Joined,
    Load,
    Moved,
    TeamLoad,
)
from .world import BoardsScenario

__all__ = ["Boards"]

MAX_IN_PROGRESS = 5


class Boards(BoardsScenario):
    """The boards of one team, seen by whoever runs its projects."""

    domain = "boards"
    summary = "Project boards with columns, cards, members, due dates, checklists and comments."

    @tool("read")
    def list_board_cards(self, board: BoardName, column: Column) -> Cards:
        """List the cards in a column of a board, the one that is due first at the head.

        Args:
            board: Name of the board.
            column: The column.
        """
        self._board(board)
        found = [
            card for card in self.state.scan("cards") if card["board"] == board and card["column"] == column
        ]
        if not found:
            raise ToolError("column_empty", f"No card of {board} is in {column}.")
        found = _by_due(found)
        lines = [cast(CardLine, {key: card[key] for key in CardLine.__annotations__}) for card in found[:12]]
        return {"count": len(found), "cards": lines}

    @tool("read")
    def list_due_cards(self, until: Workday, board: BoardName | None = None) -> DueCards:
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
        found = _by_due(found)
        lines = [cast(DueLine, {key: card[key] for key in DueLine.__annotations__}) for card in found[:12]]
        return {"count": len(found), "cards": lines}

    @tool("read")
    def open_board_card(self, card_id: CardId) -> Card:
        """Open a card: who made it and who has it, its date, the open lines of its checklist, a comment.

        Args:
            card_id: The card.
        """
        card = self.require("cards", card_id, "card")
        left = [item for item in self._items(card_id) if not item["done"]]
        comments = [row["text"] for row in self.state.scan("comments") if row["card_id"] == card_id]
        return {
            "card_id": card_id,
            "title": card["title"],
            "board": card["board"],
            "column": card["column"],
            "creator": card["creator"],
            "assignee": card["assignee"],
            "due": card["due"],
            "open_item_count": len(left),
            "open_items": [{"item_id": item["item_id"], "text": item["text"]} for item in left],
            "comments": sorted(comments),
        }

    @tool("create")
    def create_board_card(self, board: BoardName, title: CardTitle, due: Workday) -> Created:
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
            "card_id": card_id,
            "title": title,
            "board": board,
            "column": "backlog",
            "creator": self.facts["user_name"],
            "assignee": "nobody",
            "due": due,
        }
        self.state.put("cards", card_id, card)
        return {"card_id": card_id, "title": title, "board": board, "due": due}

    @tool("update")
    def move_board_card(self, card_id: CardId, column: Column) -> Moved:
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
            running = sum(
                other["board"] == card["board"] and other["column"] == column
                for other in self.state.scan("cards")
            )
            if running >= MAX_IN_PROGRESS:
                raise ToolError("column_full", f"{card['board']} has no room for more in progress.")
        self.state.patch("cards", card_id, column=column)
        return {"title": card["title"], "board": card["board"], "column": column}

    @tool("update")
    def assign_board_card(self, card_id: CardId, member: Person) -> Assigned:
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
        self.state.patch("cards", card_id, assignee=member)
        return {"title": card["title"], "board": card["board"], "assignee": member}

    @tool("read")
    def find_least_busy_member(self, board: BoardName) -> TeamLoad:
        """List the members of a board with their unfinished cards on all boards, the least busy first.

        Args:
            board: Name of the board.
        """
        load = dict.fromkeys(self._board(board)["members"], 0)
        for card in self.state.scan("cards"):
            if card["column"] != "done" and card["assignee"] in load:
                load[card["assignee"]] += 1
        members: list[Load] = [{"name": name, "open_cards": number} for name, number in load.items()]
        members.sort(key=lambda member: (member["open_cards"], member["name"]))
        return {"board": board, "members": members}

    @tool("update")
    def add_board_member(self, board: BoardName, name: Person) -> Joined:
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

    @tool("update")
    def set_card_due_date(self, card_id: CardId, due: Workday) -> DueSet:
        """Give a card another due date.

        Args:
            card_id: The card; it must not be done.
            due: The new day, not in the past.
        """
        card = self._unfinished(card_id)
        self._refuse_past(due)
        if card["due"] == due:
            raise ToolError("same_date", f"{card['title']} is due on {due} already.")
        self.state.patch("cards", card_id, due=due)
        return {"title": card["title"], "board": card["board"], "due": due}

    @tool("update")
    def add_checklist_item(self, card_id: CardId, text: ItemText) -> ItemAdded:
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

    @tool("update")
    def tick_checklist_item(self, item_id: ItemId) -> ItemTicked:
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

    @tool("update")
    def comment_on_card(self, card_id: CardId, text: CommentText) -> Commented:
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
        return {"title": card["title"], "board": card["board"]}

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
        found = [item for item in self.state.scan("items") if item["card_id"] == card_id]
        return sorted(found, key=lambda item: (item["text"], item["item_id"]))

    def _refuse_past(self, day: str) -> None:
        if day < self.now[:10]:
            raise ToolError("in_the_past", f"{day} has passed.")


def _by_due(cards: list[Record]) -> list[Record]:
    return sorted(cards, key=lambda card: (card["due"], card["card_id"]))
