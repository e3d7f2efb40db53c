"""What a run learns from and is measured by: its rows, the tasks of its bench, what scores, which rows come next."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from planarena.bench import Task
from planarena.trainers.config import TrainConfig
from planarena.trainers.loop.bench import load_bench
from planarena.trainers.loop.data import Encoder, Order, TrainingData, load_data
from planarena.trainers.loop.score import Judges, Scorer, open_judges
from planarena.trainers.types import Needs
from planarena.users import Users

__all__ = ["Material"]


class Material:
    """Read in two steps: the bench needs no model, rows need its tokenizer.

    An engine that takes a minute to start reads both before, so that a wrong path or template is reported at once.

    Args:
        config: Complete.
        needs: Of the algorithm.
        say: Gets what was left out, and what the choice of the bench means.

    Attributes:
        bench: Tasks that validation plays; after `open`.
        data: Encoded rows; after `read`.
        scorer: Of rollouts; after `read`.
        orders: Which rows come next, by kind; after `read`.
        total: Optimiser steps of the run; after `read`.
    """

    bench: list[Task]
    data: TrainingData
    scorer: Scorer
    orders: dict[str, Order]
    total: int

    def __init__(self, config: TrainConfig, needs: Needs, say: Callable[[str], None]) -> None:
        self.config, self.needs, self.say = config, needs, say
        self._judges: Judges | None = None
        self._stack = ExitStack()
        self._opened = self._read = False

    def open(self) -> None:
        """Read the bench, once.

        Raises:
            UserError: As `load_bench`.
            RunError: Likewise.
        """
        if not self._opened:
            self.bench = load_bench(self.config, self._stack, self.say)
            self._opened = True

    def read(self, encoder: Encoder) -> None:
        """Read the bench and the rows, and open what scores them, once.

        Raises:
            UserError: As `load_bench` and `load_data`; a judge that cannot be asked.
            RunError: As `load_bench`.
        """
        self.open()
        if self._read:
            return
        config = self.config
        self.data = load_data(config, self.needs, encoder)
        for what, number in self.data.counts.items():
            if "longer" in what:
                self.say(f"left out {number} {what} (the longest prompt has {encoder.longest} tokens)")
        if self.bench:
            self.data.counts["bench tasks"] = len(self.bench)
        self.total = self._total_steps()
        self._judges = open_judges(config.judge_model, config.judge)
        self._stack.enter_context(users := Users(config.data.user, where="data.user"))
        self.scorer = Scorer(
            config.reward.name,
            config.reward.options,
            config.reward.overlong,
            config.data.format,
            self.needs,
            self._judges,
            users,
        )
        counts = {
            "prompts": len(self.data.prompts),
            "experts": len(self.data.experts),
            "pairs": len(self.data.pairs),
        }
        self.orders = {kind: Order(max(count, 1), config.seed, kind) for kind, count in counts.items()}
        self._read = True

    def _total_steps(self) -> int:
        if self.config.steps is not None:
            return self.config.steps
        rows = len(self.data.experts or self.data.pairs or self.data.prompts)
        size = int(self.config.update.expert_batch_size or 1)
        return max(-(-int(rows * float(self.config.epochs or 1.0)) // size), 1)

    def close(self) -> None:
        """Close the bench and the judges' gateway; doing it twice does nothing."""
        self._stack.close()
        if self._judges is not None and self._judges.gateway is not None:
            self._judges.gateway.close()
            self._judges = None
