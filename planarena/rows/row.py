"""A training row: one decision, its prompt and its gold; and the two other shapes, episodes and pairs."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from planarena.formats import Call, Gold
from planarena.users import ScriptedUser, read_brief

__all__ = ["EnvironmentReference", "EpisodeRow", "PreferencePair", "TrainingRow"]

Message = dict[str, Any]


class EnvironmentReference(msgspec.Struct, frozen=True):
    """Where a policy can act: `open_environment` makes the world that it names.

    Attributes:
        run: Path of the run directory, as it was given.
        scenario_id: The scenario whose world and initial state it is.
        task_id: The task whose goal counts.
        shard: The shard that holds both.
        calls: Calls to make from the initial state so that the world stands where the row stands.
    """

    run: str
    scenario_id: str
    task_id: str
    shard: str
    calls: tuple[Call, ...] = ()


class TrainingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One decision of a trajectory.

    Attributes:
        row_id: Id of everything that a policy sees and is asked for.
        prompt_id: Id of what it sees alone; rows with the same prompt share it.
        prompt: Chat messages up to the decision, each with `role` and `content`; in the format `native` also
            `tool_calls` and `tool_call_id`.
        tools: The tools on offer in the OpenAI shape. A prompt of the format `native` leaves them to the chat
            template; every other prompt states them in its text.
        format: The format that the policy speaks.
        template: The prompt template.
        gold: The reference action; of a negative row the wrong action.
        target: The gold in the format.
        step: n of DUPO Eq. 20: the number of the decision, from 1.
        steps: N: the decisions of the trajectory, its answers included.
        trajectory_id: Of the trajectory.
        scenario_id: Of its scenario.
        task_id: Of its task.
        split: `train`, `validation`, `test` or `unseen_tools`.
        domain: Of the scenario.
        polarity: `positive`, or `negative` for what should not be done.
        rationale: The source's reason for the gold; empty without one.
        generator: Who made the gold.
        category: `call`, or why no call is right.
        anchor: Hash of the state that the decision is made in; empty where there is no environment.
        environment: Where a policy can act, or None.
    """

    row_id: str
    prompt_id: str
    prompt: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...]
    format: str
    template: str
    gold: Gold
    target: str
    step: int
    steps: int
    trajectory_id: str
    scenario_id: str
    task_id: str = ""
    split: str = "train"
    domain: str = ""
    polarity: Literal["positive", "negative"] = "positive"
    rationale: str = ""
    generator: str = ""
    category: str = "call"
    anchor: str = ""
    environment: EnvironmentReference | None = None


class EpisodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A whole trajectory, for a policy that acts in the scenario's environment, or to imitate it as a whole.

    Attributes:
        prompt: Messages up to the first decision.
        turns: All messages of the user; the first is in the prompt already.
        messages: The whole dialogue as the gold has it, observations included.
        gold: The reference actions in order.
        targets: The same in the format.
        environment: Where a policy can act, or None; its `calls` are empty.
        brief: What the user knows and says when, as in the column of the table `queries`; empty in runs of before.
    """

    row_id: str
    prompt: tuple[Message, ...]
    turns: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...]
    format: str
    template: str
    gold: tuple[Gold, ...]
    targets: tuple[str, ...]
    trajectory_id: str
    scenario_id: str
    task_id: str = ""
    split: str = "train"
    domain: str = ""
    generator: str = ""
    category: str = "call"
    environment: EnvironmentReference | None = None
    brief: str = ""

    def user(self) -> ScriptedUser:
        """Return the user of an episode; the first message is said already."""
        return ScriptedUser(read_brief(self.brief, self.turns))


class PreferencePair(msgspec.Struct, frozen=True, kw_only=True):
    """Two actions in the same state after the same messages: one right, one wrong.

    Attributes:
        prompt: Messages up to the decision.
        chosen: The right action in the format.
        rejected: The wrong action in the format.
        chosen_action: The same as a structure.
        rejected_action: Likewise.
        outcome: What executing the wrong one showed: `useless`, `diverges`, `ungrounded`, `error`;
            `contrastive` where a whole wrong trajectory begins with it.
        mutation: What kind of fault it is.
        relevance: How close it looks to the right one, in [0, 1]; -1 where nobody scored it.
        anchor: Hash of the state that both are made in.
    """

    pair_id: str
    prompt: tuple[Message, ...]
    chosen: str
    rejected: str
    chosen_action: Gold
    rejected_action: Gold
    tools: tuple[dict[str, Any], ...]
    format: str
    template: str
    step: int
    steps: int
    trajectory_id: str
    scenario_id: str
    split: str = "train"
    domain: str = ""
    outcome: str = ""
    mutation: str = ""
    relevance: float = -1.0
    anchor: str = ""
