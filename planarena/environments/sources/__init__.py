"""Foreign tools as scenarios: what every source is, and one folder for each kind."""

from __future__ import annotations

from planarena.environments.sources.opening import (
    OpenSources,
    allow,
    close_descriptions,
    keep_conversions,
    may_simulate,
    open_source,
    save_probes,
    split_source,
    take_paid_calls,
    use_probes,
    using,
)
from planarena.environments.sources.recognising import Recognised, recognise
from planarena.environments.sources.source import (
    Drawn,
    LiveWorld,
    Opened,
    Source,
    SourceOptions,
    Unit,
    draw_tools,
    startable,
)

__all__ = [
    "Drawn",
    "LiveWorld",
    "OpenSources",
    "Opened",
    "Recognised",
    "Source",
    "SourceOptions",
    "Unit",
    "allow",
    "close_descriptions",
    "draw_tools",
    "keep_conversions",
    "may_simulate",
    "open_source",
    "recognise",
    "save_probes",
    "split_source",
    "startable",
    "take_paid_calls",
    "use_probes",
    "using",
]
