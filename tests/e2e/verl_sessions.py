"""Runs several trainings on one set of verl's processes: python verl_sessions.py FILE, a list of runs as JSON.

Starting Ray, workers and servers takes a minute; the loss of the next algorithm is sent to the same workers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main(file: str) -> None:
    """Train each entry, an object like the settings of `planarena train`; the first one's workers serve all."""
    import msgspec

    from planarena.trainers.config import TrainConfig, complete
    from planarena.trainers.launch import build_algorithm
    from planarena.trainers.local.run import RunFolder
    from planarena.trainers.types import Needs
    from planarena.trainers.verl.launch import opened, remote_policy

    runs: list[Any] = json.loads(Path(file).read_text())
    configs = [complete(msgspec.convert(run, TrainConfig)) for run in runs]
    algorithms = [build_algorithm(config) for config in configs]
    held = Needs(reference_policy=any(one.needs.reference_policy for one in algorithms))
    if any(config.algorithm == "opsd" for config in configs):
        held = Needs(reference_policy=True)
    root = Path(file).parent
    with opened(configs[0], held, root, print) as trainer:
        from planarena.trainers.verl.trainer import Session

        for config, algorithm in zip(configs, algorithms, strict=True):
            policy = remote_policy(config, algorithm.needs, print)
            folder = RunFolder(config)
            trainer.train(
                Session(
                    config=config,
                    algorithm=algorithm,
                    folder=folder,
                    policy=policy,
                    show=lambda *_: None,
                    say=lambda text: print(text, file=sys.stderr),
                )
            )


if __name__ == "__main__":
    main(sys.argv[1])
