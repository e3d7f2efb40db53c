"""The report of a build: one HTML file that opens from disk, with its counts and all its trajectories to browse.

Nothing but `run.json` and the tables goes in, so the same run always gives the same bytes; tables are read
shard by shard, so a large run costs little more memory than what its page holds.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

from planarena.export.escaping import escape_html
from planarena.records import Run
from planarena.report.embedding import (
    MOST_CHARACTERS,
    MOST_FAMILIES,
    Embedded,
    embed_trajectories,
)
from planarena.report.page import PAGE_END, page_head, script_element
from planarena.report.summary import render_summary, subtitle

__all__ = ["render_report", "write_report"]


def render_report(
    run: Run, most_characters: int = MOST_CHARACTERS, most_families: int = MOST_FAMILIES
) -> str:
    """Return the report of a run as one HTML document; see `write_report`."""
    sink = StringIO()
    elements = StringIO()
    embedded = embed_trajectories(run, elements, most_characters, most_families)
    for piece in _frame(run, embedded):
        sink.write(elements.getvalue() if piece is None else piece)
    return sink.getvalue()


def write_report(
    run: Run,
    path: Path,
    most_characters: int = MOST_CHARACTERS,
    most_families: int = MOST_FAMILIES,
    prepared: Callable[[Path], Path | None] | None = None,
) -> None:
    """Write the report of a run; a file that would not change is left alone.

    Its memory does not grow with the run.

    Args:
        run: The run.
        path: The file to write.
        most_characters: Of the trajectories in it. Where they need more, it holds an even sample and says so.
        most_families: Trajectories with what departs from them, likewise.
        prepared: See `embed_trajectories`.

    Raises:
        RunError: A row refers to one that is not there, or a shard is damaged.
        OSError: No space, no permission.
    """
    elements = path.with_name(f".{path.name}.{os.getpid()}.elements.tmp")
    page = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with elements.open("w", encoding="ascii") as sink:
            embedded = embed_trajectories(run, sink, most_characters, most_families, prepared)
        with page.open("wb") as whole:
            for piece in _frame(run, embedded):
                if piece is None:
                    with elements.open("rb") as source:
                        shutil.copyfileobj(source, whole, 1 << 20)
                else:
                    whole.write(piece.encode())
            whole.flush()
            os.fsync(whole.fileno())
        if path.is_file() and filecmp.cmp(path, page, shallow=False):
            return
        page.replace(path)
    finally:
        elements.unlink(missing_ok=True)
        page.unlink(missing_ok=True)


def _frame(run: Run, embedded: Embedded) -> Iterator[str | None]:
    """Yield the page in pieces; None stands for the elements."""
    counts: dict[str, Any] = run.info["counts"]
    title = f"{'Import' if run.info.get('kind') == 'import' else 'Build'} of {counts.get('gold', 0)} gold trajectories"
    yield page_head(title, scripted=True)
    yield "\n".join(
        (
            f"<h1>{escape_html(title)}</h1>",
            f'<p class="soft">{escape_html(subtitle(run.info))}</p>',
            '<nav><a href="#trajectories">Trajectories</a><a href="#summary">What the run holds</a>'
            + ('<a href="#scorecard">Scorecard</a>' if "scorecard" in run.info else "")
            + '<a href="#discards">Discards</a><a href="#origin">Contamination and cost</a></nav>',
            _browser(embedded),
            f'<div id="summary">{render_summary(run)}</div>',
        )
    )
    yield "\n</main>\n"
    yield None
    yield script_element()
    yield PAGE_END


def _browser(embedded: Embedded) -> str:
    """Return the frame that the script fills."""
    if embedded.listed == embedded.total:
        held = f"All {embedded.total} trajectories of this run, gold, contrastive and without a call."
    else:
        held = (
            f"A sample: {embedded.listed} of the {embedded.total} trajectories of this run, whole scenarios taken evenly "
            "from all of it, because a page of all would be too large to open. The tables beside this page hold all; "
            "`planarena inspect` shows any of them."
        )
    return f"""<section id="trajectories" data-parts="{embedded.parts}">
<h2>Trajectories</h2>
<p class="soft held">{escape_html(held)} The search covers messages of the user, tools, domains and ids.</p>
<noscript><p>The list needs JavaScript. <code>planarena inspect RUN</code> shows the same in a terminal.</p></noscript>
<div class="filters"><label class="wider search-label">Search<input class="search" type="search" spellcheck="false"></label>
<div class="facets"></div><label>Order<select class="sort"><option value="run">as in the run</option>
<option value="shortest">fewest actions first</option><option value="longest">most actions first</option></select></label>
<button class="clear" type="button">Clear filters</button></div>
<details class="others"><summary>More filters</summary><div class="filters more"></div></details>
{_LEGEND}
<div class="browse"><div class="card pane"><div class="pager"><p class="count" aria-live="polite"></p>
<button class="back" type="button">Back</button><button class="next" type="button">Next</button></div>
<ol class="rows"></ol></div>
<div><button class="top narrow" type="button">Up to the list</button><div class="detail" aria-live="polite"></div></div></div>
</section>"""


_LEGEND = (
    '<div class="legend"><span><i></i>data edge, with the argument it fills</span>'
    '<span><i class="order"></i>order edge: the state demands it (edges that follow from others are left out)</span>'
    '<span><i class="box reads"></i>reads</span><span><i class="box acts"></i>changes the state</span>'
    '<span><i class="box unknown"></i>effects unknown</span>'
    '<span><i class="box wrong"></i>wrong</span><span>calls side by side may go in one turn</span></div>'
)
