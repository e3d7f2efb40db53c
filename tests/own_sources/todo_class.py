"""A to-do list as a class."""
import uuid


class TodoList:
    def __init__(self):
        self._items = {}

    def add(self, title: str, priority: str = "normal") -> dict:
        """Add a task to the list.

        Args:
            title: What is to be done.
            priority: low, normal or high.
        """
        if priority not in ("low", "normal", "high"):
            raise ValueError("priority must be one of low, normal, high")
        key = str(uuid.uuid4())
        self._items[key] = {"id": key, "title": title, "priority": priority, "done": False}
        return self._items[key]

    def complete(self, id: str) -> dict:
        """Mark a task as done."""
        self._items[id]["done"] = True
        return self._items[id]

    def remove(self, id: str) -> str:
        """Remove a task from the list."""
        return "removed " + self._items.pop(id)["title"]

    def list_tasks(self, only_open: bool = False) -> list[dict]:
        """List the tasks."""
        return [item for item in self._items.values() if not (only_open and item["done"])]
