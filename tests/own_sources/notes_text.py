"""Tools as people write them first: everything comes back as text."""
notes = {"1": "Buy oat milk", "2": "Call the landlord about the boiler"}


def create_note(text: str) -> str:
    """Save a note."""
    key = str(len(notes) + 1)
    notes[key] = text
    return f"Note {key} saved."


def read_note(note_id: str) -> str:
    """Read a note."""
    if note_id not in notes:
        return f"Error: there is no note {note_id}."
    return notes[note_id]


def list_notes() -> str:
    """List all notes."""
    return "\n".join(f"{k}: {v}" for k, v in notes.items())


def delete_note(note_id: str) -> str:
    """Delete a note."""
    if note_id not in notes:
        return "Error: no such note."
    del notes[note_id]
    return "Deleted."
