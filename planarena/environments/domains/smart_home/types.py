"""What the smart home's tools take and return."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import FreeTime
from planarena.tools.semantics import Semantic

__all__ = [
    "AlarmMode",
    "AlarmState",
    "Brightness",
    "Celsius",
    "Clock",
    "Color",
    "Days",
    "DeviceChange",
    "DoorName",
    "DoorState",
    "Extreme",
    "LightId",
    "LightState",
    "LockState",
    "Measure",
    "Minutes",
    "NewScene",
    "Power",
    "Ranking",
    "RoomName",
    "RoomState",
    "SceneChange",
    "SceneDetails",
    "SceneId",
    "SceneName",
    "SceneRun",
    "ScheduledScene",
    "SeenRoom",
    "ThermostatId",
    "ThermostatState",
]

LightId = Annotated[str, Semantic("light_id", hidden=True)]
ThermostatId = Annotated[str, Semantic("thermostat_id", hidden=True)]
SceneId = Annotated[str, Semantic("scene_id", hidden=True)]
SceneName = Annotated[str, Semantic("scene_name", surface="name")]
RoomName = Annotated[
    Literal[
        "kitchen",
        "living room",
        "bedroom",
        "bathroom",
        "study",
        "hallway",
        "dining room",
        "guest room",
        "nursery",
    ],
    Semantic("room", surface="word"),
]
# A room that was looked into or worked in: it can be kept in a scene, and need not be looked into again.
SeenRoom = Annotated[RoomName, Semantic("seen_room", surface="word")]
DoorName = Annotated[
    Literal["front door", "back door", "garage door", "balcony door"], Semantic("door", surface="word")
]
Measure = Annotated[Literal["temperature", "humidity", "daylight"], Semantic("measure", surface="word")]
Extreme = Annotated[Literal["lowest", "highest"], Semantic("extreme", surface="word")]
Power = Annotated[Literal["on", "off"], Semantic("power", surface="word")]
LockState = Annotated[Literal["locked", "unlocked"], Semantic("lock_state", surface="word")]
AlarmMode = Annotated[Literal["home", "night", "away"], Semantic("alarm_mode", surface="word")]
Color = Annotated[
    Literal["warm white", "cool white", "amber", "red", "blue", "green", "purple"],
    Semantic("light_color", surface="word"),
]
Days = Annotated[Literal["daily", "weekdays", "weekends"], Semantic("schedule_days", surface="word")]
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


class LightState(TypedDict):
    """A light; brightness and colour are what it has or would have when on."""

    light_id: LightId
    name: str
    power: Power
    brightness: Percent
    color: Color


class ThermostatState(TypedDict):
    """A thermostat; the target holds while it is on."""

    thermostat_id: ThermostatId
    power: Power
    target: Celsius


class RoomState(TypedDict):
    """A room: what its sensor measures, how the temperature moves, and its devices."""

    room: SeenRoom
    temperature: Measured
    humidity: Percent
    daylight: int
    trend: str
    light: LightState
    thermostat: ThermostatState
    summary: str


class RankedRoom(TypedDict):
    """One room's measurement."""

    room: RoomName
    value: Number
    unit: str


class Ranking(TypedDict):
    """Rooms in order of a measurement."""

    measure: Measure
    rooms: list[RankedRoom]


class DeviceChange(TypedDict):
    """A device after a change; the state in words."""

    device: str
    room: SeenRoom
    state: str


class DoorState(TypedDict):
    """A door after a change, and the doors that are still not locked."""

    door: DoorName
    state: LockState
    battery: Percent


class AlarmState(TypedDict):
    """The alarm system."""

    mode: AlarmMode
    armed_at: Moment
    sensors: Count


class NewScene(TypedDict):
    """A scene that was made; it is empty."""

    scene_id: SceneId
    name: SceneName


class SceneChange(TypedDict):
    """A room that a scene now covers."""

    scene: str
    room: RoomName
    settings: str


class SceneSchedule(TypedDict):
    """When a scene runs."""

    time: Clock
    days: Days


class SceneDetails(TypedDict):
    """A scene; `coverage` and `runs` say its rooms and schedules in words."""

    scene_id: SceneId
    name: SceneName
    rooms: list[RoomName]
    coverage: str
    schedules: list[SceneSchedule]
    runs: str


class ScheduledScene(TypedDict):
    """A scene that will run."""

    scene: str
    time: Clock
    days: Days
    next_run: FreeTime


class SceneRun(TypedDict):
    """What running a scene changed."""

    scene: str
    devices_changed: Count
    rooms: list[RoomName]
    coverage: str
