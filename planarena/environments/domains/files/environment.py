"""A shared drive: folders, documents with versions, shares and tags, a trash and a quota."""

from __future__ import annotations

from typing import cast

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import EmailAddress, Person
from planarena.environments.state import Record

from .types import (
    Copied,
    Details,
    DocumentId,
    DocumentSummary,
    DocumentTitle,
    FolderCreated,
    FolderId,
    FolderName,
    Found,
    Kind,
    Moved,
    Restored,
    Role,
    Share,
    ShareId,
    Storage,
    Tag,
    Tagged,
    TitleWord,
    TrashId,
    Untrashed,
    VersionId,
    VersionList,
)
from .world import FilesScenario

__all__ = ["Files"]


class Files(FilesScenario):
    """One person's view of a shared drive."""

    domain = "files"
    summary = "A shared drive with folders, documents, versions, shares, tags, a trash and a quota."

    @tool("read")
    def find_documents(
        self,
        keyword: TitleWord | None = None,
        folder: FolderName | None = None,
        owner: Person | None = None,
        tag: Tag | None = None,
        kind: Kind | None = None,
    ) -> Found:
        """List up to ten documents that meet all criteria, most recently changed first; the trash is left out.

        Args:
            keyword: A word or words of the title.
            folder: Name of the folder that holds the documents.
            owner: Full name of the owner.
            tag: A tag that the documents carry.
            kind: Kind of the documents.
        """
        folder_id = None if folder is None else self._folder_named(folder)
        word = None if keyword is None else keyword.casefold()
        found = [
            document
            for document in self.state.scan("documents")
            if (word is None or word in document["title"].casefold())
            and (folder_id is None or document["folder_id"] == folder_id)
            and (owner is None or document["owner"] == owner)
            and (tag is None or tag in document["tags"])
            and (kind is None or document["kind"] == kind)
        ]
        found.sort(key=lambda document: (document["modified"], document["document_id"]), reverse=True)
        keys = DocumentSummary.__annotations__
        lines = [cast(DocumentSummary, {key: document[key] for key in keys}) for document in found[:10]]
        return {"count": len(found), "documents": lines}

    @tool("read")
    def get_document_details(self, document_id: DocumentId) -> Details:
        """Show folder, owner, size, tags and shares of a document; the most recently granted share comes first.

        Args:
            document_id: The document.
        """
        document = self.require("documents", document_id, "document")
        shares = [share for share in self.state.scan("shares") if share["document_id"] == document_id]
        shares.sort(key=lambda share: (share["granted"], share["share_id"]), reverse=True)
        keys = ("share_id", "address", "role", "granted")
        return cast(
            Details,
            {
                **document,
                "folder": self._folder_name(document["folder_id"]),
                "owner_address": self._address_of(document["owner"]),
                "shares": [{key: share[key] for key in keys} for share in shares],
            },
        )

    @tool("read")
    def list_document_versions(self, document_id: DocumentId) -> VersionList:
        """List the versions of a document with authors and notes, the current version first.

        Args:
            document_id: The document.
        """
        document = self.require("documents", document_id, "document")
        versions = self._versions(document_id)
        return {
            "title": document["title"],
            "version_count": len(versions),
            "versions": [
                {
                    "version_id": version["version_id"],
                    "number": version["number"],
                    "saved": version["saved"],
                    "author": version["author"],
                    "author_address": self._address_of(version["author"]),
                    "note": version["note"],
                }
                for version in versions[:10]
            ],
        }

    @tool("update")
    def restore_document_version(self, version_id: VersionId) -> Restored:
        """Make an earlier version of a document the current one, as a new version; later ones are kept.

        Only current versions count towards the quota.

        Args:
            version_id: The earlier version.
        """
        version = self.require("versions", version_id, "version")
        document_id = version["document_id"]
        document = self.require("documents", document_id, "document")
        newest = self._versions(document_id)[0]["number"]
        if version["number"] == newest:
            raise ToolError("already_current", "This is the current version of the document.")
        if version["size_mb"] - document["size_mb"] > self._storage()[1]:
            raise ToolError("quota_exceeded", "The drive has no room for the earlier version.")
        restored_id = self.new_id("ver", document_id, newest + 1)
        restored = {
            **version,
            "version_id": restored_id,
            "number": newest + 1,
            "saved": self.now,
            "author": self.facts["user_name"],
        }
        self.state.put("versions", restored_id, restored)
        self.state.patch("documents", document_id, modified=self.now, size_mb=version["size_mb"])
        return {
            "document_id": document_id,
            "title": document["title"],
            "restored_number": version["number"],
            "current_number": newest + 1,
        }

    @tool("create")
    def create_document_folder(self, name: FolderName) -> FolderCreated:
        """Create an empty folder.

        Args:
            name: Name of the folder; no other folder may have it.
        """
        if any(folder["folder"] == name for folder in self.state.scan("folders")):
            raise ToolError("already_exists", f"There already is a folder named {name}.")
        folder_id = self.new_id("fld", name)
        return cast(
            FolderCreated, self.state.put("folders", folder_id, {"folder_id": folder_id, "folder": name})
        )

    @tool("update")
    def move_document(self, document_id: DocumentId, folder_id: FolderId) -> Moved:
        """Move a document into another folder.

        Args:
            document_id: The document.
            folder_id: The folder that it goes to.
        """
        document = self.require("documents", document_id, "document")
        folder = self.require("folders", folder_id, "folder")
        if document["folder_id"] == folder_id:
            raise ToolError("already_there", f"{document['title']} already is in {folder['folder']}.")
        self.state.patch("documents", document_id, folder_id=folder_id)
        return {
            "document_id": document_id,
            "title": document["title"],
            "previous_folder": self._folder_name(document["folder_id"]),
            "folder": folder["folder"],
        }

    @tool("create")
    def copy_document(self, document_id: DocumentId, title: DocumentTitle) -> Copied:
        """Copy the current version of a document into the same folder; tags are kept, shares are not.

        Args:
            document_id: The document to copy.
            title: Title of the copy.
        """
        document = self.require("documents", document_id, "document")
        copy_id = self.new_id("doc", title, document_id)
        if self.state.get("documents", copy_id):
            raise ToolError("already_exists", f"{document['title']} has already been copied to {title}.")
        if document["size_mb"] > self._storage()[1]:
            raise ToolError("quota_exceeded", "The drive has no room for the copy.")
        user, size = self.facts["user_name"], document["size_mb"]
        version_id = self.new_id("ver", copy_id, 1)
        version = {
            "version_id": version_id,
            "document_id": copy_id,
            "number": 1,
            "saved": self.now,
            "author": user,
            "note": f"Copy of {document['title']}",
            "size_mb": size,
        }
        self.state.put("versions", version_id, version)
        copy = {**document, "document_id": copy_id, "title": title, "owner": user, "modified": self.now}
        self.state.put("documents", copy_id, copy)
        folder = self._folder_name(document["folder_id"])
        return {"document_id": copy_id, "title": title, "folder": folder, "size_mb": size}

    @tool("create")
    def share_document(self, document_id: DocumentId, address: EmailAddress, role: Role) -> Share:
        """Give somebody access to a document.

        Args:
            document_id: The document.
            address: Email address of the person.
            role: What the person may do.
        """
        document = self.require("documents", document_id, "document")
        if address == self._address_of(document["owner"]):
            raise ToolError("is_owner", f"{address} owns the document.")
        share_id = self.new_id("shr", document_id, address)
        if self.state.get("shares", share_id):
            raise ToolError("already_shared", f"{address} already has access to {document['title']}.")
        share = {
            "share_id": share_id,
            "document_id": document_id,
            "address": address,
            "role": role,
            "granted": self.now,
        }
        self.state.put("shares", share_id, share)
        return {"share_id": share_id, "title": document["title"], "address": address, "role": role}

    @tool("update")
    def change_document_access(self, share_id: ShareId, role: Role) -> Share:
        """Change what somebody may do with a shared document.

        Args:
            share_id: The share.
            role: What the person may do from now on.
        """
        share = self.require("shares", share_id, "share")
        if share["role"] == role:
            raise ToolError("already_set", f"{share['address']} already has the role {role}.")
        self.state.patch("shares", share_id, role=role)
        document = self.require("documents", share["document_id"], "document")
        return {"share_id": share_id, "title": document["title"], "address": share["address"], "role": role}

    @tool("update")
    def tag_document(self, document_id: DocumentId, tag: Tag) -> Tagged:
        """Add a tag to a document.

        Args:
            document_id: The document.
            tag: The tag, a word or a few.
        """
        document = self.require("documents", document_id, "document")
        if tag in document["tags"]:
            raise ToolError("already_tagged", f"{document['title']} already has the tag {tag}.")
        tags = sorted([*document["tags"], tag])
        self.state.patch("documents", document_id, tags=tags)
        return {"document_id": document_id, "title": document["title"], "tags": tags}

    @tool("read")
    def check_drive_storage(self) -> Storage:
        """Show how full the drive is and what lies in its trash, the largest document first."""
        used, free = self._storage()
        trashed = sorted(
            self.state.scan("trash"), key=lambda entry: (-entry["document"]["size_mb"], entry["trash_id"])
        )
        return {
            "quota_mb": round(used + free, 1),
            "used_mb": used,
            "free_mb": free,
            "trashed": [
                {
                    "trash_id": entry["trash_id"],
                    "title": entry["document"]["title"],
                    "size_mb": entry["document"]["size_mb"],
                    "deleted": entry["deleted"],
                }
                for entry in trashed
            ],
        }

    @tool("update")
    def restore_trashed_document(self, trash_id: TrashId) -> Untrashed:
        """Bring a document back from the trash to the folder where it was.

        Args:
            trash_id: The document in the trash.
        """
        document = self.require("trash", trash_id, "document in the trash")["document"]
        self.state.delete("trash", trash_id)
        self.state.put("documents", document["document_id"], document)
        return {
            "document_id": document["document_id"],
            "title": document["title"],
            "folder": self._folder_name(document["folder_id"]),
            "size_mb": document["size_mb"],
        }

    def _storage(self) -> tuple[float, float]:
        """Return the used and the free megabytes; the trash counts as used."""
        used = sum(document["size_mb"] for document in self.state.scan("documents"))
        used += sum(entry["document"]["size_mb"] for entry in self.state.scan("trash"))
        quota = self.require("account", "quota", "account")["quota_mb"]
        return round(used, 1), round(quota - used, 1)

    def _versions(self, document_id: str) -> list[Record]:
        found = [version for version in self.state.scan("versions") if version["document_id"] == document_id]
        return sorted(found, key=lambda version: version["number"], reverse=True)

    def _folder_named(self, name: str) -> str:
        for folder in self.state.scan("folders"):
            if folder["folder"] == name:
                return cast(str, folder["folder_id"])
        raise ToolError("no_such_folder", f"There is no folder named {name}.")

    def _folder_name(self, folder_id: str) -> str:
        return cast(str, self.require("folders", folder_id, "folder")["folder"])

    def _address_of(self, name: str) -> str:
        return cast(str, self.require("people", name, "person")["address"])
