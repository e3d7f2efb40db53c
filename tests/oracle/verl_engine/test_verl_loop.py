"""The whole loop on verl's engine, rollout server and agent loop, without Ray between them: equal to the local engine.

Sampling draws the same numbers in both engines, so that with the same start they sample the same tokens and every
metric of every step has to agree.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import torch

from planarena.eval.algorithms.conversations import draw_conversations
from planarena.eval.algorithms.writing import write_tasks
from planarena.trainers import train
from planarena.trainers.config import TrainConfig, complete
from planarena.trainers.launch import build_algorithm
from planarena.trainers.loop.run import RunFolder
from planarena.users import ScriptedUser

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("DeprecationWarning", "FutureWarning", "UserWarning", "ResourceWarning")
] + [pytest.mark.verl]


def _config(root: Path, **changes: Any) -> TrainConfig:
    settings: dict[str, Any] = {
        "steps": 3,
        "rollout": {"batch_size": 3, "group_size": 4, "max_prompt_length": 900, "max_response_length": 48},
        "update": {"updates_per_batch": 1, "expert_batch_size": 4, "learning_rate": 1e-3},
        "data": {"path": str(root / "data" / "sample"), "format": "planarena", "template": "short"},
        "validation": {"rows": 3, "every": 3},
        "checkpoint": {"every": 0},
        "model": {"device": "cpu"},
    }
    settings["data"] |= {"plan": "none", "limit": 60}
    for key, value in changes.items():
        below = settings.get(key)
        settings[key] = {**below, **value} if isinstance(below, dict) else value
    return complete(msgspec.convert(settings, TrainConfig))


@pytest.fixture(scope="module")
def begun(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model that is right now and then: equal rewards would leave nothing to compare."""
    out = tmp_path_factory.mktemp("begun") / "run"
    tiny = {"hidden": 48, "layers": 1, "heads": 2, "intermediate": 64, "vocabulary": 600}
    config = _config(
        root,
        algorithm="grpo",
        out=str(out),
        steps=1,
        rollout={"batch_size": 1, "group_size": 2},
        model={"path": "tiny", "tiny": {**tiny, "warm_start": 240, "warm_start_rate": 1e-2}},
        validation={"every": 0},
    )
    train(config)
    return out / "start"


