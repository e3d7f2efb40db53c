"""A checkpoint as a policy to be served: the one that evaluation opens, with the prompts of its training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planarena.errors import UserError
from planarena.rows import RowOptions
from planarena.serving.chat_request import Dialect

if TYPE_CHECKING:
    from planarena.eval import EvalConfig
    from planarena.eval.models.local import LocalPolicy
    from planarena.eval.models.vllm import VllmPolicy

__all__ = ["dialect_of", "open_checkpoint", "prompts_of"]


def open_checkpoint(
    path: str,
    *,
    form: str = "",
    max_tokens: int = 2048,
    temperature: float = 0.0,
    rows: int = 64,
    seed: int = 0,
) -> tuple[LocalPolicy | VllmPolicy, EvalConfig]:
    """Open a checkpoint, and return what was settled about its format and prompts.

    Raises:
        UserError: There is no such folder, no model in it, or no chat template.
    """
    from pathlib import Path

    from planarena.eval import EvalConfig
    from planarena.eval.models.choosing import open_policy, settle
    from planarena.eval.models.hosted import HostedPolicy
    from planarena.eval.settings import GenerationConfig

    if not Path(path).expanduser().is_dir():
        raise UserError(
            "there is no such folder", where=path, fix="give a folder with a model, or a training run"
        )
    made = GenerationConfig(max_tokens=max_tokens, temperature=temperature, rows=rows)
    config = settle(
        EvalConfig(suites=("planarena",), out="", model=path, format=form, seed=seed, generation=made)
    )
    policy = open_policy(config)
    assert not isinstance(policy, HostedPolicy)
    return policy, config


def prompts_of(config: EvalConfig, form: str) -> RowOptions:
    """Return how prompts are written for a checkpoint."""
    from planarena.bench import bench_options

    made = config.generation
    chosen = {"template": made.template, "signatures": made.signatures or None}
    if made.plan is not None:
        chosen["plan"] = "step" if made.plan else "none"
    return bench_options(form, **{key: value for key, value in chosen.items() if value})


def dialect_of(config: EvalConfig, form: str) -> Dialect:
    """Return what stands between the API's messages and a checkpoint."""
    options = prompts_of(config, form)
    return Dialect(form, options.template, plan=options.plan != "none", signatures=options.signatures or "")
