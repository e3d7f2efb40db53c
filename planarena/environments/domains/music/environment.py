"""Music at home: artists, albums, playlists, and what is played in which room."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Annotated, Any

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared
from planarena.environments.domains.types import City, Count, Date, Minutes, Person, RoomName
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_library

__all__ = ["Music"]

MAX_QUEUE = 12

SongId = Annotated[str, Semantic("song_id", hidden=True)]
AlbumId = Annotated[str, Semantic("album_id", hidden=True)]
PlaylistId = Annotated[str, Semantic("playlist_id", hidden=True)]
Artist = Annotated[str, Semantic("artist", surface="name")]
Genre = Annotated[str, Semantic("music_genre", surface="name")]
PlaylistName = Annotated[str, Semantic("playlist_name", surface="name")]
SongTitle = Annotated[str, Semantic("song_title", surface="name")]
AlbumTitle = Annotated[str, Semantic("album_title", surface="name")]
Length = Annotated[str, Semantic("song_length")]  # minutes:seconds
Year = Annotated[int, Semantic("release_year")]

record = Fields(
    song_id=SongId,
    album_id=AlbumId,
    playlist_id=PlaylistId,
    title=SongTitle,
    song=SongTitle,
    album=AlbumTitle,
    playlist=PlaylistName,
    name=PlaylistName,
    artist=Artist,
    genre=Genre,
    year=Year,
    length=Length,
    total=Minutes,
    room=RoomName,
    friend=Person,
    city=City,
    date=Date,
    count=Count,
    song_count=Count,
)
LINE = record("song_id title artist length")
NAMED = record("song_id title length")


class Music(Environment):
    """One person's music, with a loudspeaker in every room."""

    domain = "music"
    summary = "A music library with artists, albums, playlists, sharing and a play queue in every room."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a music library."""
        return make_library(cls.seeds(), rng, shared)

    @tool("read", gives=record("count songs", songs=[LINE]))
    def find_songs(self, genre: Genre, longest: Minutes | None = None) -> Result:
        """List up to ten songs of a genre, the most played first.

        Args:
            genre: The genre.
            longest: Only songs that last at most so many minutes.
        """
        found = _most_played(self.rows("songs", genre=genre))
        found = [song for song in found if longest is None or song["seconds"] <= 60 * longest]
        if not found:
            raise ToolError("nothing_found", f"The library has no such {genre} song.")
        listed = found[:10]
        return {"count": len(listed), "songs": _timed(listed)}

    @tool(
        "read",
        gives=record(
            "name genre followers followed top_song newest_album similar_artist next_concert",
            name=Artist,
            followers=Count,
            followed=bool,
            top_song=NAMED,
            newest_album=record("album_id title year", title=AlbumTitle),
            similar_artist=Artist,
            next_concert=record("city date"),
        ),
    )
    def find_artist(self, name: Artist) -> Result:
        """Look up an artist: followers, the most played song, the newest album, a similar artist, the next concert.

        Args:
            name: Name of the artist or band.
        """
        artist = self._artist(name)
        top, *_ = _timed(_most_played(self.rows("songs", artist=name)))
        newest = max(self.rows("albums", artist=name), key=lambda album: (album["year"], album["album_id"]))
        followed = self.state.get("follows", name) is not None
        own = {"followed": followed, "followers": artist["followers"] + followed}
        return {**artist, **own, "top_song": top, "newest_album": newest, "next_concert": artist}

    @tool("update", gives=record("name followers", name=Artist, followers=Count))
    def follow_artist(self, name: Artist) -> Result:
        """Follow an artist, to hear of new albums and concerts.

        Args:
            name: Name of the artist or band; one that is not followed yet.
        """
        artist = self._artist(name)
        if self.state.get("follows", name):
            raise ToolError("already_followed", f"{name} is followed already.")
        self.state.put("follows", name, {"name": name})
        return {"name": name, "followers": artist["followers"] + 1}

    @tool(
        "read",
        gives=record("title artist year total songs longest", title=AlbumTitle, songs=[NAMED], longest=NAMED),
    )
    def get_album(self, album_id: AlbumId) -> Result:
        """Show an album and its songs in their order, and the longest of them.

        Args:
            album_id: The album.
        """
        album = self.require("albums", album_id, "album")
        songs = self._songs(album)
        longest = max(songs, key=lambda song: (song["seconds"], song["song_id"]))
        return {**album, "total": _minutes(songs), "songs": songs, "longest": longest}

    @tool(
        "read",
        gives=record(
            "playlist_id name song_count total songs shared_with",
            songs=[LINE],
            shared_with=[record("friend")],
        ),
    )
    def find_playlist(self, name: PlaylistName) -> Result:
        """Look up a playlist by name, with its songs in their order and whoever was given a copy.

        Args:
            name: Name of the playlist.
        """
        for playlist in self.rows("playlists", name=name):
            songs = self._songs(playlist)
            size = {"song_count": len(songs), "total": _minutes(songs)}
            shares = self.rows("shares", playlist_id=playlist["playlist_id"])
            return {**playlist, **size, "songs": songs[:15], "shared_with": shares}
        raise ToolError("no_such_playlist", f"There is no playlist named {name}.")

    @tool("create", gives=record("playlist_id name song"))
    def create_playlist(self, name: PlaylistName, song_id: SongId) -> Result:
        """Start a playlist with its first song.

        Args:
            name: Its name, which no other playlist may have.
            song_id: The first song.
        """
        song = self.require("songs", song_id, "song")
        if self.rows("playlists", name=name):
            raise ToolError("already_exists", f"There already is a playlist named {name}.")
        playlist_id = self.new_id("pl", name)
        playlist = {"playlist_id": playlist_id, "name": name, "songs": [song_id]}
        return {**self.state.put("playlists", playlist_id, playlist), "song": song["title"]}

    @tool("update", gives=record("playlist song artist"))
    def add_song_to_playlist(self, playlist_id: PlaylistId, song_id: SongId) -> Result:
        """Add a song at the end of a playlist, which holds it once at most.

        Args:
            playlist_id: The playlist.
            song_id: The song.
        """
        playlist = self.require("playlists", playlist_id, "playlist")
        song = self.require("songs", song_id, "song")
        if song_id in playlist["songs"]:
            raise ToolError("already_in_playlist", f"{playlist['name']} already holds {song['title']}.")
        self.state.patch("playlists", playlist_id, songs=[*playlist["songs"], song_id])
        return {**song, "playlist": playlist["name"], "song": song["title"]}

    @tool("update", gives=record("playlist album added", added=Count))
    def add_album_to_playlist(self, playlist_id: PlaylistId, album_id: AlbumId) -> Result:
        """Add those songs of an album to the end of a playlist that it does not hold yet.

        Args:
            playlist_id: The playlist.
            album_id: The album.
        """
        playlist = self.require("playlists", playlist_id, "playlist")
        album = self.require("albums", album_id, "album")
        fresh = [song_id for song_id in album["songs"] if song_id not in playlist["songs"]]
        if not fresh:
            raise ToolError("already_in_playlist", f"{playlist['name']} already holds all of the album.")
        self.state.patch("playlists", playlist_id, songs=[*playlist["songs"], *fresh])
        return {"playlist": playlist["name"], "album": album["title"], "added": len(fresh)}

    @tool("update", gives=record("playlist friend song_count"))
    def share_playlist(self, playlist_id: PlaylistId, friend: Person) -> Result:
        """Give somebody a copy of a playlist as it is now.

        Args:
            playlist_id: The playlist.
            friend: Full name of the person.
        """
        playlist = self.require("playlists", playlist_id, "playlist")
        if friend == self.facts["user_name"]:
            raise ToolError("own_playlist", "The playlist is yours already.")
        share_id = self.new_id("shr", playlist_id, friend)
        if self.state.get("shares", share_id):
            raise ToolError("already_shared", f"{friend} has {playlist['name']} already.")
        share = {"playlist_id": playlist_id, "friend": friend, "songs": playlist["songs"]}
        self.state.put("shares", share_id, share)
        return {**share, "playlist": playlist["name"], "song_count": len(playlist["songs"])}

    @tool("update", gives=record("room playlist first_song total", first_song=SongTitle))
    def play_playlist(self, playlist_id: PlaylistId, room: RoomName) -> Result:
        """Play a playlist in a room from its first song, in place of whatever the room plays.

        Args:
            playlist_id: The playlist.
            room: The room.
        """
        playlist = self.require("playlists", playlist_id, "playlist")
        player = self.state.get("players", room)
        if player is not None and player["source"] == playlist_id:
            raise ToolError("already_playing", f"{playlist['name']} is on in the {room} already.")
        songs = self._songs(playlist)
        player = {"room": room, "source": playlist_id, "songs": playlist["songs"]}
        self.state.put("players", room, player)
        first = songs[0]["title"]
        return {**player, "playlist": playlist["name"], "first_song": first, "total": _minutes(songs)}

    @tool("update", gives=record("room song position", position=Count))
    def queue_song(self, song_id: SongId, room: RoomName) -> Result:
        """Put a song at the end of what a room is going to play; the room must be playing something.

        Args:
            song_id: The song; it must not be waiting there already.
            room: The room.
        """
        song = self.require("songs", song_id, "song")
        player = self._player(room)
        if song_id in player["songs"]:
            raise ToolError("already_queued", f"{song['title']} is played in the {room} anyway.")
        if len(player["songs"]) > MAX_QUEUE:
            raise ToolError("queue_full", f"No further song can wait in the {room}.")
        self.state.patch("players", room, songs=[*player["songs"], song_id])
        return {"room": room, "song": song["title"], "position": len(player["songs"])}

    @tool(
        "read",
        gives=record(
            "room now_playing waiting_count waiting", now_playing=LINE, waiting_count=Count, waiting=[LINE]
        ),
    )
    def view_play_queue(self, room: RoomName) -> Result:
        """Show what a room plays now and the songs that follow, the next one first.

        Args:
            room: The room; it must be playing something.
        """
        first, *others = self._songs(self._player(room))
        return {"room": room, "now_playing": first, "waiting_count": len(others), "waiting": others[:12]}

    def _songs(self, holder: Record) -> list[dict[str, Any]]:
        """Return the songs of an album, a playlist or a player, in their order."""
        return _timed([self.require("songs", song_id, "song") for song_id in holder["songs"]])

    def _artist(self, name: str) -> Record:
        artist = self.state.get("artists", name)
        if artist is None:
            raise ToolError("no_such_artist", f"The library has nothing by {name}.")
        return artist

    def _player(self, room: str) -> Record:
        player = self.state.get("players", room)
        if player is None:
            raise ToolError("nothing_playing", f"Nothing is playing in the {room}.")
        return player


def _most_played(songs: list[Record]) -> list[Record]:
    return sorted(songs, key=lambda song: (-song["plays"], song["song_id"]))


def _timed(songs: Iterable[Record]) -> list[dict[str, Any]]:
    """Return songs with their lengths as people read them."""
    return [{**song, "length": f"{song['seconds'] // 60}:{song['seconds'] % 60:02d}"} for song in songs]


def _minutes(songs: Iterable[Record]) -> int:
    seconds: int = sum(song["seconds"] for song in songs)
    return round(seconds / 60)
