"""Data of public benchmarks: fetched once, checked file by file against the known revision, kept in the user's folder.

`data/benchmarks/SUITE.json` names repository, commit and licence, and the git object id of every file::

    {"repository": "olly-styles/WorkBench", "commit": "42f1b6d...", "licence": "MIT",
     "files": {"data/processed/emails.csv": "9c1c..."}, "trees": {}}

An object id is the SHA-1 of a file's content behind a header with its length, so the revision's own listing is the
list of checksums. A folder of thousands of small files stands under `trees` with the id of its tree and comes in one
archive.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path, PurePosixPath

import msgspec

from planarena.errors import EnvironmentUnavailableError, UserError

__all__ = ["FETCHED", "Source", "data_folder", "fetch", "find_fetched", "read_source"]

FETCHED = ("workbench", "acebench", "tau2", "nestful")

_FILES, _ARCHIVES = "https://raw.githubusercontent.com", "https://codeload.github.com"
_MARKER = ".complete"
_ATTEMPTS, _SECONDS = 3, 60.0
_MOST_BYTES = 512 << 20


class Source(msgspec.Struct, frozen=True):
    """Where a benchmark's data come from.

    Attributes:
        repository: OWNER/NAME.
        commit: The revision.
        licence: Of the data.
        files: The object id of each file, by its path.
        trees: The object id of each folder that comes whole, by its path.
    """

    repository: str
    commit: str
    licence: str
    files: dict[str, str]
    trees: dict[str, str] = {}


def read_source(suite: str) -> Source:
    """Return where a suite's data come from.

    Raises:
        UserError: They are not fetched.
    """
    if suite not in FETCHED:
        raise UserError(
            f"the data of {suite} are not fetched",
            where="--fetch",
            fix=f"one of: {', '.join(FETCHED)}; for others give --data {suite}=PATH where it needs data",
        )
    text = files("planarena.data").joinpath("benchmarks", f"{suite}.json").read_bytes()
    return msgspec.json.decode(text, type=Source)


def data_folder(chosen: str = "") -> Path:
    """Return the folder of fetched data: `--data-dir`, else PLANARENA_DATA, else the user's data folder."""
    if text := chosen or os.environ.get("PLANARENA_DATA", ""):
        return Path(text).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("planarena") / "benchmarks"


def _place(suite: str, source: Source, folder: Path) -> Path:
    return folder / f"{suite}-{source.commit[:12]}"


def find_fetched(suite: str, chosen: str = "") -> Path | None:
    """Return where a suite's data lie that were fetched whole; None where they were not."""
    if suite not in FETCHED:
        return None
    place = _place(suite, read_source(suite), data_folder(chosen))
    return place if (place / _MARKER).is_file() else None


def fetch(
    suite: str,
    folder: Path,
    *,
    mirror: str = "",
    tell: Callable[[str, int, int], None] | None = None,
) -> Path:
    """Fetch a suite's data; what is there and whole is left, what is there and right is not fetched again.

    Args:
        suite: One of `FETCHED`.
        folder: Where fetched data lie.
        mirror: The address of a server that holds the files under /OWNER/NAME/COMMIT/PATH and archives under
            /OWNER/NAME/tar.gz/COMMIT; empty for GitHub.
        tell: Told the suite, the files so far and the files in all.

    Returns:
        The folder, laid out as the repository.

    Raises:
        UserError: No such suite, or an address that is none.
        EnvironmentUnavailableError: No network, or a file with other content than the revision's.
    """
    source = read_source(suite)
    if mirror and urllib.parse.urlsplit(mirror).scheme not in ("http", "https"):
        raise UserError(f"{mirror!r} is no address", where="mirror", fix="http://HOST or https://HOST")
    place = _place(suite, source, folder)
    if (place / _MARKER).is_file():
        return place
    total, done = len(source.files) + len(source.trees), 0
    try:
        place.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(4) as pool:
            for _ in pool.map(lambda entry: _take_file(source, place, mirror, *entry), source.files.items()):
                done += 1
                if tell is not None:
                    tell(f"fetching {suite}", done, total)
        if source.trees:
            _take_trees(source, place, mirror)
        if tell is not None:
            tell(f"fetching {suite}", total, total)
        (place / _MARKER).write_text(f"{source.repository}@{source.commit}\n", encoding="utf-8")
    except (OSError, tarfile.TarError) as error:
        raise EnvironmentUnavailableError(
            f"the data of {suite} cannot be fetched: {error}",
            where=source.repository,
            fix=f"run the command again, or get {source.repository} at {source.commit} and give --data {suite}=FOLDER",
        ) from error
    return place


