"""Pages of trainings: live curves over each other, outputs over time, and what an algorithm does to each token."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup

from planarena.errors import UserError
from planarena.records.foreign import fits
from planarena.view.curves import draw, panels_of
from planarena.view.library import Folder, Library
from planarena.view.lines import Growing
from planarena.view.pages import link, render, text_of

__all__ = ["pages"]

_MOST_RUNS = 8
_MOST_TOKENS = 4_000
_MOST_SAMPLES = 200
_LEVELS = 5
_TYPES = (
    "plan tag",
    "tool tag",
    "response tag",
    "plan",
    "tool call",
    "response",
    "other",
    "",
)
_SHOWN = {"pull": "pull of the loss", "advantage": "advantage"}


def pages(library: Library) -> Iterator[tuple[str, Callable[[Any], Any], list[str]]]:
    """Yield (path, page, methods)."""
    own = _Training(library)
    yield "/training", own.curves, ["GET"]
    yield "/training/live", own.live, ["GET"]
    yield "/training/samples", own.samples, ["GET"]
    yield "/training/tokens", own.tokens, ["GET"]


def _heads(line: dict[str, Any], offset: int, length: int) -> dict[str, Any]:
    """Keep of a recorded batch where it stands and what its list shows."""
    rows = line.get("rows")
    return {
        "step": line["step"],
        "offset": offset,
        "length": length,
        "rows": len(rows) if isinstance(rows, list) else 0,
    }


class _Training:
    def __init__(self, library: Library) -> None:
        self._library = library
        self._metrics = Growing(lambda line, *_: line)
        self._samples = Growing(lambda line, *_: _short(line))
        self._batches = Growing(_heads)

    # -- curves ------------------------------------------------------------------------------------

    def curves(self, asked: Any) -> str:
        folders = self._folders(asked)
        whole = {"t": ",".join(one.key for one in folders), "m": asked.query.get("m", "")}
        metrics = sorted(
            {name.partition("/")[0] for one in folders for name in self._last(one) if "/" in name}
        )
        return render(
            "training.html",
            title=" and ".join(one.name for one in folders),
            place="training",
            folders=folders,
            whole=whole,
            metrics=metrics,
            live=link("/training/live", whole),
            body=self._body(folders, whole["m"]),
            others=[
                one
                for one in self._library.folders()
                if one.kind == "training" and one.key not in whole["t"].split(",")
            ],
        )

    def live(self, asked: Any) -> tuple[str, ...]:
        folders = self._folders(asked)
        body = str(self._body(folders, asked.query.get("m", "")))
        tag = f'"{blake2b(body.encode("utf-8", "replace"), digest_size=8).hexdigest()}"'
        return ("same",) if asked.known == tag else ("part", body, tag)

    def _body(self, folders: Sequence[Folder], wanted: str) -> Markup:
        runs = [self._metrics.lines(one.path / "metrics.jsonl") for one in folders]
        names = [one.name for one in folders]
        panels = [draw(title, series, names) for title, series in panels_of(runs, wanted)]
        status = [
            {
                "name": folder.name,
                "status": folder.status,
                "step": lines[-1]["step"] if lines else 0,
                "steps": folder.info.get("steps"),
                "last": _facts(lines),
            }
            for folder, lines in zip(folders, runs, strict=True)
        ]
        return Markup(render("curves.html", panels=panels, status=status))  # noqa: S704  a template's, escaped

    def _last(self, folder: Folder) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for line in self._metrics.lines(folder.path / "metrics.jsonl")[-50:]:
            found |= line
        return found

    # -- samples -----------------------------------------------------------------------------------

    def samples(self, asked: Any) -> str:
        folder = self._folders(asked)[0]
        lines = self._samples.lines(folder.path / "samples.jsonl")
        steps = sorted({line["step"] for line in lines})
        rows = list(dict.fromkeys(line["row"] for line in lines))
        row = asked.query.get("row", "")
        step = asked.number("step", steps[-1] if steps else 0)
        shown = [line for line in lines if (line["row"] == row if row else line["step"] == step)]
        near = [one for one in (0, *steps) if one < step][-1:], [one for one in steps if one > step][:1]
        return render(
            "samples.html",
            title=f"Samples of {folder.name}",
            place="training",
            folder=folder,
            steps=steps,
            step=step,
            rows=rows[:_MOST_SAMPLES],
            row=row,
            shown=shown[:_MOST_SAMPLES],
            before=near[0][0] if near[0] and near[0][0] in steps and not row else None,
            after=near[1][0] if near[1] and not row else None,
        )

    # -- tokens ------------------------------------------------------------------------------------

    def tokens(self, asked: Any) -> str:
        folder = self._folders(asked)[0]
        path = folder.path / "rollouts.jsonl"
        heads = self._batches.lines(path)
        if not heads:
            raise UserError(
                "recorded no rollouts",
                where=str(folder.path),
                fix="train with log.rollouts=1 on the local engine; supervised training has none",
            )
        known = {head["step"]: head for head in heads}
        steps = sorted(known)
        step = asked.number("step", steps[-1])
        head = known.get(step) or known[steps[-1]]
        line = _line(path, head)
        rows = line["rows"]
        row = min(asked.number("row"), len(rows) - 1)
        config = folder.info.get("config")
        own = str(line.get("algorithm") or "")
        names = asked.values("algorithm") or [own]
        show = asked.query.get("show", "pull")
        from planarena.trainers.loop.token_numbers import CHOICES

        strips = [
            self._strip(line, dict(config) if isinstance(config, dict) else {}, name, own, row, show)
            for name in list(dict.fromkeys(names))[:6]
        ]
        at = steps.index(head["step"])
        state = {
            "t": folder.key,
            "step": head["step"],
            "row": row,
            "algorithm": ",".join(names),
            "show": show,
        }
        return render(
            "tokens.html",
            title=f"Tokens of {folder.name}, step {head['step']}",
            place="training",
            folder=folder,
            steps=steps,
            state=state,
            before=steps[at - 1] if at else None,
            after=steps[at + 1] if at + 1 < len(steps) else None,
            rows=[_told(one) for one in rows],
            one=_told(rows[row]) | {"prompt": str(rows[row].get("prompt", ""))[-4_000:]},
            strips=strips,
            choices=list(dict.fromkeys([own, *CHOICES])),
            names=names,
            own=own,
            shown=_SHOWN,
            types=list(enumerate(_TYPES[:-1])),
        )

    def _strip(
        self, line: dict[str, Any], config: dict[str, Any], name: str, own: str, row: int, show: str
    ) -> dict[str, Any]:
        """Return one algorithm's numbers on a rollout, or why it has none."""
        from planarena.trainers.loop.token_numbers import algorithm_of, token_numbers

        try:
            algorithm = algorithm_of(config, "" if name == own and config else name)
            found = token_numbers(line, algorithm, own=name == own)
        except UserError as error:
            return {"name": name, "error": error.what}
        values = found.pull if show == "pull" and found.pull is not None else found.advantages
        every = [abs(value) for one in values for value in one if math.isfinite(value)]
        most = max(every, default=0.0)
        recorded = line["rows"][row]
        data = config.get("data")
        form = str(data.get("format") or "") if isinstance(data, dict) else ""
        experts = [
            {
                "key": str(one.get("key", "")),
                "tokens": _tokens(one, pull, (), max(map(abs, pull), default=0.0), pull, form),
            }
            for one, pull in zip(line.get("experts", ()), found.expert_pull or (), strict=False)
        ]
        return {
            "name": name,
            "error": "",
            "title": str(getattr(algorithm, "title", name)),
            "paper": str(getattr(algorithm, "paper", "")),
            "approximate": bool(getattr(algorithm, "approximate", False)),
            "note": found.note,
            "most": most,
            "flat": most == 0.0,
            "total": sum(values[row]),
            "tokens": _tokens(
                recorded, values[row], found.advantages[row], most, found.pull[row] if found.pull else None
            ),
            "left": max(0, len(recorded["mask"]) - _MOST_TOKENS),
            "coefficients": found.coefficients,
            "experts": [one for one in experts if one["key"] == str(recorded.get("key", ""))] or experts[:1],
        }

    # -- parts -------------------------------------------------------------------------------------

    def _folders(self, asked: Any) -> list[Folder]:
        keys = list(dict.fromkeys(asked.values("t")))[:_MOST_RUNS]
        found = [self._library.get(key, "training") for key in keys]
        folders = [one for one in found if one is not None]
        if not folders or len(folders) < len(found):
            raise LookupError("there is no such training")
        return folders


