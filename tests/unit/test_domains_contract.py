"""What every builtin domain must keep: its tools, seeds, proposals, wording and behaviour under random walks."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from planarena.data import load_yaml
from planarena.environments import BOUND, Environment, Operation, World, domains, operations
from planarena.environments.check.words import listed
from planarena.environments.domains import DOMAINS, STUDY, load_domain
from planarena.environments.folders import open_folder
from planarena.environments.wording import load_wording
from planarena.records.canonical import canonical_bytes
from planarena.tools.validation import SchemaValidator

# Every folder, listed or not: a domain is held to the contract before it is announced.
FOLDERS = {path.parent.name: path.parent for path in Path(domains.__file__).parent.glob("*/environment.py")}
NAMES = sorted(set(FOLDERS) - {STUDY})
SEEDS = range(20)
WALK_STEPS = 300
# `{name}`, or `{name|one|many}`: what is named is the same.
PLACEHOLDER = re.compile(r"\{([^{}|]*)(?:\|[^{}|]+\|[^{}|]+)?\}")
KEYS = {"ask", "plan", "outputs", "report", "brief", "refer", "values", "missing"}
SENSE_KEYS = {"aims", "records", "undoes", "ends", "dates", "once", "completes", "apart", "never_from"}
SEGMENT = re.compile(r"\[([^\[\]]*)\]")
per_domain = pytest.mark.parametrize("domain", NAMES)


@cache
def environment_of(domain: str) -> type[Environment]:
    return load_domain(domain) if domain in DOMAINS else open_folder(FOLDERS[domain])


def tools_of(domain: str) -> dict[str, Operation]:
    return operations(environment_of(domain))


def wording_of(domain: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = load_yaml(FOLDERS[domain] / "words.yaml")["tools"]
    return found


def world_of(domain: str, seed: int) -> World:
    environment = environment_of(domain)
    return World([environment], [environment.seed(Random(f"contract {seed}"))])


@cache
def result_validators(domain: str) -> dict[str, SchemaValidator]:
    return {
        name: SchemaValidator(operation.tool.output_schema or {}, f"{name} result")
        for name, operation in tools_of(domain).items()
    }


def hidden_arguments(operation: Operation) -> dict[str, str]:
    """Argument -> semantic type, of the arguments that a user cannot know."""
    return {
        name: schema["x-semantic"]
        for name, schema in operation.tool.parameters.items()
        if schema.get("x-hidden")
    }


def schema_at(schema: dict[str, Any], pointer: str) -> dict[str, Any] | None:
    """The schema of a result's place, through required properties and list items only."""
    for part in pointer.split("/")[1:]:
        if schema.get("type") == "array" and part.isdigit():
            schema = schema["items"]
        elif schema.get("type") == "object" and part in schema.get("required", ()):
            schema = schema["properties"][part]
        else:
            return None
    return schema


def value_at(result: Any, pointer: str) -> Any:
    """The value at a place, or None."""
    for part in pointer.split("/")[1:]:
        if isinstance(result, list):
            if int(part) >= len(result):
                return None
            result = result[int(part)]
        else:
            result = result.get(part)
        if result is None:
            return None
    return result


def meanings(schema: dict[str, Any], value: Any) -> Iterator[tuple[str, Any]]:
    """Every (semantic type, value) inside a result."""
    if isinstance(value, dict):
        for name, child in value.items():
            yield from meanings(schema.get("properties", {}).get(name, {}), child)
    elif isinstance(value, list):
        for child in value:
            yield from meanings(schema.get("items", {}), child)
    elif value is not None and "x-semantic" in schema:
        yield schema["x-semantic"], value


def undeclared(schema: dict[str, Any], value: Any, where: str = "") -> Iterator[str]:
    """Every property of a result that its schema does not name: a field of the state that leaked."""
    if isinstance(value, dict):
        for name, child in value.items():
            if name in schema.get("properties", {}):
                yield from undeclared(schema["properties"][name], child, f"{where}/{name}")
            elif "additionalProperties" not in schema:
                yield f"{where}/{name}"
    elif isinstance(value, list):
        for place, child in enumerate(value):
            yield from undeclared(schema.get("items", {}), child, f"{where}/{place}")


