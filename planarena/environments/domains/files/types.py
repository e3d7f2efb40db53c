"""The values and results of the drive's tools."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import Count, Datetime, EmailAddress, Person
from planarena.tools.semantics import Semantic

__all__ = [
    "Copied",
    "Details",
    "DocumentId",
    "DocumentSummary",
    "DocumentTitle",
    "FolderCreated",
    "FolderId",
    "FolderName",
    "Found",
    "Kind",
    "Moved",
    "Restored",
    "Role",
    "Share",
    "ShareId",
    "Storage",
    "Tag",
    "Tagged",
    "TitleWord",
    "TrashId",
    "Untrashed",
    "VersionId",
    "VersionList",
]

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


class DocumentSummary(TypedDict):
    """A line of a list of documents."""

    document_id: DocumentId
    title: DocumentTitle
    kind: Kind
    owner: Person
    modified: Datetime
    size_mb: Megabytes


class Found(TypedDict):
    """Documents that match a search."""

    count: Count
    documents: list[DocumentSummary]


class ShareSummary(TypedDict):
    """Somebody's access to a document."""

    share_id: ShareId
    address: EmailAddress
    role: Role
    granted: Datetime


class Details(TypedDict):
    """What is known of one document."""

    document_id: DocumentId
    title: DocumentTitle
    kind: Kind
    folder_id: FolderId
    folder: FolderName
    owner: Person
    owner_address: EmailAddress
    modified: Datetime
    size_mb: Megabytes
    tags: list[Tag]
    shares: list[ShareSummary]


class Version(TypedDict):
    """A saved state of a document."""

    version_id: VersionId
    number: Count
    saved: Datetime
    author: Person
    author_address: EmailAddress
    note: Note


class VersionList(TypedDict):
    """The history of a document."""

    title: DocumentTitle
    version_count: Count
    versions: list[Version]


class Restored(TypedDict):
    """A document after an earlier version came back."""

    document_id: DocumentId
    title: DocumentTitle
    restored_number: Count
    current_number: Count


class FolderCreated(TypedDict):
    """A folder of the drive."""

    folder_id: FolderId
    folder: FolderName


class Moved(TypedDict):
    """A document in its new folder."""

    document_id: DocumentId
    title: DocumentTitle
    previous_folder: FolderName
    folder: FolderName


class Copied(TypedDict):
    """A new document made from another."""

    document_id: DocumentId
    title: DocumentTitle
    folder: FolderName
    size_mb: Megabytes


class Share(TypedDict):
    """Access that somebody has to a document."""

    share_id: ShareId
    title: DocumentTitle
    address: EmailAddress
    role: Role


class Tagged(TypedDict):
    """A document after tagging."""

    document_id: DocumentId
    title: DocumentTitle
    tags: list[Tag]


class TrashedSummary(TypedDict):
    """A document in the trash."""

    trash_id: TrashId
    title: DocumentTitle
    size_mb: Megabytes
    deleted: Datetime


class Storage(TypedDict):
    """How full the drive is."""

    quota_mb: Megabytes
    used_mb: Megabytes
    free_mb: Megabytes
    trashed: list[TrashedSummary]


class Untrashed(TypedDict):
    """A document that came back from the trash."""

    document_id: DocumentId
    title: DocumentTitle
    folder: FolderName
    size_mb: Megabytes
