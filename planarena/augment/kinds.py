"""The kinds of augmentation that keep what happens: other tools beside, other names, words, order, fuller results."""

from __future__ import annotations

from planarena.augment.another_way import does_the_same
from planarena.augment.descriptions import PHRASINGS, other_descriptions, other_words
from planarena.augment.names import MANNERS, other_name, other_names
from planarena.augment.variant import Draft
from planarena.environments.presented import NOISE
from planarena.generate.relevance import tool_similarity

__all__ = ["add_distractors", "add_noise", "rename", "reorder", "reword"]


def add_distractors(draft: Draft, most: int) -> bool:
    """Offer more tools of the same environment, one half the most alike; none that does what a step does."""
    case = draft.case
    if not case.scene.is_executable or case.task.conversation == "missing_value":
        return False  # another tool might show the value that the user is to be asked for
    withheld = set(case.withheld)
    records = case.scene.records
    others = [name for name in records if name not in draft.offered and name not in withheld]
    used = sorted({step.tool for step in case.steps})
    draft.rng.shuffle(others)
    likeness = {name: max(tool_similarity(records[name], records[one]) for one in used) for name in others}
    alike = sorted(others, key=lambda name: -likeness[name])
    wanted = draft.rng.randint(2, max(2, most))
    ordered = list(dict.fromkeys([*alike[: -(-wanted // 2)], *others]))
    world = case.scene.world(draft.tables)
    added: list[str] = []
    for name in ordered:
        if len(added) == wanted:
            break
        if not any(does_the_same(case, step, name, world) for step in range(len(case.steps))):
            added.append(name)
    draft.offered += added
    draft.rng.shuffle(draft.offered)
    return bool(added)


def rename(draft: Draft) -> bool:
    """Show tools and arguments under other names, all in one manner; names that a text mentions stay."""
    case = draft.case
    manner = draft.rng.randrange(MANNERS)
    mentioned = case.texts + (case.scene.row.seed_state if draft.tables is None else str(draft.tables))
    records = case.scene.records
    taken = {*records, *case.scene.known}
    changed = False
    for tool in draft.offered:
        if tool in mentioned and ("_" in tool or not case.scene.is_executable):
            continue
        name = other_name(records[tool], manner, taken)
        arguments = other_names(records[tool], manner)
        if name:
            taken.add(name)
        draft.show(tool, name=name, arguments=arguments)
        changed = changed or bool(name or arguments)
    return changed


def reword(draft: Draft) -> bool:
    """Describe tools and arguments in other words."""
    changed = False
    for tool in draft.offered:
        record = draft.case.scene.records[tool]
        phrasing = draft.rng.randrange(PHRASINGS)
        words = other_words(record.description, phrasing, record.tool_id)
        described = other_descriptions(record, phrasing)
        # Once a tool has another name or takes other arguments, its description names those.
        draft.show(tool, description=words if words != record.description else "", described=described)
        changed = changed or words != record.description or bool(described)
    return changed


def add_noise(draft: Draft) -> bool:
    """Have look-ups, or all tools, give more than is needed."""
    if not draft.case.scene.is_executable:
        return False
    flavour = draft.rng.choice(sorted(NOISE))
    reads = draft.rng.random() < 0.5
    called = {step.tool for step in draft.case.steps}
    changed = False
    for tool in draft.offered:
        if reads and draft.case.scene.records[tool].effects != "read":
            continue
        draft.show(tool, noise=flavour)
        changed = changed or tool in called
    return changed


def reorder(draft: Draft) -> bool:
    """Offer the tools in another order."""
    before = list(draft.offered)
    draft.rng.shuffle(draft.offered)
    return before != draft.offered