def places(schema: dict[str, Any], where: str = "") -> Iterator[str]:
    """Every pointer into a result, through the first two items of lists."""
    yield where
    for name, child in schema.get("properties", {}).items():
        yield from places(child, f"{where}/{name}")
    if isinstance(schema.get("items"), dict):
        for place in range(2):
            yield from places(schema["items"], f"{where}/{place}")


def is_closed(operation: Operation, proposal: dict[str, Any]) -> bool:
    """Whether a proposal needs nothing from other calls."""
    return all(
        name in proposal and proposal[name] is not BOUND for name in operation.tool.required
    ) and not any(value is BOUND for value in proposal.values())


def test_every_folder_is_listed() -> None:
    assert set(NAMES) - set(DOMAINS) == set(), "add it to DOMAINS"
    assert set(DOMAINS) - set(NAMES) == set(), "listed, but no such folder"


@per_domain
def test_a_folder_holds_all_of_its_domain(domain: str) -> None:
    """Code, words, seeds and a page for readers, and nothing that nobody reads."""
    files = {path.name for path in FOLDERS[domain].iterdir() if path.name != "__pycache__"}
    needed = {"environment.py", "world.py", "words.yaml", "seeds.yaml", "README.md", "__init__.py"}
    assert needed <= files <= needed | {"types.py", "goals.yaml", "policies.yaml"}


@pytest.mark.parametrize("domain", sorted(FOLDERS))
def test_the_page_shows_the_tools_as_they_are(domain: str) -> None:
    """`python tests/packaging/domain_pages.py NAME` writes it again."""
    page = (FOLDERS[domain] / "README.md").read_text(encoding="utf-8")
    listed = {
        name: (set(re.findall(r"\w+", arguments)), does, effect)
        for name, arguments, does, effect in re.findall(r"\| `(\w+)\((.*?)\)` \| (.*?) \| (\w+) \|", page)
    }
    assert listed == {
        name: (
            set(one.tool.parameters),
            " ".join(one.tool.description.split("\n\n")[0].split()),
            one.tool.effects,
        )
        for name, one in operations(load_domain(domain)).items()
    }
    called = set(re.findall(r"^\d+\. (\w+)\(", page, re.MULTILINE))
    assert called
    assert called <= set(listed)


def test_tool_names_are_unique_over_all_domains() -> None:
    owners = defaultdict(list)
    for domain in NAMES:
        for name in tools_of(domain):
            owners[name].append(domain)
    assert {name: found for name, found in owners.items() if len(found) > 1} == {}


@per_domain
def test_tools_are_described_proposed_and_worded(domain: str) -> None:
    environment = environment_of(domain)
    tools, wording = tools_of(domain), wording_of(domain)
    assert environment.domain == domain
    assert environment.summary
    assert len(tools) >= 8
    assert set(wording) == set(tools)
    for name, operation in tools.items():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", name), f"{name}: a verb and a noun"
        assert operation.propose is not None, f"{name} has no proposals"
        assert len(operation.tool.description) >= 20, f"{name}: describe it"
        output = operation.tool.output_schema
        assert output is not None
        assert output["type"] == "object", f"{name}: a result is an object"
        for argument, schema in operation.tool.parameters.items():
            meant = "x-semantic" in schema or schema.get("type") == "boolean"
            assert meant, f"{name}({argument}) has no semantic type"


@per_domain
def test_one_semantic_type_has_one_nature(domain: str) -> None:
    """A type is hidden or not, text or number, and written in one way, wherever it occurs."""
    natures: dict[str, set[tuple[bool, str, bool]]] = defaultdict(set)

    def visit(schema: dict[str, Any]) -> None:
        if "x-semantic" in schema:
            kinds = schema.get("type", "string")
            kinds = set(kinds if isinstance(kinds, list) else [kinds]) - {"null", "array"}
            numeric = bool(kinds & {"number", "integer"})
            natures[schema["x-semantic"]].add(
                (bool(schema.get("x-hidden")), schema.get("x-surface", "plain"), numeric)
            )
        for child in schema.get("properties", {}).values():
            visit(child)
        if isinstance(schema.get("items"), dict):
            visit(schema["items"])

    for operation in tools_of(domain).values():
        visit(operation.tool.input_schema)
        visit(operation.tool.output_schema or {})
    assert {name: found for name, found in natures.items() if len(found) > 1} == {}


