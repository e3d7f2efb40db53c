"""The accounts of the credentials file: the owner, the annotators, and the workspace that they share."""

from __future__ import annotations

from typing import Any

from argilla_server.contexts import accounts
from argilla_server.database import AsyncSessionLocal
from argilla_server.models import User, UserRole, Workspace, WorkspaceUser

__all__ = ["ensure_accounts"]


async def ensure_accounts(secrets: dict[str, Any]) -> None:
    """Create what is missing; give an account whose secrets the file no longer holds the ones of the file.

    Args:
        secrets: `{"workspace", "owner": {"username", "password", "api_key"}, "annotators": {name: {...}}}`.
    """
    async with AsyncSessionLocal() as db:
        workspace = await Workspace.get_by(db, name=secrets["workspace"])
        if workspace is None:
            workspace = await accounts.create_workspace(db, {"name": secrets["workspace"]})
        await _ensure_user(db, secrets["owner"]["username"], UserRole.owner, secrets["owner"])
        for name, mine in secrets["annotators"].items():
            user = await _ensure_user(db, name, UserRole.annotator, mine)
            if await WorkspaceUser.get_by(db, workspace_id=workspace.id, user_id=user.id) is None:
                await accounts.create_workspace_user(db, {"workspace_id": workspace.id, "user_id": user.id})


async def _ensure_user(db: Any, name: str, role: Any, mine: dict[str, str]) -> Any:
    user = await accounts.get_user_by_username(db, name)
    if user is None:
        return await User.create(
            db,
            first_name=name,
            username=name,
            role=role,
            api_key=mine["api_key"],
            password_hash=accounts.hash_password(mine["password"]),
        )
    # The key stands for the pair: hashing every password at every start would take a second for each four.
    if user.api_key != mine["api_key"]:
        await user.update(db, api_key=mine["api_key"], password_hash=accounts.hash_password(mine["password"]))
    return user
