"""Pages to play: act in a task's environment by hand, or watch a model act, with the state of the goal.

An episode's whole state is what was done in it, and that stands in the address: every page does it again, in
milliseconds, so links can be shared and the browser's Back takes a step back. Only built-in environments are played
here: those of others run their own code, for which `planarena env play` asks.
"""

from __future__ import annotations

import binascii
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from planarena.errors import UserError
from planarena.records import Run
from planarena.rows import EpisodeRow, RowOptions
from planarena.rows.environments import locate
from planarena.rows.run_reading import ShardReader
from planarena.rows.stepwise import StepExtractor
from planarena.session import Session, SessionTask, observation_text
from planarena.view.browse import Browser, Table
from planarena.view.library import Folder, Library
from planarena.view.models import Actor, Models
from planarena.view.pages import capped, laid_out, link, render, text_of

if TYPE_CHECKING:
    from planarena.bench.playing import Dialogue

__all__ = ["pack", "pages", "unpack"]

_MOST_EVENTS = 60
# Characters of an episode in an address; servers and browsers take 64,000.
_MOST_PACKED = 24_000
_MOST_UNPACKED = 1 << 20
_STATE = ("q", "domain", "n_actions", "conversation", "split")


def pages(library: Library, models: Models) -> Iterator[tuple[str, Callable[[Any], Any], list[str]]]:
    """Yield (path, page, methods)."""
    own = _Play(library, models)
    yield "/play/{key}", own.tasks, ["GET"]
    yield "/play/{key}/t/{id}", own.task, ["GET"]
    yield "/play/{key}/t/{id}/act", own.act, ["POST"]
    yield "/watch/{key}/t/{id}", own.watch, ["GET"]
    yield "/watch/{key}/t/{id}/step", own.step, ["POST"]


def pack(value: Any) -> str:
    """Return JSON for an address.

    Raises:
        UserError: It is too long for one.
    """
    packed = urlsafe_b64encode(zlib.compress(msgspec.json.encode(value), 9)).decode().rstrip("=")
    if len(packed) > _MOST_PACKED:
        raise UserError(
            "the episode is too long for an address", where="play", fix="go back some steps, or start again"
        )
    return packed


def unpack(text: str) -> Any:
    """Return what `pack` packed; an empty list for an empty text.

    Raises:
        UserError: It is something else.
    """
    try:
        if not text or len(text) > _MOST_PACKED:
            return []
        body = zlib.decompressobj().decompress(
            urlsafe_b64decode(text + "=" * (-len(text) % 4)), _MOST_UNPACKED
        )
        return msgspec.json.decode(body)
    except (binascii.Error, ValueError, zlib.error, RecursionError) as error:
        raise UserError("the address holds no episode", where="play", fix="start the task again") from error


