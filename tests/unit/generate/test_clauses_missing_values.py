"""An answer never speaks of a value that the result does not have."""

from __future__ import annotations

from random import Random

import pytest

from planarena.environments import operations
from planarena.environments.catalog import wording_of
from planarena.environments.domains import load_domain
from planarena.generate.clauses import StepContext, Voice
from planarena.generate.offline import write_response


def _queue(tickets: list[dict[str, str]]) -> StepContext:
    operation = operations(load_domain("support"))["list_queue_tickets"]
    wording = wording_of("support")["list_queue_tickets"]
    result = {"tickets": tickets, "count": len(tickets)}
    return StepContext(0, operation, wording, {"queue": "returns"}, {}, result)


def test_an_empty_result_is_not_reported() -> None:
    step = _queue([])
    assert not step.tells_all()
    for template in step.wording.report:
        with pytest.raises(LookupError, match="list_queue_tickets (has nothing|lists nothing) at /"):
            step.clause(template, Voice([step], 0))


def test_a_whole_result_is_reported() -> None:
    ticket = {"ticket_id": "t_1", "subject": "Late parcel", "customer": "Ana Ruiz", "priority": "high"}
    step = _queue([ticket])
    assert step.tells_all()
    assert "Ana Ruiz" in write_response([step], [0], Random(1))
