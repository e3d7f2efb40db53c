"""Policies that need no model: the gold, one that does nothing, one that calls at random, recorded replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from planarena import formats
from planarena.bench.policy import Asked, Reply
from planarena.bench.tasks import Task
from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.formats import Call

__all__ = ["DoNothing", "GoldPolicy", "RandomTool", "Recorded"]


class Recorded:
    """Says what was said before.

    Args:
        texts: Replies by (item, sample), in order.
        form: Their format.
        name: For reports.
    """

    def __init__(
        self, texts: Mapping[tuple[str, int], Sequence[str]], form: str, name: str = "recorded"
    ) -> None:
        self._texts, self.format, self.name = texts, form, name

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        """Return the reply of each turn; an empty one, which ends the episode, where nothing more was said."""
        found = []
        for one in asked:
            texts = self._texts.get((one.id, one.sample), ())
            found.append(Reply(text=texts[one.turn] if one.turn < len(texts) else ""))
        return found


class GoldPolicy(Recorded):
    """Does what the gold does.

    Args:
        tasks: The tasks.
        samples: Episodes per task.
    """

    def __init__(self, tasks: Sequence[Task], samples: int = 1) -> None:
        texts = {(task.id, sample): task.row.targets for task in tasks for sample in range(samples)}
        super().__init__(texts, tasks[0].row.format, "gold")


class DoNothing:
    """Answers at once and calls nothing.

    Args:
        form: The format it speaks.
    """

    name = "do nothing"

    def __init__(self, form: str = "planarena") -> None:
        self.format = form
        self._text = formats.get(form).render(response="There is nothing to do.")

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        """Return the same answer every time."""
        return [Reply(text=self._text) for _ in asked]


class RandomTool:
    """Calls a random tool with random arguments that fit its schema a few times, then answers.

    Args:
        form: The format it speaks.
        seed: Of its choices.
        calls: Calls before the answer.
    """

    name = "random tool"

    def __init__(self, form: str = "planarena", seed: int = 0, calls: int = 3) -> None:
        self.format, self._seed, self._calls = form, seed, calls
        self._form = formats.get(form)

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        """Return one call per dialogue, drawn from the item, the sample and the turn alone."""
        return [Reply(text=self._text(one)) for one in asked]

    def _text(self, one: Asked) -> str:
        if one.turn >= self._calls or not one.tools:
            return self._form.render(response="Done.")
        rng = Random(f"{self._seed}/{one.id}/{one.sample}/{one.turn}")
        function = one.tools[rng.randrange(len(one.tools))]["function"]
        schema = function.get("parameters") or {"type": "object"}
        try:
            arguments = Generator(schema, rng).value(schema)
        except NoInstanceError:
            arguments = {}
        return self._form.render(calls=[Call(function["name"], arguments)])