class _Play:
    def __init__(self, library: Library, models: Models) -> None:
        self._library, self._browser, self._models = library, Browser(), models

    # -- tasks -------------------------------------------------------------------------------------

    def tasks(self, asked: Any) -> str:
        folder, run = self._open(asked)
        table = self._browser.table(run)
        state = {name: asked.query[name] for name in _STATE if asked.query.get(name)}
        facets = [
            {"name": name, "label": label, "values": table.facets[name], "chosen": state.get(name, "")}
            for name, label in (("domain", "Domain"), ("n_actions", "Actions"), ("split", "Split"))
        ]
        return render(
            "tasks.html",
            title=f"Play {folder.name}",
            place="play",
            folder=folder,
            found=table.find({**state, "kind": "gold"}, asked.number("page")),
            facets=facets,
            state=state,
        )

    # -- by hand -----------------------------------------------------------------------------------

    def task(self, asked: Any) -> str:
        folder, _, row = self._row(asked, RowOptions(format="native", splits=()))
        events = _events(unpack(asked.query.get("events", "")))
        session, shown = _replay(row, events)
        assert session.task is not None
        tools = [one["function"] for one in row.tools]
        chosen = next((one for one in tools if one["name"] == asked.query.get("tool")), None)
        path = f"/play/{folder.key}/t/{asked.parts['id']}"
        return render(
            "play.html",
            title=f"Play: {row.turns[0][:60]}",
            place="play",
            folder=folder,
            path=path,
            row=row,
            first=_texts(row.prompt),
            shown=shown,
            tools=sorted(tools, key=lambda one: str(one["name"])),
            chosen=chosen,
            fields=_fields(chosen) if chosen else [],
            events=asked.query.get("events", ""),
            undo=link(path, {"events": pack(events[:-1]) if len(events) > 1 else ""}),
            state=_standing(session),
            gold=_gold(session.task),
            models=self._models.listed(),
            name=asked.parts["id"],
        )

    def act(self, asked: Any) -> tuple[str, str]:
        _, _, row = self._row(asked, RowOptions(format="native", splits=()))
        events = _events(unpack(asked.query.get("events", "")))
        form = asked.form or {}
        tools = {str(one["function"]["name"]): one["function"] for one in row.tools}
        if form.get("tool") in tools:
            arguments = _arguments(tools[form["tool"]], form)
            events.append([form["tool"], arguments])
        elif form.get("answer", "").strip():
            events.append([None, form["answer"]])
        if len(events) > _MOST_EVENTS:
            raise UserError("the episode is too long", where="play", fix="start the task again")
        path = f"/play/{asked.parts['key']}/t/{asked.parts['id']}"
        return "see", link(path, {"events": pack(events) if events else ""}) + "#end"

    # -- a model ------------------------------------------------------------------------------------

    def watch(self, asked: Any) -> str:
        folder, dialogue, replies, model = self._dialogue(asked)
        played, row = dialogue.played, dialogue.played.task.row
        name = asked.parts["id"]
        shown = _watched(dialogue)
        done = [[one.tool, one.value] for one in dialogue.session.snapshot().events]
        state = _standing(dialogue.session)
        task = dialogue.session.task
        path = f"/watch/{folder.key}/t/{name}"
        return render(
            "watch.html",
            title=f"Watch: {row.turns[0][:60]}",
            place="play",
            folder=folder,
            model=model,
            row=row,
            shown=shown,
            open=dialogue.open,
            success=played.success,
            broken=played.broken,
            state=state,
            gold=_gold(task) if task else [],
            step=link(f"{path}/step", {"model": model.key, "replies": asked.query.get("replies", "")}),
            undo=link(path, {"model": model.key, "replies": pack(replies[:-1]) if len(replies) > 1 else ""}),
            again=link(path, {"model": model.key}),
            replies=replies,
            by_hand=link(f"/play/{folder.key}/t/{name}", {"events": pack(done) if done else ""}),
        )

    def step(self, asked: Any) -> tuple[str, str]:
        folder, dialogue, replies, model = self._dialogue(asked)
        if dialogue.open:
            with self._models.open(model) as policy:
                reply = policy.reply([dialogue.asked])[0]
            if reply.problem:
                raise UserError(f"the model did not answer: {reply.problem}", where=model.name)
            replies.append(reply.text)
        path = f"/watch/{folder.key}/t/{asked.parts['id']}"
        return "see", link(path, {"model": model.key, "replies": pack(replies)}) + "#end"

    def _dialogue(self, asked: Any) -> tuple[Folder, Dialogue, list[str], Actor]:
        """Carry out the replies that the address holds."""
        from planarena import formats
        from planarena.bench import bench_options
        from planarena.bench.playing import MOST_TURNS, begin, parse_reply
        from planarena.bench.tasks import Task

        model = self._models.find(asked.query.get("model", ""))
        if model is None:
            raise LookupError(
                "there is no such training, whose checkpoint could act, and no such served model"
            )
        form = model.form
        folder, _, row = self._row(asked, bench_options(form, splits=()))
        actions = sum(len(one.calls) for one in row.gold)
        offered = frozenset(str(tool["function"]["name"]) for tool in row.tools)
        dialogue = begin(Task(row.task_id, row, actions, "", row.category, offered))
        given = unpack(asked.query.get("replies", ""))
        replies = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
        for place, text in enumerate(replies):
            if not dialogue.open:
                replies = replies[:place]
                break
            dialogue.take(text, parse_reply(formats.get(form), text), place + 1 >= MOST_TURNS)
        return folder, dialogue, replies, model

    # -- parts -------------------------------------------------------------------------------------

    def _open(self, asked: Any) -> tuple[Folder, Run]:
        folder = self._library.get(asked.parts["key"], "run")
        if folder is None:
            raise LookupError("there is no such run")
        return folder, Run.open(folder.path)

    def _row(self, asked: Any, options: RowOptions) -> tuple[Folder, Run, EpisodeRow]:
        """Read the task of a trajectory, where its environment can be played here."""
        folder, run = self._open(asked)
        table: Table = self._browser.table(run)
        shard = table.shard(asked.parts["id"])
        if shard is None:
            raise LookupError("there is no such trajectory in this run")
        reader = ShardReader(run)
        path = next(one for one in run.shards("trajectories") if one.stem == shard)
        found = next(row for row in reader.open(path) if row.trajectory_id == asked.parts["id"])
        dialogue = reader.dialogue(found)
        episode = StepExtractor(options, Counter()).episode(dialogue, locate(reader, dialogue))
        if episode is None or episode.environment is None:
            raise UserError(
                "this trajectory has no environment that can be acted in",
                where=found.trajectory_id,
                fix="choose a gold trajectory of a build",
            )
        if not _is_builtin(run, shard, episode.scenario_id):
            raise UserError(
                "its environment runs code of others, which a page does not start",
                where=found.trajectory_id,
                fix="use `planarena env play`",
            )
        return folder, run, episode