@per_domain
def test_seeds_are_pure_sized_and_varied(domain: str) -> None:
    environment = environment_of(domain)
    texts, titles = set(), set()
    for number in SEEDS:
        seed = environment.seed(Random(f"contract {number}"))
        again = environment.seed(Random(f"contract {number}"))
        assert seed == again
        text = canonical_bytes(seed.tables)
        assert 8 * 1024 <= len(text) <= 16 * 1024, f"seed {number}: {len(text)} bytes"
        texts.add(text)
        titles.add(seed.title)
        canonical_bytes(seed.facts)
        assert re.fullmatch(r"2026-\d\d-\d\dT\d\d:\d\d", seed.facts["now"])
        assert seed.facts["user_name"]
        assert len(seed.description) >= 30
    assert len(texts) == len(SEEDS)
    assert len(titles) >= 3


def test_pointers_and_templates_are_read_rightly() -> None:
    schema = {
        "type": "object",
        "properties": {
            "rows": {
                "type": "array",
                "items": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            },
            "note": {"type": "string"},
        },
        "required": ["rows"],
    }
    assert schema_at(schema, "/rows/1/id") == {"type": "string"}
    assert schema_at(schema, "/note") is None
    assert value_at({"rows": [{"id": "a"}]}, "/rows/0/id") == "a"
    assert value_at({"rows": [{"id": "a"}]}, "/rows/1/id") is None
    parameters = {"city": {"x-semantic": "city"}, "day": {"x-semantic": "date"}}
    assert faults("look at {city}[ on {day}]", parameters, {"city"}) == []
    assert faults("look at {town}[ on {day}]", parameters, {"city"})
    assert faults("look at {city} on {day}", parameters, {"city"})
    assert faults("look at [{city} on {day}]", parameters, {"city"})
    assert faults("look at {city", parameters, {"city"})
    assert faults("look_at {city}", parameters, {"city"})


def faults(
    template: str, parameters: dict[str, Any], required: set[str], pointers: frozenset[str] = frozenset()
) -> list[str]:
    """What is wrong with a template's placeholders, segments and characters."""
    found = []
    optional = set(parameters) - required
    outside = SEGMENT.sub("", template)
    for name in PLACEHOLDER.findall(template):
        known = name.removesuffix("*") in pointers if name.startswith("/") else name in parameters
        if not known:
            found.append(f"unknown placeholder {{{name}}}")
    for name in PLACEHOLDER.findall(outside):
        if name in optional:
            found.append(f"optional {{{name}}} outside of [...]")
    for segment in SEGMENT.findall(template):
        inside = PLACEHOLDER.findall(segment)
        shown = [name for name in inside if name.startswith("/")]
        if not shown and len([name for name in inside if name in optional]) != 1:
            found.append(f"segment [{segment}] must hold exactly one optional argument")
    plain = PLACEHOLDER.sub("X", SEGMENT.sub(lambda match: match.group(1), template))
    if re.search(r"[{}\[\]_]|\n", plain):
        found.append("stray brackets, a line break or a name with an underscore")
    for shown in (plain, PLACEHOLDER.sub("X", outside)):
        if "  " in shown or shown != shown.strip() or re.search(r" [,.;]", shown):
            found.append(f"spaces: {shown!r}")
    return found


def shown_in(schema: dict[str, Any], where: str = "") -> Iterator[str]:
    """Every place of a result that a person may be told: ids and what may be absent are not among them."""
    for name, inner in schema.get("properties", {}).items():
        if name in schema.get("required", ()) and not inner.get("x-hidden"):
            yield f"{where}/{name}"
            yield from shown_in(inner, f"{where}/{name}")
            for place in range(2 if "items" in inner else 0):
                yield f"{where}/{name}/{place}"
                yield from shown_in(inner["items"], f"{where}/{name}/{place}")


