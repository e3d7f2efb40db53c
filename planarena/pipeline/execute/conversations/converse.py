"""Which of a scenario's tasks become conversations of which kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from planarena.config import CompositionConfig
from planarena.pipeline.execute.aims import lengthened
from planarena.pipeline.execute.conversations.change_of_mind import change_the_mind
from planarena.pipeline.execute.conversations.failed_call import let_a_call_fail
from planarena.pipeline.execute.conversations.long import go_on_for_long
from planarena.pipeline.execute.conversations.missing_value import leave_out_a_value, may_leave_one_out
from planarena.pipeline.execute.conversations.noise import add_noise
from planarena.pipeline.execute.conversations.rule import bring_in_a_rule, has_a_rule
from planarena.pipeline.execute.workshop import Made, Workshop
from planarena.pipeline.products import Discard, Executed, ExecutedScenario
from planarena.records.canonical import canonical_json, content_id
from planarena.tasks.atoms import Atom

__all__ = ["KINDS", "converse", "variant_of"]

KINDS: dict[str, Callable[[Workshop, Executed], Made | None]] = {
    "rule": bring_in_a_rule,
    "missing_value": leave_out_a_value,
    "noise": add_noise,
    "long": go_on_for_long,
    "change_of_mind": change_the_mind,
    "failed_call": let_a_call_fail,
}
# Kinds of several messages in any case: by kind how often its task goes on with more of them [ours].
_GOES_ON = {"missing_value": 0.75, "rule": 0.9, "change_of_mind": 0.2, "failed_call": 0.3}
_MOST_CALLS = 7
# What can be told of a task before anything is executed.
_FITS: dict[str, Callable[[Workshop, Executed], bool]] = {
    "rule": has_a_rule,
    "missing_value": may_leave_one_out,
}
# Some conversations are refused later, by the checks of their words or as duplicates: more are made than are wanted.
# The kind that falls behind decides how much of the others is thrown away; measured over all domains [ours].
_MORE = {"rule": 1.4, "noise": 1.3, "missing_value": 1.1}
_MORE_OF_OTHERS = 1.08
# Tasks that are tried for each conversation that is wanted.
_TRIES = 8


def converse(
    shop: Workshop, items: list[Executed | Discard], shares: Mapping[str, float], mix: CompositionConfig
) -> tuple[list[Executed | Discard], list[Made]]:
    """Turn some of a scenario's tasks into conversations.

    Args:
        shop: The scenario.
        items: Its proven tasks and what was discarded.
        shares: Wanted share by kind.
        mix: How many tasks are kept, and their most actions: who wants short ones gets no `long` conversations either.

    Returns:
        The items with the conversations that happen in the scenario as it is, and those that need one of their own.
    """
    kept: list[Executed | Discard | None] = list(items)
    free = [place for place, item in enumerate(items) if isinstance(item, Executed) and not item.unproven]
    whole = min(len(free), mix.per_scenario) if mix.per_scenario else len(free)
    shop.rng.shuffle(free)
    # What people want makes better conversations than what can be executed.
    free = [place for place in free if _aims_of(items[place])] or free
    elsewhere: list[Made] = []
    # What few tasks allow chooses first.
    for kind, make in KINDS.items():
        if kind == "long" and mix.max_actions < _MOST_CALLS:
            continue
        wanted = shares.get(kind, 0.0) * whole * _MORE.get(kind, _MORE_OF_OTHERS)
        count = int(wanted) + (shop.rng.random() < wanted % 1)
        tries = _TRIES * count
        for place in list(free):
            if not count or not tries:
                break
            item = items[place]
            assert isinstance(item, Executed)
            if kind in _FITS and not _FITS[kind](shop, item):
                continue
            tries -= 1
            if kept[place] is None:
                continue
            if item.aims and item.turns == 1 and shop.rng.random() < _GOES_ON.get(kind, 0.0):
                item = lengthened(shop, item, min(_MOST_CALLS, mix.max_actions))
            shop.spare = [one for at in free if isinstance(one := kept[at], Executed)]
            made = make(shop, item)
            if made is None:
                continue
            gone = {place, *(at for at in free if any(items[at] is part for part in made.parts))}
            free = [at for at in free if at not in gone]
            for at in gone:
                kept[at] = None
            count -= 1
            if made.is_elsewhere:
                elsewhere.append(made)
            else:
                kept[place] = made.task
    return [item for item in kept if item is not None], elsewhere


def _aims_of(item: Executed | Discard) -> bool:
    return isinstance(item, Executed) and bool(item.aims)


def variant_of(scenario: ExecutedScenario, made: Made) -> ExecutedScenario:
    """Return the scenario of one conversation: the one that it was drawn from, with what is different in it."""
    facts = scenario.facts if made.facts is None else made.facts
    tools = made.tools or scenario.tools
    digest = made.digest or scenario.seed_state_hash
    words = scenario.title, scenario.description
    # Two conversations of one scenario may differ in nothing but what is asked.
    asked = made.task.expression, [atom.atom_id for atom in made.atoms]
    scenario_id = content_id("scenario", scenario.domains, tools, digest, *words, facts, *asked)
    used = {(atom.tool, canonical_json(atom.arguments), atom.needs) for atom in made.atoms}
    # The others are what wrong choices are made of.
    atoms = [
        *made.atoms,
        *(one for one in scenario.atoms if (one.tool, canonical_json(one.arguments), one.needs) not in used),
    ]
    return replace(
        scenario,
        scenario_id=scenario_id,
        tools=tools,
        facts=facts,
        seed_state=made.seed_state or scenario.seed_state,
        seed_state_hash=digest,
        atoms=tuple(_renamed(atoms, scenario_id)),
        atom_results=("",) * len(atoms),
        edges=(),
        tried=0,
        items=(made.task,),
        origin=scenario.scenario_id,
    )


def _renamed(atoms: Sequence[Atom], scenario_id: str) -> Iterator[Atom]:
    """Yield atoms with ids of their own in a scenario, those too that one conversation uses twice."""
    met: Counter[str] = Counter()
    for atom in atoms:
        again = (met[atom.atom_id],) if met[atom.atom_id] else ()
        met[atom.atom_id] += 1
        yield replace(atom, atom_id=content_id("atom", scenario_id, atom.atom_id, *again))
