"""What a phase hands to the next: compact structs, stored per chunk in the run's `work/` folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from planarena.episodes import ExecutedCall, Goal
from planarena.generate.model_records import Written
from planarena.pipeline.aimed import Aimed
from planarena.pipeline.talk import Act, RuleCheck, Step, Talk
from planarena.records.shards import write_durably
from planarena.records.tables import ToolRow
from planarena.tasks.algebra import parse, predecessors
from planarena.tasks.atoms import Atom
from planarena.users import Brief

__all__ = [
    "Act",
    "Assignment",
    "Candidate",
    "Contrast",
    "Contrastive",
    "Discard",
    "Executed",
    "ExecutedChunk",
    "ExecutedScenario",
    "Language",
    "LanguageChunk",
    "ModelChunk",
    "NoCall",
    "OfferedTool",
    "Origin",
    "PhaseKeys",
    "ProductStore",
    "Quarantined",
    "RuleCheck",
    "ScenarioEdge",
    "Step",
    "Talk",
]

_T = TypeVar("_T")


class Executed(msgspec.Struct, frozen=True, array_like=True, tag="task"):
    """A task that was executed and proven.

    Attributes:
        expression: The canonical expression over atom numbers, as text.
        level: Level of composition.
        steps: In unrolled order.
        order_edges: (earlier step, later step, what a swap changes) without data.
        over_serialised: See `planarena.tasks.algebra.from_order`.
        goal: The goal.
        reported: The steps that a message asks for; its answer reports their outputs.
        unproven: It was executed once, as it is irreversible: see `planarena.pipeline.execute.irreversible`.
        turn_of: The user's message of each step.
        talk: What happens in the conversation beyond asking and serving.
        aims: The aims that its messages follow.
    """

    expression: str
    level: int
    steps: tuple[Step, ...]
    order_edges: tuple[tuple[int, int, str], ...]
    over_serialised: bool
    goal: Goal
    reported: tuple[int, ...]
    unproven: bool = False
    turn_of: tuple[int, ...] = ()
    talk: Talk = Talk()
    aims: tuple[Aimed, ...] = ()

    @property
    def turns(self) -> int:
        """The number of the user's messages."""
        return self.talk.turns or self.turn_of[-1] + 1

    def asked_in(self, turn: int) -> list[int]:
        """Return the steps that a message asks for."""
        return [step for step in self.reported if self.turn_of[step] == turn]

    @property
    def before(self) -> list[int]:
        """The predecessors of each step, as bit masks over the steps."""
        return predecessors(
            parse(self.expression), {str(step.atom): number for number, step in enumerate(self.steps)}
        )


class Discard(msgspec.Struct, frozen=True, array_like=True, tag="discard"):
    """A candidate that failed a proof or a check."""

    expression: str
    stage: str
    reason: str
    detail: str


class ScenarioEdge(msgspec.Struct, frozen=True, array_like=True):
    """A data edge between two tools of a scenario: how often it was tried and accepted."""

    producer: str
    pointer: str
    consumer: str
    argument: str
    tried: int
    accepted: int


class ExecutedScenario(msgspec.Struct, frozen=True, array_like=True):
    """A scenario with its atoms and proven tasks.

    A variant is the scenario of one conversation: another state or other tools than those that it was drawn with.
    `origin` is then the id of the scenario as it was drawn; it is empty elsewhere.
    """

    number: int
    scenario_id: str
    title: str
    description: str
    domain: str
    domains: tuple[str, ...]
    tools: tuple[str, ...]
    facts: dict[str, Any]
    seed_state: str
    seed_state_hash: str
    atoms: tuple[Atom, ...]
    atom_results: tuple[str, ...]
    edges: tuple[ScenarioEdge, ...]
    stop_reason: str
    tried: int
    items: tuple[Executed | Discard, ...]
    origin: str = ""


class Quarantined(msgspec.Struct, frozen=True, array_like=True):
    """A scenario that failed unexpectedly."""

    number: int
    phase: str
    error: str
    detail: str


