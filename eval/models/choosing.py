"""Which policy a model's name means: a folder on this machine, or a model behind a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from planarena.errors import UserError
from planarena.eval.config import EvalConfig
from planarena.trainers.config.origin import find_checkpoint, trained_with

if TYPE_CHECKING:
    from planarena.eval.models.hosted import HostedPolicy
    from planarena.eval.models.local import LocalPolicy
    from planarena.eval.models.vllm import VllmPolicy

__all__ = ["open_policy", "settle"]


def open_policy(config: EvalConfig) -> HostedPolicy | LocalPolicy | VllmPolicy:
    """Open the model of an evaluation; close the policy, or use it in `with`.

    Args:
        config: The evaluation; `settle` it first where prompts are to be as a checkpoint's training had them.

    Raises:
        UserError: No such folder, no model in it, no chat template; a name that is no model.
    """
    from planarena import formats

    if config.format:
        formats.get(config.format)
    folder = _folder(config)
    if folder is None:
        from planarena.eval.models.hosted import HostedPolicy

        return HostedPolicy(config)
    made = config.generation
    if made.engine == "vllm" or (made.engine == "auto" and _vllm_fits(folder)):
        from planarena.eval.models.vllm import VllmPolicy

        return VllmPolicy(folder, config)
    from planarena.eval.models.local import LocalPolicy

    return LocalPolicy(folder, config)


def settle(config: EvalConfig) -> EvalConfig:
    """Take format and prompts from a checkpoint's training, where the options leave them open."""
    folder = _folder(config)
    data = trained_with(folder) if folder is not None else {}
    form = config.format or str(data.get("format") or "")
    made = config.generation
    if form and form == data.get("format"):
        plan = data.get("plan")
        made = msgspec.structs.replace(
            made,
            template=made.template or str(data.get("template") or ""),
            signatures=made.signatures or str(data.get("signatures") or ""),
            plan=made.plan if made.plan is not None or plan is None else plan != "none",
        )
    return msgspec.structs.replace(config, format=form, generation=made)


def _folder(config: EvalConfig) -> Path | None:
    text = str(config.model)
    if config.generation.base_url or "@http" in text:
        return None
    path = Path(text).expanduser()
    if path.is_dir():
        return find_checkpoint(path)
    if path.exists() or text.startswith(("/", "./", "../", "~")):
        raise UserError(
            "is no folder" if path.exists() else "there is no such folder",
            where=text,
            fix="give a folder with a model and its tokenizer, a LiteLLM id, or MODEL@URL",
        )
    return None


def _vllm_fits(folder: Path) -> bool:
    from planarena.eval.models.vllm import vllm_installed

    if not vllm_installed() or (folder / "adapter_config.json").is_file():
        return False
    import torch

    return torch.cuda.is_available()
