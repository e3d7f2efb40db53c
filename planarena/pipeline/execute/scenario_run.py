"""One scenario: its atoms, composed level by level, executed and proven."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from planarena.config import PLAIN, BuildConfig
from planarena.environments import BOUND, World
from planarena.environments.catalog import is_builtin, operations_of, wording_of
from planarena.environments.state import Footprint
from planarena.environments.wording import parse_pointer
from planarena.episodes import Episode
from planarena.pipeline.execute.aims import calls_of, draw_aims, draw_every
from planarena.pipeline.execute.beginnings import Beginnings
from planarena.pipeline.execute.conversations import converse, variant_of
from planarena.pipeline.execute.decontamination import permitted
from planarena.pipeline.execute.irreversible import FOLDER, IrreversibleTasks
from planarena.pipeline.execute.members import (
    crosses,
    joined,
    odd_source,
    offers_of,
    orders_in,
    overwritten,
    program_of,
    said_in_full,
    touched,
)
from planarena.pipeline.execute.proving import Proven, Telling, prove_task
from planarena.pipeline.execute.scenarios import Scenario, rng_for
from planarena.pipeline.execute.subjects import joined_subjects, subjects_of
from planarena.pipeline.execute.task_pools import TaskPools
from planarena.pipeline.execute.unverified import UnverifiedTools
from planarena.pipeline.execute.workshop import Made, Workshop
from planarena.pipeline.products import Discard, Executed, ExecutedScenario, ScenarioEdge, Step
from planarena.proofs import Dependences, Done, Sense, find_dependences
from planarena.records.canonical import canonical_json, content_id, id_of_bytes
from planarena.tasks.algebra import (
    canonical,
    from_order,
    generations,
    predecessors,
    relabel,
    render,
)
from planarena.tasks.atoms import Atom, Call, fill
from planarena.tasks.composition import Candidate, Composition, Limits, Member, Source, compose

__all__ = ["execute_every_aim", "execute_scenario", "execute_with_variants"]


def execute_scenario(config: BuildConfig, scenario: Scenario) -> ExecutedScenario:
    """Compose and prove the tasks of one scenario, without the conversations that need one of their own."""
    return _ScenarioRun(config, scenario).run()[0]


def execute_with_variants(config: BuildConfig, scenario: Scenario) -> tuple[ExecutedScenario, ...]:
    """Compose and prove the tasks of one scenario; behind it come the scenarios of single conversations."""
    return _ScenarioRun(config, scenario).run()


def execute_every_aim(
    config: BuildConfig, scenario: Scenario, names: Sequence[str]
) -> tuple[ExecutedScenario, list[tuple[str, Executed | Discard]]]:
    """Draw every aim of a scenario's domains once; return the scenario with them, and what became of each by name."""
    return _ScenarioRun(config, scenario).every_aim(names)


