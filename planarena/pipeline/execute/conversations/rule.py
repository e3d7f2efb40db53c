"""A rule forbids it: the system message holds the environment's rules, and what is asked for is forbidden, or needs a yes first.

Forbidden: the call is not made, the rest is. To be confirmed: the assistant asks, and makes the call once the user said yes,
or leaves it where the answer is no. Allowed: the same rules stand there and what is asked for keeps to them, so that it is
done without more ado. The rule's own check says of every call whether it is one of those that the rule is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from planarena.environments.policies import Policy, policies_of
from planarena.environments.wording import parse_pointer
from planarena.pipeline.aimed import Aimed
from planarena.pipeline.execute.aims import AimDraw, Misfit, draw_again, prove_aims
from planarena.pipeline.execute.carried import carried
from planarena.pipeline.execute.drafting import (
    Settled,
    later,
    lines_of,
    placed,
    settle,
    settled_again,
    settled_with,
    twin,
)
from planarena.pipeline.execute.ordering import Line
from planarena.pipeline.execute.workshop import Made, Workshop
from planarena.pipeline.products import Act, Executed, RuleCheck, Step, Talk
from planarena.tasks.atoms import Binding, Call

__all__ = ["bring_in_a_rule", "has_a_rule"]

_DECLINES, _ALLOWED, _OTHERWISE = 0.25, 0.03, 0.6
# How often an aim is wanted that a rule forbids: what needs a yes only would be nearly all of them.
_FORBIDDEN = 0.6
_BESIDE = 2


def has_a_rule(shop: Workshop, task: Executed) -> bool:
    """Say whether a rule is about what a task is asked for."""
    tools = {task.steps[number].tool for number in task.reported}
    return any(rule.tool in tools for domain in shop.domains for rule in policies_of(domain))


def bring_in_a_rule(shop: Workshop, task: Executed) -> Made | None:
    """Return a task as a conversation under rules; None where no rule is about what it does."""
    rules = [rule for domain in shop.domains for rule in policies_of(domain)]
    numbers = [number for number in task.reported if not _hangs_on_a_condition(task, number)]
    shop.rng.shuffle(numbers)
    about = [(number, rule) for number in numbers for rule in rules if rule.tool == task.steps[number].tool]
    if not about:
        return None
    # What holds for one tool in these words holds for all that the words are about.
    own = {rule.text for rule in rules if any(step.tool == rule.tool for step in task.steps)}
    others = [rule for rule in rules if rule.text not in own]
    shop.rng.shuffle(others)
    beside = [policy for rule in others[:_BESIDE] if (policy := rule.drawn(shop.rng)) is not None]
    if shop.rng.random() < _ALLOWED:
        # Rules that are about other things, or about more than is asked for.
        lax = [
            policy for _, rule in about if (policy := rule.drawn(shop.rng)) and not _concerns(task, policy)
        ]
        if lax or beside:
            return _under(shop, _settled_as_is(shop, task), [*lax[:1], *beside], (), task.turns)
    if task.aims and shop.rng.random() < _FORBIDDEN:
        about = [one for one in about if one[1].demands == "refusal"]
    for number, rule in about:
        policy = rule.drawn(shop.rng, task.steps[number].arguments)
        if policy is None or sum(policy.holds_for(one.tool, one.arguments) for one in task.steps) != 1:
            continue
        made = None
        if policy.demands == "confirmation" and shop.rng.random() >= _DECLINES:
            made = _confirmed(shop, task, number, [policy, *beside])
        elif policy.demands == "refusal" and policy.argument and shop.rng.random() < _OTHERWISE:
            value = rule.allowed(policy, task.steps[number].arguments[policy.argument])
            if value is not None:
                way = _otherwise_for_an_aim if task.aims else _otherwise
                made = way(shop, task, number, policy, value, beside)
        if made is None and (policy.demands == "refusal" or shop.rng.random() < _DECLINES):
            made = (_left_aim if task.aims else _left)(shop, task, number, policy, beside)
        if made is not None:
            return made
    return None


def _hangs_on_a_condition(task: Executed, number: int) -> bool:
    """Say whether a step is made only as an aim's condition turns out: nobody says yes to it before that is known."""
    owner = next((one for one in task.aims if any(step == number for step, _, _ in one.calls)), None)
    return owner is not None and bool(owner.branch)


