class Thermostat:
    """A smart thermostat."""

    def __init__(self, rooms: list[str] | None = None):
        self.rooms = {r: 20.0 for r in (rooms or ["kitchen", "bedroom", "bathroom"])}
        self.mode = "heat"

    def get_temperature(self, room: str) -> float:
        """Target temperature of a room in celsius."""
        return self.rooms[room]

    def set_temperature(self, room: str, celsius: float) -> dict:
        """Set the target temperature of a room.

        Args:
            room: One of kitchen, bedroom, bathroom.
            celsius: Between 5 and 30.
        """
        if not 5 <= celsius <= 30:
            raise ValueError("celsius must be between 5 and 30")
        self.rooms[room] = celsius
        return {"room": room, "celsius": celsius}

    def list_rooms(self) -> list[str]:
        """All rooms."""
        return list(self.rooms)

    def set_mode(self, mode: str) -> str:
        """Change the mode: heat, cool or off."""
        if mode not in ("heat", "cool", "off"):
            raise ValueError("mode must be one of heat, cool, off")
        self.mode = mode
        return mode
