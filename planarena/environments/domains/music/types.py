"""The values and results of the music library's tools."""

from __future__ import annotations

from typing import Annotated, TypedDict

from planarena.environments.domains.smart_home.types import RoomName
from planarena.environments.domains.types import City, Count, Date, Minutes, Person
from planarena.tools.semantics import Semantic

__all__ = [
    "Album",
    "AlbumAdded",
    "AlbumId",
    "Artist",
    "ArtistPage",
    "Followed",
    "Genre",
    "NamedSong",
    "Playback",
    "Playlist",
    "PlaylistCreated",
    "PlaylistId",
    "PlaylistName",
    "Queue",
    "Queued",
    "Shared",
    "SongAdded",
    "SongId",
    "SongLine",
    "Songs",
]

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


class SongLine(TypedDict):
    """A song in a list of many artists' songs."""

    song_id: SongId
    title: SongTitle
    artist: Artist
    length: Length


class Songs(TypedDict):
    """Songs of a genre."""

    count: Count
    songs: list[SongLine]


class NamedSong(TypedDict):
    """A song of a known artist."""

    song_id: SongId
    title: SongTitle
    length: Length


class NamedAlbum(TypedDict):
    """An album of a known artist."""

    album_id: AlbumId
    title: AlbumTitle
    year: Year


class Concert(TypedDict):
    """Where an artist plays next."""

    city: City
    date: Date


class ArtistPage(TypedDict):
    """An artist."""

    name: Artist
    genre: Genre
    top_song: NamedSong
    newest_album: NamedAlbum
    similar_artist: Artist
    next_concert: Concert


class Followed(TypedDict):
    """An artist who is followed now."""

    name: Artist
    followers: Count


class Album(TypedDict):
    """An album with its songs."""

    title: AlbumTitle
    artist: Artist
    year: Year
    total: Minutes
    songs: list[NamedSong]
    longest: NamedSong


class PlaylistCreated(TypedDict):
    """A new playlist."""

    playlist_id: PlaylistId
    name: PlaylistName
    song: SongTitle


class Playlist(TypedDict):
    """A playlist with its songs."""

    playlist_id: PlaylistId
    name: PlaylistName
    song_count: Count
    total: Minutes
    songs: list[SongLine]


class SongAdded(TypedDict):
    """A playlist that has one more song."""

    playlist: PlaylistName
    song: SongTitle
    artist: Artist


class AlbumAdded(TypedDict):
    """A playlist that has an album's songs."""

    playlist: PlaylistName
    album: AlbumTitle
    added: Count


class Shared(TypedDict):
    """A playlist that somebody else was given."""

    playlist: PlaylistName
    friend: Person
    song_count: Count


class Playback(TypedDict):
    """What a room plays now."""

    room: RoomName
    playlist: PlaylistName
    first_song: SongTitle
    total: Minutes


class Queued(TypedDict):
    """A song that waits to be played."""

    room: RoomName
    song: SongTitle
    position: Count


class Queue(TypedDict):
    """What a room plays and what follows."""

    room: RoomName
    now_playing: SongLine
    waiting_count: Count
    waiting: list[SongLine]