def _concerns(task: Executed, policy: Policy) -> bool:
    return any(policy.holds_for(step.tool, step.arguments) for step in task.steps)


def _under(
    shop: Workshop, settled: Settled | None, policies: list[Policy], acts: tuple[Act, ...], turns: int
) -> Made | None:
    """Return a conversation with rules in its context."""
    if settled is None:
        return None
    policies = sorted(policies, key=lambda policy: policy.text)
    rules = tuple(RuleCheck(one.tool, one.demands, one.argument, one.limit, one.exact) for one in policies)
    talk = Talk("rule", tuple(placed(act, settled) for act in acts), turns, rules=rules)
    facts = {**shop.facts, "rules": [policy.text for policy in policies]}
    return Made(replace(settled.task, talk=talk), facts=facts, atoms=settled.atoms)


def _settled_as_is(shop: Workshop, task: Executed) -> Settled | None:
    return settled_again(shop, task)


def _confirmed(shop: Workshop, task: Executed, number: int, policies: list[Policy]) -> Made | None:
    """The assistant asks for a yes, gets it, and does what was asked for."""
    turn = task.turn_of[number]
    lines = [line._replace(turn=line.turn + (line.turn >= turn)) for line in lines_of(shop, task)]
    acts = (Act(turn, "confirms", number, "", policies[0].text), Act(turn + 1, "agrees", number))
    task = replace(task, aims=later(task.aims, turn))
    settled = settled_with(shop, task, lines, task.turns + 1, aimed=bool(task.aims))
    return _under(shop, settled, policies, acts, task.turns + 1)


def _left(shop: Workshop, task: Executed, number: int, policy: Policy, beside: list[Policy]) -> Made | None:
    """The call is not made: it is forbidden, or the user does not confirm it; the rest is done."""
    lines = lines_of(shop, task)
    if any(source == number for line in lines for _, source, _ in line.bound):
        return None
    gone = _serving(lines, number)
    kept = [at for at in range(len(lines)) if at not in gone]
    if not kept:
        return None
    asks = policy.demands == "confirmation"
    turn = lines[number].turn
    where = {at: place for place, at in enumerate(kept)}
    left = [
        lines[at]._replace(
            bound=tuple((name, where[source], pointer) for name, source, pointer in lines[at].bound),
            after=frozenset(where[one] for one in lines[at].after if one in where),
            # Who is asked for a yes waits for it with all that the message asks for.
            turn=lines[at].turn + (asks and lines[at].turn >= turn),
        )
        for at in kept
    ]
    turns = task.turns + asks
    settled = settle(shop, left, turns)
    if settled is None:
        return None
    unmade, places = _unmade(task, sorted(gone), {at: settled.place[where[at]] for at in kept}, len(kept))
    acts: tuple[Act, ...] = (Act(turn, "forbids", places[number], "", policy.text),)
    if asks:
        acts = (
            Act(turn, "confirms", places[number], "", policy.text),
            Act(turn + 1, "declines", places[number]),
        )
    made = _under(shop, settled, [policy, *beside], (), turns)
    if made is None:
        return None
    talk = replace(made.task.talk, acts=acts, unmade=unmade)
    return made._replace(task=replace(made.task, talk=talk))


