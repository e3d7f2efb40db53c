"""Where a run starts: the model it was given, or a tiny one with a tokenizer of the run's own text."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec
import torch

from planarena.errors import UserError
from planarena.trainers.algorithms.sft import SFT, SFTConfig
from planarena.trainers.config import TrainConfig, UpdateConfig
from planarena.trainers.local.collect import bound
from planarena.trainers.local.data import Encoder, Order, holds_pairs_alone, load_data, load_texts
from planarena.trainers.local.forward import Scored, score_responses
from planarena.trainers.local.model import Policy, add_lora, holds_adapters, load_policy, make_tiny
from planarena.trainers.local.optimiser import Optimiser
from planarena.trainers.local.save import save_model, write_json
from planarena.trainers.local.tokenizer import ChatTokenizer, train_tokenizer
from planarena.trainers.local.update import Reference, Updater
from planarena.trainers.types import Needs
from planarena.trainers.update import Expert

__all__ = ["frozen_start", "make_encoder", "start_path", "start_policy", "teacher_of"]


def start_path(config: TrainConfig) -> str:
    """Return the folder (or name) of the model that a run starts from."""
    return str(Path(config.out) / "start") if config.model.path == "tiny" else config.model.path


def start_policy(
    config: TrainConfig, needs: Needs, device: torch.device, say: Callable[[str], None]
) -> Policy:
    """Return the policy at the start of a run; a tiny one is made once and kept in OUT/start.

    Args:
        config: Complete.
        needs: Of the algorithm.
        device: Where to.
        say: Told what takes time.

    Raises:
        UserError: As `load_policy`; a model path that is nothing.
    """
    if config.model.path == "tiny":
        folder = Path(start_path(config))
        if not (folder / "start.json").is_file():
            _make_start(config, needs, folder, device, say)
    elif not config.model.path:
        raise UserError("no model is given", where="--model", fix="write --model tiny, or a folder")
    policy = load_policy(start_path(config), config.model, device)
    if config.model.lora is not None and not policy.lora:
        policy = add_lora(policy, config.model.lora, seed=config.seed)
    return policy


class _Speaker(Protocol):
    """A policy, wherever its weights are."""

    @property
    def chat(self) -> ChatTokenizer: ...

    @property
    def context(self) -> int: ...


def make_encoder(config: TrainConfig, policy: _Speaker, needs: Needs) -> Encoder:
    """Return the encoder of a run's rows."""
    return Encoder(
        policy.chat,
        config.data.format,
        max_prompt=int(config.rollout.max_prompt_length or 1),
        context=policy.context,
        max_response=int(config.rollout.max_response_length or 1),
        selective=needs.expert_keep,
    )


def frozen_start(config: TrainConfig, policy: Policy, *, resumed: bool) -> Reference:
    """Return what scores rows under the policy as it was at the start.

    Adapters are switched off where the run itself added them; otherwise a frozen copy is held.

    Args:
        config: Complete.
        policy: The trained policy, still at the start unless `resumed`.
        resumed: It has been trained already, so the start is loaded anew.
    """
    added_here = policy.lora and not holds_adapters(start_path(config))
    if added_here:

        def score(prompts: object, responses: object, groups: object, **wanted: object) -> Scored:
            policy.model.eval()
            with policy.without_adapter():
                return score_responses(policy, prompts, responses, groups, **wanted)  # type: ignore[arg-type]

        return score
    if resumed:
        other = load_policy(start_path(config), config.model, policy.device, train=False)
    else:
        other = Policy(copy.deepcopy(policy.model), policy.chat, bfloat16=policy.bfloat16)
    other.model.requires_grad_(False)
    return bound(other)


def teacher_of(config: TrainConfig, policy: Policy, *, resumed: bool) -> Reference:
    """Return what scores rows under the teacher that `rollout.teacher` names; arguments as of `frozen_start`."""
    chosen = config.rollout.teacher
    if chosen == "auto":
        chosen = "start" if config.algorithm == "opsd" else "current"
    return frozen_start(config, policy, resumed=resumed) if chosen == "start" else bound(policy)


def _make_start(
    config: TrainConfig, needs: Needs, folder: Path, device: torch.device, say: Callable[[str], None]
) -> None:
    """Train the tokenizer, make the model, teach it the run's gold for a while, and save it."""
    tiny, rollout = config.model.tiny, config.rollout
    say("training a tokenizer on the run's text")
    chat = ChatTokenizer(train_tokenizer(load_texts(config, needs), tiny.vocabulary), "tiny")
    prompt, response = int(rollout.max_prompt_length or 1), int(rollout.max_response_length or 1)
    # The teacher's prompt holds the target besides.
    model = make_tiny(tiny, chat, seed=config.seed, positions=prompt + 2 * response + 64)
    policy = Policy(model.to(device), chat, bfloat16=config.model.dtype == "bfloat16")
    steps = tiny.warm_start if needs.rollouts or needs.preferences else 0
    if steps:
        _warm_start(config, policy, needs, steps, say)
    temporary = folder.with_name(".start.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    save_model(policy, temporary)
    write_json(
        temporary / "start.json", {"warm_start": steps, "seed": config.seed, "tokens": len(chat.tokenizer)}
    )
    shutil.rmtree(folder, ignore_errors=True)
    temporary.replace(folder)


def _gold(config: TrainConfig, policy: Policy, needs: Needs) -> list[Expert]:
    """Return the right actions of the training split; of files of preference pairs, the chosen ones."""
    supervised = Needs(rollouts=False, experts=True)
    if not holds_pairs_alone(config, needs):
        return load_data(config, supervised, make_encoder(config, policy, supervised)).experts
    pairs = load_data(config, needs, make_encoder(config, policy, supervised)).pairs
    return [
        Expert(pair.prompt_ids, pair.chosen, [1] * len(pair.chosen), [1] * len(pair.chosen)) for pair in pairs
    ]


def _warm_start(
    config: TrainConfig, policy: Policy, needs: Needs, steps: int, say: Callable[[str], None]
) -> None:
    """Teach the format by supervised steps on the training split's gold, single decisions even for episodes.

    From random weights no rollout would ever keep the format, and every reward would be equal.
    """
    tiny = config.model.tiny
    plain = msgspec.structs.replace(
        config,
        data=msgspec.structs.replace(config.data, mode="steps"),
        validation=msgspec.structs.replace(config.validation, every=0),
        update=UpdateConfig(
            learning_rate=tiny.warm_start_rate,
            schedule="cosine",
            warmup=min(20, steps // 4),
            updates_per_batch=1,
            micro_batch_tokens=config.update.micro_batch_tokens,
        ),
    )
    experts = _gold(plain, policy, needs)
    order = Order(len(experts), config.seed, "warm start")
    updater = Updater(policy, SFT(SFTConfig()), Optimiser(policy, plain.update), plain, steps)
    for done in range(steps):
        metrics = updater.on_experts([experts[index] for index in order.take(tiny.warm_start_rows)], done)
        if done % 50 == 0 or done + 1 == steps:
            say(f"warm start: {done + 1} of {steps} supervised steps, loss {metrics['loss/sft']:.3f}")
