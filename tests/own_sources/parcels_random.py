import random
import secrets

PARCELS = {}


def send_parcel(recipient: str, weight_kg: float) -> dict:
    """Send a parcel to somebody."""
    tracking = f"TR-{secrets.token_hex(4)}"
    PARCELS[tracking] = {"tracking_number": tracking, "recipient": recipient, "weight_kg": weight_kg,
                         "locker": random.randint(1, 40), "status": "in transit"}
    return PARCELS[tracking]


def track_parcel(tracking_number: str) -> dict:
    """Track a parcel."""
    return PARCELS[tracking_number]


def return_parcel(tracking_number: str) -> dict:
    """Send a parcel back."""
    PARCELS[tracking_number]["status"] = "returning"
    return PARCELS[tracking_number]
