"""The user of a conversation behind one interface, scripted or by a model: for builds, training, the bench and play."""

from __future__ import annotations

from planarena.users.brief import Brief, Message, read_brief
from planarena.users.part import FAULTS, Part
from planarena.users.scripted import ScriptedUser, User
from planarena.users.users import SCRIPTED, Users, read_user

__all__ = [
    "FAULTS",
    "SCRIPTED",
    "Brief",
    "Message",
    "Part",
    "ScriptedUser",
    "User",
    "Users",
    "read_brief",
    "read_user",
]