def _otherwise(
    shop: Workshop, task: Executed, number: int, policy: Policy, value: Any, beside: list[Policy]
) -> Made | None:
    """The call is forbidden as it is asked for; the user takes what the rule allows in its place."""
    lines = lines_of(shop, task)
    if any(source == number for line in lines for _, source, _ in line.bound):
        return None
    if policy.argument in {name for name, _, _ in lines[number].bound}:
        return None
    gone = _serving(lines, number)
    turn = lines[number].turn
    # What is refused needs no look-up: what only the call takes from comes with the call that is made.
    lines = [
        line._replace(turn=line.turn + (line.turn > turn or at in gone)) for at, line in enumerate(lines)
    ]
    lines[number] = lines[number]._replace(atom=twin(lines[number].atom, **{policy.argument: value}))
    settled = settle(shop, lines, task.turns + 1)
    if settled is None:
        return None
    forbidden = task.steps[number].arguments[policy.argument]
    if _covers_up(shop, settled, settled.place[number], {policy.argument: forbidden}):
        return None
    unmade, places = _unmade(task, sorted(gone), settled.place, len(lines))
    acts = (
        Act(turn, "forbids", places[number], "", policy.text),
        Act(turn + 1, "instead", settled.place[number], policy.argument),
    )
    made = _under(shop, settled, [policy, *beside], (), task.turns + 1)
    if made is None:
        return None
    return made._replace(task=replace(made.task, talk=replace(made.task.talk, acts=acts, unmade=unmade)))


def _left_aim(
    shop: Workshop, task: Executed, number: int, policy: Policy, beside: list[Policy]
) -> Made | None:
    """A whole message is refused, or not confirmed; what the others ask for is done."""
    owner = _owner(task, number)
    if owner is None or len(task.aims) < 2:
        return None
    asks = policy.demands == "confirmation"
    draws: list[AimDraw] = []
    try:
        for one in task.aims:
            if one is not owner:
                draws.append(draw_again(shop, one, draws))
        settled = prove_aims(draws)
        alone = prove_aims([draw_again(shop, owner)])
    except Misfit:
        return None
    turn = owner.turn
    settled = _with_room(settled, turn, 1 + asks)
    unmade, aims, forbidden = _unmade_aim(alone, settled.task, turn, number, owner)
    acts: tuple[Act, ...] = (Act(turn, "forbids", forbidden, "", policy.text),)
    if asks:
        acts = (Act(turn, "confirms", forbidden, "", policy.text), Act(turn + 1, "declines", forbidden))
    made = _under(shop, settled, [policy, *beside], (), task.turns + asks)
    if made is None:
        return None
    talk = replace(made.task.talk, acts=acts, unmade=unmade)
    both = tuple(sorted((*made.task.aims, *aims), key=lambda one: one.turn))
    return made._replace(task=replace(made.task, aims=both, talk=talk))


def _otherwise_for_an_aim(
    shop: Workshop, task: Executed, number: int, policy: Policy, value: Any, beside: list[Policy]
) -> Made | None:
    """A message asks for more than the rule allows; the user takes what it allows."""
    owner = _owner(task, number)
    place = number, policy.argument
    said = next((one for one in owner.said if place in one.places), None) if owner is not None else None
    if owner is None or said is None:
        return None
    draws: list[AimDraw] = []
    try:
        for one in task.aims:
            draws.append(draw_again(shop, one, draws, {said.name: value} if one is owner else {}))
        settled = prove_aims(draws)
        alone = prove_aims([draw_again(shop, owner)])
    except Misfit:
        return None
    turn = owner.turn
    [allowed] = [one for one in settled.task.aims if one.turn == turn]
    again = next(one for one in allowed.said if one.name == said.name).places[0]
    forbidden = task.steps[number].arguments[policy.argument]
    if _covers_up(shop, settled, again[0], {policy.argument: forbidden}):
        return None
    settled = _with_room(settled, turn, 1)
    unmade, aims, left = _unmade_aim(alone, settled.task, turn, number, owner)
    acts = (Act(turn, "forbids", left, "", policy.text), Act(turn + 1, "instead", *again, forbidden))
    made = _under(shop, settled, [policy, *beside], (), task.turns + 1)
    if made is None:
        return None
    talk = replace(made.task.talk, acts=acts, unmade=unmade)
    both = tuple(sorted((*made.task.aims, *aims), key=lambda one: one.turn))
    return made._replace(task=replace(made.task, aims=both, talk=talk))


