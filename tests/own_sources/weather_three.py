"""Three plain functions."""


def get_weather(city: str) -> str:
    """Get the current weather of a city.

    :param city: name of the city, e.g. Lisbon
    """
    temps = {"lisbon": 21, "oslo": 4, "nairobi": 26}
    if city.lower() not in temps:
        raise ValueError(f"Unknown city {city!r}. Known cities: Lisbon, Oslo, Nairobi")
    return f"{temps[city.lower()]} degrees in {city}"


def convert_temperature(value: float, to: str) -> float:
    """Convert a temperature. `to` is 'celsius' or 'fahrenheit'."""
    if to == "fahrenheit":
        return round(value * 9 / 5 + 32, 1)
    if to == "celsius":
        return round((value - 32) * 5 / 9, 1)
    raise ValueError("to must be 'celsius' or 'fahrenheit'")


def get_forecast(city: str, days: int = 3) -> list:
    """Forecast for the next days."""
    if city.lower() not in ("lisbon", "oslo", "nairobi"):
        raise ValueError(f"Unknown city {city!r}")
    return [{"day": d + 1, "high": 15 + d, "low": 8 + d} for d in range(days)]
