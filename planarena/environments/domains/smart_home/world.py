"""Smart home scenarios: a house as it is found, and the calls that its owner may ask for in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Annotated, Any, Literal, get_args

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import Shared, beside, cast_people, keep, later, load_people, meet
from planarena.environments.domains.types import RoomName
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

__all__ = ["PROPOSALS", "Color", "DoorName", "make_world"]

DoorName = Annotated[
    Literal["front door", "back door", "garage door", "balcony door"], Semantic("door", surface="word")
]
Color = Annotated[
    Literal["warm white", "cool white", "amber", "red", "blue", "green", "purple"],
    Semantic("light_color", surface="word"),
]

_ROOMS: tuple[str, ...] = get_args(get_args(RoomName)[0])
_DOORS: tuple[str, ...] = get_args(get_args(DoorName)[0])
_COLORS: tuple[str, ...] = get_args(get_args(Color)[0])
# What a thing's description offers besides its properties.
_ACTIONS = {"light": ["toggle", "fade"], "thermostat": ["toggle", "boost"]}

Table = dict[str, Record]
_new_id = Environment.new_id


def _devices(rng: Random, words: dict[str, Any], rooms: list[str]) -> Table:
    """Return a light and a thermostat for each room; the first has both off, the next three both on."""
    devices: Table = {}
    for place, room in enumerate(rooms):
        on = {kind: place > 0 and (place < 4 or rng.random() < 0.7) for kind in ("light", "thermostat")}
        names = {"light": rng.choice(words["lights"]), "thermostat": "thermostat"}
        settings: dict[str, dict[str, Any]] = {
            "light": {"brightness": rng.randrange(35, 100, 5), "color": rng.choice(_COLORS[:2])},
            "thermostat": {"target": rng.randrange(34, 40) / 2},
        }
        for kind, name in names.items():
            device_id = _new_id("dv", room, kind)
            devices[device_id] = {
                "device_id": device_id, "actions": _ACTIONS[kind],
                "firmware": f"{rng.randint(1, 4)}.{rng.randint(0, 9)}.{rng.randint(0, 9)}",
                "href": f"/things/{room.replace(' ', '-')}/{kind}", "kind": kind,
                "maker": rng.choice(words["makers"]), "name": name, "room": room,
                "properties": {"power": "on" if on[kind] else "off", **settings[kind]},
            }  # fmt: skip
    return devices


def _sensors(rng: Random, rooms: list[str]) -> Table:
    """Return one sensor a room; no two rooms share a value, so that the extremes are unambiguous."""
    ranges = (range(160, 235), range(33, 68), range(60, 900, 5))
    values = [_unremarkable_first(rng.sample(values, len(rooms)), rng) for values in ranges]
    return {
        room: {
            "battery": rng.randint(21, 100), "daylight": daylight,
            "href": f"/things/{room.replace(' ', '-')}/sensor", "humidity": humidity, "room": room,
            "temperature": tenths / 10,
        }
        for room, tenths, humidity, daylight in zip(rooms, *values, strict=True)
    }  # fmt: skip


def _unremarkable_first(values: list[int], rng: Random) -> list[int]:
    """Give values of the middle to the rooms that users name, so that the extremes are in other ones."""
    values.sort()
    middle, ends = values[2:-2], values[:2] + values[-2:]
    rng.shuffle(middle)
    rng.shuffle(ends)
    return middle + ends


def _history(rng: Random, now: str, sensors: Table) -> Table:
    """Return what each sensor measured one to four hours ago."""
    found: Table = {}
    for room, sensor in sensors.items():
        drift = rng.choice([-0.3, 0.0, 0.2])
        for hours in range(1, 5):
            at = later(now, -60 * hours)
            found[_new_id("rd", room, at)] = {
                "at": at, "humidity": sensor["humidity"] + rng.randint(-2, 2), "room": room,
                "temperature": round(sensor["temperature"] - drift * hours, 1),
            }  # fmt: skip
    return found


def _scene(rng: Random, name: str, devices: Table, rooms: list[str]) -> Record:
    """Return a scene for some rooms whose settings differ from how they are now."""
    settings: dict[str, Any] = {}
    for device_id, device in devices.items():
        if device["room"] not in rooms:
            continue
        if device["kind"] == "light":
            bright = rng.randrange(10, 35, 5)
            settings[device_id] = {"power": "on", "brightness": bright, "color": rng.choice(_COLORS)}
        else:
            settings[device_id] = {"power": "on", "target": rng.randrange(40, 45) / 2}
    return {"scene_id": _new_id("sc", name), "name": name, "settings": settings}


def _working_morning(now: str) -> str:
    """Return half past seven on the first working day from a moment on: a day at a desk at home begins."""
    day = datetime.fromisoformat(now)
    return f"{(day + timedelta(days=max(0, 7 - day.weekday()) if day.weekday() > 4 else 0)).date()}T07:30"


def make_world(words: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a house of eight rooms with at most two doors unlocked and the alarm off."""
    people = load_people()
    now = f"2026-{rng.randint(1, 11):02d}-{rng.randint(1, 28):02d}"
    now = f"{now}T{rng.choice(['07:30', '09:00', '16:30', '18:00'])}"
    if shared is not None:
        now = keep(shared, "now", _working_morning(now))
    rooms = rng.sample(_ROOMS, 8)
    devices, sensors = _devices(rng, words, rooms), _sensors(rng, rooms)
    coldest = min(rooms, key=lambda room: sensors[room]["temperature"])
    for device in devices.values():
        if device["room"] == coldest and device["kind"] == "thermostat":
            device["properties"]["power"] = "off"
    old, new = rng.sample(words["old_scenes"], 3), rng.sample(words["new_scenes"], 3)
    pairs = [rooms[1:3], rooms[2:4], rooms[4:6]]
    scenes = [_scene(rng, name, devices, pair) for name, pair in zip(old, pairs, strict=True)]
    schedules: Table = {}
    for scene_id in [scene["scene_id"] for scene in scenes[1:]]:
        time = f"{rng.randint(6, 9):02d}:{rng.choice(['00', '15', '30'])}"
        days = rng.choice(["daily", "weekdays"])
        schedules[_new_id("sd", scene_id, time, days)] = {"scene_id": scene_id, "time": time, "days": days}
    open_doors = rng.sample(_DOORS, rng.choice([0, 1, 1, 1, 2]))
    doors = {
        door: {
            "door": door, "state": "unlocked" if door in open_doors else "locked",
            "battery": rng.randint(25, 100), "maker": rng.choice(words["makers"]),
        }
        for door in _DOORS
    }  # fmt: skip
    details = {
        "scene": new[0], "room": rooms[0], "other": rooms[1], "cold": coldest,
        "dark": min(rooms, key=lambda room: sensors[room]["daylight"]), "door": "".join(open_doors[:1]),
    }  # fmt: skip
    situation = rng.choice([row for row in words["situations"] if open_doors or "{door}" not in row["title"]])
    title, description = (situation[part].format(**details) for part in ("title", "text"))
    tables: dict[str, Table] = {
        "devices": devices, "sensors": sensors, "readings": _history(rng, now, sensors),
        "scenes": {scene["scene_id"]: scene for scene in scenes}, "schedules": schedules, "doors": doors,
        "alarm": {"system": {"mode": "off", "armed_at": "", "sensors": 9 + rng.randint(0, 6)}},
    }  # fmt: skip
    user = cast_people([f"{rng.choice(people['given'])} {rng.choice(people['family'])}"], shared)[0]
    city = keep(shared, "home_city", rng.choice(words["cities"]))
    story = {
        "rooms": rooms[:4], "old_scenes": old[:2], "new_scenes": new[:2], "open_doors": open_doors,
        "shut_door": rng.choice([door for door in _DOORS if door not in open_doors]), **meet(shared),
    }  # fmt: skip
    return Seed(tables, title, description, {"now": now, "user_name": user, "home_city": city}, story)