@per_domain
def test_wording_keeps_the_rules(domain: str) -> None:
    tools, wording = tools_of(domain), wording_of(domain)
    read = load_wording(FOLDERS[domain] / "words.yaml")
    found: list[str] = []
    for name, operation in tools.items():
        parameters, required = operation.tool.parameters, set(operation.tool.required)
        output = operation.tool.output_schema or {}
        words = wording[name]
        unknown = set(words) - KEYS - SENSE_KEYS
        found += [f"{name}: unknown key {key}" for key in unknown]
        for kind, least in (("ask", 4), ("plan", 3), ("report", 3)):
            if len(set(words[kind])) < least:
                found.append(f"{name}: at least {least} different {kind}")
        for text in words["ask"]:
            outside = set(PLACEHOLDER.findall(SEGMENT.sub("", text)))
            everywhere = set(PLACEHOLDER.findall(text))
            problems = faults(text, parameters, required)
            problems += [f"required {{{argument}}} is not stated" for argument in sorted(required - outside)]
            problems += [
                f"optional {{{argument}}} is missing" for argument in sorted(set(parameters) - everywhere)
            ]
            if not re.match(r"[a-z]", text) or text.endswith("."):
                problems.append("lower-case start, no full stop")
            found += [f"{name} ask {text!r}: {problem}" for problem in problems]
        for text in words["plan"]:
            problems = faults(text, parameters, required)
            if not re.match(r"[A-Z]", text) or text.endswith("."):
                problems.append("capital start, no full stop")
            found += [f"{name} plan {text!r}: {problem}" for problem in problems]
        outputs = words["outputs"]
        if not 1 <= len(outputs) <= 4:
            found.append(f"{name}: 1-4 outputs")
        for pointer in outputs:
            place = schema_at(output, pointer)
            if place is None or place.get("type", "string") not in {"string", "number", "integer"}:
                found.append(f"{name} output {pointer}: no text or number that is always there: {place}")
            elif place.get("x-hidden"):
                found.append(f"{name} output {pointer} is hidden")
        for text in [*words["report"], *words.get("brief", ())]:
            # What may be absent is told in square brackets alone.
            certain = faults(SEGMENT.sub("", text), parameters, required, frozenset(shown_in(output)))
            problems = certain or faults(text, parameters, required, frozenset(places(output)))
            told = {*PLACEHOLDER.findall(SEGMENT.sub("", text)), *listed(text, read[name])}
            problems += [f"does not use {pointer}" for pointer in outputs if pointer not in told]
            lists = {one[:-1] for one in PLACEHOLDER.findall(text) if one.endswith("*")}
            problems += [f"{one} has no record words" for one in lists - set(words.get("records") or ())]
            if not re.match(r'I |[a-z{"]', text) or text.endswith("."):
                problems.append("lower-case start, no full stop")
            found += [f"{name} report {text!r}: {problem}" for problem in problems]
        for pointer, forms in (words.get("refer") or {}).items():
            place = schema_at(output, pointer)
            if place is None or "x-semantic" not in place:
                found.append(f"{name} refer {pointer}: no place with a semantic type")
            if (
                set(forms) - {"again", "noun", "name", "untold", "beside"} != {"short", "full"}
                or not forms["short"]
                or not forms["full"]
            ):
                found.append(f"{name} refer {pointer}: short and full")
            for text in [*forms["short"], *forms["full"]]:
                found += [
                    f"{name} refer {text!r}: {problem}" for problem in faults(text, parameters, required)
                ]
        values = words.get("values") or {}
        for argument, schema in parameters.items():
            wanted: set[Any] = set(schema["enum"]) if "enum" in schema else set()
            if schema.get("type") == "boolean":
                wanted = {True, False}
            given = values.get(argument, {})
            if wanted - set(given):
                found.append(
                    f"{name} values {argument}: no words for {sorted(map(str, wanted - set(given)))}"
                )
            found += [
                f"{name} values {argument}: {word!r}"
                for word in given.values()
                if not isinstance(word, str) or "_" in word
            ]
        # A result's enumeration is worded like an argument of the same name.
        reported = {pointer.rsplit("/", 1)[-1] for pointer in outputs}
        found += [f"{name} values: unknown {word}" for word in set(values) - set(parameters) - reported]
    assert found == [], "\n".join(["", *found])


