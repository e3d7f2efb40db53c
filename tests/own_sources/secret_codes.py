"""Needs values that nobody can guess."""


def open_safe(combination: str) -> str:
    """Open the safe."""
    if combination != "7-31-12":
        raise PermissionError("wrong combination")
    return "a gold watch"


def read_sensor(serial: str) -> dict:
    """Read a sensor by its serial."""
    if serial != "ZX-90-Q":
        raise KeyError(serial)
    return {"serial": serial, "value": 12.5}