def _is_builtin(run: Run, shard: str, scenario: str) -> bool:
    import polars

    path = run.path / "tables" / "scenarios" / f"{shard}.parquet"
    found = (
        polars.scan_parquet(path)
        .filter(polars.col("scenario_id") == scenario)
        .select("environment")
        .collect()
    )
    try:
        environment = msgspec.json.decode(str(found["environment"][0]))
    except (msgspec.MsgspecError, IndexError):
        return False
    return isinstance(environment, dict) and environment.get("kind") == "builtin"


def _events(given: Any) -> list[list[Any]]:
    """Return what was done, as far as an address's list of it is one."""
    found: list[list[Any]] = []
    for one in given if isinstance(given, list) else ():
        if isinstance(one, list) and len(one) == 2:
            tool, value = one
            if (tool is None and isinstance(value, str)) or (
                isinstance(tool, str) and isinstance(value, dict)
            ):
                found.append([tool, value])
    return found[:_MOST_EVENTS]


def _replay(row: EpisodeRow, events: Sequence[Sequence[Any]]) -> tuple[Session, list[dict[str, Any]]]:
    """Do again what was done; return the session, and what is shown of it."""
    session = Session()
    session.reset(SessionTask.of_row(row))
    shown: list[dict[str, Any]] = []
    for tool, value in events:
        if tool is None:
            message = session.answer(value)
            shown.append({"kind": "answer", "text": value, "reply": message})
            continue
        outcome = session.call(tool, value)
        shown.append(_called(tool, value, outcome))
    return session, shown


def _called(tool: str, arguments: Mapping[str, Any], outcome: Any) -> dict[str, Any]:
    text, more = capped(laid_out(observation_text(outcome)))
    given, cut = capped(text_of(dict(arguments)))
    return {
        "kind": "call",
        "tool": tool,
        "arguments": given + (" ..." if cut else ""),
        "status": outcome.status,
        "text": text,
        "more": more,
    }


def _watched(dialogue: Dialogue) -> list[dict[str, Any]]:
    """Return the replies of a model with what came of each."""
    played = dialogue.played
    return [
        {
            "text": capped(_said(text, played.task.row.format))[0],
            "calls": [
                _called(one.tool, one.arguments, one.outcome) for one in played.calls if one.turn == number
            ],
        }
        for number, text in enumerate(played.texts)
    ]


def _said(text: str, form: str) -> str:
    """Return the words of a reply; of a message in JSON what it says beside its calls, which stand below."""
    if form != "native":
        return text
    try:
        message = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return text
    if not isinstance(message, dict) or not message.get("tool_calls"):
        return text_of(message.get("content") or "") if isinstance(message, dict) else text
    return text_of(message.get("content") or f"calls {len(message['tool_calls'])} of the tools")


def _standing(session: Session) -> dict[str, Any]:
    reward = session.reward()
    return {
        "goal": reward.goal,
        "answered": reward.answered,
        "over": session.over,
        "calls": reward.calls,
        "failed": reward.failed,
        "success": bool(reward.value),
    }


def _gold(task: SessionTask) -> list[list[tuple[str, str]]]:
    return [[(call.name, text_of(call.arguments)) for call in calls] for calls in task.gold]


def _texts(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [(str(one.get("role", "")), capped(text_of(one.get("content") or ""))[0]) for one in messages]


def _fields(tool: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a tool's form, by its schema."""
    schema = tool.get("parameters")
    found = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else ()
    fields = []
    for name, one in found.items() if isinstance(found, dict) else ():
        known = one if isinstance(one, dict) else {}
        choices = known.get("enum") or ([True, False] if known.get("type") == "boolean" else [])
        fields.append(
            {
                "name": name,
                "required": name in (required or ()),
                "about": str(known.get("description", ""))[:400],
                "type": str(known.get("type", "")),
                "choices": [text_of(choice) for choice in choices][:100],
                "default": text_of(known["default"]) if "default" in known else "",
            }
        )
    return fields


def _arguments(tool: Mapping[str, Any], form: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments that a form gives: text where the schema wants text, else JSON where it is."""
    found: dict[str, Any] = {}
    for field in _fields(tool):
        text = form.get(f"arg.{field['name']}", "")
        if not text and not field["required"]:
            continue
        if field["type"] == "string":
            found[field["name"]] = text
            continue
        try:
            found[field["name"]] = msgspec.json.decode(text)
        except (msgspec.MsgspecError, RecursionError):
            found[field["name"]] = text
    return found