@per_domain
def test_records_and_sense_name_what_there_is(domain: str) -> None:
    """Records stand in the result and have the fields that their words name; sense names tools and arguments."""
    tools, wording = tools_of(domain), wording_of(domain)
    found: list[str] = []
    for name, operation in tools.items():
        output, words = operation.tool.output_schema or {}, wording[name]
        for pointer, record in (words.get("records") or {}).items():
            place = schema_at(output, pointer)
            fields = (place or {}).get("items", place or {}).get("properties", {})
            named = {
                *PLACEHOLDER.findall(record["name"]),
                *PLACEHOLDER.findall(record.get("line", "")),
                *record.get("order", ()),
            }
            found += [
                f"{name} records {pointer!r}: no field {field}" for field in sorted(named - set(fields))
            ]
            hidden = [
                field
                for field in PLACEHOLDER.findall(record["name"])
                if fields.get(field, {}).get("x-hidden")
            ]
            found += [f"{name} records {pointer!r}: {field} is hidden" for field in hidden]
            for text in record.get("named", ()):
                # Its own fields and arguments of the look-up; what it does not say the name must hold, or it is not used.
                own = set(PLACEHOLDER.findall(text))
                lacking = {one[1:] for one in own if one.startswith("/")} - set(fields)
                lacking |= {one for one in own if not one.startswith("/")} - set(operation.tool.parameters)
                found += [f"{name} records {pointer!r} named {text!r}: {one}" for one in sorted(lacking)]
            among = record.get("among")
            if among and (schema_at(output, among) or {}).get("type") != "array":
                found.append(f"{name} records {pointer!r}: {among} is no list")
            if among and not record.get("order"):
                found.append(f"{name} records {pointer!r}: best of {among} by what?")
        for pointer, forms in (words.get("refer") or {}).items():
            parent = pointer.rpartition("/")[0]
            fields = (schema_at(output, parent) or {}).get("properties", {})
            named = set(PLACEHOLDER.findall(forms.get("name", "")))
            found += [f"{name} refer {pointer}: no field {field}" for field in sorted(named - set(fields))]
        for key in ("undoes", "completes", "apart", "never_from"):
            found += [f"{name} {key}: no tool {other}" for other in set(words.get(key) or ()) - set(tools)]
        for key in ("ends", "dates", "once"):
            unknown = set(words.get(key) or ()) - set(operation.tool.parameters)
            found += [f"{name} {key}: no argument {argument}" for argument in unknown]
        if words.get("undoes") and operation.tool.effects == "read":
            found.append(f"{name}: a look-up undoes nothing")
        for text in words.get("aims") or ():
            problems = faults(text, operation.tool.parameters, set(operation.tool.required))
            outside = set(PLACEHOLDER.findall(SEGMENT.sub("", text)))
            problems += [f"{{{one}}} is not stated" for one in set(operation.tool.required) - outside]
            everywhere = set(PLACEHOLDER.findall(text))
            problems += [
                f"optional {{{one}}} is missing" for one in set(operation.tool.parameters) - everywhere
            ]
            if not re.match(r'[A-Z"{]', text) or text[-1] not in ".?!":
                problems.append("a whole sentence")
            found += [f"{name} aims {text!r}: {problem}" for problem in problems]
    assert found == [], "\n".join(["", *found])


@per_domain
def test_what_must_be_bound_can_be_bound(domain: str) -> None:
    """Every hidden argument and every argument proposed as BOUND has a producer with a reference."""
    tools, wording = tools_of(domain), wording_of(domain)
    producers: dict[str, set[str]] = defaultdict(set)
    for name, words in wording.items():
        for pointer in words.get("refer") or {}:
            place = schema_at(tools[name].tool.output_schema or {}, pointer)
            if place is not None and "x-semantic" in place:
                producers[place["x-semantic"]].add(name)
    proposals = proposals_by_tool(domain)
    closed, dependent = set(), set()
    for name, operation in tools.items():
        needs = hidden_arguments(operation)
        bound = {
            argument for proposal in proposals[name] for argument, value in proposal.items() if value is BOUND
        }
        wanted = dict(needs) | {
            argument: operation.tool.parameters[argument]["x-semantic"] for argument in bound
        }
        for argument, semantic in wanted.items():
            assert producers[semantic], f"{name}({argument}): nothing yields a {semantic}"
        if wanted:
            dependent.add(name)
        if any(is_closed(operation, proposal) for proposal in proposals[name]):
            closed.add(name)
    assert len(dependent) >= 0.6 * len(tools), f"only {sorted(dependent)} depend on others"
    feeding = {name for name in closed if wording[name].get("refer")}
    assert len(feeding) >= 3, f"only {sorted(feeding)} are closed and yield something"