class OfferedTool(msgspec.Struct, frozen=True, array_like=True):
    """What rows say of a tool.

    Attributes:
        tool_id: Its id.
        description: What it does.
        vendor: Who offers it.
        row: Its own row, where the chunk may have to write it.
    """

    tool_id: str
    description: str
    vendor: str
    row: ToolRow | None = None


class Origin(msgspec.Struct, frozen=True, array_like=True):
    """What rows say of where scenarios come from, so that nothing is opened a second time to write them.

    Attributes:
        environment: As in the column `environment`.
        tools: The tools that the chunk's scenarios offer, by wire name.
    """

    environment: dict[str, Any]
    tools: dict[str, OfferedTool]


class Assignment(msgspec.Struct, frozen=True):
    """Where a chunk takes its scenarios from.

    Attributes:
        source: As on the command line; `builtin` stands for all built-in domains that the build names.
        first: The first group of operations, or the first scenario of a source that has no end.
        count: How many.
    """

    source: str
    first: int
    count: int


class ExecutedChunk(msgspec.Struct, frozen=True, array_like=True):
    """The product of the phase `execute`.

    Attributes:
        chunk: Number.
        scenarios: What was executed.
        quarantine: What failed unexpectedly.
        more: For a draw by quotas: whether the source has more.
        origins: By domain of the scenarios, for all that is not built in.
        assignment: Where quotas had the chunk draw from. It follows from the decisions on earlier chunks, which later
            phases take part in: a stored product counts for its own assignment alone.
    """

    chunk: int
    scenarios: tuple[ExecutedScenario, ...]
    quarantine: tuple[Quarantined, ...]
    more: bool = True
    origins: dict[str, Origin] = {}
    assignment: Assignment | None = None


class Candidate(msgspec.Struct, frozen=True, array_like=True):
    """A choice at a decision point, and what it is worth.

    Attributes:
        tool: Wire name; empty for an answer.
        arguments: Its arguments.
        outcome: See `planarena.proofs.outcomes`.
        relevance: In [0, 1].
        mutation: How it was made; empty for a ready step of the task.
        attempt: Its execution, or the check of an answer; None where neither was possible.
        beside: (tool, arguments) of a second call of the same turn, or None.
        scorer: What scored the relevance; empty for the offline measure.
        model: The model that proposed it; empty for a mutation.
        response: The text of an answer; empty for a call.
        second: The execution of the second call, or None.
        gold: The gold step whose execution is this one's too; -1 where it is not.
    """

    tool: str
    arguments: dict[str, Any]
    outcome: str
    relevance: float
    mutation: str
    attempt: ExecutedCall | None
    beside: tuple[str, dict[str, Any]] | None = None
    scorer: str = ""
    model: str = ""
    response: str = ""
    second: ExecutedCall | None = None
    gold: int = -1


class Contrastive(msgspec.Struct, frozen=True, array_like=True):
    """A trajectory that departs from the gold one at a wrong choice and goes on as an agent would.

    Attributes:
        diverge_step: The first step that differs.
        mutation: The fault.
        attempts: The calls after the common prefix.
        step_plans: One line for each of them.
        response: What the agent would answer.
        call_id: The call of the model that proposed it; empty for a mutation.
    """

    diverge_step: int
    mutation: str
    attempts: tuple[ExecutedCall, ...]
    step_plans: tuple[str, ...]
    response: str
    call_id: str = ""


class Contrast(msgspec.Struct, frozen=True, array_like=True):
    """The wrong choices of one task: candidates by step, contrastive trajectories, candidates at answers before the end.

    Attributes:
        points: By step, and the last ones where only the answer is left.
        trajectories: What departs from the gold.
        answers: (message, the next step, candidates) at questions and answers before the end.
    """

    points: tuple[tuple[Candidate, ...], ...]
    trajectories: tuple[Contrastive, ...]
    answers: tuple[tuple[int, int, tuple[Candidate, ...]], ...] = ()


