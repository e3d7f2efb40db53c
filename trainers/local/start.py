"""Where a run starts: the model it was given, or a tiny one with a tokenizer of the run's own text."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec
import torch

from planarena.errors import UserError
from planarena.trainers.algorithms.sft import SFT, SFTConfig
from planarena.trainers.config import TinyConfig, TrainConfig, UpdateConfig
from planarena.trainers.local.backend import LocalBackend
from planarena.trainers.local.model import Policy, add_lora, load_policy, make_tiny, save_model, start_path
from planarena.trainers.loop.batches import Expert
from planarena.trainers.loop.checkpoints import digests, sync_folder, write_json
from planarena.trainers.loop.data import holds_pairs_alone, load_data, load_texts
from planarena.trainers.loop.encoding import Order, make_encoder
from planarena.trainers.loop.tokenizer import ChatTokenizer, train_tokenizer
from planarena.trainers.loop.update import Updater
from planarena.trainers.types import Needs

__all__ = ["start_policy"]


# About two minutes on one core of a laptop for the model of `--model tiny` as it is left.
_WARM_STEPS, _WARM_TOKENS = 600, 700_000
Stage = Callable[[str, int, int, str], None]


def start_policy(
    config: TrainConfig,
    needs: Needs,
    device: torch.device,
    say: Callable[[str], None],
    stage: Stage | None = None,
) -> Policy:
    """Return the policy at the start of a run; a tiny one is made once and kept in OUT/start.

    Args:
        config: Complete.
        needs: Of the algorithm.
        device: Where to.
        say: Gets what takes time.
        stage: Gets (stage, parts done, parts, words) while the format is taught; None: `say` hears of it.

    Raises:
        UserError: As `load_policy`; a model path that is nothing.
    """
    if config.model.path == "tiny":
        folder = Path(start_path(config))
        if not (folder / "start.json").is_file():
            _make_start(config, needs, folder, device, say, stage)
    elif not config.model.path:
        raise UserError("no model is given", where="--model", fix="write --model tiny, or a folder")
    policy = load_policy(start_path(config), config.model, device)
    if config.model.lora is not None and not policy.lora:
        policy = add_lora(policy, config.model.lora, seed=config.seed)
    return policy


def _make_start(
    config: TrainConfig,
    needs: Needs,
    folder: Path,
    device: torch.device,
    say: Callable[[str], None],
    stage: Stage | None,
) -> None:
    """Train the tokenizer, make the model, teach it the run's gold for a while, and save it."""
    tiny, rollout = config.model.tiny, config.rollout
    say("training a tokenizer on the run's text")
    chat = ChatTokenizer(train_tokenizer(load_texts(config, needs), tiny.vocabulary), "tiny")
    prompt, response = int(rollout.max_prompt_length or 1), int(rollout.max_response_length or 1)
    # The teacher's prompt holds the target besides.
    model = make_tiny(tiny, chat, seed=config.seed, positions=prompt + 2 * response + 64)
    policy = Policy(model.to(device), chat, bfloat16=config.model.dtype == "bfloat16")
    steps = 0
    if tiny.warm_start != 0 and (needs.rollouts or needs.preferences):
        steps = _warm_start(config, policy, needs, stage or partial(_say_stage, say))
    temporary = folder.with_name(".start.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    save_model(policy, temporary)
    sync_folder(temporary)
    made = {"warm_start": steps, "seed": config.seed, "tokens": len(chat.tokenizer)}
    write_json(temporary / "start.json", {**made, "files": digests(temporary)})
    shutil.rmtree(folder, ignore_errors=True)
    temporary.replace(folder)
    sync_folder(folder.parent)


def _gold(config: TrainConfig, policy: Policy, needs: Needs) -> list[Expert]:
    """Return the right actions of the training split; of files of preference pairs, the chosen ones."""
    supervised = Needs(rollouts=False, experts=True)
    if not holds_pairs_alone(config, needs):
        return load_data(
            config, supervised, make_encoder(config, policy.chat, policy.context, supervised)
        ).experts
    pairs = load_data(config, needs, make_encoder(config, policy.chat, policy.context, supervised)).pairs
    return [
        Expert(pair.prompt_ids, pair.chosen, [1] * len(pair.chosen), [1] * len(pair.chosen)) for pair in pairs
    ]


def _say_stage(say: Callable[[str], None], stage: str, done: int, total: int, told: str) -> None:
    """Tell of a stage in lines, where nothing draws it."""
    if (done - 1) % 50 == 0 or done == total:
        say(f"{stage}: {done} of {total} supervised steps, {told}")


def _warm_steps(tiny: TinyConfig, experts: Sequence[Expert]) -> int:
    """Return how many supervised steps teach the format: as many as asked for, else what two minutes hold."""
    if tiny.warm_start is not None:
        return tiny.warm_start
    tokens = sum(len(one.prompt_ids) + len(one.target_ids) for one in experts)
    step = max(tokens * tiny.warm_start_rows // max(len(experts), 1), 1)
    return max(min(_WARM_STEPS, _WARM_TOKENS // step), 1)


def _warm_start(config: TrainConfig, policy: Policy, needs: Needs, stage: Stage) -> int:
    """Teach the format by supervised steps on the training split's gold, single decisions even for episodes.

    From random weights no rollout would ever keep the format, and every reward would be equal.

    Returns:
        The number of steps.
    """
    tiny = config.model.tiny
    plain = msgspec.structs.replace(
        config,
        data=msgspec.structs.replace(config.data, mode="steps"),
        validation=msgspec.structs.replace(config.validation, every=0),
        update=UpdateConfig(
            learning_rate=tiny.warm_start_rate,
            schedule="cosine",
            updates_per_batch=1,
            micro_batch_tokens=config.update.micro_batch_tokens,
        ),
    )
    experts = _gold(plain, policy, needs)
    steps = _warm_steps(tiny, experts)
    plain = msgspec.structs.replace(
        plain, update=msgspec.structs.replace(plain.update, warmup=min(20, steps // 4))
    )
    order = Order(len(experts), config.seed, "warm start")
    sft = SFT(SFTConfig())
    updater = Updater(LocalBackend(plain, sft).hold(policy), sft, plain, steps)
    for done in range(steps):
        metrics = updater.on_experts([experts[index] for index in order.take(tiny.warm_start_rows)], done)
        stage("warm start", done + 1, steps, f"loss {metrics['loss/sft']:.3f}")
    return steps
