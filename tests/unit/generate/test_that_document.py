"""A pronoun means what was spoken of last: not the document before it."""

from __future__ import annotations

import re
from random import Random

from planarena.environments import World
from planarena.environments.catalog import wording_of
from planarena.environments.domains import draw_seeds, load_domain
from planarena.generate.checks import QueryFaultError
from planarena.generate.clauses import StepContext
from planarena.generate.queries import write_query
from planarena.generate.tellings import Telling


def test_the_first_of_two_documents_is_described_again() -> None:
    wording = wording_of("files")
    read = 0
    for seed in range(60):
        world = World([load_domain("files")], draw_seeds(("files",), Random(seed)))
        owner = next(iter(world.store.dump()["files.documents"].values()))["owner"]
        found = world.call("find_documents", {"owner": owner}).result
        if not found or len(found.get("documents", ())) < 2:
            continue
        first, second = (one["document_id"] for one in found["documents"][:2])
        calls = [
            ("find_documents", {"owner": owner}, {}),
            (
                "list_document_versions",
                {"document_id": first},
                {"document_id": (0, "/documents/0/document_id")},
            ),
            (
                "get_document_details",
                {"document_id": second},
                {"document_id": (0, "/documents/1/document_id")},
            ),
            (
                "copy_document",
                {"document_id": first, "title": "Spare sheet"},
                {"document_id": (0, "/documents/0/document_id")},
            ),
        ]
        steps = [
            StepContext(
                number,
                world.operations[tool],
                wording[tool],
                arguments,
                bound,
                world.call(tool, arguments).result,
            )
            for number, (tool, arguments, bound) in enumerate(calls)
        ]
        # One after the other: of the first, of the second, of the first again.
        telling = Telling([0] * 4, range(1, 4), [0, 0b1, 0b11, 0b111])
        try:
            query = write_query(steps, telling, Random(seed))
        except (QueryFaultError, LookupError):
            continue
        read += 1
        assert not re.search(r"\bthat document\b", query.turns[0]), query.turns[0]
    assert read > 5
