"""Smart home scenarios: a house as it is found, and the calls that its owner may ask for in it."""

from __future__ import annotations

from random import Random
from typing import Any, Literal, get_args

from planarena.environments.contract import BOUND, Environment, Proposer, Seed, all_bound
from planarena.environments.domains import shared as common
from planarena.environments.domains.shared import Rows, Table, beside, keyed, keyed_by_content, later
from planarena.environments.domains.types import RoomName

__all__ = ["PROPOSALS", "Door", "Mode", "Repeated", "Tint", "make_world"]

Door = Literal["front door", "back door", "garage door", "balcony door"]
Tint = Literal["warm white", "cool white", "amber", "red", "blue", "green", "purple"]
Mode = Literal["home", "night", "away"]
Repeated = Literal["daily", "weekdays", "weekends"]
_ROOMS: tuple[str, ...] = get_args(get_args(RoomName)[0])
_DOORS: tuple[str, ...] = get_args(Door)
# The first two: whoever sets a lamp to live with it wants it white.
_WHITE: tuple[str, ...] = get_args(Tint)[:2]
_new_id = Environment.new_id


def make_world(words: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make a house of eight rooms with at most two doors unlocked and the alarm off."""
    now = f"2026-{rng.randint(1, 11):02d}-{rng.randint(1, 28):02d}"
    now = f"{now}T{rng.choice(['07:30', '09:00', '16:30', '18:00'])}"
    if shared is not None:  # a day at a desk at home begins
        now = common.keep(shared, "now", f"{common.first_working_day(now)}T07:30")
    rooms = rng.sample(_ROOMS, 8)
    devices = keyed("device_id", _devices(rng, words, rooms))
    sensors = keyed("room", _sensors(rng, rooms))
    coldest = min(rooms, key=lambda room: sensors[room]["temperature"])
    darkest = min(rooms, key=lambda room: sensors[room]["daylight"])
    devices[_new_id("dv", coldest, "thermostat")]["properties"]["power"] = "off"
    old, new = rng.sample(words["old_scenes"], 3), rng.sample(words["new_scenes"], 3)
    scenes = keyed("scene_id", _scenes(rng, old, devices, rooms))
    schedules = keyed_by_content("sd", "scene_id time days", _runs(rng, list(scenes)[1:]))
    open_doors = rng.sample(_DOORS, rng.choice([0, 1, 1, 1, 2]))
    doors = keyed("door", _doors(rng, words, open_doors))
    details = {"scene": new[0], "room": rooms[0], "other": rooms[1], "cold": coldest, "dark": darkest}
    details |= {"door": "".join(open_doors[:1])}
    situation = rng.choice([row for row in words["situations"] if open_doors or "{door}" not in row["title"]])
    tables: dict[str, Table] = {
        "devices": devices, "sensors": sensors,
        "readings": keyed_by_content("rd", "room at", _history(rng, now, sensors)),
        "scenes": scenes, "schedules": schedules, "doors": doors,
        "alarm": {"system": {"mode": "off", "armed_at": "", "sensors": 9 + rng.randint(0, 6)}},
    }  # fmt: skip
    user = common.draw_people(rng, 1, shared)[0]
    city = common.keep(shared, "home_city", rng.choice(words["cities"]))
    story = {
        "rooms": rooms[:4], "old_scenes": old[:2], "new_scenes": new[:2], "open_doors": open_doors,
        "shut_door": rng.choice([door for door in _DOORS if door not in open_doors]), **common.meet(shared),
    }  # fmt: skip
    facts = {"now": now, "user_name": user, "home_city": city}
    return Seed(tables, *common.caption(situation, details), facts, story)


def _devices(rng: Random, words: Any, rooms: list[str]) -> Rows:
    """Make a light and a thermostat for each room; the first has both off, the next three both on."""
    for place, room in enumerate(rooms):
        on = {kind: place > 0 and (place < 4 or rng.random() < 0.7) for kind in words["actions"]}
        lamp = rng.choice(words["lights"])
        shine = {"brightness": rng.randrange(35, 100, 5), "color": rng.choice(_WHITE)}
        warmth = {"target": rng.randrange(34, 40) / 2}
        for kind, name, settings in (("light", lamp, shine), ("thermostat", "thermostat", warmth)):
            yield {
                "device_id": _new_id("dv", room, kind), "actions": words["actions"][kind],
                "firmware": f"{rng.randint(1, 4)}.{rng.randint(0, 9)}.{rng.randint(0, 9)}",
                "href": f"/things/{room.replace(' ', '-')}/{kind}", "kind": kind,
                "maker": rng.choice(words["makers"]), "name": name, "room": room,
                "properties": {"power": "on" if on[kind] else "off", **settings},
            }  # fmt: skip


def _sensors(rng: Random, rooms: list[str]) -> Rows:
    """Make one sensor a room; no two rooms share a value, so that the extremes are unambiguous."""
    ranges = (range(160, 235), range(33, 68), range(60, 900, 5))
    values = [_unremarkable_first(rng.sample(values, len(rooms)), rng) for values in ranges]
    for room, tenths, humidity, daylight in zip(rooms, *values, strict=True):
        yield {
            "battery": rng.randint(21, 100), "daylight": daylight,
            "href": f"/things/{room.replace(' ', '-')}/sensor", "humidity": humidity, "room": room,
            "temperature": tenths / 10,
        }  # fmt: skip


def _unremarkable_first(values: list[int], rng: Random) -> list[int]:
    """Give values of the middle to the rooms that users name, so that the extremes are in other ones."""
    values.sort()
    middle, ends = values[2:-2], values[:2] + values[-2:]
    rng.shuffle(middle)
    rng.shuffle(ends)
    return middle + ends


def _history(rng: Random, now: str, sensors: Table) -> Rows:
    """Make what each sensor measured one to four hours ago."""
    for room, sensor in sensors.items():
        drift = rng.choice([-0.3, 0.0, 0.2])
        for hours in range(1, 5):
            yield {
                "at": later(now, -60 * hours), "humidity": sensor["humidity"] + rng.randint(-2, 2),
                "room": room, "temperature": round(sensor["temperature"] - drift * hours, 1),
            }  # fmt: skip


def _scenes(rng: Random, names: list[str], devices: Table, rooms: list[str]) -> Rows:
    """Make scenes for two rooms each, whose settings differ from how the rooms are now."""
    for name, covered in zip(names, (rooms[1:3], rooms[2:4], rooms[4:6]), strict=True):
        settings: dict[str, Any] = {}
        for device_id, device in devices.items():
            if device["room"] in covered and device["kind"] == "light":
                bright, color = rng.randrange(10, 35, 5), rng.choice(get_args(Tint))
                settings[device_id] = {"power": "on", "brightness": bright, "color": color}
            elif device["room"] in covered:
                settings[device_id] = {"power": "on", "target": rng.randrange(40, 45) / 2}
        yield {"scene_id": _new_id("sc", name), "name": name, "settings": settings}


def _runs(rng: Random, scene_ids: list[str]) -> Rows:
    for scene_id in scene_ids:
        time = f"{rng.randint(6, 9):02d}:{rng.choice(['00', '15', '30'])}"
        yield {"scene_id": scene_id, "time": time, "days": rng.choice(["daily", "weekdays"])}


def _doors(rng: Random, words: Any, unlocked: list[str]) -> Rows:
    for door in _DOORS:
        state, battery = "unlocked" if door in unlocked else "locked", rng.randint(25, 100)
        yield {"door": door, "state": state, "battery": battery, "maker": rng.choice(words["makers"])}


def _extremes(env: Any, rng: Random) -> Rows:
    music = beside(env.story, "music")  # where somebody would want to sit and listen
    for measure in ("temperature", "daylight"):
        yield {"measure": measure, "extreme": "highest" if music else "lowest"}
    if not music:
        yield {"measure": "humidity", "extreme": rng.choice(["lowest", "highest"])}


def _brightness(_env: Any, rng: Random) -> Rows:
    first, second = rng.sample([15, 20, 25, 30], 2)
    yield from ({"brightness": first}, {"brightness": second, "color": rng.choice(_WHITE)})


def _temperatures(env: Any, rng: Random) -> Rows:
    first, second = rng.sample([20.0, 20.5, 21.0, 21.5, 22.0, 22.5], 2)
    until = f"{rng.randint(20, 23)}:{rng.choice(['00', '30'])}"
    yield {"temperature": first, **({"until": until} if rng.random() < 0.5 else {})}
    if beside(env.story, "calendar"):  # heat until a meeting ends
        yield from ({"temperature": celsius, "until": BOUND} for celsius in (second, first + 0.5))
    else:
        yield {"temperature": BOUND}


def _locks(env: Any, rng: Random) -> Rows:
    yield from ({"door": door, "state": "locked"} for door in env.story["open_doors"])
    if not env.story["open_doors"] or rng.random() < 0.3:
        yield {"door": env.story["shut_door"], "state": "unlocked"}


def _alarm_modes(_env: Any, rng: Random) -> Rows:
    # One only: an alarm armed twice in a request would be armed once for nothing.
    mode, delay = rng.choice(get_args(Mode)), rng.choice([2, 3, 5, 10])
    yield {"mode": mode, **({"delay": delay} if rng.random() < 0.5 else {})}


def _schedules(env: Any, rng: Random) -> Rows:
    first, second = rng.sample(get_args(Repeated), 2)
    yield {"time": f"{rng.randint(17, 22)}:{rng.choice(['00', '15', '30', '45'])}", "days": first}
    time = f"{rng.randint(6, 9):02d}:{rng.choice(['05', '20', '40'])}"
    joint = beside(env.story, "energy")  # start when power is cheap, or the sun shines
    yield {"time": BOUND if joint else time, "days": second}
    if joint:
        yield {"time": BOUND, "days": "daily" if first == "weekdays" else "weekdays"}


PROPOSALS: dict[str, Proposer] = {
    "compare_rooms": _extremes, "set_light": _brightness, "set_target_temperature": _temperatures,
    "set_door_lock": _locks, "arm_alarm": _alarm_modes, "schedule_scene": _schedules,
    "switch_light": lambda _env, _rng: [{"power": "on"}, {"power": "off"}], **all_bound("activate_scene"),
    "get_room": lambda env, _rng: [{"room": room} for room in (*env.story["rooms"], BOUND)],
    "create_scene": lambda env, _rng: [{"name": name} for name in env.story["new_scenes"]],
    "find_scene": lambda env, _rng: [{"name": name} for name in (*env.story["old_scenes"], BOUND)],
    # Something is on in these rooms from the start.
    "add_room_to_scene": lambda env, rng: [
        {"room": room} for room in (*rng.sample(env.story["rooms"][1:], 2), BOUND)
    ],
}  # fmt: skip
