"""Smart home scenarios: a house as it is found, and the calls that its owner may ask for in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any, get_args

from planarena.environments.contract import BOUND, Environment, Seed, proposals
from planarena.environments.domains.shared import Shared, beside, cast_people, keep, load_people, meet
from planarena.environments.state import Record

from .types import Color, DoorName, RoomName

__all__ = ["SmartHomeScenario"]

_ROOMS: tuple[str, ...] = get_args(get_args(RoomName)[0])
_DOORS: tuple[str, ...] = get_args(get_args(DoorName)[0])
_COLORS: tuple[str, ...] = get_args(get_args(Color)[0])
# What a thing's description offers besides its properties.
_ACTIONS = {"light": ["toggle", "fade"], "thermostat": ["toggle", "boost"]}

_new_id = Environment.new_id


def _devices(rng: Random, words: dict[str, Any], rooms: list[str]) -> dict[str, Record]:
    """Return a light and a thermostat for each room; the first has both off, the next three both on."""
    devices: dict[str, Record] = {}
    for place, room in enumerate(rooms):
        on = {kind: place > 0 and (place < 4 or rng.random() < 0.7) for kind in ("light", "thermostat")}
        parts: list[tuple[str, str, dict[str, Any]]] = [
            (
                "light",
                rng.choice(words["lights"]),
                {
                    "power": "on" if on["light"] else "off",
                    "brightness": rng.randrange(35, 100, 5),
                    "color": rng.choice(["warm white", "cool white"]),
                },
            ),
            (
                "thermostat",
                "thermostat",
                {"power": "on" if on["thermostat"] else "off", "target": rng.randrange(34, 40) / 2},
            ),
        ]
        for kind, name, properties in parts:
            device_id = _new_id("dv", room, kind)
            devices[device_id] = {
                "device_id": device_id,
                "actions": _ACTIONS[kind],
                "firmware": f"{rng.randint(1, 4)}.{rng.randint(0, 9)}.{rng.randint(0, 9)}",
                "href": f"/things/{room.replace(' ', '-')}/{kind}",
                "kind": kind,
                "maker": rng.choice(words["makers"]),
                "name": name,
                "room": room,
                "properties": properties,
            }
    return devices


def _sensors(rng: Random, rooms: list[str]) -> dict[str, Record]:
    """Return one sensor a room; no two rooms share a value, so that the extremes are unambiguous."""
    size = len(rooms)
    values = zip(
        _unremarkable_first(rng.sample(range(160, 235), size), rng),
        _unremarkable_first(rng.sample(range(33, 68), size), rng),
        _unremarkable_first(rng.sample(range(60, 900, 5), size), rng),
        strict=True,
    )
    return {
        room: {
            "battery": rng.randint(21, 100),
            "daylight": daylight,
            "href": f"/things/{room.replace(' ', '-')}/sensor",
            "humidity": humidity,
            "room": room,
            "temperature": tenths / 10,
        }
        for room, (tenths, humidity, daylight) in zip(rooms, values, strict=True)
    }


def _unremarkable_first(values: list[int], rng: Random) -> list[int]:
    """Give values of the middle to the rooms that users name, so that the extremes are in other ones."""
    values.sort()
    middle, ends = values[2:-2], values[:2] + values[-2:]
    rng.shuffle(middle)
    rng.shuffle(ends)
    return middle + ends


def _history(rng: Random, now: str, sensors: dict[str, Record]) -> dict[str, Record]:
    """Return what each sensor measured one to four hours ago."""
    found: dict[str, Record] = {}
    for room, sensor in sensors.items():
        drift = rng.choice([-0.3, 0.0, 0.2])
        for hours in range(1, 5):
            at = (datetime.fromisoformat(now) - timedelta(hours=hours)).isoformat(timespec="minutes")
            found[_new_id("rd", room, at)] = {
                "at": at,
                "humidity": sensor["humidity"] + rng.randint(-2, 2),
                "room": room,
                "temperature": round(sensor["temperature"] - drift * hours, 1),
            }
    return found


def _scene(rng: Random, name: str, devices: dict[str, Record], rooms: list[str]) -> Record:
    """Return a scene for some rooms whose settings differ from how they are now."""
    settings: dict[str, Any] = {}
    for device_id, device in devices.items():
        if device["room"] not in rooms:
            continue
        if device["kind"] == "light":
            settings[device_id] = {
                "power": "on",
                "brightness": rng.randrange(10, 35, 5),
                "color": rng.choice(_COLORS),
            }
        else:
            settings[device_id] = {"power": "on", "target": rng.randrange(40, 45) / 2}
    return {"scene_id": _new_id("sc", name), "name": name, "settings": settings}


def _working_morning(now: str) -> str:
    """Return half past seven on the first working day from a moment on: a day at a desk at home begins."""
    day = datetime.fromisoformat(now)
    return f"{(day + timedelta(days=max(0, 7 - day.weekday()) if day.weekday() > 4 else 0)).date()}T07:30"


class SmartHomeScenario(Environment):
    """What a scenario adds to the house's tools: a first world and the owner's likely wishes."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a house of eight rooms with at most two doors unlocked and the alarm off."""
        words, people = cls.seeds(), load_people()
        now = f"2026-{rng.randint(1, 11):02d}-{rng.randint(1, 28):02d}T{rng.choice(['07:30', '09:00', '16:30', '18:00'])}"
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
        schedules: dict[str, Record] = {}
        for scene in scenes[1:]:
            time, days = (
                f"{rng.randint(6, 9):02d}:{rng.choice(['00', '15', '30'])}",
                rng.choice(["daily", "weekdays"]),
            )
            schedules[_new_id("sd", scene["scene_id"], time, days)] = {
                "scene_id": scene["scene_id"],
                "time": time,
                "days": days,
            }
        open_doors = rng.sample(_DOORS, rng.choice([0, 1, 1, 1, 2]))
        doors = {
            door: {
                "door": door,
                "state": "unlocked" if door in open_doors else "locked",
                "battery": rng.randint(25, 100),
                "maker": rng.choice(words["makers"]),
            }
            for door in _DOORS
        }
        details = {
            "scene": new[0],
            "room": rooms[0],
            "other": rooms[1],
            "cold": coldest,
            "dark": min(rooms, key=lambda room: sensors[room]["daylight"]),
            "door": open_doors[0] if open_doors else "",
        }
        fitting = [row for row in words["situations"] if open_doors or "{door}" not in row["title"]]
        situation = rng.choice(fitting)
        return Seed(
            tables={
                "devices": devices,
                "sensors": sensors,
                "readings": _history(rng, now, sensors),
                "scenes": {scene["scene_id"]: scene for scene in scenes},
                "schedules": schedules,
                "doors": doors,
                "alarm": {"system": {"mode": "off", "armed_at": "", "sensors": 9 + rng.randint(0, 6)}},
            },
            title=situation["title"].format(**details),
            description=situation["text"].format(**details),
            facts={
                "now": now,
                "user_name": cast_people(
                    [f"{rng.choice(people['given'])} {rng.choice(people['family'])}"], shared
                )[0],
                "home_city": keep(shared, "home_city", rng.choice(words["cities"])),
            },
            story={
                "rooms": rooms[:4],
                "old_scenes": old[:2],
                "new_scenes": new[:2],
                "open_doors": open_doors,
                "shut_door": rng.choice([door for door in _DOORS if door not in open_doors]),
                **meet(shared),
            },
        )

    @property
    def _timed(self) -> bool:
        """Whether another domain of the scenario yields times of day."""
        return beside(self.story, "calendar") or beside(self.story, "energy")

    @proposals("get_room")
    def _propose_get_room(self, rng: Random) -> Iterator[dict[str, Any]]:  # noqa: ARG002  the story chose
        for room in self.story["rooms"]:
            yield {"room": room}
        yield {"room": BOUND}

    @proposals("compare_rooms")
    def _propose_compare_rooms(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"measure": "temperature", "extreme": "lowest"}
        yield {"measure": "daylight", "extreme": "lowest"}
        yield {"measure": "humidity", "extreme": rng.choice(["lowest", "highest"])}

    @proposals("switch_light")
    def _propose_switch_light(self, rng: Random) -> Iterator[dict[str, Any]]:  # noqa: ARG002  two values
        yield {"power": "on"}
        yield {"power": "off"}

    @proposals("set_light")
    def _propose_set_light(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample([15, 20, 25, 30], 2)
        yield {"brightness": first}
        yield {"brightness": second, "color": rng.choice(_COLORS)}

    @proposals("set_target_temperature")
    def _propose_set_target_temperature(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample([20.0, 20.5, 21.0, 21.5, 22.0, 22.5], 2)
        until = f"{rng.randint(20, 23)}:{rng.choice(['00', '30'])}"
        yield {"temperature": first, **({"until": until} if rng.random() < 0.5 else {})}
        if self._timed:  # events say until when, and so do prices
            yield {"temperature": second, "until": BOUND}
            yield {"temperature": first + 0.5, "until": BOUND}
        else:
            yield {"temperature": BOUND}

    @proposals("set_door_lock")
    def _propose_set_door_lock(self, rng: Random) -> Iterator[dict[str, Any]]:
        for door in self.story["open_doors"]:
            yield {"door": door, "state": "locked"}
        if not self.story["open_doors"] or rng.random() < 0.3:
            yield {"door": self.story["shut_door"], "state": "unlocked"}

    @proposals("arm_alarm")
    def _propose_arm_alarm(self, rng: Random) -> Iterator[dict[str, Any]]:
        # One only: an alarm armed twice in a request would be armed once for nothing.
        mode, delay = rng.choice(["home", "night", "away"]), rng.choice([2, 3, 5, 10])
        yield {"mode": mode, **({"delay": delay} if rng.random() < 0.5 else {})}

    @proposals("create_scene")
    def _propose_create_scene(self, rng: Random) -> Iterator[dict[str, Any]]:  # noqa: ARG002  the story chose
        for name in self.story["new_scenes"]:
            yield {"name": name}

    @proposals("find_scene")
    def _propose_find_scene(self, rng: Random) -> Iterator[dict[str, Any]]:  # noqa: ARG002  the story chose
        for name in self.story["old_scenes"]:
            yield {"name": name}
        yield {"name": BOUND}

    @proposals("add_room_to_scene")
    def _propose_add_room_to_scene(self, rng: Random) -> Iterator[dict[str, Any]]:
        for room in rng.sample(self.story["rooms"][1:], 2):  # something is on there from the start
            yield {"room": room}
        yield {"room": BOUND}

    @proposals("schedule_scene")
    def _propose_schedule_scene(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample(["daily", "weekdays", "weekends"], 2)
        yield {"time": f"{rng.randint(17, 22)}:{rng.choice(['00', '15', '30', '45'])}", "days": first}
        time = f"{rng.randint(6, 9):02d}:{rng.choice(['05', '20', '40'])}"
        joint = self._timed
        yield {"time": BOUND if joint else time, "days": second}
        if joint:
            yield {"time": BOUND, "days": "daily" if first == "weekdays" else "weekdays"}

    @proposals("activate_scene")
    def _propose_activate_scene(self, rng: Random) -> Iterator[dict[str, Any]]:  # noqa: ARG002  one form
        yield {}
