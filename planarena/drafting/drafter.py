"""One draft: its parts in order, each asked for, judged, repaired with what was found, or given up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from planarena.drafting.judging import Verdict, judge
from planarena.drafting.parts import (
    DESIGN_SCHEMA,
    Design,
    check_design,
    files_schema,
    read_words,
    stub_words,
    stub_world,
    tools_in,
)
from planarena.drafting.report import DraftReport, PartReport
from planarena.drafting.settings import DraftConfig
from planarena.drafting.stating import write_provenance
from planarena.environments.check import Finding
from planarena.llm import Answer, LLMError, Prompt, Request, load_prompt, quote_data

__all__ = ["Drafter"]

# So many tools get their words at a time: an answer that long is still read with care.
_WORDS_AT_ONCE = 4
_MOST_FINDINGS = 24
_LANGUAGE = frozenset({"words", "tasks"})
_CODE = ("environment.py", "world.py", "seeds.yaml")


class _GivenUpError(Exception):
    """A part was repaired as often as it may be, or there was no answer."""


class Drafter:
    """Drafts one environment.

    Args:
        config: The settings.
        topic: What it is about.
        name: Of its folder, and its domain.
        ask: Answers a request, or says why it cannot.
        sample: How often it was drafted before.
    """

    def __init__(
        self,
        config: DraftConfig,
        topic: str,
        name: str,
        ask: Callable[[Request], Answer],
        sample: int = 0,
    ) -> None:
        self.config, self.topic, self.name, self.ask, self.sample = config, topic, name, ask, sample
        self.parts: list[PartReport] = []
        self.files: dict[str, str] = {}
        self.words: dict[str, Any] = {}
        self.tasks: dict[str, int] = {}
        self._work = Path(config.out) / ".draft" / "work" / name
        self._judged = 0
        self._latest = self._work

    def draft(self) -> DraftReport:
        """Do it; the folder of what passed is moved into place, that of what did not stays where it was made.

        Raises:
            LLMError: One that stops all: the budget is spent, no key, no server.
            EnvironmentUnavailableError: There is no way to sandbox here.
        """
        shutil.rmtree(self._work, ignore_errors=True)
        try:
            design = self._design()
            self._tools(design)
            self._world(design)
            self._all_words()
            self._whole()
        except _GivenUpError:
            return self._report("given_up", self._latest)
        target = Path(self.config.out) / self.name
        write_provenance(self._latest, self.config, self.topic, design, self.parts, self.tasks)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self._latest, target.with_name(f".{self.name}.new"), dirs_exist_ok=True)
        target.with_name(f".{self.name}.new").replace(target)
        return self._report("made", target)

    def _report(self, status: Any, folder: Path) -> DraftReport:
        tools = len(tools_in(self.files.get("environment.py", "")))
        return DraftReport(
            topic=self.topic,
            name=self.name,
            status=status,
            folder=str(folder),
            model=self.config.model,
            parts=tuple(self.parts),
            tools=tools,
            tasks=self.tasks,
            sample=self.sample,
        )

    # -- the parts -------------------------------------------------------------------------------------------

    def _design(self) -> Design:
        prompt = load_prompt("draft_design")
        data = quote_data({"topic": self.topic, "tools": list(self.config.tools)})
        found: list[Design] = []

        def take(value: Any) -> list[Finding]:
            found[:] = [msgspec.convert(value, Design)]
            return check_design(found[0], self.config.tools)

        self._part("design", prompt, prompt.messages(data=data), DESIGN_SCHEMA, DESIGN_SCHEMA, take)
        return found[0]

    def _tools(self, design: Design) -> None:
        prompt = load_prompt("draft_tools")
        shape = {"class": self._class, "name": self.name}
        messages = [
            {"role": "system", "content": prompt.system(**shape)},
            {
                "role": "user",
                "content": prompt.user(
                    example=_example("environment.py.txt"), data=quote_data(msgspec.to_builtins(design))
                ),
            },
        ]

        def take(value: Any) -> list[Finding]:
            self.files["environment.py"] = value["files"]["environment.py"]
            tools = tools_in(self.files["environment.py"])
            missing = sorted({one.name for one in design.tools} - set(tools))
            found = [
                Finding("tools", name, "is planned and not there", "write it as the design says")
                for name in missing
            ]
            stubs = {
                "world.py": stub_world(),
                "seeds.yaml": "{}\n",
                "words.yaml": stub_words(self.name, tools),
            }
            seen = self._judge({**self.files, **stubs}).findings
            return found + [one for one in seen if one.rule in {"opens", "code", "tools"}]

        schema = files_schema(["environment.py"])
        self._part("tools", prompt, messages, schema, schema, take)

    def _world(self, design: Design) -> None:
        prompt = load_prompt("draft_world")
        data = {"invariants": design.invariants, "environment.py": self.files["environment.py"]}
        messages = [
            {"role": "system", "content": prompt.system()},
            {
                "role": "user",
                "content": prompt.user(
                    example_world=_example("world.py.txt"),
                    example_seeds=_example("seeds.yaml"),
                    data=quote_data(data),
                ),
            },
        ]

        def take(value: Any) -> list[Finding]:
            self.files |= value["files"]
            stubs = {"words.yaml": stub_words(self.name, tools_in(self.files["environment.py"]))}
            seen = self._judge({**self.files, **stubs}, acts=True).findings
            return [one for one in seen if one.rule not in _LANGUAGE]

        first = files_schema(["world.py", "seeds.yaml"])
        # What is found in a world may be the fault of a tool.
        self._part("world", prompt, messages, first, files_schema([], _CODE), take)

    def _all_words(self) -> None:
        tools = tools_in(self.files["environment.py"])
        groups = [tools[place : place + _WORDS_AT_ONCE] for place in range(0, len(tools), _WORDS_AT_ONCE)]
        for number, group in enumerate(groups, 1):
            self._some_words(f"words {number} of {len(groups)}", group, tools)
        self.files["words.yaml"] = stub_words(self.name, tools, self.words)

    def _some_words(self, part: str, group: list[str], tools: list[str]) -> None:
        prompt = load_prompt("draft_words")
        data = {"tools": group, "environment.py": self.files["environment.py"]}
        messages = [
            {"role": "system", "content": prompt.system()},
            {"role": "user", "content": prompt.user(example=_example("words.yaml"), data=quote_data(data))},
        ]

        def take(value: Any) -> list[Finding]:
            read, found = read_words(value["files"]["words.yaml"], group)
            if found:
                return found
            self.words |= read
            text = stub_words(self.name, tools, self.words)
            seen = self._judge({**self.files, "words.yaml": text}).findings
            return [
                one for one in seen if one.rule == "opens" or (one.rule == "words" and _names(one, group))
            ]

        schema = files_schema(["words.yaml"])
        self._part(part, prompt, messages, schema, schema, take)

    def _whole(self) -> None:
        """Hold all of it to all of the contract, composed tasks included; any file may be corrected."""
        # The code is the one that was acted in; from the first correction on it may not be.
        verdict = self._judge(self.files, self.config.tasks)
        findings, answers = [verdict.findings], 0
        messages = [
            {"role": "system", "content": load_prompt("draft_words").system()},
            {"role": "user", "content": "The files, as JSON:\n" + quote_data(self.files)},
        ]
        prompt = load_prompt("draft_repair")
        schema = files_schema([], (*_CODE, "words.yaml"))
        while verdict.findings and answers < self.config.repairs:
            asked = [*messages, {"role": "user", "content": prompt.user(findings=_quoted(verdict.findings))}]
            answer = self._answer("whole", prompt, asked, schema, answers, findings)
            answers += 1
            self.files |= answer.value["files"]
            messages[1] = {"role": "user", "content": "The files, as JSON:\n" + quote_data(self.files)}
            verdict = self._judge(self.files, self.config.tasks, acts=True)
            findings.append(verdict.findings)
        self.tasks = verdict.tasks
        self.parts.append(PartReport("whole", answers, tuple(findings)))
        if verdict.findings:
            raise _GivenUpError

    # -- asking and judging ----------------------------------------------------------------------------------

    def _part(
        self,
        part: str,
        prompt: Prompt,
        messages: list[dict[str, Any]],
        schema: dict[str, Any],
        repaired: dict[str, Any],
        take: Callable[[Any], list[Finding]],
    ) -> None:
        """Ask for a part until nothing is found in it, at most so many times as it may be repaired."""
        findings: list[tuple[Finding, ...]] = []
        for number in range(self.config.repairs + 1):
            answer = self._answer(
                part, prompt, messages, schema if number == 0 else repaired, number, findings
            )
            found = tuple(take(answer.value))
            findings.append(found)
            if not found:
                self.parts.append(PartReport(part, number + 1, tuple(findings)))
                return
            # Only the last answer is shown again: what was wrong before is no example.
            messages = [
                *messages[:2],
                {"role": "assistant", "content": json.dumps(answer.value, ensure_ascii=False)},
                {"role": "user", "content": load_prompt("draft_repair").user(findings=_quoted(found))},
            ]
        self.parts.append(PartReport(part, self.config.repairs + 1, tuple(findings)))
        raise _GivenUpError

    def _answer(
        self,
        part: str,
        prompt: Prompt,
        messages: list[dict[str, Any]],
        schema: dict[str, Any],
        number: int,
        findings: list[tuple[Finding, ...]],
    ) -> Answer:
        request = Request(
            model=self.config.model,
            messages=messages,
            schema=schema,
            temperature=self.config.temperature,
            max_tokens=self.config.max_tokens,
            sample=self.sample,
            prompt=prompt.label,
            purpose=f"draft {part}",
        )
        try:
            return self.ask(request)
        except LLMError as error:
            if error.stops:
                raise
            self.parts.append(PartReport(part, number, tuple(findings), str(error)[:600]))
            raise _GivenUpError from error

    def _judge(self, texts: dict[str, str], tasks: int = 0, *, acts: bool = False) -> Verdict:
        """Write the files to a folder of their own and judge it: nothing of an earlier state is read again."""
        self._judged += 1
        folder = self._work / f"{self._judged:02d}" / self.name
        folder.mkdir(parents=True)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8", errors="replace")
        self._latest = folder
        return judge(folder, tasks, acts=acts, start_seconds=self.config.start_seconds)

    @property
    def _class(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("_"))


def _example(file: str) -> str:
    text = files("planarena.environments").joinpath("template", file).read_text(encoding="utf-8")
    return (
        text.replace("@NAME@", "shop").replace("@CLASS@", "Shop").replace("@TITLE@", "The counter of a shop")
    )


def _quoted(findings: tuple[Finding, ...]) -> str:
    return quote_data(msgspec.to_builtins(findings[:_MOST_FINDINGS]))


def _names(finding: Finding, tools: list[str]) -> bool:
    return finding.where.partition(":")[0].partition("(")[0] in tools or finding.where == "words.yaml"
