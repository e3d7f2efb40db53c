"""From questions to outputs: one folder, one model, any suites; interrupted at any time, it goes on where it was."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import orjson

from planarena.bench import Policy
from planarena.errors import RunError, UserError
from planarena.eval.config import EvalConfig
from planarena.eval.models.choosing import open_policy, settle
from planarena.eval.models.dialogues import Counting, Item, Totals, converse
from planarena.eval.models.journal import TIMINGS, Journal, Key
from planarena.eval.responses import Responses, count_tokens

__all__ = ["Generation", "UnansweredError"]


# The kind of failure that is an answer.
_REFUSED = "refused"
# What scoring writes beside the outputs.
WRITTEN = ("scores.json", "report.html", "items.jsonl", "items.html", TIMINGS)


class UnansweredError(UserError):
    """Requests failed on every attempt; their items are asked again by the same command."""

    exit_code = 1


class Generation:
    """A model at work in an evaluation's folder. Use it in `with`.

    Args:
        config: The evaluation.
        homes: The module of each suite.
        policy: Whoever answers instead of `config.model`.

    Attributes:
        config: The same with format and prompts decided.
        policy: Who answers.
        totals: What each suite took so far.

    Raises:
        UserError: Questions that are missing, a model that cannot be opened, a folder of other outputs.
    """

    def __init__(self, config: EvalConfig, homes: Mapping[str, str], policy: Policy | None = None) -> None:
        self.out = Path(config.out)
        self.totals: dict[str, Totals] = {}
        self._stack = ExitStack()
        try:
            # Questions first: a path that is wrong is said before a model is loaded or paid for.
            config = settle(config)
            self._modules = {suite: import_module(homes[suite]) for suite in dict.fromkeys(config.suites)}
            opened = {
                suite: self._stack.enter_context(module.ask(suite, config))
                for suite, module in self._modules.items()
                if hasattr(module, "ask")
            }
            if policy is None:
                model: AbstractContextManager[Policy] = open_policy(config)
                policy = self._stack.enter_context(model)
            self.policy = policy
            self.config = msgspec.structs.replace(config, format=self.policy.format)
            self._items: dict[str, list[Item]] = {
                suite: listed(self.policy.format) for suite, listed in opened.items()
            }
            self._begin_folder()
            self.journal = self._stack.enter_context(Journal(self.out / "responses.jsonl"))
        except BaseException:
            self._stack.close()
            raise

    @property
    def settings(self) -> dict[str, Any]:
        """What shapes the outputs: two folders of equal settings hold outputs of the same kind."""
        made = self.config.generation
        found = {
            "format": self.config.format,
            **getattr(self.policy, "identity", {"model": self.policy.name}),
        }
        found |= {"template": made.template, "signatures": made.signatures, "plan": made.plan}
        return {key: value for key, value in found.items() if value is not None}

    def _begin_folder(self) -> None:
        """Refuse a folder of outputs that another model wrote; note who writes from now on."""
        run, rows = self.out / "run.json", self.out / "responses.jsonl"
        if self.config.fresh:
            for file in (rows, run, *(self.out / name for name in WRITTEN)):
                file.unlink(missing_ok=True)
        if rows.is_file() and rows.stat().st_size:
            before = _settings_of(run)
            if before is None:
                raise RunError(
                    "holds outputs of which nothing says that a model wrote them here",
                    where=str(self.out),
                    fix="name another --out, or remove them with --fresh",
                )
            differing = [
                f"{key} (there {before.get(key)!r}, now {self.settings.get(key)!r})"
                for key in dict.fromkeys([*before, *self.settings])
                if before.get(key) != self.settings.get(key)
            ]
            if differing:
                raise RunError(
                    f"holds outputs that were generated with another {', '.join(differing)[:600]}",
                    where=str(self.out),
                    fix="name another --out, or remove them with --fresh",
                )
            return
        note = {
            "kind": "evaluation",
            "finished": False,
            "generation": {"name": self.policy.name, "settings": self.settings},
        }
        draft = self.out / f".run.json.{os.getpid()}"
        draft.write_bytes(orjson.dumps(note, option=orjson.OPT_INDENT_2) + b"\n")
        draft.replace(run)

    def generate(self, suite: str, tell: Callable[[str, int, int], None]) -> Responses:
        """Get the outputs of a suite.

        Args:
            suite: One of the evaluation's.
            tell: Told the suite, the outputs so far and the outputs in all.

        Raises:
            UserError: Nothing more can be answered: a wrong key, no server, a budget that is spent.
            UnansweredError: Some requests failed; every answer is kept.
        """
        if suite in self._items:
            items = self._items[suite]
            total = len(items) * self.config.samples
            found, totals = converse(
                suite,
                items,
                self.policy,
                self.config.samples,
                self.journal,
                lambda done: tell(f"asking {suite}", done, total),
            )
        else:
            found, totals = self._play(suite, tell)
            total = totals.outputs + totals.failed.total()
        self.totals[suite] = totals
        # A provider that will not answer has answered: asked again it says the same, and the item is wrong.
        missing = Counter({kind: count for kind, count in totals.failed.items() if kind != _REFUSED})
        if missing and not self.config.generation.count_failed:
            listed = ", ".join(f"{count} with {kind}" for kind, count in missing.most_common())
            raise UnansweredError(
                f"{missing.total()} of {total} outputs are missing, because their requests failed: {listed}; "
                f"{totals.outputs} are kept",
                where=f"{suite}, {self.journal.path}",
                fix="run the same command again: only what failed is asked. To score it as wrong instead: "
                "--set generation.count_failed=true",
            )
        return found

    def _play(self, suite: str, tell: Callable[[str, int, int], None]) -> tuple[Responses, Totals]:
        """Get the episodes of a suite whose dialogues the policy acts in, each kept as it ends."""
        totals, counting = Totals(), Counting(self.policy)
        done: dict[tuple[str, int], list[str]] = {}
        for (name, key, sample), row in self.journal.rows.items():
            if name == suite and isinstance(row["response"], list):
                done[key, sample] = row["response"]

        def keep(played: Any) -> None:
            key, sample = played.task.id, played.sample
            if played.problem:
                totals.failed[played.problem.partition(":")[0]] += 1
                fields: dict[str, Any] = {"error": played.problem}
            elif (key, sample) in done:
                totals.add(self.journal.rows[suite, key, sample].get("usage") or {})
                return
            else:
                usage = counting.usage[key, sample]
                fields = {"response": list(played.texts), "usage": usage}
                if played.tokens is not None:
                    fields["tokens"] = played.tokens
                totals.add(usage)
            self.journal.add({"suite": suite, "id": key, "sample": sample, **fields})
            if counting.usage[key, sample]["replies"]:
                self.journal.observe((suite, key, sample), counting.seen[key, sample])

        found: Responses = self._modules[suite].generate(
            counting,
            self.config,
            done=done,
            keep=keep,
            tell=lambda name, ended, of: tell(f"asking {name}", ended, of),
            at_once=max(
                int(getattr(self.policy, "at_once", 64)), 4 * int(getattr(self.policy, "parallel", 1))
            ),
        )
        for key, listed in found.by_id.items():
            for sample, response in enumerate(listed):
                kept = self.journal.rows.get((suite, key, sample))
                if not response.problem and kept is not None:
                    stated = kept.get("tokens")
                    response.counted = isinstance(stated, int)
                    response.tokens = stated if isinstance(stated, int) else count_tokens(kept["response"])
        return found, totals

    def finish(self, order: Mapping[Key, int]) -> bytes:
        """Return responses.jsonl as it stands when the evaluation is done; see `Journal.compact`."""
        return self.journal.compact(order)

    def account(self) -> dict[str, Any]:
        """Return what run.json says about the model and what it took."""
        return {
            "name": self.policy.name,
            "settings": self.settings,
            "notes": [f"{suite}: {note}" for suite in self.totals for note in self._notes(suite)],
            "suites": {
                suite: {
                    "outputs": totals.outputs,
                    "replies": totals.replies,
                    "prompt_tokens": totals.prompt_tokens,
                    "completion_tokens": totals.completion_tokens,
                    **self._observed(suite, totals),
                    "cut": totals.cut,
                    "failed": dict(totals.failed),
                }
                for suite, totals in self.totals.items()
            },
        }

    def _observed(self, suite: str, totals: Totals) -> dict[str, Any]:
        """What was really paid, how long outputs took, and which models the server says it is."""
        rows = [row for key, listed in self.journal.observed.items() if key[0] == suite for row in listed]
        paid = [row.get("paid") for row in rows]
        seconds = sorted(float(row.get("seconds") or 0.0) for row in rows if row.get("seconds"))
        served: Counter[str] = Counter()
        for row in rows:
            served.update(row.get("served_by") or {})
        return {
            "usd": None if None in paid else sum(one or 0.0 for one in paid),
            "usd_of_replies": totals.usd,
            "cached": sum(int(row.get("cached") or 0) for row in rows),
            "seconds_median": seconds[len(seconds) // 2] if seconds else None,
            "seconds_95": seconds[int(0.95 * (len(seconds) - 1))] if seconds else None,
            "served_by": dict(served.most_common()),
        }

    def _notes(self, suite: str) -> list[str]:
        """What a reader must know about who answered."""
        totals = self.totals[suite]
        served = self._observed(suite, totals)["served_by"]
        notes = []
        if refused := totals.failed[_REFUSED]:
            of = totals.outputs + totals.failed.total()
            notes.append(
                f"WARNING: {refused} of {of} outputs were refused by the provider (content filter) and are scored as wrong"
            )
        asked = self.policy.name.partition("@")[0].rpartition("/")[2]
        if len(served) > 1:
            listed = ", ".join(f"{name} ({count})" for name, count in served.items())
            return [*notes, f"WARNING: the server answered as more than one model: {listed}"]
        return notes + [
            f"the server calls the model {name!r}" for name in served if name.rpartition("/")[2] != asked
        ]

    def __enter__(self) -> Generation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _settings_of(run: Path) -> dict[str, Any] | None:
    try:
        found = orjson.loads(run.read_bytes())["generation"]["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, dict) else None