def _line(path: Path, head: Mapping[str, int]) -> dict[str, Any]:
    with path.open("rb") as source:
        source.seek(head["offset"])
        text = source.read(head["length"])
    try:
        found = msgspec.json.decode(text, type=dict[str, Any]) if fits(text) else {}
    except (msgspec.MsgspecError, RecursionError):
        found = {}
    found["rows"] = rows = _sound(found.get("rows"), ("mask",))
    if not rows:
        raise UserError("a line of rollouts.jsonl is damaged", where=str(path), fix="look at another step")
    found["experts"] = _sound(found.get("experts"), ("mask", "keep", "logp"))
    return found


def _sound(rows: Any, lists: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows that are objects with these lists; what else is of another kind is left out of them."""
    kinds = dict.fromkeys((*lists, "pieces", "types", "logp", "advantages", "keep", "entropy"), list)
    return [
        {key: value for key, value in one.items() if isinstance(value, kinds.get(key, object))}
        for one in (rows if isinstance(rows, list) else ())
        if isinstance(one, dict) and all(isinstance(one.get(name), list) for name in lists)
    ]


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    parts = row.get("parts")
    return {
        "group": row.get("group"),
        "key": str(row.get("key", "")),
        "reward": row.get("reward"),
        "success": row.get("success"),
        "demo": bool(row.get("demo")),
        "truncated": bool(row.get("truncated")),
        "length": sum(1 for one in row["mask"] if one),
        "parts": {str(name): value for name, value in parts.items()} if isinstance(parts, dict) else {},
        "start": "".join(map(str, row.get("pieces") or ()))[:160],
    }


def _tokens(
    row: Mapping[str, Any],
    values: Sequence[float],
    advantages: Sequence[float],
    most: float,
    pull: Sequence[float] | None = None,
    form: str = "",
) -> list[dict[str, Any]]:
    """Return tokens with their numbers and the classes that colour them; `form` reads types that are not recorded."""
    types, mask, logp = row.get("types") or [], row["mask"], row.get("logp") or []
    pieces = [str(piece) for piece in row.get("pieces") or ()]
    if not types and form:
        types = _types(pieces, form)
    found = []
    for at, piece in enumerate(pieces[:_MOST_TOKENS]):
        value = values[at] if at < len(values) else 0.0
        kind = types[at] if at < len(types) and types[at] in range(len(_TYPES)) else 7
        level = min(_LEVELS, round(_LEVELS * abs(value) / most)) if most > 0 and math.isfinite(value) else 0
        told = [_TYPES[kind], f"advantage {advantages[at]:.4g}" if at < len(advantages) else ""]
        told += [f"pull {pull[at]:.4g}" if pull and at < len(pull) else ""]
        told += [
            f"log-probability {logp[at]:.3g}" if at < len(logp) and isinstance(logp[at], int | float) else ""
        ]
        seen = bool(mask[at]) if at < len(mask) else False
        found.append(
            {
                "text": piece or "·",
                "kind": kind,
                "sign": "n" if value < 0 else "p",
                "level": level if seen else 0,
                "masked": not seen,
                "told": ", ".join(one for one in told if one) if seen else "not written by the policy",
                "value": value,
            }
        )
    return found


def _types(pieces: Sequence[str], form: str) -> list[int]:
    from planarena import formats

    ends = list(accumulate(map(len, pieces)))
    offsets = [(end - len(piece), end) for end, piece in zip(ends, pieces, strict=True)]
    try:
        return [int(one) for one in formats.token_types(formats.get(form).parse("".join(pieces)), offsets)]
    except UserError:
        return []


def _short(line: dict[str, Any]) -> dict[str, Any]:
    parts = line.get("parts")
    return {
        "step": line["step"],
        "row": str(line.get("row", ""))[:200],
        "asked": text_of(line.get("last_message", ""))[:2_000],
        "output": text_of(line.get("output", ""))[:6_000],
        "target": text_of(line.get("target", ""))[:4_000],
        "reward": line.get("reward"),
        "success": line.get("success"),
        "parts": {str(name): value for name, value in parts.items()} if isinstance(parts, dict) else {},
    }


def _facts(lines: Sequence[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    last: dict[str, Any] = {}
    for line in lines[-200:]:
        last |= line
    names = (
        "phase",
        "reward/mean",
        "reward/success",
        "validation/success",
        "policy/entropy",
        "loss/total",
        "time/step",
    )
    return [(name, last[name]) for name in names if last.get(name) is not None]