class _Servers:
    """The rollout server on an event loop of its own, asked through verl's agent loop."""

    def __init__(self, path: str) -> None:
        from planarena.trainers.verl.rollout import Server

        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server: Any = Server(path, "cpu", "float32", 1, 64)

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def close(self) -> None:
        async def end() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self.run(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def generate(self, **wanted: Any) -> Any:
        return await self.server.generate(**wanted)

    async def member(self, task: str, prompt: list[int], row: int) -> Any:
        from planarena.trainers.verl.agent_loop import Loop

        loop = Loop.__new__(Loop)
        loop.rollout_config = SimpleNamespace(name="planarena")
        loop.server_manager, loop.tokenizer = self, self.server.policy.chat.tokenizer
        params = {"temperature": 1.0, "top_p": 1.0, "top_k": -1}
        return await loop.run(params, planarena=task, prompt_ids=prompt, session_id=row)

    async def all(self, tasks: Sequence[str], prompts: Sequence[Sequence[int]], repeats: int) -> list[Any]:
        return await asyncio.gather(
            *(
                self.member(task, list(prompt), row)
                for task, prompt in zip(tasks, prompts, strict=True)
                for row in range(repeats)
            )
        )


@pytest.fixture
def run_in_process(
    training_worker: Callable[..., Any], in_process: Any
) -> Iterator[Callable[[TrainConfig], list[dict[str, Any]]]]:
    opened: list[_Servers] = []

    def run(config: TrainConfig) -> list[dict[str, Any]]:
        from planarena.trainers.local.model import base_path
        from planarena.trainers.loop.loop import Loop
        from planarena.trainers.verl.adapters import first_adapters
        from planarena.trainers.verl.backend import Cluster, VerlBackend
        from planarena.trainers.verl.launch import remote_policy
        from planarena.trainers.verl.loss import PolicyLoss
        from planarena.trainers.verl.sampler import Sampled, VerlSampler, written_tasks
        from planarena.trainers.verl.worker import Distributions

        algorithm = build_algorithm(config)
        folder = RunFolder(config)
        base = base_path(config.model.path)
        adapters = first_adapters(config, algorithm.needs, Path(config.out) / "verl")
        worker = training_worker(path=base, adapters=adapters)
        reference = training_worker(path=base, frozen=True)
        loss = PolicyLoss(algorithm.config)
        loss.teacher = Distributions(worker.engine)
        worker.set_loss_fn(loss)
        servers = _Servers(base)
        opened.append(servers)
        policy = remote_policy(config, algorithm.needs, print)

        class Sampler(VerlSampler):
            def __init__(self) -> None:
                self.context = policy.context

            def roll(self, prompts: Any, wanted: Any, repeats: int) -> Any:
                outputs = servers.run(servers.all(written_tasks(wanted, repeats), prompts, repeats))
                rows = []
                for one in outputs:
                    fields = one.as_dict()
                    rows.append(Sampled({**fields, "facts": fields["extra_fields"]["planarena"]}))
                return [rows[start : start + repeats] for start in range(0, len(rows), repeats)]

        def synchronise(done: int) -> None:
            weights, _ = worker.engine.get_per_tensor_param()
            servers.run(
                servers.server.update_weights({key: value.detach().clone() for key, value in weights}, done)
            )

        cluster = Cluster(
            workers=in_process(worker, reference, config.update.micro_batch_tokens),
            sampler=Sampler(),
            synchronise=synchronise,
            sleep=lambda: None,
            save=lambda path, step: worker.save_checkpoint(path, None, step),
            load=worker.load_checkpoint,
            note=lambda *_: None,
            sleeps=False,
            facts={"engine": "verl"},
            adapters=None if adapters is None else str(adapters),
        )
        backend = VerlBackend(config, algorithm, policy, cluster)
        Loop(config, algorithm, folder, backend, show=lambda *_: None, say=lambda *_: None).run()
        return _lines(Path(config.out))

    yield run
    for one in opened:
        one.close()


def _lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def _assert_same_curve(left: list[dict[str, Any]], right: list[dict[str, Any]], *, first: int = 0) -> None:
    assert [line["step"] for line in left[first:]] == [line["step"] for line in right[first:]]
    for own, theirs in zip(left[first:], right[first:], strict=True):
        for key in set(own) - {"update/micro_batches", "time/step"}:
            if key.startswith("time/") or not isinstance(own[key], int | float):
                continue
            # Float32 in other kernels: 1e-6 at the first step. Adam turns the sign of gradients near 0 into steps of
            # the learning rate, so that after some updates metrics agree to three or four digits.
            assert theirs[key] == pytest.approx(own[key], rel=5e-3, abs=5e-4), (own["step"], key)


@pytest.mark.parametrize(
    "name",
    [
        "grpo",
        "dupo",
        "uft",
        "luffy",
        "gear",
    ],
)
def test_the_loop_on_verl_is_the_local_loop(
    name: str, root: Path, begun: Path, tmp_path: Path, run_in_process: Any
) -> None:
    def config(engine: str) -> TrainConfig:
        return _config(
            root,
            algorithm=name,
            engine=engine,
            out=str(tmp_path / engine),
            model={"path": str(begun)},
        )

    train(config("local"))
    left, right = _lines(tmp_path / "local"), run_in_process(config("verl"))
    assert any(line.get("update/gradient_norm", 0.0) > 1e-3 for line in left)
    _assert_same_curve(left, right)
    from transformers import AutoModelForCausalLM

    ends = [tmp_path / engine / "checkpoints" / "step_3" for engine in ("local", "verl")]
    own, theirs = (AutoModelForCausalLM.from_pretrained(end, dtype=torch.float32) for end in ends)
    for (key, value), other in zip(own.named_parameters(), theirs.parameters(), strict=True):
        # At most three steps of the learning rate apart, where signs of tiny gradients differ.
        assert float((value - other).abs().max()) < 3e-3, key
        assert float((value - other).abs().mean()) < 2e-4, key


def test_episodes_act_in_the_same_environments(
    root: Path, begun: Path, tmp_path: Path, run_in_process: Any
) -> None:
    def config(engine: str) -> TrainConfig:
        return _config(
            root,
            algorithm="grpo",
            engine=engine,
            steps=2,
            out=str(tmp_path / engine),
            model={"path": str(begun)},
            data={"mode": "episodes"},
            rollout={"max_response_length": 300, "max_turns": 3, "step_weight": 0.5, "temperature": 0.7},
            validation={"every": 0},
        )

    train(config("local"))
    left, right = _lines(tmp_path / "local"), run_in_process(config("verl"))
    assert any(line.get("rollout/observation_tokens", 0.0) > 0 for line in left)
    _assert_same_curve(left, right)


def test_three_steps_of_conversations_agree(
    root: Path, tmp_path: Path, run_in_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scripted user plays in verl's workers as it does here: questions back, corrections, several messages."""
    heard: list[str] = []
    reply = ScriptedUser.reply

    def noted(user: ScriptedUser, said: str, calls: int) -> str | None:
        message = reply(user, said, calls)
        heard.append(message or "")
        return message

    monkeypatch.setattr(ScriptedUser, "reply", noted)
    tasks = draw_conversations(48, seed=3, first_house=0, aims=(1, 2))
    write_tasks(tmp_path / "tasks", tasks, seed=3, split="train")
    talk = {"path": str(tmp_path / "tasks"), "mode": "episodes"}
    tiny = {"hidden": 48, "layers": 1, "heads": 2, "intermediate": 64, "vocabulary": 600}

    def config(out: str, **changes: Any) -> TrainConfig:
        return _config(
            root,
            out=str(tmp_path / out),
            data=talk,
            rollout={"max_response_length": 250, "temperature": 0.7, "group_size": 6, "step_reward": "none"},
            **{"validation": {"every": 0}, "algorithm": "grpo", **changes},
        )

    # Solved now and then: equal rewards would leave nothing to compare.
    taught = {"learning_rate": 1e-2, "schedule": "cosine", "expert_batch_size": 8, "updates_per_batch": 1}
    begun = train(
        config("start", algorithm="sft", steps=250, update=taught, model={"path": "tiny", "tiny": tiny})
    )
    model = {"path": begun.checkpoint}
    train(config("local", model=model))
    here, heard[:] = list(heard), []
    left, right = _lines(tmp_path / "local"), run_in_process(config("verl", engine="verl", model=model))
    said = [exchange.message for task in tasks for exchange in task.exchanges]
    given = {message.text for message in said if message.when == "asked"}
    corrections = {message.text for message in said if message.text.startswith("No, ")}
    assert set(here) & given
    assert set(here) & corrections
    assert sorted(heard) == sorted(here)
    assert any(0 < line.get("reward/success", 0.0) < 1 for line in left)
    assert any(line.get("update/gradient_norm", 0.0) > 1e-3 for line in left)
    _assert_same_curve(left, right)


def test_adapters_are_the_local_ones(root: Path, begun: Path, tmp_path: Path, run_in_process: Any) -> None:
    """First adapters, updates, what samples, and what a checkpoint holds; then on from there."""
    from peft import PeftModel
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    def config(engine: str, out: str, start: Path, **changes: Any) -> TrainConfig:
        return _config(
            root,
            algorithm="grpo",
            engine=engine,
            out=str(tmp_path / out),
            model={"path": str(start), **changes},
            options={} if not changes else {"kl_coef": 0.1},
            update={"learning_rate": 5e-3},
        )

    lora = {"lora": {"rank": 4, "alpha": 10.0, "targets": ("q_proj", "v_proj", "down_proj")}}
    train(config("local", "local", begun, **lora))
    left, right = _lines(tmp_path / "local"), run_in_process(config("verl", "verl", begun, **lora))
    assert any(line.get("update/gradient_norm", 0.0) > 1e-2 for line in left)
    assert left[-1]["loss/kl"] > 1e-5
    _assert_same_curve(left, right)
    ends = [tmp_path / engine / "checkpoints" / "step_3" for engine in ("local", "verl")]
    names = ("config.json", "model.safetensors")
    assert not any((end / name).exists() for end in ends for name in names)
    own, theirs = (load_file(end / "adapter_model.safetensors") for end in ends)
    assert own.keys() == theirs.keys()
    for key, value in own.items():
        # At most three steps of the learning rate apart, where signs of tiny gradients differ.
        assert float((value - theirs[key]).abs().max()) < 1.5e-2, key
        assert float((value - theirs[key]).abs().mean()) < 1e-3, key
    base = AutoModelForCausalLM.from_pretrained(begun, dtype=torch.float32)
    held = PeftModel.from_pretrained(base, ends[1]).state_dict()
    moved = [value for key, value in held.items() if "lora_B" in key]
    assert moved
    assert all(float(value.abs().max()) > 0 for value in moved)

    train(config("local", "on-local", ends[1]))
    left, right = _lines(tmp_path / "on-local"), run_in_process(config("verl", "on-verl", ends[1]))
    _assert_same_curve(left, right)


def test_a_run_goes_on_from_the_workers_checkpoint(
    root: Path, begun: Path, tmp_path: Path, run_in_process: Any
) -> None:
    def config(out: str) -> TrainConfig:
        return _config(
            root,
            algorithm="chord-mu",
            engine="verl",
            steps=4,
            out=str(tmp_path / out),
            model={"path": str(begun)},
            checkpoint={"every": 2},
            validation={"every": 0},
        )

    whole = run_in_process(config("whole"))
    run_in_process(config("stopped"))
    # As a kill after step 2 leaves it: a later checkpoint and its lines are gone, the run is not finished.
    import shutil

    folder = tmp_path / "stopped"
    shutil.rmtree(folder / "checkpoints" / "step_4")
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "status": "running"}))
    again = run_in_process(config("stopped"))
    assert [line["step"] for line in again] == [0, 1, 2, 3, 4]
    _assert_same_curve(whole, again)