class Language(msgspec.Struct, frozen=True, array_like=True, tag="language"):
    """The words of one task.

    Attributes:
        turns: The user's messages.
        plan: The global plan.
        step_plans: One line per step.
        response: The final answer.
        checks: What the query passed and where each value is grounded.
        contrast: The wrong choices, or None when none were asked for.
        context: What the user had said before.
        register: The manner of speaking.
        turn_of: The user's turn of each step.
        turn_responses: The answers to all turns but the last.
        brief: What the user knows and says when, without the texts.
        written: What models gave for it, or None; the words above are then theirs where they passed.
        failures: By step that fails for good, the sentence by which its answer tells it.
    """

    turns: tuple[str, ...]
    plan: str
    step_plans: tuple[str, ...]
    response: str
    checks: dict[str, Any]
    contrast: Contrast | None = None
    context: tuple[str, ...] = ()
    register: str = "plain"
    turn_of: tuple[int, ...] = ()
    turn_responses: tuple[str, ...] = ()
    written: Written | None = None
    failures: dict[int, str] = {}
    brief: Brief = Brief()


class ModelChunk(msgspec.Struct, frozen=True, array_like=True):
    """The product of the models' phase: what they gave for the tasks of a chunk that are kept."""

    chunk: int
    items: tuple[Written, ...]


class NoCall(msgspec.Struct, frozen=True, array_like=True):
    """A request that no call answers (see `planarena.generate.no_call`).

    Attributes:
        category: Why.
        query: What the user says.
        response: The right answer.
        withheld: Wire names of tools that are not offered.
        choices: The right answer and what looks right, executed and judged; empty where the tools are live.
    """

    category: str
    query: str
    response: str
    withheld: tuple[str, ...]
    choices: tuple[Candidate, ...]


class LanguageChunk(msgspec.Struct, frozen=True, array_like=True):
    """The product of the phase `language`: for each scenario and item its words, or why it was discarded.

    Attributes:
        chunk: Number.
        items: By scenario and item.
        no_calls: By scenario: what comes on top of its tasks.
    """

    chunk: int
    items: tuple[tuple[Language | Discard, ...], ...]
    no_calls: tuple[tuple[NoCall, ...], ...]


class PhaseKeys(msgspec.Struct, frozen=True):
    """Content keys of the phases of a build: see `planarena.pipeline.phases`.

    `models` is empty where no model takes part.
    """

    execute: str
    language: str
    quality: str
    models: str = ""


class ProductStore(NamedTuple):
    """The products of a run's phases, each under its phase's key: `work/PHASE-KEY/CHUNK.bin`, compressed with zstd.

    Attributes:
        root: The run directory.
        keys: Of the phases.
    """

    root: Path
    keys: PhaseKeys

    def path(self, phase: str, chunk: int) -> Path:
        """Return the file of a chunk's product of a phase: `execute`, `language` or `models`."""
        return self.root / "work" / f"{phase}-{getattr(self.keys, phase)[:12]}" / f"{chunk:05d}.bin"

    def save(self, phase: str, chunk: int, product: msgspec.Struct) -> None:
        """Write a product durably.

        Raises:
            OSError: No space, no permission.
        """
        import pyarrow

        data = msgspec.msgpack.encode(product)
        packed = pyarrow.compress(data, codec="zstd", asbytes=True)
        write_durably(self.path(phase, chunk), len(data).to_bytes(8, "little") + packed)

    def load(self, phase: str, chunk: int, kind: type[_T]) -> _T | None:
        """Read a product back, checked strictly; one that is damaged is removed, as it can be made again.

        Returns:
            The product, or None where there is none.
        """
        import pyarrow

        path = self.path(phase, chunk)
        try:
            raw = path.read_bytes()
            size = int.from_bytes(raw[:8], "little")
            data = pyarrow.decompress(raw[8:], decompressed_size=size, codec="zstd", asbytes=True)
            return msgspec.msgpack.decode(data, type=kind)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            # Products are only ever renamed into place whole, so the disk did it.
            path.unlink(missing_ok=True)
            return None
