"""Faults strike as seeded, count in the state, and are undone and replayed exactly."""

from __future__ import annotations

from random import Random

import pytest

from planarena.environments import World
from planarena.environments.domains import load_domain
from planarena.environments.faults import FAULTS, fault_record

BANKING = load_domain("banking")


def world_with(**faults: dict[str, object]) -> World:
    seed = BANKING.seed(Random(3))
    tables = {f"banking.{name}": rows for name, rows in seed.tables.items()}
    return World.restore([BANKING], {**tables, FAULTS: faults} if faults else tables, seed.facts)


@pytest.fixture
def account() -> str:
    return str(next(iter(world_with().store.dump()["banking.accounts"].values()))["name"])


def test_a_passing_fault_strikes_so_often_and_leaves_no_trace(account: str) -> None:
    world = world_with(get_bank_account=fault_record("timeout", "Timed out.", skip=1, left=2))
    states = [world.digest()]
    found = []
    for _ in range(5):
        found.append(world.call("get_bank_account", {"name": account}))
        states.append(world.digest())
    assert [one.status for one in found] == ["ok", "tool_error", "tool_error", "ok", "ok"]
    assert found[1].error == {"code": "timeout", "message": "Timed out."}
    assert found[0].result == found[3].result
    assert states[3] == states[-1] == world_with().digest()
    assert len(set(states)) == 4


def test_a_fault_is_undone_and_remembered_exactly(account: str) -> None:
    world = world_with(get_bank_account=fault_record("timeout", "Timed out."))
    world.remember(True)
    start, before = world.mark(), world.digest()
    first = [world.call("get_bank_account", {"name": account}).status for _ in range(2)]
    world.rollback(start)
    assert world.digest() == before == world.store.recompute_digest()
    assert [world.call("get_bank_account", {"name": account}).status for _ in range(2)] == first
    assert first == ["tool_error", "ok"]


def test_arguments_that_do_not_fit_use_no_fault_up(account: str) -> None:
    world = world_with(get_bank_account=fault_record("timeout", "Timed out."))
    before = world.digest()
    assert world.call("get_bank_account", {}).status == "schema_error"
    assert world.digest() == before
    assert world.call("get_bank_account", {"name": account}).status == "tool_error"


def test_what_is_down_stays_down_and_nothing_changes(account: str) -> None:
    world = world_with(get_bank_account=fault_record("maintenance", "Down.", left=0))
    before = world.digest()
    assert {world.call("get_bank_account", {"name": account}).status for _ in range(3)} == {"tool_error"}
    assert world.digest() == before


def test_a_stale_version_is_read_again_after_it_was_noticed(account: str) -> None:
    world = world_with(set_card_limit=fault_record("stale_version", "Read again.", until="get_bank_account"))

    def read() -> str:
        found = world.call("get_bank_account", {"name": account})
        assert found.status == "ok"
        return str(found.result["card"]["card_id"])

    card = read()
    call = {"card_id": card, "daily_limit": 333.0}
    assert [world.call("set_card_limit", call).status for _ in range(2)] == ["tool_error", "tool_error"]
    assert read() == card
    outcome = world.call("set_card_limit", call)
    assert outcome.status == "ok" or outcome.error == {
        "code": "card_not_active",
        "message": outcome.error["message"] if outcome.error else "",
    }
    assert not world.store.has(FAULTS)


def test_what_has_happened_meanwhile_stays_though_the_call_fails(account: str) -> None:
    plain = world_with()
    rows = plain.store.dump()
    account_id, row = next(iter(rows["banking.accounts"].items()))
    payee = next(iter(rows["banking.payees"]))
    world = world_with(
        transfer_money=fault_record(changes=[["banking.accounts", account_id, {"balance": 1.0}]])
    )
    outcome = world.call("transfer_money", {"account_id": account_id, "payee": payee, "amount": 5.0})
    assert outcome.error is not None
    assert outcome.error["code"] == "insufficient_funds"
    assert world.call("get_bank_account", {"name": row["name"]}).result["balance"] == 1.0
    assert not world.store.has(FAULTS)


def test_a_world_without_faults_has_no_table_of_them(account: str) -> None:
    world = world_with()
    world.call("get_bank_account", {"name": account})
    assert FAULTS not in world.store.dump()
