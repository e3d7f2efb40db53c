"""Runs several trainings on one set of verl's processes: python verl_sessions.py FILE, a list of runs as JSON.

Starting Ray, workers and servers takes a minute; the loss of the next algorithm is sent to the same workers. Each run
whose settings say `twin` is made by the local engine too, into its own folder with `-local` behind its name.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main(file: str) -> None:
    """Train each entry, an object like the settings of `planarena train`; the first one's workers serve all."""
    import msgspec

    from planarena.trainers import train
    from planarena.trainers.config import TrainConfig, complete
    from planarena.trainers.launch import build_algorithm
    from planarena.trainers.loop.run import RunFolder
    from planarena.trainers.types import Needs
    from planarena.trainers.verl.launch import opened, remote_policy
    from planarena.trainers.verl.settings import wants_reference

    runs: list[Any] = json.loads(Path(file).read_text())
    twins = [bool(run.pop("twin", False)) for run in runs]
    for run, twin in zip(runs, twins, strict=True):
        if twin:
            train(msgspec.convert({**run, "engine": "local", "out": f"{run['out']}-local"}, TrainConfig))
    configs = [complete(msgspec.convert(run, TrainConfig)) for run in runs]
    algorithms = [build_algorithm(config) for config in configs]
    held = Needs(
        reference_policy=any(
            wants_reference(config, one.needs) for config, one in zip(configs, algorithms, strict=True)
        )
    )
    with opened(configs[0], held, Path(file).parent, print) as trainer:
        from planarena.trainers.verl.trainer import Session

        for config, algorithm in zip(configs, algorithms, strict=True):
            trainer.train(
                Session(
                    config=config,
                    algorithm=algorithm,
                    folder=RunFolder(config),
                    policy=remote_policy(config, algorithm.needs, print),
                    show=lambda *_: None,
                    say=lambda text: print(text, file=sys.stderr),
                )
            )


if __name__ == "__main__":
    main(sys.argv[1])