def _owner(task: Executed, number: int) -> Aimed | None:
    """Return the aim that a step is of, where all that its answer tells is that step or comes of it."""
    owner = next((one for one in task.aims if any(step == number for step, _, _ in one.calls)), None)
    if owner is None:
        return None
    of_it = {number}
    for step, _, _ in sorted(owner.calls):
        if any(source in of_it for _, source, _ in task.steps[step].bound):
            of_it.add(step)
    own = {step for step, _, _ in owner.calls if step in task.reported}
    return owner if own <= of_it else None


def _with_room(settled: Settled, turn: int, by: int) -> Settled:
    """Return a conversation with room for messages from one on."""
    turn_of = tuple(one + by * (one >= turn) for one in settled.task.turn_of)
    return settled._replace(
        task=replace(settled.task, turn_of=turn_of, aims=later(settled.task.aims, turn, by))
    )


def _unmade_aim(
    alone: Settled, task: Executed, turn: int, number: int, owner: Aimed
) -> tuple[tuple[Step, ...], tuple[Aimed, ...], int]:
    """Return the calls of an aim that is not carried out, behind those that are; the aim; and the forbidden call.

    Args:
        alone: The aim by itself.
        task: What is carried out; what it has looked up before that message is not looked up again.
        turn: The message.
        number: The forbidden call's step in the task that the conversation is made of.
        owner: The aim there.
    """
    place: dict[int, int] = {}
    steps: list[Step] = []
    for at, step in enumerate(alone.task.steps):
        known = next(
            (
                other
                for other, one in enumerate(task.steps)
                if task.turn_of[other] < turn and (one.tool, one.arguments) == (step.tool, step.arguments)
            ),
            None,
        )
        bound = tuple((name, place[source], pointer) for name, source, pointer in step.bound)
        if known is not None and at not in alone.task.reported:
            place[at] = known
        else:
            place[at] = len(task.steps) + len(steps)
            steps.append(Step.at(step, -1, step.group, bound))
    aims = carried(alone.task.aims, place, turn)
    call = next((name, which) for step, name, which in owner.calls if step == number)
    forbidden = next(step for step, name, which in aims[0].calls if (name, which) == call)
    left = tuple(one for one in aims[0].calls if one[0] >= len(task.steps))
    return tuple(steps), (replace(aims[0], calls=left),), forbidden


def _covers_up(shop: Workshop, settled: Settled, place: int, values: dict[str, Any]) -> bool:
    """Say whether the goal is reached where a step was made with other values first: then nothing shows that it was."""
    program = []
    for step in settled.task.steps:
        bound = tuple(
            Binding(name, source + (source >= place), parse_pointer(pointer))
            for name, source, pointer in step.bound
        )
        program.append(Call(step.tool, settled.atoms[step.atom].arguments, bound))
    allowed = program[place]
    first = Call(allowed.tool, {**allowed.literals, **values}, allowed.bound)
    return shop.reaches([*program[:place], first, *program[place:]], settled.task.goal)


def _unmade(
    task: Executed, gone: list[int], place: Mapping[int, int], made: int
) -> tuple[tuple[Step, ...], dict[int, int]]:
    """Return the calls that are not made, numbered behind those that are, in the order in which they would have been.

    Args:
        task: It has them.
        gone: Their numbers.
        place: By line that is made its step.
        made: How many calls are made.

    Returns:
        Them, and the number of each line among all calls.
    """
    places = {**place, **{at: made + number for number, at in enumerate(gone)}}
    found = tuple(
        Step.at(
            task.steps[at],
            -1,
            task.steps[at].group,
            tuple((name, places[source], pointer) for name, source, pointer in task.steps[at].bound),
        )
        for at in gone
    )
    return found, places


def _serving(lines: list[Line], number: int) -> set[int]:
    """Return a line and those that only it needs and that nobody asked for."""
    gone = {number}
    changed = True
    while changed:
        changed = False
        for at, line in enumerate(lines):
            takers = {other for other, one in enumerate(lines) if any(s == at for _, s, _ in one.bound)}
            if at not in gone and not line.told and takers and takers <= gone:
                gone.add(at)
                changed = True
    return gone
