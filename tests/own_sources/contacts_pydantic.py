"""An address book with pydantic models."""
from pydantic import BaseModel, Field


class Contact(BaseModel):
    name: str = Field(description="Full name")
    email: str
    city: str = "Porto"


class Saved(Contact):
    contact_id: int


_book: list[Saved] = [Saved(contact_id=1, name="Nadia Ruiz", email="nadia@example.com", city="Lyon")]


def add_contact(contact: Contact) -> Saved:
    """Add a contact to the address book."""
    saved = Saved(contact_id=len(_book) + 1, **contact.model_dump())
    _book.append(saved)
    return saved


def find_contacts(name: str) -> list[Saved]:
    """Find contacts by name."""
    return [one for one in _book if name.lower() in one.name.lower()]


def move_contact(contact_id: int, city: str) -> Saved:
    """Change the city of a contact."""
    for one in _book:
        if one.contact_id == contact_id:
            one.city = city
            return one
    raise ValueError(f"no contact {contact_id}")
