"""GRPO steps of the local engine next to TRL 1.16's GRPOTrainer, in one process, alternating.

Same Qwen2 weights, prompts, rollouts per prompt, lengths and threads; both sample, score and update. Two settings:
every response has the same length, and responses end by themselves. Run: `python tests/bench/bench_local_engine.py`;
`--steps N` for more than four steps, `--sweep` adds the cost against group size, length and model size.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import statistics
import tempfile
import time
import warnings
from typing import Any

import torch

from planarena.trainers import algorithms
from planarena.trainers.config import RolloutConfig, TinyConfig, TrainConfig, UpdateConfig, complete
from planarena.trainers.local.backend import LocalBackend
from planarena.trainers.local.generate import generate
from planarena.trainers.local.model import Policy, make_tiny
from planarena.trainers.loop.backend import Work
from planarena.trainers.loop.batches import Sample, rollout_batch
from planarena.trainers.loop.metrics import rollout_metrics
from planarena.trainers.loop.tokenizer import ChatTokenizer, train_tokenizer
from planarena.trainers.loop.update import Updater
from planarena.trainers.types import Step

WORDS = (
    "ask the town hall when it opens and write down who answers find a table for four near the river".split()
)


def make_prompts(number: int, words: int) -> list[str]:
    """Return prompts of about the same length."""
    generator = torch.Generator().manual_seed(0)
    return [
        " ".join(WORDS[int(i)] for i in torch.randint(len(WORDS), (words + row % 5,), generator=generator))
        for row in range(number)
    ]


def reward(ids: list[int], wanted: int) -> float:
    """Return a reward that differs within groups and costs nothing."""
    return sum(token % 7 == wanted % 7 for token in ids) / max(len(ids), 1)


class Ours:
    """One step of the local engine's parts on given prompts."""

    def __init__(
        self, policy: Policy, prompts: list[list[int]], group: int, length: int, *, ends: bool
    ) -> None:
        self.config = complete(
            TrainConfig(
                algorithm="grpo",
                options={"entropy_coef": 0.0},
                rollout=RolloutConfig(batch_size=len(prompts), group_size=group, max_response_length=length),
                update=UpdateConfig(updates_per_batch=1, learning_rate=1e-6),
            )
        )
        self.policy, self.prompts, self.group, self.length = policy, prompts, group, length
        self.ends = policy.chat.ends if ends else ()
        self.algorithm = algorithms.get("grpo")
        backend = LocalBackend(self.config, self.algorithm).hold(policy)
        self.updater = Updater(backend, self.algorithm, self.config, 1000)
        self.done = 0
        self.times: list[float] = []
        self.tokens: list[int] = []

    def step(self) -> None:
        """Sample, score, update; note the time and the sampled tokens."""
        started = time.process_time()
        rolled = generate(
            self.policy,
            self.prompts,
            repeats=self.group,
            limits=[self.length] * len(self.prompts),
            temperature=1.0,
            seed=self.done,
            ends=self.ends,
        )
        samples = [
            Sample(self.prompts[row], one.ids, [1] * len(one.ids), one.logp, row, reward=reward(one.ids, row))
            for row, group in enumerate(rolled)
            for one in group
        ]
        batch = rollout_batch(samples, self.algorithm.needs)
        advantages = self.algorithm.advantages(batch, Step(step=self.done, total_steps=1000))
        work = Work(
            samples=samples, batch=batch, advantages=advantages, metrics=dict(rollout_metrics(samples))
        )
        self.updater.on_rollouts(work, list(range(len(samples))), (), self.done)
        self.done += 1
        self.times.append(time.process_time() - started)
        self.tokens.append(sum(len(sample.response_ids) for sample in samples))


