"""Music at home: artists, albums, playlists, and what is played in which room."""

from __future__ import annotations

from collections.abc import Iterable

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.smart_home.types import RoomName
from planarena.environments.domains.types import Minutes, Person
from planarena.environments.state import Record

from .types import (
    Album,
    AlbumAdded,
    AlbumId,
    Artist,
    ArtistPage,
    Followed,
    Genre,
    NamedSong,
    Playback,
    Playlist,
    PlaylistCreated,
    PlaylistId,
    PlaylistName,
    Queue,
    Queued,
    Shared,
    SongAdded,
    SongId,
    SongLine,
    Songs,
)
from .world import MusicScenario

__all__ = ["Music"]

MAX_QUEUE = 12


class Music(MusicScenario):
    """One person's music, with a loudspeaker in every room."""

    domain = "music"
    summary = "A music library with artists, albums, playlists, sharing and a play queue in every room."

    @tool("read")
    def find_songs(self, genre: Genre, longest: Minutes | None = None) -> Songs:
        """List up to ten songs of a genre, the most played first.

        Args:
            genre: The genre.
            longest: Only songs that last at most so many minutes.
        """
        found = [
            song
            for song in self.state.scan("songs")
            if song["genre"] == genre and (longest is None or song["seconds"] <= 60 * longest)
        ]
        if not found:
            raise ToolError("nothing_found", f"The library has no such {genre} song.")
        found = _most_played(found)
        return {"count": len(found), "songs": [_line(song) for song in found[:10]]}

    @tool("read")
    def find_artist(self, name: Artist) -> ArtistPage:
        """Look up an artist: the most played song, the newest album, a similar artist and the next concert.

        Args:
            name: Name of the artist or band.
        """
        artist = self._artist(name)
        songs = _most_played([song for song in self.state.scan("songs") if song["artist"] == name])
        albums = [album for album in self.state.scan("albums") if album["artist"] == name]
        newest = max(albums, key=lambda album: (album["year"], album["album_id"]))
        return {
            "name": name,
            "genre": artist["genre"],
            "top_song": _named(songs[0]),
            "newest_album": {
                "album_id": newest["album_id"],
                "title": newest["title"],
                "year": newest["year"],
            },
            "similar_artist": artist["similar_artist"],
            "next_concert": {"city": artist["city"], "date": artist["date"]},
        }

    @tool("update")
    def follow_artist(self, name: Artist) -> Followed:
        """Follow an artist, to hear of new albums and concerts.

        Args:
            name: Name of the artist or band; one that is not followed yet.
        """
        artist = self._artist(name)
        if self.state.get("follows", name):
            raise ToolError("already_followed", f"{name} is followed already.")
        self.state.put("follows", name, {"name": name})
        return {"name": name, "followers": artist["followers"] + 1}

    @tool("read")
    def get_album(self, album_id: AlbumId) -> Album:
        """Show an album and its songs in their order, and the longest of them.

        Args:
            album_id: The album.
        """
        album = self.require("albums", album_id, "album")
        songs = [self.require("songs", song_id, "song") for song_id in album["songs"]]
        longest = max(songs, key=lambda song: (song["seconds"], song["song_id"]))
        return {
            "title": album["title"],
            "artist": album["artist"],
            "year": album["year"],
            "total": _minutes(songs),
            "songs": [_named(song) for song in songs],
            "longest": _named(longest),
        }

    @tool("read")
    def find_playlist(self, name: PlaylistName) -> Playlist:
        """Look up a playlist by name, with its songs in their order.

        Args:
            name: Name of the playlist.
        """
        for playlist in self.state.scan("playlists"):
            if playlist["name"] == name:
                break
        else:
            raise ToolError("no_such_playlist", f"There is no playlist named {name}.")
        songs = [self.require("songs", song_id, "song") for song_id in playlist["songs"]]
        return {
            "playlist_id": playlist["playlist_id"],
            "name": name,
            "song_count": len(songs),
            "total": _minutes(songs),
            "songs": [_line(song) for song in songs[:15]],
        }

    @tool("create")
    def create_playlist(self, name: PlaylistName, song_id: SongId) -> PlaylistCreated:
        """Start a playlist with its first song.

        Args:
            name: Its name, which no other playlist may have.
            song_id: The first song.
        """
        song = self.require("songs", song_id, "song")
        if any(playlist["name"] == name for playlist in self.state.scan("playlists")):
            raise ToolError("already_exists", f"There already is a playlist named {name}.")
        playlist_id = self.new_id("pl", name)
        playlist = {"playlist_id": playlist_id, "name": name, "songs": [song_id]}
        self.state.put("playlists", playlist_id, playlist)
        return {"playlist_id": playlist_id, "name": name, "song": song["title"]}

    @tool("update")
    def add_song_to_playlist(self, playlist_id: PlaylistId, song_id: SongId) -> SongAdded:
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
        return {"playlist": playlist["name"], "song": song["title"], "artist": song["artist"]}

    @tool("update")
    def add_album_to_playlist(self, playlist_id: PlaylistId, album_id: AlbumId) -> AlbumAdded:
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

    @tool("update")
    def share_playlist(self, playlist_id: PlaylistId, friend: Person) -> Shared:
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
        return {"playlist": playlist["name"], "friend": friend, "song_count": len(playlist["songs"])}

    @tool("update")
    def play_playlist(self, playlist_id: PlaylistId, room: RoomName) -> Playback:
        """Play a playlist in a room from its first song, in place of whatever the room plays.

        Args:
            playlist_id: The playlist.
            room: The room.
        """
        playlist = self.require("playlists", playlist_id, "playlist")
        player = self.state.get("players", room)
        if player is not None and player["source"] == playlist_id:
            raise ToolError("already_playing", f"{playlist['name']} is on in the {room} already.")
        songs = [self.require("songs", song_id, "song") for song_id in playlist["songs"]]
        player = {"room": room, "source": playlist_id, "songs": playlist["songs"]}
        self.state.put("players", room, player)
        return {
            "room": room,
            "playlist": playlist["name"],
            "first_song": songs[0]["title"],
            "total": _minutes(songs),
        }

    @tool("update")
    def queue_song(self, song_id: SongId, room: RoomName) -> Queued:
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

    @tool("read")
    def view_play_queue(self, room: RoomName) -> Queue:
        """Show what a room plays now and the songs that follow, the next one first.

        Args:
            room: The room; it must be playing something.
        """
        songs = [self.require("songs", song_id, "song") for song_id in self._player(room)["songs"]]
        return {
            "room": room,
            "now_playing": _line(songs[0]),
            "waiting_count": len(songs) - 1,
            "waiting": [_line(song) for song in songs[1:13]],
        }

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


def _length(song: Record) -> str:
    return f"{song['seconds'] // 60}:{song['seconds'] % 60:02d}"


def _minutes(songs: Iterable[Record]) -> int:
    seconds: int = sum(song["seconds"] for song in songs)
    return round(seconds / 60)


def _named(song: Record) -> NamedSong:
    return {"song_id": song["song_id"], "title": song["title"], "length": _length(song)}


def _line(song: Record) -> SongLine:
    return {
        "song_id": song["song_id"],
        "title": song["title"],
        "artist": song["artist"],
        "length": _length(song),
    }