class _ScenarioRun:
    """The work on one scenario: its world, atoms and counters."""

    def __init__(self, config: BuildConfig, scenario: Scenario) -> None:
        self.config = config
        self.scenario = scenario
        self.world = scenario.world
        self.world.remember(True)
        self.start = self.world.mark()
        self.start_digest = self.world.digest()
        self.effects = {name: one.tool.effects for name, one in self.world.operations.items()}
        self.rng = rng_for(config.seed, "compose", scenario.domains, scenario.number)
        self.wording = {
            name: words for domain in scenario.domains for name, words in wording_of(domain).items()
        }
        self.outputs = {
            name: [parse_pointer(pointer) for pointer in words.outputs]
            for name, words in self.wording.items()
        }
        self.orders = {name: orders_in(words) for name, words in self.wording.items()}
        self.sense = Sense(self.world.operations, self.wording, str(self.world.facts.get("now", "")))
        # Where nobody sees the state, a write that changes nothing looks like any other.
        self.sees_changes = all(map(is_builtin, scenario.domains)) and isinstance(self.world, World)
        # What is known anyway, as the city where the user lives, joins nothing.
        self.known = frozenset(value for value in self.world.facts.values() if isinstance(value, str))
        self.paths = {
            (name, offer.pointer): offer.path for name, found in scenario.offers.items() for offer in found
        }
        self.atoms: list[Atom] = []
        self.atom_results: list[str] = []
        self.edges: dict[tuple[str, str, str, str], list[int]] = {}
        self.discards: list[Discard] = []
        self.swaps: dict[Any, str | None] = {}
        self.beginnings = Beginnings()
        self.unverified = UnverifiedTools(self.world, scenario.offers)
        self.irreversible = IrreversibleTasks(
            Path(config.out) / FOLDER, config.trajectories, scenario.scenario_id
        )

    def run(self) -> tuple[ExecutedScenario, ...]:
        """Do all of it."""
        ground = self._make_atoms()
        limits = self.config.composition
        space = compose(
            self.atoms,
            ground,
            self._realise,
            Limits(limits.max_actions, limits.max_depth, limits.budget),
            self.rng,
        )
        items: list[Executed | Discard] = list(self.discards)
        self.discards = []
        pools = TaskPools(space, limits.length_mix, limits.max_actions, self.rng)
        aims, twins = self._aims()
        items += aims
        met = {one for item in aims if (one := calls_of(item)) is not None}
        most = limits.per_scenario * self._share_of_aims()
        proven = min(round(most), sum(isinstance(item, Executed) for item in items))
        for item in items:
            if isinstance(item, Executed):
                pools.count_length(len(item.steps))
        while proven < limits.per_scenario and (member := pools.draw()) is not None:
            item = self._prove(member)
            if calls_of(item) in met:
                continue  # an aim makes these calls, and says them better
            items.append(item)
            if isinstance(item, Executed):
                proven += 1
                pools.count(member)
        self._restore()
        items, elsewhere = self._converse(items)
        self._restore()
        if self.world.store.recompute_digest() != self.start_digest:
            raise RuntimeError(f"an environment of {self.scenario.domains} changed a record in place")
        product = self._product(space, items)
        return (product, *(variant_of(product, made) for made in (*twins, *elsewhere)))

    def _aims(self) -> tuple[list[Executed | Discard], list[Made]]:
        """Draw tasks that follow aims, as many as are needed, and their twins."""
        wanted = self._share_of_aims() * self.config.composition.per_scenario
        rng = rng_for(self.config.seed, "aims", self.scenario.scenario_id)
        count = int(wanted) + (rng.random() < wanted % 1)
        most = self.config.composition.max_actions
        shop = self._shop(rng)
        items, twins = draw_aims(shop, count, rng, most) if count else ([], [])
        self.atom_results += [""] * (len(self.atoms) - len(self.atom_results))
        return [*items, *shop.dropped], twins

    def _share_of_aims(self) -> float:
        """Return the share of tasks that follow aims: of plain ones as many as are wanted, and what kinds are made of."""
        plain = self.config.conversations.weights.get(PLAIN, 1.0)
        return 1.0 - plain * (1.0 - self.config.composition.aims) if self.config.composition.aims else 0.0

    def every_aim(
        self, names: Sequence[str]
    ) -> tuple[ExecutedScenario, list[tuple[str, Executed | Discard]]]:
        """Draw every aim once."""
        rng = rng_for(self.config.seed, "every aim", self.scenario.scenario_id)
        found = draw_every(self._shop(rng), names, rng)
        self.atom_results += [""] * (len(self.atoms) - len(self.atom_results))
        return self._product(Composition([], "exhausted", 0), [item for _, item in found]), found

    def _shop(self, rng: Random) -> Workshop:
        tools, words = self.scenario.tools, self.wording
        shop = Workshop(self.world, tools, words, self.orders, self.sense, self.atoms, rng, self.beginnings)
        shop.domains = self.scenario.domains
        shop.scenario_id = self.scenario.scenario_id
        return shop

    def _converse(self, items: list[Executed | Discard]) -> tuple[list[Executed | Discard], list[Made]]:
        """Turn some of the tasks into conversations of other kinds than the plain one."""
        shares = self.config.conversations.weights
        if not shares or not self.sees_changes:
            return items, []
        shop = self._shop(rng_for(self.config.seed, "conversations", self.scenario.scenario_id))
        shop.permitted = tuple(
            name for domain in shop.domains for name in permitted(self.config, operations_of(domain))
        )
        items, elsewhere = converse(shop, items, shares, self.config.composition)
        self.atom_results += [""] * (len(self.atoms) - len(self.atom_results))
        return [*items, *shop.dropped], elsewhere

    def _restore(self) -> None:
        self.world.rollback(self.start)
        if self.world.digest() != self.start_digest:
            raise RuntimeError("rolling back did not restore the initial state")

    # -- atoms ---------------------------------------------------------------------------------

    def _make_atoms(self) -> list[Member]:
        ground: list[Member] = []
        seen: set[str] = set()
        for tool in self.scenario.tools:
            operation = self.world.operations[tool]
            for proposed in self.world.propose(tool, self.rng):
                literals = {name: value for name, value in proposed.items() if value is not BOUND}
                needs = tuple(
                    (name, schema["x-semantic"])
                    for name, schema in operation.tool.parameters.items()
                    if proposed.get(name) is BOUND
                    or (name not in literals and schema.get("x-hidden") and name in operation.tool.required)
                )
                marked = {**literals, **{name: {"$need": semantic} for name, semantic in needs}}
                atom_id = content_id("atom", self.scenario.scenario_id, operation.tool.tool_id, marked)
                if atom_id in seen:
                    continue
                seen.add(atom_id)
                if needs:
                    self._add_atom(Atom(atom_id, tool, literals, needs), "")
                else:
                    self._add_closed(Atom(atom_id, tool, literals), ground)
        return ground

    def _add_atom(self, atom: Atom, result: str) -> int:
        self.atoms.append(atom)
        self.atom_results.append(result)
        return len(self.atoms) - 1

    def _add_closed(self, atom: Atom, ground: list[Member]) -> None:
        if self.unverified.holds([atom.tool]):
            ground.append(self.unverified.ground(self._add_atom(atom, ""), atom.tool))
            return
        outcome = self.world.call(atom.tool, atom.arguments)
        footprint = self.world.footprint()
        unchanged = self.sees_changes and self.world.digest() == self.start_digest
        self.world.rollback(self.start)
        if outcome.status != "ok":
            assert outcome.error is not None
            self.discards.append(
                Discard(atom.tool, "execution", outcome.error["code"], outcome.error["message"])
            )
            return
        done = Done(Call(atom.tool, atom.arguments, ()), atom.arguments, outcome.result, footprint)
        if (fault := self.sense.fault([done])) is not None:
            self.discards.append(Discard(atom.tool, "sense", *fault))
            return
        if unchanged and self.world.operations[atom.tool].tool.effects != "read":
            self.discards.append(Discard(atom.tool, "sense", "no_change", "the state is as before"))
            return
        number = self._add_atom(atom, id_of_bytes(outcome.payload))
        offered = self._offers(number, done)
        payload, about = ([number], _SINGLE), self._subjects(done)
        ground.append(Member(number, {}, 1 << number, 1, offered, footprint, payload, about))

    # -- composition ---------------------------------------------------------------------------

    def _realise(self, candidate: Candidate) -> Member | None:
        """Execute a candidate, find what truly depends on what, and give it the expression that says so."""
        left, right = candidate.left, candidate.right
        bindings = {**left.bindings, **candidate.bindings}
        order: list[int] = list(left.payload[0])
        if isinstance(right, int):
            order.append(right)
            level = left.level + 1
        else:
            order += right.payload[0]
            bindings.update(right.bindings)
            level = max(left.level, right.level) + 1
        if (odd := odd_source(candidate, self._tool_of, self.wording)) is not None:
            self._senseless(order, "odd_source", odd)
            return None
        if self.unverified.holds(map(self._tool_of, order)):
            return self.unverified.join(candidate, order, bindings, level, self._tool_of, self._label)
        program = program_of(order, bindings, self.atoms, self.paths)
        episode = Episode(self.world, program)
        footprints: list[Footprint] = []
        failed = False
        idle = -1
        state = self.world.store.total() if self.sees_changes else 0
        for step in range(len(program)):
            outcome = episode.perform(step)
            if outcome.status != "ok":
                failed = True
                break
            footprints.append(self.world.footprint())
            if self.sees_changes and self.effects[program[step].tool] != "read":
                before, state = state, self.world.store.total()
                idle = step if before == state else idle
        self.world.rollback(self.start)
        self._count_edges(candidate, failed)
        if failed:
            assert outcome.error is not None
            self.discards.append(
                Discard(
                    ", ".join(self.atoms[number].tool for number in order),
                    "execution",
                    outcome.error["code"],
                    f"step {step} ({self.atoms[order[step]].tool}): {outcome.error['message']}",
                )
            )
            return None
        if idle >= 0 or overwritten(program, footprints):
            self._senseless(order, "no_change", f"step {idle}" if idle >= 0 else "it is overwritten")
            return None
        done = [
            Done(call, fill(call, episode.results) or {}, result, footprint)
            for call, result, footprint in zip(program, episode.results, footprints, strict=True)
        ]
        if (fault := self.sense.fault(done, left.n_actions)) is not None:
            self._senseless(order, *fault)
            return None
        names = [
            (number, tuple(bindings[number, argument] for argument, _ in self.atoms[number].needs))
            for number in order
        ]
        found = find_dependences(program, footprints, episode, names, self.swaps)
        expression, over_serialised = from_order(found.before)
        if candidate.op == "," and not isinstance(right, int) and not crosses(found.before, left.n_actions):
            return None  # the two parts commute: the parallel candidate says the same
        numbered = canonical(relabel(expression, order), self._label)
        if isinstance(right, int):
            offered, about = self._offers(right, done[-1]), self._subjects(done[-1])
        else:
            offered, about = right.offers, right.subjects
        return Member(
            numbered,
            bindings,
            sum(1 << number for number in order),
            level,
            joined(left.offers, offered),
            touched(footprints),
            (order, (found, over_serialised)),
            joined_subjects(left.subjects, about),
        )

    def _offers(self, number: int, one: Done) -> dict[str, tuple[Source, ...]]:
        tool = one.call.tool
        return offers_of(number, one.result, self.scenario.offers[tool], self.orders[tool])

    def _subjects(self, one: Done) -> frozenset[str] | None:
        """Return what a call is about; None where the world is not a built-in one."""
        tool = self.world.operations[one.call.tool].tool
        return subjects_of(tool, one.arguments, one.result) - self.known if self.sees_changes else None

    def _senseless(self, order: Sequence[int], reason: str, detail: str) -> None:
        self.discards.append(Discard(", ".join(map(self._tool_of, order)), "sense", reason, detail))

    def _tool_of(self, number: int) -> str:
        return self.atoms[number].tool

    def _label(self, number: Any) -> str:
        atom = self.atoms[number]
        return f"{atom.tool}:{atom.atom_id}"

    def _count_edges(self, candidate: Candidate, failed: bool) -> None:
        for (consumer, argument), source in candidate.bindings.items():
            key = (self.atoms[source.atom].tool, source.pointer, self.atoms[consumer].tool, argument)
            counts = self.edges.setdefault(key, [0, 0])
            counts[0] += 1
            counts[1] += not failed

    # -- proofs --------------------------------------------------------------------------------

    def _prove(self, member: Member) -> Executed | Discard:
        """Prove a task in its unrolled order, or say which proof fails."""
        rows = generations(member.expression)
        order = [number for row in rows for number in row]
        program = program_of(order, member.bindings, self.atoms, self.paths)
        text = render(member.expression, self._tool_of)
        groups = [group for group, numbers in enumerate(rows) for _ in numbers]
        # The same atoms with other bindings are another task, and must not be told the same way.
        identity = [self.atoms[number].atom_id for number in order], sorted(member.bindings.items())
        rng = rng_for(self.config.seed, "messages", self.scenario.scenario_id, identity)
        implied = said_in_full(order, member, self.atoms, self.wording)
        known = self.known if self.sees_changes else None
        telling = Telling(self.outputs, self.orders, implied, groups, rng, self.wording, known)
        if self.unverified.holds(map(self._tool_of, order)):
            once = self.irreversible.execute(self.world, program, telling, text)
            return once if isinstance(once, Discard) else self._executed(member, rows, order, once)
        before = predecessors(member.expression, {number: step for step, number in enumerate(order)})
        proven = prove_task(self.world, program, before, telling, text)
        return proven if isinstance(proven, Discard) else self._executed(member, rows, order, proven)

    def _executed(self, member: Member, rows: list[list[int]], order: list[int], proven: Proven) -> Executed:
        place = {number: step for step, number in enumerate(order)}
        group = {number: row for row, numbers in enumerate(rows) for number in numbers}
        steps = []
        for number, one in zip(order, proven.executed, strict=True):
            bound = tuple(
                (
                    argument,
                    place[member.bindings[number, argument].atom],
                    member.bindings[number, argument].pointer,
                )
                for argument, _ in self.atoms[number].needs
            )
            steps.append(Step.at(one, number, group[number], bound))
        old_order, (found, over_serialised) = member.payload
        edges = tuple(
            sorted(
                (place[old_order[edge.earlier]], place[old_order[edge.later]], edge.change)
                for edge in found.order_edges
            )
        )
        text = render(member.expression, str)
        return Executed(
            text,
            member.level,
            tuple(steps),
            edges,
            over_serialised,
            proven.goal,
            proven.reported,
            proven.unproven,
            proven.turn_of,
        )

    def _product(self, space: Composition, items: list[Executed | Discard]) -> ExecutedScenario:
        scenario = self.scenario
        return ExecutedScenario(
            number=scenario.number,
            scenario_id=scenario.scenario_id,
            title=scenario.seed.title,
            description=scenario.seed.description,
            domain="+".join(scenario.domains),
            domains=scenario.domains,
            tools=scenario.tools,
            facts=self.world.facts,
            seed_state=canonical_json(self.world.store.dump()),
            seed_state_hash=self.start_digest,
            atoms=tuple(self.atoms),
            atom_results=tuple(self.atom_results),
            edges=tuple(ScenarioEdge(*key, *counts) for key, counts in sorted(self.edges.items())),
            stop_reason=space.stop_reason,
            tried=space.tried,
            items=tuple(items),
        )


_SINGLE = (Dependences([0], []), False)