def _take_file(source: Source, place: Path, mirror: str, path: str, wanted: str) -> None:
    target = place / path
    if target.is_file() and _blob_id(target.read_bytes()) == wanted:
        return
    address = f"{mirror or _FILES}/{source.repository}/{source.commit}/{urllib.parse.quote(path)}"
    content = _get(address)
    if (found := _blob_id(content)) != wanted:
        raise EnvironmentUnavailableError(
            f"{path} has other content than the known revision ({found} where {wanted} was expected)",
            where=address,
            fix="nothing was kept; fetch again, or give --data with files that you trust",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f"{target.name}.{os.getpid()}.part")
    draft.write_bytes(content)
    draft.replace(target)


def _take_trees(source: Source, place: Path, mirror: str) -> None:
    """Unpack whole folders from the revision's archive into a draft; keep them if they are the revision's."""
    address = f"{mirror or _ARCHIVES}/{source.repository}/tar.gz/{source.commit}"
    draft, packed = place / ".trees", place / ".archive.part"
    shutil.rmtree(draft, ignore_errors=True)
    try:
        packed.write_bytes(_get(address))
        with tarfile.open(packed, "r:gz") as archive:
            for member, path in _members(archive, tuple(source.trees)):
                target = draft / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as sink:
                    shutil.copyfileobj(member, sink)
        for path, wanted in source.trees.items():
            found = _tree_id(draft / path) if (draft / path).is_dir() else "nothing"
            if found != wanted:
                raise EnvironmentUnavailableError(
                    f"{path} has other content than the known revision ({found} where {wanted} was expected)",
                    where=address,
                    fix="nothing was kept; fetch again, or give --data with files that you trust",
                )
            shutil.rmtree(place / path, ignore_errors=True)
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (draft / path).replace(place / path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        packed.unlink(missing_ok=True)


def _members(archive: tarfile.TarFile, wanted: tuple[str, ...]) -> Iterator[tuple[tarfile.ExFileObject, str]]:
    """Plain files below the wanted folders; links, devices and paths that climb are passed over."""
    size = 0
    for member in archive:
        parts = PurePosixPath(member.name).parts[1:]  # archives put everything below NAME-COMMIT/
        path = "/".join(parts)
        if not member.isfile() or ".." in parts or not path.startswith(tuple(f"{one}/" for one in wanted)):
            continue
        size += member.size
        if size > _MOST_BYTES:
            raise tarfile.TarError(f"the archive holds more than {_MOST_BYTES >> 20} MiB")
        content = archive.extractfile(member)
        if isinstance(content, tarfile.ExFileObject):
            yield content, path


def _get(address: str) -> bytes:
    """Fetch an address; faults of the network are tried again."""
    for attempt in range(_ATTEMPTS):
        try:
            with urllib.request.urlopen(address, timeout=_SECONDS) as answer:  # noqa: S310  https, or a mirror that was named
                content: bytes = answer.read(_MOST_BYTES + 1)
        except urllib.error.HTTPError as error:
            if error.code < 500 or attempt == _ATTEMPTS - 1:
                raise OSError(f"{address} answers {error.code}") from error
        except (urllib.error.URLError, OSError) as error:
            if attempt == _ATTEMPTS - 1:
                raise OSError(f"{address}: {error}") from error
        else:
            if len(content) > _MOST_BYTES:
                raise OSError(f"{address} is larger than {_MOST_BYTES >> 20} MiB")
            return content
    raise OSError(address)


def _blob_id(content: bytes) -> str:
    return _object_id(b"blob", content).hex()


def _object_id(kind: bytes, content: bytes) -> bytes:
    head = kind + b" " + str(len(content)).encode() + b"\0"
    return hashlib.sha1(head + content, usedforsecurity=False).digest()


def _tree_id(folder: Path) -> str:
    return _tree_digest(folder).hex()


def _tree_digest(folder: Path) -> bytes:
    """The id of a tree of plain files, as git makes it: entries by name, a folder's with a slash at its end."""
    entries = []
    for path in folder.iterdir():
        if path.is_dir():
            entries.append((f"{path.name}/", b"40000 " + path.name.encode() + b"\0" + _tree_digest(path)))
        else:
            blob = _object_id(b"blob", path.read_bytes())
            entries.append((path.name, b"100644 " + path.name.encode() + b"\0" + blob))
    return _object_id(b"tree", b"".join(entry for _, entry in sorted(entries)))
