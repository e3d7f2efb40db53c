"""Notes, with async functions."""
import asyncio

_notes: dict[int, dict] = {1: {"note_id": 1, "title": "Garden", "text": "Water the tomatoes on Fridays"}}


async def list_notes() -> list[dict]:
    """List all notes."""
    await asyncio.sleep(0)
    return list(_notes.values())


async def read_note(note_id: int) -> dict:
    """Read a note.

    Args:
        note_id: The number of the note.
    """
    return _notes[note_id]


async def write_note(title: str, text: str) -> dict:
    """Write a new note.

    Args:
        title: Its title.
        text: Its text.
    """
    note_id = max(_notes) + 1
    _notes[note_id] = {"note_id": note_id, "title": title, "text": text}
    return _notes[note_id]


async def delete_note(note_id: int) -> dict:
    """Delete a note."""
    return {"deleted": _notes.pop(note_id)["title"]}
