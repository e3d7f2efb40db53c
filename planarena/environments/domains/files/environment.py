"""A shared drive: folders, documents with versions, shares and tags, a trash and a quota."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal, cast

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared
from planarena.environments.domains.types import Count, Datetime, EmailAddress, Person
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_drive

__all__ = ["Files"]

DocumentId = Annotated[str, Semantic("document_id", hidden=True)]
FolderId = Annotated[str, Semantic("document_folder_id", hidden=True)]
VersionId = Annotated[str, Semantic("document_version_id", hidden=True)]
ShareId = Annotated[str, Semantic("document_share_id", hidden=True)]
TrashId = Annotated[str, Semantic("trashed_document_id", hidden=True)]
DocumentTitle = Annotated[str, Semantic("document_title", surface="name")]
TitleWord = Annotated[str, Semantic("document_title_word", surface="name")]
FolderName = Annotated[str, Semantic("document_folder_name", surface="name")]
Tag = Annotated[str, Semantic("document_tag", surface="name")]
Note = Annotated[str, Semantic("document_version_note", surface="name")]
Megabytes = Annotated[float, Semantic("megabytes", surface="number", minimum=0)]
Kind = Annotated[
    Literal["text", "spreadsheet", "presentation", "pdf", "image"], Semantic("document_kind", surface="word")
]
Role = Annotated[Literal["viewer", "commenter", "editor"], Semantic("document_role", surface="word")]

record = Fields(
    document_id=DocumentId, title=DocumentTitle, kind=Kind, owner=Person, modified=Datetime,
    size_mb=Megabytes, count=Count, share_id=ShareId, address=EmailAddress, role=Role, granted=Datetime,
    folder_id=FolderId, folder=FolderName, owner_address=EmailAddress, tags=[Tag], version_id=VersionId,
    number=Count, saved=Datetime, author=Person, author_address=EmailAddress, note=Note,
    version_count=Count, restored_number=Count, current_number=Count, previous_folder=FolderName,
    trash_id=TrashId, deleted=Datetime, quota_mb=Megabytes, used_mb=Megabytes, free_mb=Megabytes,
)  # fmt: skip
SHARE = record("share_id title address role")
DOCUMENT = record("document_id title kind owner modified size_mb")
SHEET = record(
    "document_id title kind folder_id folder owner owner_address modified size_mb tags shares",
    shares=[record("share_id address role granted")],
)
VERSION = record("version_id number saved author author_address note")
TRASHED = record("trash_id title size_mb deleted")


class Files(Environment):
    """One person's view of a shared drive."""

    domain = "files"
    summary = "A shared drive with folders, documents, versions, shares, tags, a trash and a quota."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a drive around one situation."""
        return make_drive(cls.seeds(), rng, shared)

    @tool("read", gives=record("count documents", documents=[DOCUMENT]))
    def find_documents(
        self,
        keyword: TitleWord | None = None,
        folder: FolderName | None = None,
        owner: Person | None = None,
        tag: Tag | None = None,
        kind: Kind | None = None,
    ) -> Result:
        """List up to ten documents that meet all criteria, most recently changed first; the trash is left out.

        Args:
            keyword: A word or words of the title.
            folder: Name of the folder that holds the documents.
            owner: Full name of the owner.
            tag: A tag that the documents carry.
            kind: Kind of the documents.
        """
        folder_id = None if folder is None else self._folder_named(folder)
        wanted = {"folder_id": folder_id, "owner": owner, "kind": kind}
        given = {field: value for field, value in wanted.items() if value is not None}
        word = (keyword or "").casefold()
        found = [row for row in self.rows("documents", **given) if word in row["title"].casefold()]
        found = [row for row in found if tag is None or tag in row["tags"]]
        found.sort(key=lambda document: (document["modified"], document["document_id"]), reverse=True)
        return {"count": len(found), "documents": found[:10]}

    @tool("read", gives=SHEET)
    def get_document_details(self, document_id: DocumentId) -> Result:
        """Show folder, owner, size, tags and shares of a document; the most recently granted share comes first.

        Args:
            document_id: The document.
        """
        document = self.require("documents", document_id, "document")
        shares = self.rows("shares", document_id=document_id)
        shares.sort(key=lambda share: (share["granted"], share["share_id"]), reverse=True)
        folder, address = self._folder_name(document["folder_id"]), self._address_of(document["owner"])
        return {**document, "folder": folder, "owner_address": address, "shares": shares}

    @tool("read", gives=record("title version_count versions", versions=[VERSION]))
    def list_document_versions(self, document_id: DocumentId) -> Result:
        """List the versions of a document with authors and notes, the current version first.

        Args:
            document_id: The document.
        """
        document = self.require("documents", document_id, "document")
        versions = self._versions(document_id)
        shown = [{**one, "author_address": self._address_of(one["author"])} for one in versions[:10]]
        return {"title": document["title"], "version_count": len(versions), "versions": shown}

    @tool("update", gives=record("document_id title restored_number current_number"))
    def restore_document_version(self, version_id: VersionId) -> Result:
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
        restored = {**version, "version_id": restored_id, "number": newest + 1, "saved": self.now}
        self.state.put("versions", restored_id, {**restored, "author": self.facts["user_name"]})
        document = self.state.patch("documents", document_id, modified=self.now, size_mb=version["size_mb"])
        return {**document, "restored_number": version["number"], "current_number": newest + 1}

    @tool("create", gives=record("folder_id folder"))
    def create_document_folder(self, name: FolderName) -> Result:
        """Create an empty folder.

        Args:
            name: Name of the folder; no other folder may have it.
        """
        if self.rows("folders", folder=name):
            raise ToolError("already_exists", f"There already is a folder named {name}.")
        folder_id = self.new_id("fld", name)
        return self.state.put("folders", folder_id, {"folder_id": folder_id, "folder": name})

    @tool("update", gives=record("document_id title previous_folder folder"))
    def move_document(self, document_id: DocumentId, folder_id: FolderId) -> Result:
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
        previous = self._folder_name(document["folder_id"])
        return {**document, "previous_folder": previous, "folder": folder["folder"]}

    @tool("create", gives=record("document_id title owner folder size_mb version_count"))
    def copy_document(self, document_id: DocumentId, title: DocumentTitle) -> Result:
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
        user = self.facts["user_name"]
        version_id = self.new_id("ver", copy_id, 1)
        version = {
            "version_id": version_id, "document_id": copy_id, "number": 1, "saved": self.now, "author": user,
            "note": f"Copy of {document['title']}", "size_mb": document["size_mb"],
        }  # fmt: skip
        self.state.put("versions", version_id, version)
        copy = {**document, "document_id": copy_id, "title": title, "owner": user, "modified": self.now}
        self.state.put("documents", copy_id, copy)
        return {**copy, "folder": self._folder_name(document["folder_id"]), "version_count": 1}

    @tool("create", gives=SHARE)
    def share_document(self, document_id: DocumentId, address: EmailAddress, role: Role) -> Result:
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
        share = {"share_id": share_id, "document_id": document_id, "address": address, "role": role}
        self.state.put("shares", share_id, {**share, "granted": self.now})
        return {**share, "title": document["title"]}

    @tool("update", gives=SHARE)
    def change_document_access(self, share_id: ShareId, role: Role) -> Result:
        """Change what somebody may do with a shared document.

        Args:
            share_id: The share.
            role: What the person may do from now on.
        """
        share = self.require("shares", share_id, "share")
        if share["role"] == role:
            raise ToolError("already_set", f"{share['address']} already has the role {role}.")
        document = self.require("documents", share["document_id"], "document")
        return {**self.state.patch("shares", share_id, role=role), "title": document["title"]}

    @tool("update", gives=record("document_id title tags"))
    def tag_document(self, document_id: DocumentId, tag: Tag) -> Result:
        """Add a tag to a document.

        Args:
            document_id: The document.
            tag: The tag, a word or a few.
        """
        document = self.require("documents", document_id, "document")
        if tag in document["tags"]:
            raise ToolError("already_tagged", f"{document['title']} already has the tag {tag}.")
        return self.state.patch("documents", document_id, tags=sorted([*document["tags"], tag]))

    @tool("read", gives=record("quota_mb used_mb free_mb trashed", trashed=[TRASHED]))
    def check_drive_storage(self) -> Result:
        """Show how full the drive is and what lies in its trash, the largest document first."""
        used, free = self._storage()
        trashed = [{**entry["document"], **entry} for entry in self.state.scan("trash")]
        trashed.sort(key=lambda entry: (-entry["size_mb"], entry["trash_id"]))
        return {"quota_mb": round(used + free, 1), "used_mb": used, "free_mb": free, "trashed": trashed}

    @tool("update", gives=record("document_id title folder size_mb"))
    def restore_trashed_document(self, trash_id: TrashId) -> Result:
        """Bring a document back from the trash to the folder where it was.

        Args:
            trash_id: The document in the trash.
        """
        document = self.require("trash", trash_id, "document in the trash")["document"]
        self.state.delete("trash", trash_id)
        self.state.put("documents", document["document_id"], document)
        return {**document, "folder": self._folder_name(document["folder_id"])}

    def _storage(self) -> tuple[float, float]:
        """Return the used and the free megabytes; the trash counts as used."""
        used = sum(document["size_mb"] for document in self.state.scan("documents"))
        used += sum(entry["document"]["size_mb"] for entry in self.state.scan("trash"))
        quota = self.require("account", "quota", "account")["quota_mb"]
        return round(used, 1), round(quota - used, 1)

    def _versions(self, document_id: str) -> list[Record]:
        found = self.rows("versions", document_id=document_id)
        return sorted(found, key=lambda version: version["number"], reverse=True)

    def _folder_named(self, name: str) -> str:
        for folder in self.rows("folders", folder=name):
            return cast(str, folder["folder_id"])
        raise ToolError("no_such_folder", f"There is no folder named {name}.")

    def _folder_name(self, folder_id: str) -> str:
        return cast(str, self.require("folders", folder_id, "folder")["folder"])

    def _address_of(self, name: str) -> str:
        return cast(str, self.require("people", name, "person")["address"])
