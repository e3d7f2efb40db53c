"""Our town library."""

BOOKS = {
    "b-101": {"book_id": "b-101", "title": "The Left Hand of Darkness", "author": "Ursula K. Le Guin", "available": True},
    "b-102": {"book_id": "b-102", "title": "Kindred", "author": "Octavia Butler", "available": True},
    "b-103": {"book_id": "b-103", "title": "Dune", "author": "Frank Herbert", "available": False},
}


def search_books(query: str) -> list[dict]:
    """Search the catalogue by title or author."""
    return [book for book in BOOKS.values() if query.lower() in book["title"].lower() or query.lower() in book["author"].lower()]


def get_book(book_id: str) -> dict:
    """Get one book with its availability."""
    if book_id not in BOOKS:
        raise KeyError(f"no book {book_id}")
    return BOOKS[book_id]


def borrow_book(book_id: str, days: int = 14) -> dict:
    """Borrow a book for some days."""
    book = BOOKS[book_id]
    if not book["available"]:
        raise ValueError("this book is out")
    book["available"] = False
    return {"book_id": book_id, "title": book["title"], "due_in_days": days}