def _extremes(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    music = beside(env.story, "music")  # where somebody would want to sit and listen
    for measure in ("temperature", "daylight"):
        yield {"measure": measure, "extreme": "highest" if music else "lowest"}
    if not music:
        yield {"measure": "humidity", "extreme": rng.choice(["lowest", "highest"])}


def _brightness(_env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample([15, 20, 25, 30], 2)
    yield {"brightness": first}
    # The first two: whoever dims a lamp to live with it wants it white.
    yield {"brightness": second, "color": rng.choice(_COLORS[:2])}


def _temperatures(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample([20.0, 20.5, 21.0, 21.5, 22.0, 22.5], 2)
    until = f"{rng.randint(20, 23)}:{rng.choice(['00', '30'])}"
    yield {"temperature": first, **({"until": until} if rng.random() < 0.5 else {})}
    if beside(env.story, "calendar"):  # heat until a meeting ends
        yield {"temperature": second, "until": BOUND}
        yield {"temperature": first + 0.5, "until": BOUND}
    else:
        yield {"temperature": BOUND}


def _locks(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for door in env.story["open_doors"]:
        yield {"door": door, "state": "locked"}
    if not env.story["open_doors"] or rng.random() < 0.3:
        yield {"door": env.story["shut_door"], "state": "unlocked"}


def _alarm_modes(_env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    # One only: an alarm armed twice in a request would be armed once for nothing.
    mode, delay = rng.choice(["home", "night", "away"]), rng.choice([2, 3, 5, 10])
    yield {"mode": mode, **({"delay": delay} if rng.random() < 0.5 else {})}


def _schedules(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(["daily", "weekdays", "weekends"], 2)
    yield {"time": f"{rng.randint(17, 22)}:{rng.choice(['00', '15', '30', '45'])}", "days": first}
    time = f"{rng.randint(6, 9):02d}:{rng.choice(['05', '20', '40'])}"
    joint = beside(env.story, "energy")  # start when power is cheap, or the sun shines
    yield {"time": BOUND if joint else time, "days": second}
    if joint:
        yield {"time": BOUND, "days": "daily" if first == "weekdays" else "weekdays"}


PROPOSALS: dict[str, Proposer] = {
    "get_room": lambda env, _rng: [{"room": room} for room in (*env.story["rooms"], BOUND)],
    "compare_rooms": _extremes, "switch_light": lambda _env, _rng: [{"power": "on"}, {"power": "off"}],
    "set_light": _brightness, "set_target_temperature": _temperatures, "set_door_lock": _locks,
    "arm_alarm": _alarm_modes,
    "create_scene": lambda env, _rng: [{"name": name} for name in env.story["new_scenes"]],
    "find_scene": lambda env, _rng: [{"name": name} for name in (*env.story["old_scenes"], BOUND)],
    # Something is on in these rooms from the start.
    "add_room_to_scene": lambda env, rng: [
        {"room": room} for room in (*rng.sample(env.story["rooms"][1:], 2), BOUND)
    ],
    "schedule_scene": _schedules, "activate_scene": lambda _env, _rng: [{}],
}  # fmt: skip
