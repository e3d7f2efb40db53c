"""The balanced draw: shares of vendors, distinct tool sets, a plan that depends on decisions in chunk order alone."""

from __future__ import annotations

import msgspec
import pytest

from planarena.config import PRESETS, BuildConfig, QuotaConfig, load_config
from planarena.errors import ConfigError
from planarena.pipeline.execute.assigned import MOST_NUMBERS
from planarena.pipeline.run.quotas import Lot, Quotas, find_lots
from planarena.quality import ItemKeys

SHARE = 0.1
CONFIG = BuildConfig(out="unused", quotas=QuotaConfig(vendor_share=SHARE))


def keys(tool_sets, more):
    """Return a chunk of scenarios with one item each."""
    number = len(tool_sets)
    marks = tuple(range(1, number + 1))
    return ItemKeys(marks, marks, ({},) * number, (1,) * number, tuple(tool_sets), more)


def lots():
    """Two large vendors with 40 descriptions each, and 30 small ones."""
    large = [Lot(f"openapi:{name}/{i}.json", name) for name in ("big", "huge") for i in range(40)]
    return [*large, *(Lot(f"openapi:v{i}/api.json", f"v{i}") for i in range(30)), Lot("builtin", "planarena")]


def run(quotas, chunks, blocks_of_a_lot=3):
    """Decide chunk after chunk, each with eight scenarios of new tools, and return the assignments."""
    found = []
    for chunk in range(chunks):
        assignment = quotas.assign(chunk)
        if assignment is None:
            break
        found.append(assignment)
        sets = [(chunk * 100 + i, chunk * 100 + i + 50) for i in range(8)]
        more = assignment.first // 8 + 1 < blocks_of_a_lot
        quotas.settle(chunk, quotas.admit(keys(sets, more)), bytes([1] * 8))
    return found


def test_no_vendor_takes_more_than_its_share():
    quotas = Quotas(CONFIG, lots())
    run(quotas, 10_000)
    shares = quotas.shares()
    # A vendor's last block of at most eight scenarios may go over.
    assert max(shares.values()) <= SHARE * quotas.scenarios + 8
    assert quotas.spent
    # Small vendors gave all they had: three blocks each.
    assert shares["v0"] == 24
    assert shares["big"] > 24


def test_every_vendor_gives_a_block_before_any_gives_a_second():
    first = run(Quotas(CONFIG, lots()), 33)
    assert len({assignment.source.split("/")[0] for assignment in first}) == 33


def test_the_next_round_waits_for_the_decisions_of_this_one():
    quotas = Quotas(CONFIG, lots())
    assert quotas.assign(32) is not None
    assert quotas.assign(33) is None
    again = Quotas(CONFIG, lots())
    assert run(quotas.afresh(), 200) == run(again, 200)


def test_another_seed_is_another_order_and_the_folder_does_not_matter():
    other = Quotas(msgspec.structs.replace(CONFIG, seed=1), lots())
    assert run(other, 33) != run(Quotas(CONFIG, lots()), 33)
    moved = [lot._replace(source=lot.source.replace("openapi:", "openapi:/elsewhere/")) for lot in lots()]
    there = run(Quotas(CONFIG, [lot for lot in moved if lot.vendor == "huge"]), 1)
    here = run(Quotas(CONFIG, [lot for lot in lots() if lot.vendor == "huge"]), 1)
    # The last three parts of a path order the lots of a vendor: here "huge/N.json" has two.
    assert there[0].source.removeprefix("openapi:/elsewhere/") in {f"huge/{i}.json" for i in range(40)}
    assert here[0].source.startswith("openapi:huge/")


def test_a_scenario_whose_tool_set_was_seen_is_struck_out():
    quotas = Quotas(CONFIG, lots())
    quotas.assign(0)
    first = quotas.admit(keys([(1, 2), (2, 1), (3, 4)], True))
    assert first.tasks == (1, 0, 3)
    assert quotas.settle(0, first, bytes([1, 0, 1])) == (1, 2, 3, 4)
    second = quotas.admit(keys([(4, 3), (1, 4)], True))
    assert second.tasks == (0, 2)
    # Its tools were offered before: there are none to write.
    assert quotas.settle(1, second, bytes([0, 1])) == ()
    assert quotas.scenarios == 3


def test_a_refused_scenario_leaves_its_tool_set_to_others():
    quotas = Quotas(CONFIG, lots())
    quotas.assign(0)
    quotas.settle(0, quotas.admit(keys([(1, 2)], True)), bytes([3]))
    assert quotas.admit(keys([(1, 2)], True)).tasks == (1,)


def test_the_limit_of_scenarios_cuts_within_a_chunk():
    quotas = Quotas(msgspec.structs.replace(CONFIG, scenarios=5), lots())
    quotas.assign(0)
    sets = [(i, i + 50) for i in range(1, 9)]
    admitted = quotas.admit(keys(sets, True))
    assert [bool(task) for task in admitted.tasks] == [True] * 5 + [False] * 3
    quotas.settle(0, admitted, bytes([1] * 5 + [0] * 3))
    assert quotas.spent


def test_too_few_vendors_for_the_share_is_said_at_once():
    with pytest.raises(ConfigError, match="1 vendors cannot fill"):
        find_lots(CONFIG)


def test_the_preset_holds_the_papers_numbers():
    config = load_config(BuildConfig, preset=PRESETS["paper"], values={"out": "x"})
    assert config.trajectories == 20_000
    # 20,000 trajectories at no more than this many a scenario need at least the paper's 7,941 scenarios.
    tasks = config.quotas.tasks
    assert config.trajectories / (sum(tasks) / len(tasks)) >= 7_941
    assert config.quotas.vendor_share < 0.1
    assert config.quotas.per_unit * 8 < MOST_NUMBERS


def test_a_group_that_cannot_be_opened_costs_one_scenario_and_not_the_build(tmp_path, monkeypatch):
    import planarena.pipeline.execute.assigned as assigned
    from planarena.environments.sources import open_source
    from planarena.pipeline.execute.chunk import execute_chunk
    from planarena.pipeline.products import Assignment

    file = tmp_path / "api.json"
    paths = {
        f"/{name}": {"get": {"operationId": f"get_{name}", "responses": {"200": {"description": "ok"}}}}
        for name in ("a", "b")
    }
    file.write_text(msgspec.json.encode({"openapi": "3.0.0", "info": {}, "paths": paths}).decode())

    def fail(config, unit):
        raise TypeError("a schema that nobody foresaw")

    # No known description does this any more: the fault has to be made.
    monkeypatch.setattr(assigned, "_tool_sets", fail)
    source = f"openapi:{file}"
    done = execute_chunk(CONFIG, 3, None, Assignment(source, 0, 8))
    assert done.scenarios == ()
    assert [entry.error for entry in done.quarantine] == ["TypeError"] * len(open_source(source).units)
