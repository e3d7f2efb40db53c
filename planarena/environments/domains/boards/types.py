"""The values and results of the project boards' tools."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import Count, Person, Workday
from planarena.tools.semantics import Semantic

__all__ = [
    "Assigned",
    "BoardName",
    "Card",
    "CardId",
    "CardLine",
    "CardTitle",
    "Cards",
    "Column",
    "CommentText",
    "Commented",
    "Created",
    "DueCards",
    "DueLine",
    "DueSet",
    "ItemAdded",
    "ItemId",
    "ItemText",
    "ItemTicked",
    "Joined",
    "Load",
    "Moved",
    "TeamLoad",
]

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


class CardLine(TypedDict):
    """A card of a column."""

    card_id: CardId
    title: CardTitle
    assignee: Holder
    due: Workday


class Cards(TypedDict):
    """The cards of a column."""

    count: Count
    cards: list[CardLine]


class DueLine(TypedDict):
    """A card that is due."""

    card_id: CardId
    title: CardTitle
    board: BoardName
    column: Column
    due: Workday


class DueCards(TypedDict):
    """Cards that are due until some day."""

    count: Count
    cards: list[DueLine]


class Item(TypedDict):
    """A line of a checklist."""

    item_id: ItemId
    text: ItemText


class Card(TypedDict):
    """A card in full."""

    card_id: CardId
    title: CardTitle
    board: BoardName
    column: Column
    creator: Person
    assignee: Holder
    due: Workday
    open_item_count: Count
    open_items: list[Item]
    comments: list[CommentText]


class Created(TypedDict):
    """A new card."""

    card_id: CardId
    title: CardTitle
    board: BoardName
    due: Workday


class Moved(TypedDict):
    """A card in another column."""

    title: CardTitle
    board: BoardName
    column: Column


class Assigned(TypedDict):
    """A card that somebody has."""

    title: CardTitle
    board: BoardName
    assignee: Person


class Load(TypedDict):
    """How much a member has to do."""

    name: Person
    open_cards: Count


class TeamLoad(TypedDict):
    """The members of a board."""

    board: BoardName
    members: list[Load]


class Joined(TypedDict):
    """A new member of a board."""

    board: BoardName
    name: Person


class DueSet(TypedDict):
    """A card with another date."""

    title: CardTitle
    board: BoardName
    due: Workday


class ItemAdded(TypedDict):
    """A card whose checklist grew."""

    title: CardTitle
    item: ItemText


class ItemTicked(TypedDict):
    """A line of a checklist that is done."""

    title: CardTitle
    item: ItemText


class Commented(TypedDict):
    """A card that was commented on."""

    title: CardTitle
    board: BoardName
