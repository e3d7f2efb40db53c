"""The same model and the same batch through both engines: equal advantages, losses, gradients and first updates."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from planarena import formats
from planarena.formats import Gold
from planarena.rows import TrainingRow
from planarena.trainers.algorithms import names
from planarena.trainers.config import RolloutConfig, TrainConfig, UpdateConfig, complete
from planarena.trainers.launch import build_algorithm
from planarena.trainers.local.backend import LocalBackend
from planarena.trainers.local.model import load_policy, save_model
from planarena.trainers.loop.backend import Rollouts, frozen_teacher
from planarena.trainers.loop.batches import Expert, Sample
from planarena.trainers.loop.collect import Collector
from planarena.trainers.loop.encoding import Order, PairTokens, Prompt
from planarena.trainers.loop.update import Updater
from planarena.trainers.types import Step

# verl, Ray and FSDP warn about their own use of each other.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("DeprecationWarning", "FutureWarning", "UserWarning", "ResourceWarning")
]
RATE, STEPS, DONE = 1e-3, 10, 2
# What makes each algorithm's own terms part of the loss.
OPTIONS: dict[str, dict[str, Any]] = {
    "grpo": {"kl_coef": 0.1, "entropy_coef": 0.01},
    "chord-phi": {"weight": "entropy_norm"},
    "relift": {"sft_entropy_coef": 0.01},
    "sft-rl": {"sft_steps": 1},
}
# Algorithms that go on with another kind of batch get both.
SUPERVISED = ("relift", "sasr", "sft-rl")


@pytest.fixture(scope="module")
def other(start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another model, as reference and frozen teacher: one equal to the policy would have no divergence."""
    policy = load_policy(start, TrainConfig().model, torch.device("cpu"))
    with torch.no_grad():
        policy.model.model.embed_tokens.weight[::2] *= 2.0
    folder = tmp_path_factory.mktemp("other")
    save_model(policy, folder)
    return folder


@pytest.fixture(scope="module")
def reference_worker(training_worker: Callable[..., Any], other: Path) -> Any:
    return training_worker(frozen=True, path=other)


def _ids(generator: torch.Generator, count: int) -> list[int]:
    return torch.randint(7, 200, (count,), generator=generator).tolist()


def _samples(chat: Any, demonstrations: bool) -> tuple[list[Sample], list[Prompt]]:
    """Three groups of four; masked tokens, a demonstration, NaN and equal rewards among them."""
    generator = torch.Generator().manual_seed(1)
    samples, prompts = [], []
    for group in range(3):
        row = TrainingRow(
            row_id=f"row{group}",
            prompt_id=f"prompt{group}",
            prompt=({"role": "user", "content": f"move file {group}"},),
            tools=(),
            format="planarena",
            template="short",
            gold=Gold(response="done"),
            target="<response>done</response>",
            step=1,
            steps=1,
            trajectory_id="",
            scenario_id="",
        )
        prompts.append(Prompt(row, chat.prompt(row.prompt), chat.target(row.target)))
        for member in range(4):
            length = int(torch.randint(3, 9, (), generator=generator))
            reward = 1.0 if group == 2 else float(torch.rand((), generator=generator))
            samples.append(
                Sample(
                    prompt_ids=prompts[-1].ids,
                    response_ids=_ids(generator, length),
                    mask=[1] * (length - 1) + [member % 2],
                    logp=(-torch.rand(length, generator=generator) * 6).tolist(),
                    group=group,
                    key=row.row_id,
                    is_demo=demonstrations and member == 3,
                    text="",
                    parsed=formats.get("planarena").parse(""),
                    token_types=[1 + (member + place) % 5 for place in range(length)],
                    reward=float("nan") if (group, member) == (1, 2) else reward,
                    reason=1.0 - reward + 0.1 * member,
                    token_rewards=[reward * place for place in range(length)],
                    entropy=[0.5] * length,
                    anchors=[group],
                    returns=[reward],
                    trajectory=len(samples),
                )
            )
    return samples, prompts


def _experts() -> list[Expert]:
    generator = torch.Generator().manual_seed(2)
    return [
        Expert(
            _ids(generator, 3 + number),
            _ids(generator, 3 + number),
            [1] * (2 + number) + [number % 2],
            [number % 2] * (3 + number),
            f"row{number % 3}",
        )
        for number in range(5)
    ]