def make_trl(
    policy: Policy,
    prompts: list[str],
    group: int,
    length: int,
    folder: str,
    steps: int,
    *,
    ends: bool,
    turn: Ours,
) -> tuple[Any, list[float], list[int]]:
    """Return a GRPOTrainer that gives `turn` a step before each of its own, and its times and token counts."""
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    times: list[float] = []
    tokens: list[int] = []

    def score(completions: list[str], completion_ids: list[list[int]], **_: Any) -> list[float]:
        tokens.append(sum(map(len, completion_ids)))
        return [reward(ids, row // group) for row, ids in enumerate(completion_ids)]

    class Clock(TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            turn.step()
            self.started = time.process_time()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            times.append(time.process_time() - self.started)

    rows = len(prompts) * group
    config = GRPOConfig(
        output_dir=folder,
        per_device_train_batch_size=rows,
        num_generations=group,
        max_completion_length=length,
        max_steps=steps,
        learning_rate=1e-6,
        beta=0.0,
        temperature=1.0,
        top_k=0,
        loss_type="grpo",
        report_to=[],
        save_strategy="no",
        logging_steps=1000,
        use_cpu=not torch.cuda.is_available(),
        bf16=False,
        gradient_checkpointing=False,
        disable_tqdm=True,
        seed=0,
        generation_kwargs={} if ends else {"min_new_tokens": length},
    )
    trainer = GRPOTrainer(
        model=policy.model,
        reward_funcs=score,
        args=config,
        train_dataset=Dataset.from_dict({"prompt": prompts}),
        processing_class=policy.chat.tokenizer,
        callbacks=[Clock()],
    )
    return trainer, times, tokens


def make_policy(tiny: TinyConfig, *, end_share: float) -> Policy:
    """Return a fresh model of near uniform predictions, of whose tokens `end_share` end a response."""
    chat = ChatTokenizer(train_tokenizer(make_prompts(64, 40), 400))
    model = make_tiny(tiny, chat, seed=0, positions=2048)
    size = len(chat.tokenizer)
    number = max(round(end_share * size), 1)
    chat.ends = tuple(sorted({chat.end, *range(size - number, size)}))
    model.generation_config.eos_token_id = list(chat.ends)
    return Policy(model, chat)


def compare(
    tiny: TinyConfig, *, prompts: int, words: int, group: int, length: int, ends: bool, steps: int
) -> dict[str, float]:
    """Return seconds and tokens a step of both, taking turns step by step.

    Args:
        tiny: Size of the model.
        prompts: P.
        words: Of a prompt.
        group: K.
        length: Most tokens of a response.
        ends: Responses end by themselves after 32 tokens on average; else all have `length` tokens.
        steps: Timed steps after one that is not.
    """
    share = 1 / 32 if ends else 0.0
    texts = make_prompts(prompts, words)
    mine, theirs = make_policy(tiny, end_share=share), make_policy(tiny, end_share=share)
    ours = Ours(mine, [mine.chat.tokenizer(text)["input_ids"] for text in texts], group, length, ends=ends)
    with tempfile.TemporaryDirectory() as folder:
        trainer, times, tokens = make_trl(
            theirs, texts, group, length, folder, steps + 1, ends=ends, turn=ours
        )
        with contextlib.redirect_stdout(io.StringIO()):
            trainer.train()
    # The first step of each warms allocators and caches up.
    a, b = ours.times[1:], times[1:]
    return {
        "ours": statistics.median(a),
        "trl": statistics.median(b),
        "ours_tokens": statistics.mean(ours.tokens[1:]),
        "trl_tokens": statistics.mean(tokens[1:]),
        "ratio": statistics.median(b) / statistics.median(a),
    }


def show(name: str, found: dict[str, float]) -> None:
    """Print one comparison."""
    print(
        f"{name:58}{found['ours'] * 1e3:9.0f} ms{found['trl'] * 1e3:9.0f} ms"
        f"{found['ours_tokens']:8.0f}{found['trl_tokens']:8.0f}{found['ratio']:8.2f}x",
        flush=True,
    )


def main() -> int:
    """Print the ratios; exit 1 where the engine is slower than it is to be."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--sweep", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    base: dict[str, Any] = {"prompts": 8, "words": 90, "group": 8, "length": 64, "steps": options.steps}
    tiny = TinyConfig()
    print(f"{'one step, one thread':58}{'ours':>12}{'TRL':>12}{'tokens':>8}{'tokens':>8}{'TRL/ours':>9}")
    fixed = compare(tiny, **base, ends=False)
    show("fixed length 64, 8 prompts x 8", fixed)
    natural = compare(tiny, **{**base, "length": 128}, ends=True)
    show("natural ends (mean 32, at most 128), 8 prompts x 8", natural)
    if options.sweep:
        for group in (4, 16):
            show(
                f"fixed length 64, 8 prompts x {group}", compare(tiny, **{**base, "group": group}, ends=False)
            )
        for length in (16, 256):
            show(
                f"fixed length {length}, 8 prompts x 8",
                compare(tiny, **{**base, "length": length}, ends=False),
            )
        larger = TinyConfig(hidden=256, layers=6, heads=8, intermediate=768)
        show("fixed length 64, 8 x 8, hidden 256, 6 layers", compare(larger, **base, ends=False))
    missed = [
        name
        for name, found, least in (("fixed", fixed, 1.5), ("natural", natural, 2.0))
        if found["ratio"] < least
    ]
    if missed:
        print("slower than it is to be: " + ", ".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
