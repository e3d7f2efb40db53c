"""A page for reading: trajectories drawn at random, with a place to pass or fail each, in one file that fetches nothing.

Everything is in the page as text, so that it can be read without its script; the script counts and saves judgements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from importlib.resources import files
from itertools import groupby
from typing import Any

import msgspec

from planarena.errors import UserError
from planarena.export.escaping import escape_html
from planarena.export.trajectories import Action, JoinedTrajectory, join_trajectories
from planarena.records import Run
from planarena.records.shards import read_columns
from planarena.report.page import PAGE_END, inline_script, page_head

__all__ = ["FAULTS", "MOST_READ", "draw_trajectories", "render_reading"]

MOST_READ = 1_000
_LONGEST_VALUE = 20_000

# What a reader may object to: a word for the file, and the question behind it.
FAULTS = (
    ("untold", "something asked for is told nowhere"),
    ("reference", "a reference could mean another thing"),
    ("senseless", "nobody would want this"),
    ("wording", "nobody would say it like this"),
    ("request", "the request leaves out, adds or forbids an action"),
    ("call", "a call, a value or their order is wrong"),
    ("answer", "the answer is false, incomplete or odd"),
    ("world", "a result contradicts what was sent or known"),
    ("other", "something else"),
)


def draw_trajectories(run: Run, number: int, seed: int) -> list[JoinedTrajectory]:
    """Draw gold trajectories with calls, each with the same chance; a run and a seed always give the same ones.

    Args:
        run: The run.
        number: How many; all where the run has fewer.
        seed: Another seed draws others.

    Returns:
        The trajectories, in the order of the draw.

    Raises:
        UserError: The run has none.
        RunError: A shard is damaged, or a row refers to one that is not there.
    """
    drawn: list[tuple[bytes, str, str]] = []
    for path in run.shards("trajectories"):
        tasks = run.path / "tables" / "tasks" / path.name
        category = dict(zip(*read_columns(tasks, "task_id", "category"), strict=True))
        rows = zip(*read_columns(path, "trajectory_id", "kind", "task_id"), strict=True)
        drawn += [
            (blake2b(f"{seed}:read:{name}".encode(), digest_size=16).digest(), name, path.stem)
            for name, kind, task in rows
            if kind == "gold" and category.get(task) == "call"
        ]
        # Never more in memory than two shards' worth beyond what is wanted.
        drawn = sorted(drawn)[:number]
    if not drawn:
        raise UserError(
            "has no gold trajectory with calls to read", where=str(run.path), fix="build a run that has some"
        )
    wanted = {name for _, name, _ in drawn}
    found = {
        one.row.trajectory_id: one
        for one in join_trajectories(
            run, {shard for _, _, shard in drawn}, lambda row: row.trajectory_id in wanted
        )
    }
    return [found[name] for _, name, _ in drawn]


def render_reading(title: str, drawn: Sequence[JoinedTrajectory], seed: int) -> str:
    """Return the page as one HTML document.

    Args:
        title: What the trajectories come from, as plain text.
        drawn: Them, in order.
        seed: What they were drawn with; the saved file names it.
    """
    style, script = _resource("reading.css"), _resource("reading.js")
    ids = "\n".join(one.row.trajectory_id for one in drawn)
    key = blake2b(ids.encode(), digest_size=8).hexdigest()
    return "".join(
        (
            page_head(f"Reading of {title}", scripted=True, style=style, script=script),
            f'<div id="reading" data-run="{escape_html(title)}" data-seed="{int(seed)}" data-key="{key}">\n',
            f"<h1>Reading of {escape_html(title)}</h1>\n",
            f'<p class="soft">{len(drawn)} gold trajectories that call tools, drawn at random (seed {int(seed)}), each with '
            "the same chance. Read each as the person who asked: pass it only if you object to nothing in what is asked, "
            "called and answered. Implied calls serve a later one and need not be told.</p>\n",
            _BAR,
            *(_trajectory(number, len(drawn), one) for number, one in enumerate(drawn, 1)),
            "</div>\n</main>\n",
            inline_script(script),
            PAGE_END,
        )
    )


_BAR = """<div class="bar" role="region" aria-label="Progress"><p class="told" aria-live="polite"></p>
<progress max="1" value="0" aria-label="judged"></progress><div class="acts">
<label>Reader<input class="reader" maxlength="80" spellcheck="false" autocomplete="off"></label>
<button class="next" type="button">Next open one</button>
<button class="save" data-form="json" type="button">Save as JSON</button>
<button class="save" data-form="csv" type="button">Save as CSV</button>
<label class="load">Go on from a saved JSON file<input class="file" type="file" accept=".json"></label></div>
<p class="soft said" role="status"></p></div>
<noscript><p><b>Marking needs JavaScript; reading does not.</b></p></noscript>
"""


def _resource(name: str) -> str:
    return files("planarena.report").joinpath(name).read_text(encoding="utf-8")


def _trajectory(number: int, total: int, one: JoinedTrajectory) -> str:
    name = escape_html(one.row.trajectory_id)
    kinds = sorted({action.execution_kind for action in one.actions})
    calls = f"{len(one.actions)} call{'' if len(one.actions) == 1 else 's'}"
    tags = "".join(
        f"<span>{escape_html(tag)}</span>" for tag in (one.scenario.domain, calls, *kinds, name[:12]) if tag
    )
    known = "; ".join(f"{key}: {_compact(value)}" for key, value in sorted(one.context.items()))
    before = "".join(f"<p><b>Said before:</b> {escape_html(said)}</p>" for said in one.said_before)
    return (
        f'<section class="card item" id="t{number}" data-id="{name}"><h2>{number} of {total}</h2>'
        f'<div class="tags">{tags}</div><p class="soft"><b>Known:</b> {escape_html(known or "nothing")}</p>{before}'
        f"{''.join(_turns(one))}{_form(number)}</section>\n"
    )


def _turns(one: JoinedTrajectory) -> Iterator[str]:
    for place, said in enumerate(one.turns):
        yield f'<div class="said user"><p class="label">User</p><p>{escape_html(said)}</p></div>'
        for _, members in groupby((a for a in one.actions if a.turn == place), key=lambda a: a.group):
            group = list(members)
            together = f'<p class="label">{len(group)} calls at once</p>' if len(group) > 1 else ""
            yield f'<div class="group">{together}{"".join(map(_call, group))}</div>'
        if place < len(one.responses):
            yield (
                '<div class="said assistant"><p class="label">Assistant</p>'
                f"<p>{escape_html(one.responses[place])}</p></div>"
            )


def _call(action: Action) -> str:
    sources = {argument.removeprefix("/"): source + 1 for argument, source, _ in action.bound}
    lines = "".join(
        f"<li><code>{escape_html(name)} = {escape_html(_cut(_compact(value)))}</code>"
        + (f' <span class="soft">from call {sources[name]}</span>' if name in sources else "")
        + "</li>"
        for name, value in action.arguments.items()
    )
    implied = "" if action.asked else ' <span class="soft">implied</span>'
    failed = "" if action.status == "ok" else f'<p class="failed">failed: {escape_html(action.status)}</p>'
    shown = msgspec.json.format(msgspec.json.encode(action.observation), indent=1).decode()
    return (
        f'<div class="call"><p>{action.number + 1}. <b>{escape_html(action.tool.wire_name)}</b>{implied}</p>'
        f"<ul>{lines}</ul>{failed}<pre tabindex='0'>{escape_html(_cut(shown))}</pre></div>"
    )


def _form(number: int) -> str:
    options = "".join(f'<option value="{word}">{word}: {meaning}</option>' for word, meaning in FAULTS)
    verdicts = "".join(
        f'<label class="{verdict}"><input type="radio" name="v{number}" value="{verdict}">{verdict.title()}</label>'
        for verdict in ("pass", "fail")
    )
    return (
        f'<fieldset class="judge"><legend>Your judgement</legend><div class="verdict">{verdicts}</div>'
        f'<label>Reason of a failure<select class="reason"><option value="">choose one</option>{options}</select></label>'
        '<label>What exactly<textarea class="note" rows="2" maxlength="4000"></textarea></label></fieldset>'
    )


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _cut(text: str) -> str:
    rest = len(text) - _LONGEST_VALUE
    return text if rest <= 0 else f"{text[:_LONGEST_VALUE]}\n… {rest} more characters"
