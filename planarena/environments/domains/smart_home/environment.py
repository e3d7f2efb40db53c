"""A smart home: things with properties and actions, rooms, sensors, scenes, schedules, door locks, an alarm."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from planarena.environments.contract import ToolError, tool
from planarena.environments.state import Record

from .types import (
    AlarmMode,
    AlarmState,
    Brightness,
    Celsius,
    Clock,
    Color,
    Days,
    DeviceChange,
    DoorName,
    DoorState,
    Extreme,
    LightId,
    LockState,
    Measure,
    Minutes,
    NewScene,
    Power,
    Ranking,
    RoomName,
    RoomState,
    SceneChange,
    SceneDetails,
    SceneId,
    SceneName,
    SceneRun,
    ScheduledScene,
    SeenRoom,
    ThermostatId,
)
from .world import SmartHomeScenario

__all__ = ["SmartHome"]

_UNITS = {"temperature": "°C", "humidity": "%", "daylight": "lux"}
_RUNS_ON = {"daily": range(7), "weekdays": range(5), "weekends": range(5, 7)}


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


class SmartHome(SmartHomeScenario):
    """The house of one family."""

    domain = "smart_home"
    summary = (
        "A house of connected things: room sensors, lights, heating, scenes, schedules, locks and an alarm."
    )

    def _in_room(self, room: str) -> dict[str, Record]:
        """Return a room's devices by kind."""
        found = {row["kind"]: row for row in self.state.scan("devices") if row["room"] == room}
        if not found:
            raise ToolError("not_found", f"The house has no {room}.")
        return found

    def _change(self, device: Record, properties: dict[str, Any], kind: str) -> DeviceChange:
        """Give a device other properties than it has; one change of a kind (`set`, `switched`) at a time."""
        if device.get(kind) == self.now:
            raise ToolError(
                f"just_{kind}",
                f"The {device['name']} in the {device['room']} was {kind} a moment ago and needs a minute.",
            )
        if properties == device["properties"]:
            raise ToolError(
                "already_set", f"The {device['name']} in the {device['room']} is already set that way."
            )
        self.state.patch("devices", device["device_id"], properties=properties, **{kind: self.now})
        return {
            "device": device["name"],
            "room": device["room"],
            "state": _in_words(device["kind"], properties),
        }

    @staticmethod
    def _summary(devices: dict[str, Record]) -> str:
        words = {kind: _in_words(kind, device["properties"]) for kind, device in devices.items()}
        heating = words["thermostat"].removeprefix("heating ")
        return f"light {words['light']}, heating {heating}"

    @tool("read")
    def get_room(self, room: RoomName) -> RoomState:
        """Read a room's sensor and the state of its light and its thermostat.

        Args:
            room: The room.
        """
        devices = self._in_room(room)
        sensor = self.require("sensors", room, "sensor")
        light, thermostat = devices["light"], devices["thermostat"]
        return {
            "room": room,
            "temperature": sensor["temperature"],
            "humidity": sensor["humidity"],
            "daylight": sensor["daylight"],
            "trend": self._trend(sensor),
            "light": {
                "light_id": light["device_id"],
                "name": light["name"],
                "power": light["properties"]["power"],
                "brightness": light["properties"]["brightness"],
                "color": light["properties"]["color"],
            },
            "thermostat": {
                "thermostat_id": thermostat["device_id"],
                "power": thermostat["properties"]["power"],
                "target": thermostat["properties"]["target"],
            },
            "summary": self._summary(devices),
        }

    def _trend(self, sensor: Record) -> str:
        """Say how the temperature moved since the oldest reading of the last hours."""
        earlier = (row for row in self.state.scan("readings") if row["room"] == sensor["room"])
        oldest = min(earlier, key=lambda row: row["at"])["temperature"]
        if oldest == sensor["temperature"]:
            return "steady"
        return "rising" if sensor["temperature"] > oldest else "falling"

    @tool("read")
    def compare_rooms(self, measure: Measure, extreme: Extreme) -> Ranking:
        """Rank all rooms by what their sensors measure: the lowest or the highest value first, equal ones by name.

        Args:
            measure: `temperature` (°C), `humidity` (%) or `daylight` (lux at the window).
            extreme: Which end comes first.
        """
        sensors = sorted(self.state.scan("sensors"), key=lambda row: row["room"])
        sensors.sort(key=lambda row: row[measure], reverse=extreme == "highest")
        return {
            "measure": measure,
            "rooms": [
                {"room": row["room"], "value": row[measure], "unit": _UNITS[measure]} for row in sensors
            ],
        }

    @tool("update")
    def switch_light(self, light_id: LightId, power: Power) -> DeviceChange:
        """Turn a light on or off; it keeps its brightness and its colour. Once a minute.

        Args:
            light_id: The light.
            power: `on` or `off`.
        """
        light = self.require("devices", light_id, "light")
        if light["properties"]["power"] == power:
            raise ToolError(
                f"already_{power}", f"The {light['name']} in the {light['room']} is already {power}."
            )
        return self._change(light, {**light["properties"], "power": power}, "switched")

    @tool("update")
    def set_light(
        self, light_id: LightId, brightness: Brightness, color: Color | None = None
    ) -> DeviceChange:
        """Set how bright a light is and, if given, its colour; the light must be on. Once a minute.

        Args:
            light_id: The light.
            brightness: Percent, 1 to 100.
            color: The new colour; it stays as it is if left out.
        """
        light = self.require("devices", light_id, "light")
        if light["properties"]["power"] == "off":
            raise ToolError(
                "device_off", f"The {light['name']} in the {light['room']} is off; switch it on first."
            )
        changes: dict[str, Any] = {"brightness": int(brightness)}
        if color is not None:
            changes["color"] = color
        return self._change(light, {**light["properties"], **changes}, "set")

    @tool("update")
    def set_target_temperature(
        self, thermostat_id: ThermostatId, temperature: Celsius, until: Clock | None = None
    ) -> DeviceChange:
        """Set the temperature that a thermostat keeps, and switch it on if it is off.

        A thermostat takes one target a minute; while the alarm is in away mode the heating cannot be changed.

        Args:
            thermostat_id: The thermostat.
            temperature: Degrees Celsius, 5 to 30.
            until: Time of day when it goes back to its programme; it stays if left out.
        """
        thermostat = self.require("devices", thermostat_id, "thermostat")
        if self.require("alarm", "system", "alarm")["mode"] == "away":
            raise ToolError("away_mode", "The heating cannot be changed while the alarm is in away mode.")
        kept = {key: value for key, value in thermostat["properties"].items() if key != "until"}
        target = round(float(temperature), 1)
        limit = {} if until is None else {"until": until}
        return self._change(thermostat, {**kept, "power": "on", "target": target, **limit}, "set")

    @tool("update")
    def set_door_lock(self, door: DoorName, state: LockState) -> DoorState:
        """Lock or unlock a door; while the alarm is armed no door can be unlocked.

        Args:
            door: The door.
            state: `locked` or `unlocked`.
        """
        record = self.require("doors", door, "door")
        if record["state"] == state:
            raise ToolError(f"already_{state}", f"The {door} is already {state}.")
        alarm = self.require("alarm", "system", "alarm")
        if state == "unlocked" and alarm["mode"] != "off":
            raise ToolError("alarm_armed", "Doors cannot be unlocked while the alarm is armed.")
        self.state.patch("doors", door, state=state)
        return {"door": door, "state": state, "battery": record["battery"]}

    @tool("update")
    def arm_alarm(self, mode: AlarmMode, delay: Minutes | None = None) -> AlarmState:
        """Arm the alarm or change its mode; every door must be locked.

        Args:
            mode: `home` (outer doors), `night` (doors and ground floor) or `away` (every sensor).
            delay: Minutes until it is armed; at once if left out.
        """
        system = self.require("alarm", "system", "alarm")
        if system["mode"] == mode:
            raise ToolError("already_armed", f"The alarm is already armed for {mode}.")
        unlocked = sorted(row["door"] for row in self.state.scan("doors") if row["state"] == "unlocked")
        if unlocked:
            raise ToolError("door_unlocked", f"Not locked: {', '.join(unlocked)}.")
        armed = datetime.fromisoformat(self.now) + timedelta(minutes=delay or 0)
        armed_at = armed.isoformat(timespec="minutes")
        self.state.patch("alarm", "system", mode=mode, armed_at=armed_at)
        sensors = {"home": 4, "night": 4 + system["sensors"] // 2, "away": 4 + system["sensors"]}
        return {"mode": mode, "armed_at": armed_at, "sensors": sensors[mode]}

    @tool("create")
    def create_scene(self, name: SceneName) -> NewScene:
        """Make an empty scene; rooms are added to it afterwards.

        Args:
            name: The scene's name, not yet in use.
        """
        scene_id = self.new_id("sc", name)
        if self.state.get("scenes", scene_id) is not None:
            raise ToolError("name_taken", f"There is already a scene named {name}.")
        self.state.put("scenes", scene_id, {"scene_id": scene_id, "name": name, "settings": {}})
        return {"scene_id": scene_id, "name": name}

    @tool("read")
    def find_scene(self, name: SceneName) -> SceneDetails:
        """Look up a scene by its name: the rooms it covers (by name) and when it runs (by time of day).

        Args:
            name: The scene's name.
        """
        scene = self.state.get("scenes", self.new_id("sc", name))
        if scene is None:
            raise ToolError("not_found", f"There is no scene named {name}.")
        runs = [row for row in self.state.scan("schedules") if row["scene_id"] == scene["scene_id"]]
        runs.sort(key=lambda row: (row["time"], row["days"]))
        rooms = self._rooms_of(scene)
        return {
            "scene_id": scene["scene_id"],
            "name": name,
            "rooms": rooms,
            "coverage": _listed([f"the {room}" for room in rooms]) or "no room yet",
            "schedules": [{"time": row["time"], "days": row["days"]} for row in runs],
            "runs": _listed([f"{row['days']} at {row['time']}" for row in runs]) or "no fixed time",
        }

    def _rooms_of(self, scene: Record) -> list[Any]:
        devices = (self.require("devices", device_id, "device") for device_id in scene["settings"])
        return sorted({device["room"] for device in devices})

    def _require_filled(self, scene_id: str) -> Record:
        scene = self.require("scenes", scene_id, "scene")
        if not scene["settings"]:
            raise ToolError("empty_scene", f"The scene {scene['name']} covers no room yet.")
        return scene

    @tool("update")
    def add_room_to_scene(self, scene_id: SceneId, room: SeenRoom) -> SceneChange:
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
        settings = {
            **scene["settings"],
            **{device["device_id"]: device["properties"] for device in devices.values()},
        }
        if settings == scene["settings"]:
            raise ToolError("already_stored", f"The scene already holds the {room} as it is now.")
        self.state.patch("scenes", scene_id, settings=settings)
        return {"scene": scene["name"], "room": room, "settings": self._summary(devices)}

    @tool("create")
    def schedule_scene(self, scene_id: SceneId, time: Clock, days: Days) -> ScheduledScene:
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
        self.state.put("schedules", schedule_id, {"scene_id": scene_id, "time": time, "days": days})
        run = datetime.fromisoformat(f"{self.now[:10]}T{time}")
        while run <= datetime.fromisoformat(self.now) or run.weekday() not in _RUNS_ON[days]:
            run += timedelta(days=1)
        return {
            "scene": scene["name"],
            "time": time,
            "days": days,
            "next_run": run.isoformat(timespec="minutes"),
        }

    @tool("update")
    def activate_scene(self, scene_id: SceneId) -> SceneRun:
        """Put every device of a scene into its stored setting now.

        Args:
            scene_id: The scene; it must cover a room and differ from how the rooms are now.
        """
        scene = self._require_filled(scene_id)
        changed = 0
        for device_id, properties in scene["settings"].items():
            device = self.require("devices", device_id, "device")
            if device["properties"] != properties:
                self.state.patch("devices", device_id, properties=properties)
                changed += 1
        if not changed:
            raise ToolError("already_active", f"Everything is already as the scene {scene['name']} wants it.")
        rooms = self._rooms_of(scene)
        coverage = _listed([f"the {room}" for room in rooms])
        return {"scene": scene["name"], "devices_changed": changed, "rooms": rooms, "coverage": coverage}
