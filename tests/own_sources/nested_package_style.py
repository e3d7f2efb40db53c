"""Playlists: returns plain strings and None."""
from typing import Literal, Optional

_playlists: dict[str, list[str]] = {"Road trip": ["Sunday Drive", "Open Road"], "Focus": ["Slow Tide"]}
TOOLS = ["get_playlists", "get_songs", "add_song", "remove_song", "create_playlist"]


def get_playlists(sort: Literal["name", "size"] = "name") -> list[str]:
    """Get the names of the playlists."""
    return sorted(_playlists, key=(None if sort == "name" else lambda one: len(_playlists[one])))


def get_songs(playlist: str) -> list[str]:
    """Get the songs of a playlist."""
    return _playlists[playlist]


def add_song(playlist: str, song: str, position: Optional[int] = None) -> None:
    """Add a song to a playlist."""
    _playlists[playlist].insert(len(_playlists[playlist]) if position is None else position, song)


def remove_song(playlist: str, song: str) -> None:
    """Remove a song from a playlist."""
    _playlists[playlist].remove(song)


def create_playlist(name: str) -> str:
    """Create an empty playlist."""
    if name in _playlists:
        raise ValueError("exists")
    _playlists[name] = []
    return f"created {name}"
