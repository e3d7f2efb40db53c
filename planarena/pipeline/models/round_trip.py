"""A query served unseen: a model gets the tools and the messages, acts in the environment, and must reach the goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from planarena.environments.catalog import restore_world
from planarena.environments.world import Outcome
from planarena.episodes import Episode, reached
from planarena.generate.model_brief import TaskBrief
from planarena.generate.model_queries import Trip, Turn
from planarena.llm import ToolCall, load_prompt, quote_data
from planarena.pipeline.products import Executed, ExecutedScenario
from planarena.records.canonical import canonical_json

__all__ = ["RoundTrip"]

# Most calls, as a multiple of the gold's actions [ours].
_MOST = 2


class RoundTrip:
    """Serves queries for one task, each from the scenario's initial state.

    Args:
        scenario: Of the task.
        task: It has the goal.
        brief: It has the tools on offer.
    """

    def __init__(self, scenario: ExecutedScenario, task: Executed, brief: TaskBrief) -> None:
        self._scenario, self._task, self._brief = scenario, task, brief

    async def serve(self, turns: Sequence[str], turn: Turn) -> Trip:
        """Let a model serve the messages one by one.

        Args:
            turns: The query.
            turn: Asks for its next action.

        Raises:
            LLMError: It could not be asked.
        """
        scenario, brief = self._scenario, self._brief
        world = restore_world(scenario.domains, msgspec.json.decode(scenario.seed_state), scenario.facts)
        if not world.live_tools.isdisjoint(scenario.tools):
            return Trip("not_run", [], "it has live tools, which nothing but the gold calls")
        episode = Episode(world)
        tools = [tool.to_openai() for tool in brief.tools.values()]
        told = {"context": dict(brief.facts), "told_before": list(brief.told)}
        system = load_prompt("build_round_trip").system(data=quote_data(told))
        messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
        observed: list[tuple[str, Outcome]] = []
        made: list[dict[str, Any]] = []
        most, last, spent = _MOST * len(brief.steps), "", False
        for text in turns:
            messages.append({"role": "user", "content": text})
            while not spent:
                answer = await turn(messages, tools)
                last = answer.call_id
                messages.append(answer.message())
                if not answer.tool_calls:
                    break
                for call in answer.tool_calls:
                    spent = len(made) >= most
                    if spent:
                        break
                    outcome, arguments = self._act(episode, call)
                    observed.append((call.name, outcome))
                    made.append({"tool": call.name, "arguments": arguments, "status": outcome.status})
                    said = {"result": outcome.result} if outcome.status == "ok" else {"error": outcome.error}
                    messages.append(
                        {"role": "tool", "tool_call_id": call.id, "content": canonical_json(said)}
                    )
            if spent:
                break
        got = reached(self._task.goal, world.digest(), observed)
        detail = (
            f"{len(made)} calls for {len(brief.steps)} of the gold{'; no more were allowed' if spent else ''}"
        )
        return Trip("reached" if got else "missed", made, detail, last)

    def _act(self, episode: Episode, call: ToolCall) -> tuple[Outcome, Any]:
        """Make a call as the model wrote it; what cannot be read is its error."""
        try:
            arguments = msgspec.json.decode(call.arguments or "{}")
            canonical_json(arguments)
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            error = {"code": "bad_arguments", "message": "The arguments are no JSON object."}
            return Outcome("schema_error", None, error), call.arguments[:1000]
        return episode.attempt(call.name, arguments, self._brief.tools), arguments
