"""Making music libraries: artists of four genres, their albums, playlists, and rooms where something plays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import Shared, beside, day_after, draw_people, keep, meet
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_library"]

Table = dict[str, Record]
_new_id = Environment.new_id


def make_library(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a music library, a pure function of `rng` and `shared`."""
    situation = rng.choice(texts["situations"])
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), rng.randint(8, 19), 0)
    now = datetime.fromisoformat(keep(shared, "now", now.isoformat()))
    user, *friends = draw_people(rng, 6, shared)
    rooms = list(situation["rooms"])
    if shared is not None and "smart_home" in shared.get("beside", ()):
        situation = texts["joint"]["smart_home"]
        rooms = list(shared.get("story", {}).get("rooms", rooms))
    genres = rng.sample(sorted(texts["genres"]), 4)
    artists, albums, songs = _catalogue(texts, genres, now.isoformat(), rng)
    playlists: Table = {}
    for name in rng.sample(texts["playlists"], 4):
        playlist_id = _new_id("pl", name)
        some = rng.sample(sorted(songs), rng.randint(4, 7))
        playlists[playlist_id] = {"playlist_id": playlist_id, "name": name, "songs": some}
    # Two rooms play something already, so that a song can be put into a queue at once; beside the house's
    # own devices all of them do, because those name any room.
    playing = rooms[:2]
    if situation is texts["joint"]["smart_home"]:
        playing = list(texts["rooms"])
    players = {
        room: {"room": room, "source": "", "songs": rng.sample(sorted(songs), rng.randint(2, 4))}
        for room in playing
    }
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
        situation["description"].format(user=user, friend=friends[0]),
        {"now": now.isoformat(timespec="minutes"), "user_name": user},
        {
            "genres": genres,
            "artists": rng.sample(list(artists), 4),
            "playlists": [row["name"] for row in playlists.values()][:3],
            "new": rng.sample(situation["new"], 2),
            "rooms": rooms,
            "friends": friends[:3],
            **meet(shared, friends[:3]),
        },
    )


def _catalogue(texts: Any, genres: list[str], now: str, rng: Random) -> tuple[Table, Table, Table]:
    """Make nine artists with one or two albums of three or four songs each."""
    artists, albums, songs = Table(), Table(), Table()
    titles = iter(rng.sample(texts["songs"], 60))
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
            "date": day_after(now, rng.randint(12, 120)),
        }
        year = 2025
        for _ in range(1 + (place % 3 > 0)):
            album_id = _new_id("alb", name, title := next(album_titles))
            album: list[str] = []
            for _ in range(rng.randint(3, 4)):
                song_id = _new_id("sng", album_id, song := next(titles))
                songs[song_id] = {
                    "song_id": song_id, "title": song, "artist": name, "genre": genre,
                    "seconds": rng.randint(130, 420), "plays": next(plays),
                }  # fmt: skip
                album.append(song_id)
            row = {"album_id": album_id, "title": title, "artist": name, "year": year, "songs": album}
            albums[album_id] = row
            year -= rng.randint(1, 6)
    return artists, albums, songs


def _songs(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second, third = rng.sample(env.story["genres"], 3)
    yield {"genre": first}
    yield {"genre": second, "longest": rng.choice((4, 5, 6))}
    if rng.random() < 0.5:
        yield {"genre": third}


def _shares(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["friends"], 2)
    yield {"friend": first}
    yield {"friend": BOUND if beside(env.story, "email") else second}


def _rooms(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for room in rng.sample(env.story["rooms"], 2):
        yield {"room": room}
    if beside(env.story, "smart_home"):
        yield {"room": BOUND}


def _playing(env: Any) -> list[str]:
    return [room for room in env.story["rooms"] if env.state.get("players", room) is not None][:2]


PROPOSALS: dict[str, Proposer] = {
    "find_songs": _songs,
    "find_artist": lambda env, _rng: [{"name": env.story["artists"][0]}, {"name": BOUND}],
    "follow_artist": lambda env, _rng: [{"name": env.story["artists"][2]}, {"name": BOUND}],
    "get_album": lambda _env, _rng: [{}],
    "find_playlist": lambda env, _rng: [{"name": name} for name in (*env.story["playlists"][:2], BOUND)],
    "create_playlist": lambda env, _rng: [{"name": name} for name in env.story["new"]],
    "add_song_to_playlist": lambda _env, _rng: [{}],
    "add_album_to_playlist": lambda _env, _rng: [{}],
    "share_playlist": _shares,
    "play_playlist": _rooms,
    "queue_song": lambda env, rng: [{"room": rng.choice(_playing(env))}, {"room": BOUND}],
    "view_play_queue": lambda env, _rng: [{"room": room} for room in (*_playing(env), BOUND)],
}
