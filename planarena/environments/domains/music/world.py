"""Making music libraries: artists of four genres, their albums, playlists, and rooms where something plays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Seed, proposals
from planarena.environments.domains.shared import Shared, beside, cast_people, keep, load_people, meet
from planarena.environments.state import Record

__all__ = ["MusicScenario"]

Table = dict[str, Record]
_new_id = Environment.new_id


def make_library(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a music library, a pure function of `rng` and `shared`."""
    people = load_people()
    situation = rng.choice(texts["situations"])
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), rng.randint(8, 19), 0)
    now = datetime.fromisoformat(keep(shared, "now", now.isoformat()))
    given, family = rng.sample(people["given"], 6), rng.sample(people["family"], 6)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user, *friends = cast_people(names, shared)
    rooms = list(situation["rooms"])
    if shared is not None and "smart_home" in shared.get("beside", ()):
        situation = texts["joint"]["smart_home"]
        rooms = list(shared.get("story", {}).get("rooms", rooms))
    genres = rng.sample(sorted(texts["genres"]), 4)
    artists, albums, songs = _catalogue(texts, genres, now.date(), rng)
    playlists: Table = {}
    for name in rng.sample(texts["playlists"], 4):
        playlist_id = _new_id("pl", name)
        playlists[playlist_id] = {
            "playlist_id": playlist_id,
            "name": name,
            "songs": rng.sample(sorted(songs), rng.randint(4, 7)),
        }
    # Two rooms play something already, so that a song can be put into a queue at once; beside the house's
    # own devices all of them do, because those name any room.
    playing = rooms[:2]
    if situation is texts["joint"]["smart_home"]:
        playing = list(texts["rooms"])
    players = {
        room: {"room": room, "source": "", "songs": rng.sample(sorted(songs), rng.randint(2, 4))}
        for room in playing
    }
    names_of = [row["name"] for row in artists.values()]
    texts_of = {"user": user, "friend": friends[0]}
    return Seed(
        {
            "artists": artists,
            "albums": albums,
            "songs": songs,
            "playlists": playlists,
            "players": players,
            "shares": {},
            "follows": {},
        },
        situation["title"],
        situation["description"].format(**texts_of),
        {"now": now.isoformat(timespec="minutes"), "user_name": user},
        {
            "genres": genres,
            "artists": rng.sample(names_of, 4),
            "playlists": [row["name"] for row in playlists.values()][:3],
            "new": rng.sample(situation["new"], 2),
            "rooms": rooms,
            "friends": friends[:3],
            **meet(shared, friends[:3]),
        },
    )


def _catalogue(texts: Any, genres: list[str], today: date, rng: Random) -> tuple[Table, Table, Table]:
    """Make nine artists with one or two albums of three or four songs each."""
    artists: Table = {}
    albums: Table = {}
    songs: Table = {}
    openings, endings = texts["openings"], texts["endings"]
    pairs = rng.sample(range(len(openings) * len(endings)), 60)
    titles = iter([f"{openings[pair // len(endings)]} {endings[pair % len(endings)]}" for pair in pairs])
    plays = iter(rng.sample(range(20, 900), 60))
    followers = iter(rng.sample(texts["followers"], 9))
    chosen = [(genre, name) for genre in genres for name in rng.sample(texts["genres"][genre], 2)]
    rest = [name for name in texts["genres"][genres[0]] if (genres[0], name) not in chosen]
    chosen.append((genres[0], rng.choice(rest)))
    album_titles = iter(rng.sample(texts["albums"], 18))
    for place, (genre, name) in enumerate(chosen):
        similar = [other for kind, other in chosen if kind == genre and other != name]
        artists[name] = {
            "name": name,
            "genre": genre,
            "followers": next(followers),
            "similar_artist": rng.choice(similar),
            "city": rng.choice(texts["cities"]),
            "date": (today + timedelta(days=rng.randint(12, 120))).isoformat(),
        }
        year = 2025
        for _ in range(1 + (place % 3 > 0)):
            album_id = _new_id("alb", name, title := next(album_titles))
            album: list[str] = []
            for _ in range(rng.randint(3, 4)):
                song_id = _new_id("sng", album_id, song := next(titles))
                songs[song_id] = {
                    "song_id": song_id,
                    "title": song,
                    "artist": name,
                    "genre": genre,
                    "seconds": rng.randint(130, 420),
                    "plays": next(plays),
                }
                album.append(song_id)
            albums[album_id] = {
                "album_id": album_id,
                "title": title,
                "artist": name,
                "year": year,
                "songs": album,
            }
            year -= rng.randint(1, 6)
    return artists, albums, songs


class MusicScenario(Environment):
    """Somebody's music at home, and what they would ask for."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a music library."""
        return make_library(cls.seeds(), rng, shared)

    @proposals("find_songs")
    def _propose_songs(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second, third = rng.sample(self.story["genres"], 3)
        yield {"genre": first}
        yield {"genre": second, "longest": rng.choice((4, 5, 6))}
        if rng.random() < 0.5:
            yield {"genre": third}

    @proposals("find_artist")
    def _propose_artist(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {"name": self.story["artists"][0]}
        yield {"name": BOUND}

    @proposals("follow_artist")
    def _propose_follow(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {"name": self.story["artists"][2]}
        yield {"name": BOUND}

    @proposals("get_album")
    def _propose_album(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("find_playlist")
    def _propose_find(self, _rng: Random) -> Iterator[dict[str, Any]]:
        for name in self.story["playlists"][:2]:
            yield {"name": name}
        yield {"name": BOUND}

    @proposals("create_playlist")
    def _propose_create(self, _rng: Random) -> Iterator[dict[str, Any]]:
        for name in self.story["new"]:
            yield {"name": name}

    @proposals("add_song_to_playlist")
    def _propose_add_song(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("add_album_to_playlist")
    def _propose_add_album(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("share_playlist")
    def _propose_share(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample(self.story["friends"], 2)
        yield {"friend": first}
        yield {"friend": BOUND if beside(self.story, "email") else second}

    @proposals("play_playlist")
    def _propose_play(self, rng: Random) -> Iterator[dict[str, Any]]:
        for room in rng.sample(self.story["rooms"], 2):
            yield {"room": room}
        if beside(self.story, "smart_home"):
            yield {"room": BOUND}

    @proposals("queue_song")
    def _propose_queue(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"room": rng.choice(self._playing())}
        yield {"room": BOUND}

    @proposals("view_play_queue")
    def _propose_view(self, _rng: Random) -> Iterator[dict[str, Any]]:
        for room in self._playing():
            yield {"room": room}
        yield {"room": BOUND}

    def _playing(self) -> list[str]:
        rooms: list[str] = self.story["rooms"]
        return [room for room in rooms if self.state.get("players", room) is not None][:2]
