"""What a build is told: its parts, their defaults and ranges, and the presets."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from planarena.config.checks import are_weights as _are_weights
from planarena.config.checks import require as _require
from planarena.config.contrast import ContrastConfig
from planarena.config.conversations import ConversationConfig
from planarena.errors import ConfigError

__all__ = [
    "PRESETS",
    "AllowedConfig",
    "BuildConfig",
    "CallsConfig",
    "CompositionConfig",
    "ExecutionConfig",
    "ModelsConfig",
    "QuotaConfig",
    "SplitConfig",
]


class CompositionConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How atoms become tasks (DUPO section 3.1; limits kept apart as the pipeline specification decides).

    Attributes:
        max_actions: Most actions of a task, N <= 7 [paper].
        max_depth: Most levels of composition, M <= 11 [paper].
        budget: Candidates tried per scenario before composition stops [ours].
        per_scenario: Most tasks kept per scenario [ours].
        length_mix: Weights of the lengths 1..max_actions among the composed tasks kept; missing ones count 0 [ours].
        shape_mix: Weights of serial, parallel and mixed tasks among those of two or more actions [ours].
        domain_mix: Weights of the domains; those not named count 1 [ours].
        tools: Fewest and most tools that a scenario of one domain offers [ours].
        mixed_share: Share of the scenarios that span two or three domains [ours].
        aims: Least share of the plain tasks that follow an aim of `goals.yaml`, where a domain has enough [ours].
    """

    max_actions: int = 7
    max_depth: int = 11
    budget: int = 60
    per_scenario: int = 12
    length_mix: tuple[float, ...] = (0.087, 0.175, 0.21, 0.168, 0.162, 0.119, 0.079)
    shape_mix: dict[str, float] = msgspec.field(
        default_factory=lambda: {"serial": 0.345, "parallel": 0.03, "mixed": 0.625}
    )
    domain_mix: dict[str, float] = msgspec.field(default_factory=dict)
    tools: tuple[int, int] = (6, 10)
    mixed_share: float = 0.2
    aims: float = 0.97

    def __post_init__(self) -> None:
        _require(
            1 <= self.max_actions <= 12, "composition.max_actions", self.max_actions, "a number from 1 to 12"
        )
        _require(1 <= self.max_depth <= 32, "composition.max_depth", self.max_depth, "a number from 1 to 32")
        _require(self.budget >= 1, "composition.budget", self.budget, "a number of at least 1")
        _require(
            self.per_scenario >= 1, "composition.per_scenario", self.per_scenario, "a number of at least 1"
        )
        mix = self.length_mix[: self.max_actions]
        good = all(0 <= weight < float("inf") for weight in self.length_mix) and sum(mix) > 0
        _require(
            good, "composition.length_mix", list(self.length_mix), "weights >= 0, one a length, not all 0"
        )
        _require(
            1 <= self.tools[0] <= self.tools[1],
            "composition.tools",
            list(self.tools),
            "two numbers, the lower first",
        )
        _require(
            0 <= self.mixed_share <= 1, "composition.mixed_share", self.mixed_share, "a share from 0 to 1"
        )
        _require(0 <= self.aims <= 1, "composition.aims", self.aims, "a share from 0 to 1")
        shapes = {"serial", "parallel", "mixed"}
        _require(
            set(self.shape_mix) <= shapes and _are_weights(self.shape_mix),
            "composition.shape_mix",
            self.shape_mix,
            f"weights >= 0 of {', '.join(sorted(shapes))}, not all 0",
        )
        _require(
            not self.domain_mix or _are_weights(self.domain_mix),
            "composition.domain_mix",
            self.domain_mix,
            "weights >= 0 by domain, not all 0",
        )


class SplitConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How scenarios are split; all of a scenario goes to one split.

    Attributes:
        validation: Share of scenarios [ours].
        test: Share of scenarios [ours].
        held_out: Tool namespaces that no training scenario may offer; theirs form the split `unseen_tools`.
    """

    validation: float = 0.05
    test: float = 0.05
    held_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        good = self.validation >= 0 and self.test >= 0 and self.validation + self.test < 1
        _require(
            good, "split", [self.validation, self.test], "two shares >= 0 that leave something to train on"
        )


class ModelsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which models write and propose (DUPO sections 3.1 and 3.3; AWPO section 4.1); none: all is offline.

    Attributes:
        proposers: Models that write and propose, as `planarena.llm.read_model` takes them. The tasks' words are shared
            out among them; each proposes a complete trajectory of every task.
        judge: The model that scores relevance at decision points; empty: the offline measure.
        queries: Queries inferred per task, of which the best is kept [ours].
        candidates: Choices proposed per decision point; 0 asks for none [ours].
        trajectories: Whether complete trajectories are asked for.
        rationales: Whether a reference rationale per step is asked for.
        temperature: Of all but the judge; None leaves it to the model.
        max_tokens: Most tokens of one answer [ours].
        round_trip: The model that must serve every query of a model unseen, or the query is refused; empty: none.
        plausibility: Whether the judge (or a proposer) may reject a task before words are paid for.
        user: The model that plays the user of conversations, message by message against the gold's answers; empty: its
            messages are as they were written. Proposers write those of plain and long conversations themselves.
    """

    proposers: tuple[str, ...] = ()
    judge: str = ""
    queries: int = 3
    candidates: int = 2
    trajectories: bool = True
    rationales: bool = True
    temperature: float | None = None
    max_tokens: int = 4096
    round_trip: str = ""
    plausibility: bool = False
    user: str = ""

    def __post_init__(self) -> None:
        _require(1 <= self.queries <= 16, "models.queries", self.queries, "a number from 1 to 16")
        _require(0 <= self.candidates <= 8, "models.candidates", self.candidates, "a number from 0 to 8")
        _require(self.max_tokens >= 16, "models.max_tokens", self.max_tokens, "a number of at least 16")
        distinct = len(set(self.proposers)) == len(self.proposers)
        _require(distinct, "models.proposers", list(self.proposers), "each model once")
        writes = bool(self.proposers)
        _require(
            writes or not self.round_trip, "models.round_trip", self.round_trip, "nothing without --model"
        )
        _require(
            writes or not self.plausibility, "models.plausibility", self.plausibility, "false without --model"
        )

    @property
    def active(self) -> bool:
        """Whether any model takes part."""
        return bool(self.proposers or self.judge or self.user)


class CallsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How models are called; the budgets hold over all commands that worked on the run.

    Attributes:
        budget_usd: Most US dollars; needs the models' prices.
        budget_tokens: Most tokens, prompts and answers.
        budget_calls: Most answers paid for.
        concurrency: Most requests in flight per model.
        requests_per_minute: Per model; 0 sets no limit.
        tokens_per_minute: Per model; 0 sets no limit.
        timeout: Seconds for one attempt.
        attempts: Attempts at one request.
        price: USD per million prompt and answer tokens, for models whose price is not known.
    """

    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_calls: int | None = None
    concurrency: int = 32
    requests_per_minute: float = 0.0
    tokens_per_minute: float = 0.0
    timeout: float = 120.0
    attempts: int = 6
    price: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        limits = ("budget_usd", "budget_tokens", "budget_calls", "requests_per_minute", "tokens_per_minute")
        for name in limits:
            value = getattr(self, name)
            _require(
                value is None or 0 <= value < float("inf"), f"execution.calls.{name}", value, "a number >= 0"
            )
        _require(1 <= self.concurrency <= 4096, "execution.calls.concurrency", self.concurrency, "1 to 4096")
        _require(
            1 <= self.attempts <= 100, "execution.calls.attempts", self.attempts, "a number from 1 to 100"
        )
        _require(0 < self.timeout < float("inf"), "execution.calls.timeout", self.timeout, "seconds above 0")


class AllowedConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a user allows in executing other people's tools; part of what a run is, and stated in it.

    Attributes:
        unsafe_no_sandbox: Run third-party code without a sandbox.
        simulate: A model that makes up the results of JSON lists of tools, which nothing here can execute.
        effects: Execute gold trajectories once with live tools that cannot go back; one process does it, in order.
        trusted: Run environment folders (`env:`) in process, without a sandbox: for one's own.
    """

    unsafe_no_sandbox: bool = False
    simulate: str = ""
    effects: bool = False
    trusted: bool = False


class ExecutionConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a build runs; nothing here changes what it makes.

    Attributes:
        workers: Worker processes; 0 takes one per core.
        engine: What runs the workers: `local` or `ray`.
        ray_address: Of a running Ray cluster, as `10.0.0.1:6379`; empty starts one on this machine.
        storage: A URL as fsspec reads it, through which workers exchange what they make where they see no common
            folder; empty: all of them see the run directory.
        extend: Go on with a finished run up to a higher `trajectories`.
        fresh: Throw an earlier run in the same folder away.
        retry_failed: Try quarantined scenarios and failed requests to models again.
        max_error_rate: The share of quarantined scenarios above which the run counts as failed.
        calls: How models are called.
    """

    workers: int = 0
    engine: Literal["local", "ray"] = "local"
    ray_address: str = ""
    storage: str = ""
    extend: bool = False
    fresh: bool = False
    retry_failed: bool = False
    max_error_rate: float = 0.02
    calls: CallsConfig = msgspec.field(default_factory=CallsConfig)

    def __post_init__(self) -> None:
        _require(0 <= self.workers <= 1024, "execution.workers", self.workers, "a number from 0 to 1024")
        _require(
            0 <= self.max_error_rate <= 1,
            "execution.max_error_rate",
            self.max_error_rate,
            "a share from 0 to 1",
        )


class QuotaConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A draw that is balanced over the vendors of tools; see `planarena.pipeline.run.quotas`.

    Attributes:
        vendor_share: The most of all scenarios that the tools of one vendor may take, as a share; 1 draws from
            the sources in turn, without quotas [ours].
        per_unit: Most scenarios of one group of related operations, each with a tool set of its own [ours].
        tasks: Most tasks of a scenario, by turns: 2 and 3 give the paper's 2.5 trajectories a scenario [ours].
    """

    vendor_share: float = 1.0
    per_unit: int = 4
    tasks: tuple[int, ...] = (2, 3)

    @property
    def enabled(self) -> bool:
        """Whether scenarios are drawn by quotas."""
        return self.vendor_share < 1

    def __post_init__(self) -> None:
        _require(
            0 < self.vendor_share <= 1, "quotas.vendor_share", self.vendor_share, "a share above 0, at most 1"
        )
        _require(1 <= self.per_unit <= 64, "quotas.per_unit", self.per_unit, "a number from 1 to 64")
        good = bool(self.tasks) and all(1 <= number <= 999 for number in self.tasks)
        _require(good, "quotas.tasks", list(self.tasks), "numbers of at least 1")


class BuildConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A build: what goes in, how much, and where it goes.

    Attributes:
        out: The run directory.
        sources: Tool sources, as on the command line.
        trajectories: Gold trajectories to accept; contrastive ones come on top.
        scenarios: Most scenarios to draw; 0 draws as many as `trajectories` needs.
        chunk_scenarios: Scenarios in one chunk: the unit of resume and one shard per table.
        seed: Of everything random.
        composition: How atoms become tasks.
        conversations: What happens between user and assistant beyond asking and serving.
        contrast: Wrong choices and where they lead.
        split: How scenarios are split.
        quotas: Whether the draw is balanced over vendors.
        allowed: What may be done to execute tools.
        contamination: Benchmarks to hold tools and queries against: name -> the user's file or folder of its data.
        models: Which models write and propose.
        execution: How the build runs.
    """

    out: str = ""
    sources: tuple[str, ...] = ("builtin",)
    trajectories: int = 600
    scenarios: int = 0
    chunk_scenarios: int = 16
    seed: int = 0
    composition: CompositionConfig = msgspec.field(default_factory=CompositionConfig)
    conversations: ConversationConfig = msgspec.field(default_factory=ConversationConfig)
    contrast: ContrastConfig = msgspec.field(default_factory=ContrastConfig)
    split: SplitConfig = msgspec.field(default_factory=SplitConfig)
    quotas: QuotaConfig = msgspec.field(default_factory=QuotaConfig)
    allowed: AllowedConfig = msgspec.field(default_factory=AllowedConfig)
    contamination: dict[str, str] = msgspec.field(default_factory=dict)
    models: ModelsConfig = msgspec.field(default_factory=ModelsConfig)
    execution: ExecutionConfig = msgspec.field(default_factory=ExecutionConfig)

    def __post_init__(self) -> None:
        _require(self.trajectories >= 1, "trajectories", self.trajectories, "a number of at least 1")
        _require(self.scenarios >= 0, "scenarios", self.scenarios, "0 (as many as needed) or more")
        _require(
            1 <= self.chunk_scenarios <= 4096,
            "chunk_scenarios",
            self.chunk_scenarios,
            "a number from 1 to 4096",
        )
        _require(-(2**63) <= self.seed < 2**63, "seed", self.seed, "a 64-bit integer")
        _require(bool(self.sources), "sources", [], "at least one source, as builtin")
        if self.allowed.effects and self.execution.engine != "local":
            raise ConfigError(
                "what is executed for good needs one process that knows what was executed",
                where="allowed.effects",
                fix="leave --engine out with --allow-effects",
            )
        calls = self.execution.calls
        if (
            self.allowed.simulate
            and (calls.budget_usd, calls.budget_tokens, calls.budget_calls) != (None,) * 3
        ):
            raise ConfigError(
                "a budget does not hold for simulated tools: every worker asks on its own",
                where="execution.calls",
                fix="leave --budget-* out, and set the limit where the model is served",
            )

    def identity(self) -> dict[str, Any]:
        """Return what makes two runs the same work: all but the folder, the size and the way of running."""
        fields = self.stated()
        del fields["trajectories"]
        return fields

    def stated(self) -> dict[str, Any]:
        """Return what `run.json` says: all but the folder and the way of running; of models only where there are any."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        for name in ("out", "execution", *(() if self.models.active else ("models",))):
            del fields[name]
        if not self.allowed.effects:  # runs from before there was the option go on
            del fields["allowed"]["effects"]
        return fields


PRESETS: dict[str, dict[str, Any]] = {
    "demo": {"trajectories": 600},
    # DUPO, section 4.1: about 20k trajectories, 7,941 scenarios, 20,646 tools. Quotas are ours: a vendor's
    # scenarios differ in how many trajectories they give, and 8 % of the former keep it below 10 % of the latter.
    "paper": {
        "trajectories": 20_000,
        "composition": {
            "tools": [3, 6],
            "budget": 60,
            "shape_mix": {"serial": 0.3, "parallel": 0.25, "mixed": 0.45},
        },
        "contrast": {"no_calls": 1},
        "quotas": {"vendor_share": 0.08},
    },
}
