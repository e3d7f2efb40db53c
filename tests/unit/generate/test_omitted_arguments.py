"""Requests that leave a required argument out: the words of every domain, and what is asked back."""

from __future__ import annotations

from random import Random

import pytest

from planarena.config import BuildConfig
from planarena.environments import operations
from planarena.environments.catalog import wording_of
from planarena.environments.domains import DOMAINS, load_domain
from planarena.environments.sources.generic_wording import Phrase, tool_wording
from planarena.environments.wording import FIELD
from planarena.generate.clauses import parse_template
from planarena.generate.no_call import write_no_calls
from planarena.pipeline.execute.scenarios import draw_scenario


def arguments_named(template):
    for part in template:
        if part.kind == "argument":
            yield part.text
        yield from arguments_named(part.inner)


@pytest.mark.parametrize("domain", sorted(DOMAINS))
def test_a_request_that_omits_an_argument_says_all_the_others(domain):
    found = 0
    for name, words in wording_of(domain).items():
        tool = operations(load_domain(domain))[name].tool
        for missing, omission in words.missing.items():
            assert missing in tool.required
            assert not tool.parameters[missing].get("x-hidden")
            for ask in omission.ask:
                said = set(arguments_named(parse_template(ask)))
                assert said <= set(tool.parameters) - {missing}
                assert said >= set(tool.required) - {missing}
                found += 1
    assert found >= 3


def test_the_value_left_out_is_not_said_and_the_label_is_asked_for():
    scenario = draw_scenario(BuildConfig(sources=("builtin:banking",)), 0)
    wording = wording_of("banking")
    atoms = [("add_payee", {"name": "Ana Silva", "iban": "PT50000000000000000000001"})]
    seen = set()
    for seed in range(60):
        for item in write_no_calls(scenario.world, scenario.tools, atoms, wording, 2, Random(seed)):
            if item.category != "parameter_missing":
                continue
            seen.add(item.query)
            assert "Ana Silva" not in item.query
            assert "PT50000000000000000000001" in item.query
            assert "name" in item.response
            # Nobody told a name: whoever calls all the same makes one up.
            [(tool, arguments)] = item.tempting
            assert tool == "add_payee"
            assert {**arguments, "name": "Ana Silva"} == atoms[0][1]
    assert len(seen) > 5


def test_generic_words_omit_one_argument_at_a_time():
    phrase = Phrase(("make a box",), "making a box", "the box is made")
    words = tool_wording(phrase, {"label": True, "size": True, "colour": False}, [], {})
    assert words.missing["label"].ask == (f"make a box{FIELD}size {{size}}[{FIELD}colour {{colour}}]",)
    assert words.missing["size"].ask == (f"make a box{FIELD}label {{label}}[{FIELD}colour {{colour}}]",)
    assert set(words.missing) == {"label", "size"}
