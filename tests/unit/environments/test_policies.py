"""Rules name tools and arguments that there are, and their checks say what their texts say."""

from __future__ import annotations

from random import Random

import pytest

from planarena.environments.catalog import operations_of
from planarena.environments.domains import DOMAINS
from planarena.environments.policies import Rule, policies_of

WITH_RULES = [domain for domain in DOMAINS if policies_of(domain)]


def test_every_domain_has_rules() -> None:
    assert list(DOMAINS) == WITH_RULES
    found = {rule.demands for domain in WITH_RULES for rule in policies_of(domain)}
    assert found == {"refusal", "confirmation"}


@pytest.mark.parametrize("domain", WITH_RULES)
def test_rules_fit_their_tools(domain: str) -> None:
    operations = operations_of(domain)
    for rule in policies_of(domain):
        tool = operations[rule.tool].tool
        assert tool.effects != "read"
        for name, limits in {**rule.above, **rule.is_}.items():
            schema = tool.parameters[name]
            assert limits
            if rule.above:
                assert schema["type"] in {"number", "integer"}
            else:
                assert {*limits, *rule.instead} <= set(schema["enum"])
                assert not set(limits) & set(rule.instead)
        policy = rule.drawn(Random(1))
        assert policy is not None
        assert "{" not in policy.text
        assert policy.text.endswith(".")


def test_the_limit_that_is_drawn_is_the_one_that_is_checked() -> None:
    rule = Rule("refund", "refusal", "More than {limit} percent: no.", {"percent": [10.0, 20.0, 50.0]})
    for seed in range(20):
        policy = rule.drawn(Random(seed), {"percent": 30})
        assert policy is not None
        assert policy.limit in (10.0, 20.0)
        assert f"{policy.limit:g} percent" in policy.text
        assert policy.holds_for("refund", {"percent": 30})
        assert not policy.holds_for("refund", {"percent": policy.limit})
        assert not policy.holds_for("other", {"percent": 30})
        assert not policy.holds_for("refund", {"percent": True})
    assert rule.drawn(Random(1), {"percent": 10}) is None
