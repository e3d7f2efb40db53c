"""Pushing an export to a dataset repository of the Hugging Face Hub, in one commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from planarena.errors import PlanArenaError, UserError
from planarena.export.folder import MARKER
from planarena.llm.bodies import AnswerTooLargeError, bound_body

__all__ = ["check_repository", "push_to_hub"]

# What exports write; of an earlier export in the repository only such files are deleted.
_OURS = re.compile(
    r"README\.md|(data|text)/[^/]+-\d{5}\.parquet|(rl|sft)/[^/]+\.parquet|[^/]+\.jsonl|metadata\.csv|dataset_info\.json"
)
_UNTOUCHED = {".gitattributes"}
# The hub's own client waits for ever and reads without end. A commit of many files takes the hub minutes.
_SECONDS, _MOST_BYTES = 600.0, 64 << 20


def check_repository(repository: str, *, replace: bool = False) -> None:
    """Refuse early what `push_to_hub` would refuse: a wrong name, no token, no way to the hub, others' files.

    Args:
        repository: `OWNER/NAME` of a dataset; it may be absent.
        replace: Write over an export that it holds.

    Raises:
        UserError: The repository cannot be written to, or holds files that no export wrote, or an export.
        PlanArenaError: The hub failed.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise UserError(
            f"{repository!r} is not OWNER/NAME",
            where="--push-to-hub",
            fix="write your name on the hub, /, a name",
        )
    with _explained(repository):
        found = _files(repository)
    if found and MARKER not in found:
        raise UserError(
            "the repository holds files that no export wrote",
            where=repository,
            fix="name a new repository",
        )
    if found and not replace:
        raise UserError(
            "the repository holds an export", where=repository, fix="name a new repository, or --replace"
        )


def push_to_hub(folder: Path, repository: str, *, public: bool = False, replace: bool = False) -> str:
    """Upload the files of an export, and no other file of its folder; return the address of the data set.

    The token is the one that `hf auth login` keeps, or the variable HF_TOKEN; HF_ENDPOINT names another hub.

    Args:
        folder: What `export` wrote.
        repository: `OWNER/NAME` of a dataset, made if it is absent.
        public: A repository that is made is open to everybody; otherwise only to its owner.
        replace: Write over an export that it holds; files of that one which are not in this one are deleted.

    Raises:
        UserError: As `check_repository`; or the folder is no export.
        PlanArenaError: The hub failed.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    try:
        facts = msgspec.json.decode((folder / MARKER).read_bytes(), type=dict[str, Any])
        names = [*msgspec.convert(facts["files"], list[str]), MARKER]
    except (OSError, msgspec.MsgspecError, KeyError) as error:
        raise UserError("is no export", where=str(folder), fix="run `planarena export` first") from error
    check_repository(repository, replace=replace)
    with _explained(repository, "; the export itself is kept"):
        api = HfApi()
        api.create_repo(repository, repo_type="dataset", private=not public, exist_ok=True)
        stale = [name for name in _files(repository) - set(names) if _OURS.fullmatch(name)]
        done = api.create_commit(
            repository,
            repo_type="dataset",
            operations=[
                *(CommitOperationAdd(path_in_repo=name, path_or_fileobj=folder / name) for name in names),
                *(CommitOperationDelete(path_in_repo=name) for name in sorted(stale)),
            ],
            commit_message=f"planarena export, format {facts.get('format')}",
        )
    return str(done.repo_url)


def _files(repository: str) -> set[str]:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        return set(HfApi().list_repo_files(repository, repo_type="dataset")) - _UNTOUCHED
    except RepositoryNotFoundError:
        return set()


@contextmanager
def _explained(repository: str, kept: str = "") -> Iterator[None]:
    """Turn what the client raises into one clear error; tokens stand in none of them."""
    from httpx import HTTPError
    from huggingface_hub import errors, set_client_factory
    from huggingface_hub.utils import _http as own

    login = "`hf auth login`, or the variable HF_TOKEN, with a token that may write"
    set_client_factory(_client)
    try:
        yield
    except errors.LocalTokenNotFoundError as error:
        raise UserError("the hub wants a token", where=repository, fix=login) from error
    except errors.HFValidationError as error:
        raise UserError(str(error).splitlines()[0], where="--push-to-hub", fix="write OWNER/NAME") from error
    except errors.OfflineModeIsEnabled as error:
        raise UserError(
            "HF_HUB_OFFLINE is set", where=repository, fix="unset it, or leave out --push-to-hub"
        ) from error
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        if status in (401, 403):
            raise UserError(f"the hub refuses (status {status})", where=repository, fix=login) from error
        raise PlanArenaError(f"{repository}: the hub answered with status {status}{kept}") from error
    except (HTTPError, ConnectionError) as error:
        raise PlanArenaError(
            f"{repository}: the hub cannot be reached ({type(error).__name__}){kept}"
        ) from error
    except AnswerTooLargeError as error:
        raise PlanArenaError(f"{repository}: {error}{kept}") from error
    finally:
        set_client_factory(own.default_client_factory)


def _client() -> Any:
    import httpx
    from huggingface_hub.utils._http import hf_request_event_hook

    return httpx.Client(
        event_hooks={
            "request": [hf_request_event_hook],
            "response": [lambda response: bound_body(response, _MOST_BYTES)],
        },
        headers={"Accept-Encoding": "gzip"},
        follow_redirects=True,
        timeout=httpx.Timeout(_SECONDS, connect=30.0),
    )