def _config(name: str) -> TrainConfig:
    return complete(
        TrainConfig(
            algorithm=name,
            options=OPTIONS.get(name, {}),
            steps=STEPS,
            rollout=RolloutConfig(max_response_length=16, temperature=0.8),
            update=UpdateConfig(learning_rate=RATE, micro_batch_tokens=160),
        )
    )


class _Both:
    """Both engines on one algorithm, from equal weights."""

    def __init__(
        self, name: str, start: Path, other: Path, make: Callable[..., Any], reference: Any, in_process: Any
    ) -> None:
        from planarena.trainers.verl.backend import Cluster, VerlBackend
        from planarena.trainers.verl.loss import PolicyLoss
        from planarena.trainers.verl.remote import RemotePolicy
        from planarena.trainers.verl.worker import Distributions

        self.config, self.start = _config(name), start
        self.local, self.remote = build_algorithm(self.config), build_algorithm(self.config)
        needs = self.local.needs
        self.policy = load_policy(start, self.config.model, torch.device("cpu"))
        own = LocalBackend(self.config, self.local).hold(self.policy)
        own.start = load_policy(other, self.config.model, torch.device("cpu"), train=False)
        self.own, self.optimiser = own, own.optimiser
        self.worker = make(learning_rate=RATE)
        # What is pickled to the workers of a cluster is what computes here.
        import pickle

        loss = pickle.loads(pickle.dumps(PolicyLoss(self.remote.config)))
        frozen = frozen_teacher(self.config, needs)
        loss.teacher = Distributions((reference if frozen else self.worker).engine)
        self.worker.set_loss_fn(loss)
        none: Any = None
        cluster = Cluster(
            workers=in_process(self.worker, reference, self.config.update.micro_batch_tokens),
            sampler=none,
            synchronise=lambda _: None,
            sleep=lambda: None,
            save=none,
            load=none,
            note=none,
            sleeps=False,
            facts={},
        )
        remote = RemotePolicy(self.policy.chat, self.policy.context)
        theirs = VerlBackend(self.config, self.remote, remote, cluster)
        self.local_updater = Updater(own, self.local, self.config, STEPS)
        self.remote_updater = Updater(theirs, self.remote, self.config, STEPS)
        scorer: Any = _NoScorer(needs)
        # What is drawn is replaced by the batch of the test.
        self.collectors = [
            Collector(backend, self.config, algorithm, scorer, [none], Order(1, 0, ""))
            for backend, algorithm in ((own, self.local), (theirs, self.remote))
        ]

    def weights(self) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        """Return the weights of both."""
        theirs, _ = self.worker.engine.get_per_tensor_param()
        own = {key: value.detach().clone() for key, value in self.policy.model.named_parameters()}
        return own, {key: value.detach().clone() for key, value in theirs if key in own}

    def gradients(self) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        """Return the gradients of the first step of both: Adam's first moment is a tenth of it."""
        own = {
            key.removeprefix("exp_avg/"): value * 10
            for key, value in self.optimiser.tensors().items()
            if key.startswith("exp_avg/")
        }
        found = {}
        for key, value in self.worker.engine.module.named_parameters():
            moment = self.worker.engine.optimizer.state[value]["exp_avg"]
            found[key] = (moment.full_tensor() if hasattr(moment, "full_tensor") else moment) * 10
        return own, found


class _NoScorer:
    def __init__(self, needs: Any) -> None:
        self.needs = needs


@pytest.fixture
def both(
    start: Path, other: Path, training_worker: Callable[..., Any], reference_worker: Any, in_process: Any
) -> Callable[[str], _Both]:
    return lambda name: _Both(name, start, other, training_worker, reference_worker, in_process)


def _same(left: torch.Tensor, right: torch.Tensor, scale: float) -> bool:
    # Both compute in float32 with other kernels and other padding: sums of some hundred terms differ by about 1e-6 of
    # the largest. A wrong sign, mask or count is off by more than a hundredth of it.
    return torch.allclose(left, right, rtol=1e-4, atol=2e-5 * scale)


def _looseness(name: str) -> float:
    # GEAR divides each token's divergence by their mean. Here they are about 1e-3, differences of terms of order 1, so
    # what is left of float32 is three or four digits.
    return 10.0 if name == "gear" else 1.0