@cache
def proposals_by_tool(domain: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for seed in SEEDS:
        world = world_of(domain, seed)
        for name in tools_of(domain):
            found[name] += world.propose(name, Random(f"propose {seed}"))
    return found


@per_domain
def test_proposals_are_valid_and_closed_calls_run(domain: str) -> None:
    tools, validators = tools_of(domain), result_validators(domain)
    for seed in SEEDS:
        world = world_of(domain, seed)
        digest = world.digest()
        for name, operation in tools.items():
            proposals = world.propose(name, Random(f"propose {seed}"))
            assert proposals == world.propose(name, Random(f"propose {seed}")), (
                f"{name}: a pure function of rng and state"
            )
            assert 1 <= len(proposals) <= 6, f"seed {seed} {name}: {len(proposals)} proposals"
            hidden = hidden_arguments(operation)
            for proposal in proposals:
                where = f"seed {seed} {name}({proposal})"
                assert not set(proposal) & set(hidden), f"{where}: a user cannot know an id"
                assert set(proposal) <= set(operation.tool.parameters), where
                assert None not in proposal.values(), f"{where}: leave absent arguments out"
                missing = set(operation.tool.required) - set(proposal) - set(hidden)
                assert not missing, f"{where}: {missing} neither given nor BOUND"
                for argument, value in proposal.items():
                    if value is not BOUND:
                        schema = operation.tool.parameters[argument]
                        assert SchemaValidator(schema).is_valid(value), f"{where}: {argument}"
                if is_closed(operation, proposal):
                    mark = world.mark()
                    outcome = world.call(name, proposal)
                    assert outcome.status in {"ok", "tool_error"}, f"{where}: {outcome}"
                    if outcome.status == "ok":
                        error = (
                            None
                            if validators[name].is_valid(outcome.result)
                            else validators[name].first_error(outcome.result)
                        )
                        assert error is None, f"{where}: {error}"
                    world.rollback(mark)
        assert world.digest() == digest


class Walk(NamedTuple):
    succeeded: Counter[str]
    failed: Counter[tuple[str, str]]
    reported: Counter[str]
    referred: Counter[tuple[str, str]]


def walk_step(world: World, domain: str, pool: dict[str, list[Any]], rng: Random, seen: Walk) -> None:
    """Propose, bind and make one call twice, and hold everything that can be held about it."""
    tools = tools_of(domain)
    name = rng.choice(list(tools))
    operation = tools[name]
    proposals = world.propose(name, rng)
    if not proposals:
        return
    arguments = dict(rng.choice(proposals))
    wanted = hidden_arguments(operation)
    for argument in operation.tool.parameters:
        optional = argument not in operation.tool.required
        if arguments.get(argument) is BOUND or (argument in wanted and not (optional and rng.random() < 0.5)):
            known = pool[operation.tool.parameters[argument]["x-semantic"]]
            if known:
                # Mostly recent values: chains go on from where they are.
                arguments[argument] = rng.choice(known[-8:] if rng.random() < 0.7 else known)
            elif optional:
                arguments.pop(argument, None)
            else:
                return
    where = f"{name}({arguments})"
    mark, before = world.mark(), world.digest()
    first = world.call(name, arguments)
    after = world.digest()
    world.rollback(mark)
    assert world.digest() == before, f"{where}: rollback"
    outcome = world.call(name, arguments)
    assert outcome.payload == first.payload, f"{where}: not deterministic"
    assert world.digest() == after, f"{where}: not deterministic"
    assert outcome.status in {"ok", "tool_error"}, f"{where}: {outcome}"
    if outcome.status == "tool_error":
        assert outcome.error is not None
        seen.failed[name, outcome.error["code"]] += 1
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", outcome.error["code"]), f"{where}: {outcome.error}"
        assert after == before, f"{where}: a failed call changed the state"
        return
    validator = result_validators(domain)[name]
    assert validator.is_valid(outcome.result), f"{where}: {validator.first_error(outcome.result)}"
    leaks = list(undeclared(operation.tool.output_schema or {}, outcome.result))
    assert not leaks, f"{where}: {leaks}"
    if operation.tool.effects == "read":
        assert after == before, f"{where}: a read changed the state"
    else:
        assert after != before, f"{where}: said ok and did nothing"
    seen.succeeded[name] += 1
    words = wording_of(domain)[name]
    if all(value_at(outcome.result, pointer) is not None for pointer in words["outputs"]):
        seen.reported[name] += 1
    for pointer in words.get("refer") or {}:
        if value_at(outcome.result, pointer) is not None:
            seen.referred[name, pointer] += 1
    for semantic, value in meanings(operation.tool.output_schema or {}, outcome.result):
        pool[semantic].append(value)


@per_domain
def test_random_walks(domain: str) -> None:
    seen = Walk(Counter(), Counter(), Counter(), Counter())
    for seed in SEEDS:
        world = world_of(domain, seed)
        rng = Random(f"walk {seed}")
        start, initial = world.mark(), world.digest()
        pool: dict[str, list[Any]] = defaultdict(list)
        for step in range(WALK_STEPS):
            walk_step(world, domain, pool, rng, seen)
            if step % 25 == 24:
                assert world.store.recompute_digest() == world.digest(), "a record was changed in place"
            if step % 100 == 99:
                # Worlds fill up and nothing succeeds any more: begin anew, which also tests the undo log.
                world.rollback(start)
                assert world.digest() == initial
                assert world.store.recompute_digest() == initial
                pool.clear()
    tools, wording = tools_of(domain), wording_of(domain)
    failures: dict[str, dict[str, int]] = defaultdict(dict)
    for (name, code), count in seen.failed.items():
        failures[name][code] = count
    never = {name: failures[name] for name in tools if not seen.succeeded[name]}
    assert never == {}, f"never succeeded: {never}"
    mute = {name for name in tools if seen.reported[name] < 0.5 * seen.succeeded[name]}
    assert not mute, f"outputs are absent from most results of {sorted(mute)}"
    dead = {
        (n, pointer)
        for n in tools
        for pointer in wording[n].get("refer") or {}
        if not seen.referred[n, pointer]
    }
    assert not dead, f"these references never have a value: {sorted(dead)}"


@per_domain
def test_a_world_that_was_stored_and_read_again_acts_the_same(domain: str) -> None:
    """Stored JSON has its keys in order: what goes through a mapping in the order of writing would differ."""
    for number in range(4):
        environment, rng = environment_of(domain), Random(f"stored {number}")
        seed = environment.seed(Random(f"contract {number}"))
        fresh = World([environment], [seed])
        tables, facts = (json.loads(canonical_bytes(one)) for one in (fresh.store.dump(), seed.facts))
        stored = World.restore([environment], tables, facts)
        assert fresh.digest() == stored.digest()
        known: dict[str, list[Any]] = defaultdict(list)
        for _ in range(120):
            name = rng.choice(list(tools_of(domain)))
            operation = tools_of(domain)[name]
            proposals = fresh.propose(name, rng)
            if not proposals:
                continue
            arguments = dict(rng.choice(proposals))
            for argument, value in operation.tool.parameters.items():
                pool = known[value.get("x-semantic", "")]
                if pool and (arguments.get(argument) is BOUND or argument in hidden_arguments(operation)):
                    arguments[argument] = rng.choice(pool[-8:])
            if any(value is BOUND for value in arguments.values()):
                continue
            one, other = fresh.call(name, arguments), stored.call(name, arguments)
            assert one.payload == other.payload, f"{name}({arguments})"
            assert fresh.digest() == stored.digest(), f"{name}({arguments})"
            if one.status == "ok":
                for semantic, value in meanings(operation.tool.output_schema or {}, one.result):
                    known[semantic].append(value)
