"""A smart home: things with properties and actions, rooms, sensors, scenes, schedules, door locks, an alarm."""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Annotated, Any, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, later
from planarena.environments.domains.types import FreeTime, RoomName
from planarena.environments.shapes import Fields, Result, ordered
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, Door, Mode, Repeated, Tint, make_world

__all__ = ["SmartHome"]

_UNITS = {"temperature": "°C", "humidity": "%", "daylight": "lux"}
_RUNS_ON = {"daily": range(7), "weekdays": range(5), "weekends": range(5, 7)}

LightId = Annotated[str, Semantic("light_id", hidden=True)]
ThermostatId = Annotated[str, Semantic("thermostat_id", hidden=True)]
SceneId = Annotated[str, Semantic("scene_id", hidden=True)]
SceneName = Annotated[str, Semantic("scene_name", surface="name")]
# A room that was looked into or worked in: it can be kept in a scene, and need not be looked into again.
SeenRoom = Annotated[RoomName, Semantic("seen_room", surface="word")]
Measure = Annotated[Literal["temperature", "humidity", "daylight"], Semantic("measure", surface="word")]
Extreme = Annotated[Literal["lowest", "highest"], Semantic("extreme", surface="word")]
Power = Annotated[Literal["on", "off"], Semantic("power", surface="word")]
LockState = Annotated[Literal["locked", "unlocked"], Semantic("lock_state", surface="word")]
DoorName = Annotated[Door, Semantic("door", surface="word")]
Color = Annotated[Tint, Semantic("light_color", surface="word")]
AlarmMode = Annotated[Mode, Semantic("alarm_mode", surface="word")]
Days = Annotated[Repeated, Semantic("schedule_days", surface="word")]
Brightness = Annotated[int, Semantic("brightness", surface="percent", minimum=1, maximum=100)]
Celsius = Annotated[float, Semantic("target_temperature", surface="temperature", minimum=5, maximum=30)]
Clock = Annotated[str, Semantic("time", surface="time", pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
Minutes = Annotated[int, Semantic("minutes", surface="minutes", minimum=1, maximum=30)]
Moment = Annotated[str, Semantic("moment", surface="datetime")]
# Measured, not wanted: heating a room to what it already has is no wish.
Measured = Annotated[float, Semantic("measured_temperature", surface="temperature")]
Percent = Annotated[int, Semantic("percent", surface="percent")]
Count = Annotated[int, Semantic("count", surface="number")]
Number = Annotated[float, Semantic("measurement", surface="number")]

record = Fields(
    light_id=LightId, name=SceneName, power=Power, brightness=Percent, color=Color,
    thermostat_id=ThermostatId, target=Celsius, room=SeenRoom, temperature=Measured, humidity=Percent,
    daylight=int, trend=str, summary=str, value=Number, unit=str, measure=Measure, device=str, state=str,
    door=DoorName, battery=Percent, mode=AlarmMode, armed_at=Moment, sensors=Count, scene_id=SceneId,
    scene=str, settings=str, time=Clock, days=Days, rooms=[RoomName], coverage=str, runs=str,
    next_run=FreeTime, devices_changed=Count,
)  # fmt: skip
ROOM = record(
    "room temperature humidity daylight trend light thermostat summary",
    light=record("light_id name power brightness color", name=str),
    thermostat=record("thermostat_id power target"),
)
SCENE = record("scene_id name rooms coverage schedules runs", schedules=[record("time days")])
DEVICE_CHANGE = record("device room state")


class SmartHome(Environment):
    """The house of one family."""

    domain = "smart_home"
    summary = (
        "A house of connected things: room sensors, lights, heating, scenes, schedules, locks and an alarm."
    )
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a house of eight rooms with at most two doors unlocked and the alarm off."""
        return make_world(cls.seeds(), rng, shared)

    def _in_room(self, room: str) -> dict[str, Record]:
        """Return a room's devices by kind."""
        found = {row["kind"]: row for row in self.rows("devices", room=room)}
        if not found:
            raise ToolError("not_found", f"The house has no {room}.")
        return found

    def _device(self, kind: str, device_id: str) -> Record:
        """Return a device of a kind; one of another kind is none of it."""
        found = self.require("devices", device_id, kind)
        if found["kind"] != kind:
            raise ToolError("not_found", f"There is no {kind} with id {device_id}.")
        return found

    def _change(self, device: Record, properties: dict[str, Any], kind: str) -> Record:
        """Give a device other properties than it has; one change of a kind (`set`, `switched`) at a time."""
        if device.get(kind) == self.now:
            raise ToolError(f"just_{kind}", f"{_named(device)} was {kind} a moment ago and needs a minute.")
        if properties == device["properties"]:
            raise ToolError("already_set", f"{_named(device)} is already set that way.")
        self.state.patch("devices", device["device_id"], properties=properties, **{kind: self.now})
        return {**device, "device": device["name"], "state": _in_words(device["kind"], properties)}

    @tool("read", gives=ROOM)
    def get_room(self, room: RoomName) -> Result:
        """Read a room's sensor and the state of its light and its thermostat.

        Args:
            room: The room.
        """
        devices = self._in_room(room)
        sensor = self.require("sensors", room, "sensor")
        shown = {**sensor, "trend": self._trend(sensor), "summary": _summary(devices)}
        for kind, device in devices.items():
            shown[kind] = {**device, **device["properties"], f"{kind}_id": device["device_id"]}
        return shown

    def _trend(self, sensor: Record) -> str:
        """Say how the temperature moved since the oldest reading of the last hours."""
        oldest = min(self.rows("readings", room=sensor["room"]), key=lambda row: row["at"])["temperature"]
        if oldest == sensor["temperature"]:
            return "steady"
        return "rising" if sensor["temperature"] > oldest else "falling"

    @tool("read", gives=record("measure rooms", rooms=[record("room value unit", room=RoomName)]))
    def compare_rooms(self, measure: Measure, extreme: Extreme) -> Result:
        """Rank all rooms by what their sensors measure: the lowest or the highest value first, equal ones by name.

        Args:
            measure: `temperature` (°C), `humidity` (%) or `daylight` (lux at the window).
            extreme: Which end comes first.
        """
        # Of equal ones the order stays: sensors are known by their rooms.
        sensors = ordered(self.state.scan("sensors"), measure, last_first=extreme == "highest")
        rooms = [{**row, "value": row[measure], "unit": _UNITS[measure]} for row in sensors]
        return {"measure": measure, "rooms": rooms}

    @tool("update", gives=DEVICE_CHANGE)
    def switch_light(self, light_id: LightId, power: Power) -> Result:
        """Turn a light on or off; it keeps its brightness and its colour. Once a minute.

        Args:
            light_id: The light.
            power: `on` or `off`.
        """
        light = self._device("light", light_id)
        if light["properties"]["power"] == power:
            raise ToolError(f"already_{power}", f"{_named(light)} is already {power}.")
        return self._change(light, {**light["properties"], "power": power}, "switched")

    @tool("update", gives=DEVICE_CHANGE)
    def set_light(self, light_id: LightId, brightness: Brightness, color: Color | None = None) -> Result:
        """Set how bright a light is and, if given, its colour; the light must be on. Once a minute.

        Args:
            light_id: The light.
            brightness: Percent, 1 to 100.
            color: The new colour; it stays as it is if left out.
        """
        light = self._device("light", light_id)
        if light["properties"]["power"] == "off":
            raise ToolError("device_off", f"{_named(light)} is off; switch it on first.")
        tint = {} if color is None else {"color": color}
        return self._change(light, {**light["properties"], "brightness": int(brightness), **tint}, "set")

    @tool("update", gives=DEVICE_CHANGE)
    def set_target_temperature(
        self, thermostat_id: ThermostatId, temperature: Celsius, until: Clock | None = None
    ) -> Result:
        """Set the temperature that a thermostat keeps, and switch it on if it is off.

        A thermostat takes one target a minute; while the alarm is in away mode the heating cannot be changed.

        Args:
            thermostat_id: The thermostat.
            temperature: Degrees Celsius, 5 to 30.
            until: Time of day when it goes back to its programme; it stays if left out.
        """
        thermostat = self._device("thermostat", thermostat_id)
        if self.require("alarm", "system", "alarm")["mode"] == "away":
            raise ToolError("away_mode", "The heating cannot be changed while the alarm is in away mode.")
        kept = {key: value for key, value in thermostat["properties"].items() if key != "until"}
        wanted = {**kept, "power": "on", "target": round(float(temperature), 1)}
        return self._change(thermostat, wanted if until is None else {**wanted, "until": until}, "set")

    @tool("update", gives=record("door state battery", state=LockState))
    def set_door_lock(self, door: DoorName, state: LockState) -> Result:
        """Lock or unlock a door; while the alarm is armed no door can be unlocked.

        Args:
            door: The door.
            state: `locked` or `unlocked`.
        """
        if self.require("doors", door, "door")["state"] == state:
            raise ToolError(f"already_{state}", f"The {door} is already {state}.")
        alarm = self.require("alarm", "system", "alarm")
        if state == "unlocked" and alarm["mode"] != "off":
            raise ToolError("alarm_armed", "Doors cannot be unlocked while the alarm is armed.")
        return self.state.patch("doors", door, state=state)

    @tool("update", gives=record("mode armed_at sensors"))
    def arm_alarm(self, mode: AlarmMode, delay: Minutes | None = None) -> Result:
        """Arm the alarm or change its mode; every door must be locked.

        Args:
            mode: `home` (outer doors), `night` (doors and ground floor) or `away` (every sensor).
            delay: Minutes until it is armed; at once if left out.
        """
        system = self.require("alarm", "system", "alarm")
        if system["mode"] == mode:
            raise ToolError("already_armed", f"The alarm is already armed for {mode}.")
        unlocked = sorted(row["door"] for row in self.rows("doors", state="unlocked"))
        if unlocked:
            raise ToolError("door_unlocked", f"Not locked: {', '.join(unlocked)}.")
        armed_at = later(self.now, delay or 0)
        self.state.patch("alarm", "system", mode=mode, armed_at=armed_at)
        sensors = {"home": 4, "night": 4 + system["sensors"] // 2, "away": 4 + system["sensors"]}
        return {"mode": mode, "armed_at": armed_at, "sensors": sensors[mode]}

    @tool("create", gives=record("scene_id name"))
    def create_scene(self, name: SceneName) -> Result:
        """Make an empty scene; rooms are added to it afterwards.

        Args:
            name: The scene's name, not yet in use.
        """
        scene_id = self.new_id("sc", name)
        if self.state.get("scenes", scene_id) is not None:
            raise ToolError("name_taken", f"There is already a scene named {name}.")
        return self.state.put("scenes", scene_id, {"scene_id": scene_id, "name": name, "settings": {}})

    @tool("read", gives=SCENE)
    def find_scene(self, name: SceneName) -> Result:
        """Look up a scene by its name: the rooms it covers (by name) and when it runs (by time of day).

        Args:
            name: The scene's name.
        """
        scene = self.state.get("scenes", self.new_id("sc", name))
        if scene is None:
            raise ToolError("not_found", f"There is no scene named {name}.")
        runs = ordered(self.rows("schedules", scene_id=scene["scene_id"]), "time", "days")
        times = _listed([f"{row['days']} at {row['time']}" for row in runs]) or "no fixed time"
        return {**scene, **self._covered(scene), "schedules": runs, "runs": times}

    def _covered(self, scene: Record) -> Record:
        """Return the rooms of a scene, also in words."""
        rooms = sorted({self.require("devices", one, "device")["room"] for one in scene["settings"]})
        return {"rooms": rooms, "coverage": _listed([f"the {room}" for room in rooms]) or "no room yet"}

    def _require_filled(self, scene_id: str) -> Record:
        scene = self.require("scenes", scene_id, "scene")
        if not scene["settings"]:
            raise ToolError("empty_scene", f"The scene {scene['name']} covers no room yet.")
        return scene

    @tool("update", gives=record("scene room settings", room=RoomName))
    def add_room_to_scene(self, scene_id: SceneId, room: SeenRoom) -> Result:
        """Store the present settings of a room's light and heating in a scene, over any it had for the room.

        At least one of the two must be on.

        Args:
            scene_id: The scene.
            room: The room as it is now.
        """
        scene = self.require("scenes", scene_id, "scene")
        devices = self._in_room(room)
        if all(device["properties"]["power"] == "off" for device in devices.values()):
            raise ToolError("nothing_on", f"Nothing is on in the {room}; there is nothing to store.")
        present = {device["device_id"]: device["properties"] for device in devices.values()}
        settings = {**scene["settings"], **present}
        if settings == scene["settings"]:
            raise ToolError("already_stored", f"The scene already holds the {room} as it is now.")
        self.state.patch("scenes", scene_id, settings=settings)
        return {"scene": scene["name"], "room": room, "settings": _summary(devices)}

    @tool("create", gives=record("scene time days next_run"))
    def schedule_scene(self, scene_id: SceneId, time: Clock, days: Days) -> Result:
        """Let a scene run by itself at a time of day; the scene must cover a room.

        Args:
            scene_id: The scene.
            time: When it runs.
            days: `daily`, `weekdays` (Monday to Friday) or `weekends`.
        """
        scene = self._require_filled(scene_id)
        schedule_id = self.new_id("sd", scene_id, time, days)
        if self.state.get("schedules", schedule_id) is not None:
            raise ToolError("already_scheduled", f"The scene {scene['name']} already runs then.")
        schedule = {"scene_id": scene_id, "time": time, "days": days}
        self.state.put("schedules", schedule_id, schedule)
        run = f"{self.today}T{time}"
        while run <= self.now or date.fromisoformat(run[:10]).weekday() not in _RUNS_ON[days]:
            run = later(run, 24 * 60)
        return {**schedule, "scene": scene["name"], "next_run": run}

    @tool("update", gives=record("scene devices_changed rooms coverage"))
    def activate_scene(self, scene_id: SceneId) -> Result:
        """Put every device of a scene into its stored setting now.

        Args:
            scene_id: The scene; it must cover a room and differ from how the rooms are now.
        """
        scene = self._require_filled(scene_id)
        now = {one: self.require("devices", one, "device")["properties"] for one in scene["settings"]}
        changes = {one: wanted for one, wanted in scene["settings"].items() if wanted != now[one]}
        if not changes:
            raise ToolError("already_active", f"Everything is already as the scene {scene['name']} wants it.")
        for device_id, properties in changes.items():
            self.state.patch("devices", device_id, properties=properties)
        return {**self._covered(scene), "scene": scene["name"], "devices_changed": len(changes)}


def _named(device: Record) -> str:
    return f"The {device['name']} in the {device['room']}"


def _summary(devices: dict[str, Record]) -> str:
    light, heating = (_in_words(kind, devices[kind]["properties"]) for kind in ("light", "thermostat"))
    return f"light {light}, heating {heating.removeprefix('heating ')}"


def _in_words(kind: str, properties: dict[str, Any]) -> str:
    """Say what a device does, as people say it."""
    if properties["power"] == "off":
        return "off"
    if kind == "light":
        return f"on at {properties['brightness']}% in {properties['color']}"
    until = f" until {properties['until']}" if "until" in properties else ""
    return f"heating to {properties['target']:g} °C{until}"


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