def _assert_equal_updates(both: _Both, told: dict[str, Any], told_remote: dict[str, Any]) -> None:
    own, theirs = both.gradients()
    largest = max(float(value.abs().max()) for value in own.values())
    loose = largest * _looseness(both.config.algorithm)
    assert largest > 1e-5
    for key, value in own.items():
        assert _same(value, theirs[key], loose), (key, float((value - theirs[key]).abs().max()), largest)
    shared = set(told) & set(told_remote) - {"update/micro_batches"}
    assert {"update/gradient_norm", "update/learning_rate"} <= shared
    assert {key for key in told if key.startswith(("loss/", "policy/"))} <= shared
    for key in shared:
        assert told_remote[key] == pytest.approx(told[key], rel=2e-4, abs=2e-5), key
    before = dict(load_policy(both.start, both.config.model, torch.device("cpu")).model.named_parameters())
    own, theirs = both.weights()
    assert own.keys() == theirs.keys()
    gradient, _ = both.gradients()
    for key, value in own.items():
        # Adam's first step is the learning rate wherever the gradient is not tiny: there its sign decides, and what
        # rounding does to a gradient near 0 is not compared.
        clear = gradient[key].abs() > 1e-3 * largest
        moved = value - before[key]
        assert torch.allclose(moved[clear], (theirs[key] - before[key])[clear], atol=0.02 * RATE), key


@pytest.mark.parametrize("name", names())
def test_both_engines_make_the_same_update(
    name: str, both: Callable[[str], _Both], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = both(name)
    needs = pair.local.needs
    if needs.preferences:
        pairs = [PairTokens([7, 8, 9 + n, 3 + n], [20 + n, 21, 22], [40 + n, 41]) for n in range(5)]
        told, told_remote = (one.on_pairs(pairs, DONE) for one in (pair.local_updater, pair.remote_updater))
        _assert_equal_updates(pair, told, told_remote)
        return
    if not needs.rollouts:
        told, told_remote = (
            one.on_experts(_experts(), DONE) for one in (pair.local_updater, pair.remote_updater)
        )
        _assert_equal_updates(pair, told, told_remote)
        return
    works = []
    for collector in pair.collectors:
        samples, prompts = _samples(pair.policy.chat, needs.demonstrations)
        if collector.backend is pair.own and needs.entropy:
            # The local engine knows the entropies from sampling; the other has to ask its workers.
            found = pair.own.score(samples, by="policy", temperature=0.8, entropy=True).entropy_NT
            assert found is not None
            for sample, values in zip(samples, found.tolist(), strict=True):
                length = len(sample.mask)
                sample.entropy = [0.5] * length if sample.is_demo else values[:length]
        rolled = Rollouts(
            samples=samples, prompts=prompts, hints=_experts()[:3] if needs.prompt_hints else []
        )
        monkeypatch.setattr(collector, "_roll", lambda *_, found=rolled: copy.deepcopy(found))
        works.append(collector.collect(Step(step=DONE, total_steps=STEPS), 0, renew=True))
    left, right = works
    largest = max(float(left.advantages.values_BT.abs().max()), 1e-3) * _looseness(name)
    assert _same(left.advantages.values_BT, right.advantages.values_BT, largest)
    assert right.advantages.scalars == pytest.approx(dict(left.advantages.scalars), rel=1e-4)
    for field in ("eps_low_B", "eps_high_B"):
        assert (getattr(left.advantages, field) is None) == (getattr(right.advantages, field) is None)
        if getattr(left.advantages, field) is not None:
            assert _same(getattr(left.advantages, field), getattr(right.advantages, field), 1.0)
    if needs.teacher_distribution or needs.teacher_logp or name in OPTIONS or needs.experts:
        assert float(left.advantages.values_BT.abs().max()) > 0 or name == "opsd"
    experts = _experts() if needs.experts and not needs.own_phases else []
    rows = range(len(left.samples))
    # Stale on purpose: on-policy the ratio is 1 and every clip rule is inert.
    left.fresh = right.fresh = False
    told = pair.local_updater.on_rollouts(left, rows, experts, DONE)
    told_remote = pair.remote_updater.on_rollouts(right, rows, experts, DONE)
    _assert_equal_updates(pair, told, told_remote)


@pytest.mark.parametrize("name", SUPERVISED)
def test_both_engines_make_the_same_supervised_update(name: str, both: Callable[[str], _Both]) -> None:
    pair = both(name)
    told, told_remote = (one.on_experts(_experts(), 0) for one in (pair.local_updater, pair.remote_updater))
    _assert_equal_updates(pair, told, told_remote)
