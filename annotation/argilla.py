"""Everything that is particular to Argilla: its REST API; how forms and items look in it stands in `argilla_bodies`.

The API is that of Argilla 2; nothing else in planarena knows of it, so that another tool could take its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

from planarena.annotation.argilla_bodies import (
    Dataset,
    field_body,
    question_body,
    record_body,
    same_schema,
)
from planarena.annotation.embedded import WORKSPACE, is_loopback, read_credentials, server_state
from planarena.annotation.forms import Answer, Form, Item
from planarena.errors import UserError
from planarena.llm.bodies import bound_body

__all__ = ["BATCH", "Argilla", "Dataset", "Place", "find_place"]

BATCH = 100
"""Records of one request; the server takes 500, but a request should not take longer than some seconds."""
_PAGE = 500
_SECONDS = 120.0
# A page of records is some megabytes.
_MOST_BYTES = 256 << 20


class Place(NamedTuple):
    """Where an Argilla is, and who we are there."""

    url: str
    api_key: str
    workspace: str

    def __repr__(self) -> str:
        return f"Place(url={self.url!r}, workspace={self.workspace!r})"


def find_place(data_dir: Path) -> Place:
    """Return the Argilla that the environment names, else the embedded server of a data directory.

    Args:
        data_dir: Of the embedded server; not looked at where ARGILLA_API_URL is set.

    Raises:
        UserError: Neither is there.
    """
    url, key = os.environ.get("ARGILLA_API_URL", ""), os.environ.get("ARGILLA_API_KEY", "")
    if url:
        if not url.startswith(("http://", "https://")):
            raise UserError(
                "is not an address", where="ARGILLA_API_URL", fix="write it with http:// or https://"
            )
        if not key:
            raise UserError(
                "ARGILLA_API_URL is set, but no key",
                where="ARGILLA_API_KEY",
                fix="set it to the key of an owner",
            )
        return Place(url.rstrip("/"), key, os.environ.get("ARGILLA_WORKSPACE", WORKSPACE))
    credentials = read_credentials(data_dir)
    state = server_state(data_dir)
    if not state.url:
        raise UserError(
            "the audit server does not run",
            where=str(data_dir),
            fix="`planarena audit up --detach` starts it; ARGILLA_API_URL and ARGILLA_API_KEY name another one",
        )
    return Place(state.url, credentials.owner.api_key, credentials.workspace)


class Argilla:
    """A connection to an Argilla.

    Args:
        place: Where it is.

    Example:
        ```python
        with Argilla(find_place(default_data_directory())) as argilla:
            dataset = argilla.ensure_dataset("first-trajectories", form("trajectories"), overlap=2)
            argilla.push(dataset, items)
        ```
    """

    def __init__(self, place: Place) -> None:
        import httpx

        self._place = place
        near = is_loopback(httpx.URL(place.url).host)
        # On one machine compressing costs more than it saves: the server's is brotli at a high quality.
        packed = "identity" if near else "gzip"
        headers = {"X-Argilla-Api-Key": place.api_key, "Accept-Encoding": packed}
        self._client = httpx.Client(
            base_url=place.url,
            headers=headers,
            timeout=httpx.Timeout(_SECONDS, connect=10.0),
            trust_env=not near,
            event_hooks={"response": [lambda response: bound_body(response, _MOST_BYTES)]},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def check(self) -> str:
        """Return the name of our account.

        Raises:
            UserError: Nobody answers, it is no Argilla 2, the key is wrong, or the account may not push.
        """
        me = self._call("GET", "/api/v1/me")
        if me.get("role") not in {"owner", "admin"}:
            raise UserError(
                f"the account {me.get('username')!r} is an annotator's",
                where=self._place.url,
                fix="use the API key of an owner or admin",
            )
        return str(me["username"])

    def ensure_dataset(self, name: str, form: Form, overlap: int) -> Dataset:
        """Return a dataset for a form; make it where it is absent, finish it where its making was interrupted.

        Raises:
            UserError: A dataset of that name has another schema, or another overlap that can no longer change.
        """
        workspace = self._workspace()
        found = self._find(name, workspace)
        if found is None:
            found = self._call(
                "POST",
                "/api/v1/datasets",
                {
                    "name": name,
                    "guidelines": form.guidelines,
                    "allow_extra_metadata": True,
                    "workspace_id": workspace,
                    "distribution": {"strategy": "overlap", "min_submitted": overlap},
                },
            )
        base = f"/api/v1/datasets/{found['id']}"
        draft = found["status"] == "draft"
        self._ensure_parts(name, f"{base}/fields", "field", [field_body(one) for one in form.fields], draft)
        self._ensure_parts(
            name, f"{base}/questions", "question", [question_body(one) for one in form.questions], draft
        )
        properties = [
            {
                "name": one.name,
                "title": one.title,
                "settings": {"type": one.kind},
                "visible_for_annotators": one.visible,
            }
            for one in form.properties
        ]
        self._ensure_parts(name, f"{base}/metadata-properties", "property", properties, draft)
        if draft:
            self._call("PUT", f"{base}/publish")
        self._update(name, base, found, form, overlap)
        return self._dataset(found["id"], name, overlap)

    def find_dataset(self, name: str, form: Form) -> Dataset | None:
        """Return a dataset that was pushed before, or None.

        Raises:
            UserError: It is there, with another schema.
        """
        found = self._find(name, None)
        if found is None or found["status"] == "draft":
            return None
        base = f"/api/v1/datasets/{found['id']}"
        # What need not be answered may be missing in a dataset that an earlier version made.
        questions = [question_body(one) for one in form.questions if one.required]
        self._ensure_parts(name, f"{base}/questions", "question", questions, draft=False)
        return self._dataset(found["id"], name, found["distribution"]["min_submitted"])

    def push(
        self, dataset: Dataset, items: Iterable[Item], progress: Callable[[int], None] | None = None
    ) -> tuple[int, int]:
        """Bring a dataset's records in line with items; what is there already and the same is not sent again.

        Args:
            dataset: From `ensure_dataset`.
            items: In the order in which they shall be stored; read as they are needed.
            progress: Told how many items are settled.

        Returns:
            How many records were new, and how many were changed.

        Raises:
            UserError: The connection broke; what was sent is kept, and a second push sends the rest.
        """
        known = self.versions(dataset)
        path = f"/api/v1/datasets/{dataset.dataset_id}/records/bulk"
        seen = told = new = changed = 0
        waiting: list[Item] = []

        def send() -> None:
            nonlocal told, new, changed
            if not waiting:
                return
            try:
                self._call("PUT", path, {"items": [record_body(item, dataset) for item in waiting]})
            except _ConnectionLostError as error:
                raise UserError(
                    f"the connection broke after {new + changed} records: {error.what}",
                    where=self._place.url,
                    fix="see that the server runs, then run the same command again; nothing is lost or sent twice",
                ) from error
            fresh = sum(item.item_id not in known for item in waiting)
            new, changed = new + fresh, changed + len(waiting) - fresh
            waiting.clear()
            told = seen
            if progress:
                progress(seen)

        for item in items:
            seen += 1
            if known.get(item.item_id) != item.metadata["version"]:
                waiting.append(item)
            if len(waiting) == BATCH:
                send()
        send()
        if progress and told < seen:
            progress(seen)
        return new, changed

    def versions(self, dataset: Dataset) -> dict[str, str]:
        """Return the version of every record, by item id."""
        return {
            record["external_id"]: (record.get("metadata") or {}).get("version", "")
            for record in self._records(dataset, "")
            if record.get("external_id")
        }

    def answers(self, dataset: Dataset, form: Form) -> list[Answer]:
        """Return all submitted answers, ordered by item and annotator."""
        people = self._people()
        found = []
        for record in self._records(dataset, "responses"):
            metadata = record.get("metadata") or {}
            for response in record.get("responses") or ():
                if response["status"] != "submitted" or not record.get("external_id"):
                    continue
                values = response["values"] or {}
                found.append(
                    Answer(
                        form=form.name,
                        item_id=record["external_id"],
                        annotator=people.get(response["user_id"], response["user_id"]),
                        values={name: value["value"] for name, value in values.items()},
                        submitted_at=response["updated_at"],
                        blind=metadata.get("blind") == "yes",
                        guideline_version=metadata.get("guidelines", ""),
                        version=metadata.get("version", ""),
                    )
                )
        return sorted(found, key=lambda one: (one.item_id, one.annotator))

    def _records(self, dataset: Dataset, include: str) -> Iterator[dict[str, Any]]:
        offset = 0
        query = f"&include={include}" if include else ""
        while True:
            path = f"/api/v1/datasets/{dataset.dataset_id}/records?offset={offset}&limit={_PAGE}{query}"
            page = self._call("GET", path)["items"]
            yield from page
            offset += len(page)
            if len(page) < _PAGE:
                return

    def _people(self) -> dict[str, str]:
        return {user["id"]: user["username"] for user in self._call("GET", "/api/v1/users")["items"]}

    def _workspace(self) -> str:
        name = self._place.workspace
        for one in self._call("GET", "/api/v1/me/workspaces")["items"]:
            if one["name"] == name:
                return str(one["id"])
        return str(self._call("POST", "/api/v1/workspaces", {"name": name})["id"])

    def _find(self, name: str, workspace: str | None) -> dict[str, Any] | None:
        for one in self._call("GET", "/api/v1/me/datasets")["items"]:
            if one["name"] == name and workspace in {None, one["workspace_id"]}:
                return dict(one)
        return None

    def _dataset(self, dataset_id: str, name: str, overlap: int) -> Dataset:
        asked = self._call("GET", f"/api/v1/datasets/{dataset_id}/questions")["items"]
        return Dataset(dataset_id, name, {one["name"]: one["id"] for one in asked}, overlap)

    def _ensure_parts(
        self, dataset: str, path: str, what: str, wanted: list[dict[str, Any]], draft: bool
    ) -> None:
        read = path.replace("/datasets/", "/me/datasets/") if what == "property" else path
        there = {one["name"]: one for one in self._call("GET", read)["items"]}
        for part in wanted:
            found = there.get(part["name"])
            if found is None and draft:
                self._call("POST", path, part)
            elif found is None or not same_schema(part, found):
                raise UserError(
                    f"the dataset has another schema: the {what} {part['name']!r} "
                    + ("is missing" if found is None else "differs"),
                    where=f"{self._place.url}, dataset {dataset}",
                    fix="name another dataset with --dataset, or delete this one in Argilla's settings if nobody needs it",
                )

    def _update(self, name: str, base: str, found: dict[str, Any], form: Form, overlap: int) -> None:
        if found.get("guidelines") != form.guidelines:
            self._call("PATCH", base, {"guidelines": form.guidelines})
        if found["distribution"]["min_submitted"] == overlap:
            return
        distribution = {"strategy": "overlap", "min_submitted": overlap}
        reply = self._send("PATCH", base, {"distribution": distribution})
        if reply.status_code >= 400:
            raise UserError(
                f"its records need {found['distribution']['min_submitted']} answers, and that cannot change any more: "
                "people have answered",
                where=f"{self._place.url}, dataset {name}",
                fix=f"push with --overlap {found['distribution']['min_submitted']}, or to another --dataset",
            )

    def _call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        reply = self._send(method, path, body)
        if reply.status_code in {401, 403}:
            raise UserError(
                "Argilla refuses the API key" if reply.status_code == 401 else "the account may not do this",
                where=self._place.url,
                fix="set ARGILLA_API_KEY to the key of an owner of that server (its page shows it under My settings)"
                if os.environ.get("ARGILLA_API_URL")
                else "restart it with `planarena audit down` and `planarena audit up --detach`",
            )
        if reply.status_code >= 400:
            raise UserError(
                f"Argilla answers {reply.status_code} to {method} {path.partition('?')[0]}: {reply.text[:300]}",
                where=self._place.url,
                fix="check that the address is that of an Argilla 2.x server",
            )
        try:
            read = reply.json() if reply.content else {}
        except ValueError:
            read = None
        if not isinstance(read, dict):
            raise UserError(
                "what answers there is not an Argilla 2 server",
                where=self._place.url,
                fix="set ARGILLA_API_URL to the address of the server's page, without a path",
            )
        return read

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        import httpx

        try:
            return self._client.request(method, path, json=body)
        except (httpx.HTTPError, OSError) as error:
            raise _ConnectionLostError(
                f"Argilla does not answer: {str(error) or type(error).__name__}",
                where=self._place.url,
                fix="start it (`planarena audit up --detach`), or correct ARGILLA_API_URL",
            ) from error


class _ConnectionLostError(UserError):
    """Nobody answered, or somebody stopped answering."""
