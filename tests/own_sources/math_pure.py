def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


def mortgage_payment(principal: float, annual_rate: float, years: int) -> dict:
    """Compute the monthly payment of a mortgage."""
    monthly = annual_rate / 1200
    payment = principal * monthly / (1 - (1 + monthly) ** (-12 * years))
    return {"monthly_payment": round(payment, 2)}


def days_between(start_date: str, end_date: str) -> int:
    """Count the days between two dates (YYYY-MM-DD)."""
    from datetime import date
    return (date.fromisoformat(end_date) - date.fromisoformat(start_date)).days
