"""DAPO's overlong penalty next to verl's own reward manager."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from planarena.trainers import rewards

LONGEST, CACHE = 20, 4


# verl imports a part of ray that announces its own move.
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray", "ignore::DeprecationWarning:verl")
def test_overlong_penalty_equals_verls() -> None:
    pytest.importorskip("verl")
    import torch
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from verl import DataProto
    from verl.workers.reward_manager.dapo import DAPORewardManager

    words = Tokenizer(models.WordLevel({"w": 0, "<eos>": 1}, unk_token="w"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>")
    settings = SimpleNamespace(enable=True, len=CACHE, penalty_factor=1.0, log=False)
    manager = DAPORewardManager(
        tokenizer,
        num_examine=0,
        compute_score=lambda **_: 3.0,
        max_resp_len=LONGEST,
        overlong_buffer_cfg=settings,
    )
    # Beyond L_max no rollout exists in verl; its formula would go on falling there.
    lengths = torch.arange(1, LONGEST + 1)
    mask = (torch.arange(LONGEST)[None] < lengths[:, None]).long()
    rows = len(lengths)
    data = DataProto.from_dict(
        tensors={
            "prompts": torch.zeros(rows, 1, dtype=torch.long),
            "responses": torch.zeros(rows, LONGEST, dtype=torch.long),
            "attention_mask": torch.cat([torch.ones(rows, 1, dtype=torch.long), mask], dim=1),
        },
        non_tensors={
            "reward_model": np.array([{"ground_truth": ""}] * rows, dtype=object),
            "data_source": np.array(["x"] * rows, dtype=object),
        },
    )
    theirs = manager(data).sum(1)
    ours = [3.0 + rewards.overlong_penalty(int(n), LONGEST, CACHE) for n in lengths]
    # Quarters are exact in verl's float32.
    np.testing.assert_array_equal(theirs.numpy(), np.asarray(ours, dtype=np.float32))
