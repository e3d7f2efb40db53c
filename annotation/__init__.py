"""People judging trajectories: in Argilla, with one command, or on a sheet; agreement, labels, corrections."""

from __future__ import annotations

from planarena.annotation.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha, percent_agreement
from planarena.annotation.argilla import Place, find_place
from planarena.annotation.embedded import (
    ServerState,
    default_data_directory,
    is_loopback,
    server_state,
    start_server,
    stop_server,
)
from planarena.annotation.flow import Plan, Pulled, Pushed, export_run, import_answers, pull_run, push_run

__all__ = [
    "Place",
    "Plan",
    "Pulled",
    "Pushed",
    "ServerState",
    "cohen_kappa",
    "default_data_directory",
    "export_run",
    "find_place",
    "fleiss_kappa",
    "import_answers",
    "is_loopback",
    "krippendorff_alpha",
    "percent_agreement",
    "pull_run",
    "push_run",
    "server_state",
    "start_server",
    "stop_server",
]
