"""A small stateful Python module as users write them; `@TITLE@` is replaced."""

from __future__ import annotations

__all__ = ["SCAFFOLD"]

SCAFFOLD = '''"""@TITLE@: replace this line by what a user does here."""

from __future__ import annotations

from typing import TypedDict

__version__ = "0.1.0"


class Item(TypedDict):
    """One record."""

    item_id: str
    name: str
    amount: int


_items: dict[str, Item] = {}

# What each tool does to the state: read, create, update or delete.
EFFECTS = {"list_items": "read", "get_item": "read", "add_item": "create", "change_amount": "update", "remove_item": "delete"}

# Arguments that make sense in the initial state; requests are made from them.
EXAMPLES = {
    "add_item": [{"name": "lamp", "amount": 3}, {"name": "chair", "amount": 8}],
    "get_item": [{"item_id": "item-desk"}],
    "change_amount": [{"item_id": "item-desk", "amount": 5}],
    "remove_item": [{"item_id": "item-shelf"}],
}


def list_items() -> list[Item]:
    """List all items."""
    return [_items[key] for key in sorted(_items)]


def get_item(item_id: str) -> Item:
    """Look up one item.

    Args:
        item_id: The item's id.
    """
    return _items[item_id]


def add_item(name: str, amount: int) -> Item:
    """Add an item.

    Args:
        name: Its name.
        amount: How many there are.
    """
    # An id made from content, not from a counter: then two additions may come in either order.
    item: Item = {"item_id": f"item-{name}", "name": name, "amount": amount}
    if item["item_id"] in _items:
        raise ValueError(f"there is a {name} already")
    _items[item["item_id"]] = item
    return item


def change_amount(item_id: str, amount: int) -> Item:
    """Set how many of an item there are.

    Args:
        item_id: The item's id.
        amount: The new number.
    """
    _items[item_id] = {**_items[item_id], "amount": amount}
    return _items[item_id]


def remove_item(item_id: str) -> Item:
    """Remove an item and return what it was.

    Args:
        item_id: The item's id.
    """
    return _items.pop(item_id)


def snapshot() -> dict[str, Item]:
    """Return the whole state as JSON; called before anything that may have to be undone."""
    return {key: dict(item) for key, item in _items.items()}  # type: ignore[misc]


def restore(state: dict[str, Item]) -> None:
    """Go back to a state."""
    _items.clear()
    _items.update(state)


def seed(number: int) -> None:
    """Make the initial state; the same number must always make the same one."""
    _items.clear()
    for place, name in enumerate(("desk", "shelf")):
        _items[f"item-{name}"] = {"item_id": f"item-{name}", "name": name, "amount": 1 + (number + place) % 9}


seed(0)
'''
