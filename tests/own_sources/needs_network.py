"""Asks a service on the web."""
import urllib.request


def get_joke(category: str) -> str:
    """Get a joke from the web."""
    with urllib.request.urlopen(f"https://jokes.example.com/{category}") as reply:
        return reply.read().decode()


def get_quote(author: str) -> str:
    """Get a quote of an author."""
    with urllib.request.urlopen(f"https://quotes.example.com/{author}") as reply:
        return reply.read().decode()
