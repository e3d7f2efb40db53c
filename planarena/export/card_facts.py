"""The facts of a dataset card: counts, composition, contrast, discards, licences, vendors, contamination, limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planarena.export.card_augmentation import render_augmentation
from planarena.export.card_scorecard import render_scorecard
from planarena.export.card_tools import ToolCounts, count_tools, largest
from planarena.export.escaping import escape_markdown
from planarena.llm.models import tell_served
from planarena.quality.difficulty import BANDS, difficulty_of
from planarena.records import Run
from planarena.records.shards import read_columns

__all__ = ["render_facts", "tool_facts"]

_MOST_ROWS = 40

_KINDS = {
    "real": "an environment that really ran the call",
    "emulated": "a deterministic emulator driven by an API description",
    "simulated": "a response written by a language model",
    "none": "nothing executed",
}


def render_facts(run: Run) -> str:
    """Return the sections that hold for a run and for whatever is exported from it."""
    info = run.info
    counts: dict[str, Any] = info["counts"]
    gold = int(counts.get("gold", 0))
    facts = tool_facts(run)
    sections = [
        ("Counts", _counts(counts, facts)),
        *([("Tools of your own", _probed(info["probe"]))] if info.get("probe") else []),
        *([("Augmentation", render_augmentation(info))] if info.get("kind") == "augment" else []),
        ("Composition", _composition(counts, gold)),
        *([("Difficulty", _difficulty(run))] if run.shards("rates") else []),
        ("Contrast", _contrast(counts)),
        *([("Scorecard", render_scorecard(info))] if "scorecard" in info else []),
        ("Discards", _discards(counts, info)),
        *([("Operations left out", _left_out(info["descriptions"]))] if info.get("descriptions") else []),
        ("Why it stopped", _stops(info, counts)),
        ("Licences", _licences(facts)),
        *([("Vendors", _vendors(counts, count_tools(run)))] if "scenario_kind" in counts else []),
        ("Contamination", _contamination(info, facts)),
        ("How it was made", _making(info)),
        ("Limits", _limits(counts, gold)),
    ]
    return "\n".join(f"## {title}\n\n{body}\n" for title, body in sections)


def _difficulty(run: Run) -> str:
    """Say how often the models that were asked do the tasks."""
    rows = [
        (model, tasks, tries, f"{mean:.3f}", *bands.values())
        for model, tasks, tries, mean, bands in difficulty_of(run)
    ]
    head = ("model", "tasks", "tries", "mean pass rate", *(name for name, _, _ in BANDS))
    return f"How often a model does the tasks, and how many tasks it does how often (table `rates`).\n\n{_table(head, rows)}"


def _probed(probe: Mapping[str, Any]) -> str:
    """Say which tools of the user's own sources are used, and why the others are not."""
    lines = []
    for source, found in probe.items():
        total = len(found["used"]) + len(found["not_used"])
        lines.append(f"- {escape_markdown(source)}: {len(found['used'])} of {total} tools are used")
        for name, one in list(found["not_used"].items())[:_MOST_ROWS]:
            lines.append(f"  - {escape_markdown(name)} is not: {escape_markdown(one['why'])}")
    return "\n".join(lines)


def tool_facts(run: Run) -> dict[str, Counter[str]]:
    """Count the tools by execution kind, licence and benchmark that they resemble."""
    import msgspec

    facts: dict[str, Counter[str]] = {
        "execution_kind": Counter(),
        "licence": Counter(),
        "contamination": Counter(),
    }
    for path in run.shards("tools"):
        read = dict(zip(facts, read_columns(path, *facts), strict=True))
        facts["execution_kind"].update(read["execution_kind"])
        facts["licence"].update(read["licence"])
        for marks in read["contamination"]:
            facts["contamination"].update(map(str, msgspec.json.decode(marks)))
    return facts


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(escape_markdown(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _counts(counts: Mapping[str, Any], facts: Mapping[str, Counter[str]]) -> str:
    """Count by execution kind; the kinds are never added up, for they do not mean the same."""
    by_kind = {
        "gold": counts.get("gold_kind", {}),
        **({"contrastive": counts["contrastive_kind"]} if "contrastive_kind" in counts else {}),
        "executions": counts.get("executions", {}),
        "tools": facts["execution_kind"],
    }
    kinds = [kind for kind in _KINDS if any(column.get(kind) for column in by_kind.values())]
    kinds += sorted({kind for column in by_kind.values() for kind in column} - set(_KINDS))
    rows = [
        (kind, *(column.get(kind, 0) for column in by_kind.values()), _KINDS.get(kind, "")) for kind in kinds
    ]
    names = {"gold": "gold trajectories", "contrastive": "contrastive trajectories"}
    names["executions"] = "distinct executions"
    head = ("execution kind", *(names.get(name, name) for name in by_kind), "meaning")
    scenarios = counts.get("scenarios", 0)
    size = counts.get("state_bytes", 0) / scenarios if scenarios else 0
    return (
        f"{_table(head, rows)}\n\n"
        f"{scenarios} scenarios over {len(counts.get('gold_domain', {}))} domains; the initial state has "
        f"{size / 1000:.1f} KB of JSON on average. Gold trajectories were executed twice, in several orders where calls "
        "are parallel, and once without each of their steps; `proven` in the table `executions` says so call by call."
        + _unproven(counts)
    )


def _unproven(counts: Mapping[str, Any]) -> str:
    number = counts.get("gold_unproven", 0)
    if not number:
        return ""
    return (
        f" Not so {number} of them: live tools that cannot go back executed them **once**, and nothing was **proven** "
        "(`unproven` in the column `goal`, `minimal` false)."
    )


def _by_class(found: Mapping[str, int], head: str, whole: int, what: str = "trajectories") -> str:
    """Return a table of counts with shares: numbers in their order, names by size."""
    numbered = all(key.isdigit() for key in found)
    ordered = sorted(
        found.items(), key=lambda pair: (len(pair[0]), pair[0]) if numbered else (-pair[1], pair[0])
    )
    if len(ordered) > _MOST_ROWS:
        rest = ordered[_MOST_ROWS:]
        ordered = [*ordered[:_MOST_ROWS], (f"{len(rest)} others", sum(number for _, number in rest))]
    return _table((head, what, "share"), [(key, number, _share(number, whole)) for key, number in ordered])


def _composition(counts: Mapping[str, Any], gold: int) -> str:
    shares = _table(
        ("with", "trajectories", "share"),
        [
            (label, counts.get(name, 0), _share(counts.get(name, 0), gold))
            for label, name in (
                ("a parallel group", "gold_parallel"),
                ("a data edge (a result feeds an argument)", "gold_data_edge"),
                ("an order edge (the state demands it)", "gold_order_edge"),
            )
        ],
    )
    tables = [
        _by_class(counts.get("gold_length", {}), "actions", gold),
        _by_class(counts.get("gold_chain", {}), "longest chain of calls", gold),
        shares,
        f"{counts.get('steps', 0)} steps in all; {counts.get('distinct_masked_shapes', 0)} distinct task shapes once "
        "argument values are masked.",
        _by_class(counts.get("gold_domain", {}), "domain", gold),
    ]
    for name, head in (
        ("gold_category", "category"),
        ("gold_turns", "user turns"),
        ("gold_register", "manner of speaking"),
    ):
        if counts.get(name):
            tables.append(_by_class(counts[name], head, gold))
    return "\n\n".join(tables)


def _contrast(counts: Mapping[str, Any]) -> str:
    number = counts.get("contrastive", 0)
    if not number and not counts.get("decision_points"):
        return "None."
    candidates: Mapping[str, int] = counts.get("candidates", {})
    return "\n\n".join(
        (
            f"{number} contrastive trajectories come on top of the gold ones: each departs from one at a single step, by "
            "a choice that was executed and found wrong, and does not reach the goal.",
            _by_class(counts.get("contrastive_mutation", {}), "fault", number),
            f"{counts.get('decision_points', 0)} decision points hold choices that were executed from the same state. "
            "`frontier`, `equivalent` and `harmless` are right, `useless`, `diverges`, `ungrounded` and `error` are wrong. "
            "An answer calls no tool: its execution is the check of the goal and of what it tells.",
            _by_class(candidates, "outcome", sum(candidates.values()), "choices"),
        )
    )


def _discards(counts: Mapping[str, Any], info: Mapping[str, Any]) -> str:
    found: Mapping[str, int] = counts.get("discard", {})
    tried = counts.get("candidates_tried", 0)
    quarantined = info.get("quarantined", [])
    text = (
        f"{tried} compositions were tried. {sum(found.values())} candidates failed a call, a proof or a check; the "
        "evidence is in the table `discards`.\n\n"
    )
    if found:
        ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        text += _table(
            ("stage", "reason", "candidates"), [(*key.partition(":")[::2], number) for key, number in ordered]
        )
    else:
        text += "None."
    if quarantined:
        errors = Counter(str(entry["error"]) for entry in quarantined)
        listed = ", ".join(f"{escape_markdown(name)} ({number})" for name, number in sorted(errors.items()))
        text += f"\n\n{len(quarantined)} scenarios failed unexpectedly and were set aside: {listed}."
    return text


def _left_out(descriptions: Mapping[str, Any]) -> str:
    """Say how many operations of API descriptions people ask for, and why the others are on no offer."""
    parts = []
    for source, found in descriptions.items():
        text = (
            f"Of the {found['operations']} operations that {escape_markdown(source)} describes, {found['asked_for']} are ones "
            "that somebody would ask for in words of their own; no request is made for the others:"
        )
        rows = sorted(found["left_out"].items(), key=lambda pair: (-pair[1], pair[0]))
        parts.append(f"{text}\n\n{_table(('reason', 'operations'), rows)}" if rows else text)
    return "\n\n".join(parts)


_RUN_STOPS = {
    "trajectories": "the number of trajectories that was asked for is reached",
    "scenarios": "all scenarios that were asked for are drawn",
    "no_new_trajectories": "new scenarios gave no new trajectory",
}
_SCENARIO_STOPS = {
    "budget": "the budget of candidates was spent",
    "exhausted": "no new task emerged",
    "max_depth": "the depth limit was reached",
}


def _stops(info: Mapping[str, Any], counts: Mapping[str, Any]) -> str:
    reason = str(info.get("stop_reason", ""))
    rows = [
        (name, _SCENARIO_STOPS.get(name, ""), number)
        for name, number in sorted(counts.get("stop", {}).items())
    ]
    text = f"The build: `{escape_markdown(reason)}`"
    if reason in _RUN_STOPS:
        text += f" ({_RUN_STOPS[reason]})"
    return f"{text}. Composition, by scenario:\n\n{_table(('stop', 'meaning', 'scenarios'), rows)}"


def _licences(facts: Mapping[str, Counter[str]]) -> str:
    rows = sorted(facts["licence"].items(), key=lambda pair: (-pair[1], pair[0]))
    return (
        "Of the tools' descriptions and schemas, as their sources state them; `unknown` means that the source states "
        f"none.\n\n{_table(('licence', 'tools'), rows)}"
    )


def _vendors(counts: Mapping[str, Any], tools: ToolCounts) -> str:
    """Say whose tools were called, and that no vendor dominates."""
    called = {name: pair[1] for name, pair in tools.execution_kind.items()}
    observable: Mapping[str, int] = counts.get("scenario_observable", {})
    kinds = _table(
        ("execution kind", "tools on offer", "tools in gold trajectories", "scenarios", "goal-observable"),
        [
            (name, offered, called[name], counts["scenario_kind"].get(name, 0), observable.get(name, 0))
            for name, (offered, _) in tools.execution_kind.items()
        ],
    )
    scenarios = counts.get("domain_scenarios", {})
    gold = counts.get("gold_domain", {})
    text = (
        f"{kinds}\n\n{sum(called.values())} distinct tools are called in gold trajectories. In a goal-observable scenario "
        "reading shows what writing wrote; elsewhere a call proves the flow of arguments and ids alone."
    )
    if len(tools.vendor) < 2 or not set(tools.vendor) & set(gold):
        return text
    shown, rest = largest(tools.vendor, gold)
    rows = [(name, tools.vendor[name][1], scenarios.get(name, 0), gold.get(name, 0)) for name in shown]
    if rest:
        sums = (
            sum(tools.vendor[name][1] for name in rest),
            *(sum(c.get(n, 0) for n in rest) for c in (scenarios, gold)),
        )
        rows.append((f"{len(rest)} others", *sums))
    table = _table(
        ("vendor", "tools in gold", "share", "scenarios", "share", "gold", "share"),
        [
            (
                name,
                *(
                    cell
                    for part, whole in zip(parts, _wholes(called, counts), strict=True)
                    for cell in (part, _share(part, whole))
                ),
            )
            for name, *parts in rows
        ],
    )
    return f"{text}\n\n{table}"


def _wholes(called: Mapping[str, int], counts: Mapping[str, Any]) -> tuple[int, int, int]:
    return sum(called.values()), int(counts.get("scenarios", 0)), int(counts.get("gold", 0))


def _contamination(info: Mapping[str, Any], facts: Mapping[str, Counter[str]]) -> str:
    checked: Mapping[str, Any] = info.get("contamination") or {}
    if checked:
        text = _table(
            ("benchmark", "finding"), [(name, finding) for name, finding in sorted(checked.items())]
        )
    else:
        text = "Queries were **not checked** against any benchmark: no benchmark's rows were given to this build."
    flagged = facts["contamination"]
    if flagged:
        rows = sorted(flagged.items(), key=lambda pair: (-pair[1], pair[0]))
        text += f"\n\nTools that resemble a benchmark's:\n\n{_table(('mark', 'tools'), rows)}"
    return text


def _making(info: Mapping[str, Any]) -> str:
    config: Mapping[str, Any] = info.get("config", {})
    cost: Mapping[str, Any] = info.get("cost", {})
    versions = ", ".join(
        f"{escape_markdown(k)} {escape_markdown(v)}" for k, v in sorted(info["versions"].items())
    )
    calls = cost.get("llm_calls", 0)
    if calls:
        usd = cost.get("usd")
        names = [escape_markdown(name) for name in (config.get("models") or {}).get("proposers", ())]
        who = f"language models ({', '.join(names)})" if names else "language models"
        words = f"{calls} calls to {who} wrote queries, plans and answers ({cost.get('tokens', 0)} tokens, "
        words += "cost unknown)" if usd is None else f"{usd:.2f} USD)"
        words += "".join(f"; {escape_markdown(note)}" for note in tell_served(cost.get("served_by") or {}))
    else:
        words = "no language model was called: the offline generator wrote queries, plans and answers"
    player = config.get("allowed", {}).get("simulate")
    if player:
        words += f"; {escape_markdown(player)} **made up the results** of tools that nothing executes"
    sources = ", ".join(escape_markdown(source) for source in config.get("sources", ()))
    if config.get("allowed", {}).get("unsafe_no_sandbox"):
        sources += "; third-party code ran **without a sandbox**"
    if config.get("allowed", {}).get("trusted"):
        sources += "; environment folders were **trusted** and ran in process"
    if config.get("allowed", {}).get("effects"):
        sources += "; live tools were allowed to **change things for good**"
    return f"""1. Scenarios: a seeded initial state and a group of tools, from {sources}.
2. Composition: single calls are joined level by level with "," (in sequence) and "||" (in parallel).
3. Execution: each candidate runs from the scenario's initial state; a failing call discards it.
4. Proofs: the same results on a second run, the same end in every order of a parallel block, failure when a step is left out.
5. Words: {words}.
6. Quality: duplicates are dropped; splits are drawn by scenario.

Seed {info.get("seed")}; {versions}. The same configuration gives the same bytes. All settings are in `run.json`."""


def _queries_by_models(counts: Mapping[str, Any]) -> list[str]:
    """Say what became of the queries that models wrote, and of the tasks that a judge would not have."""
    points = []
    queries = counts.get("proposals_query") or {}
    if queries:
        refused = {name: n for name, n in sorted(queries.items()) if name not in {"kept", "not_best"}}
        named = ", ".join(f"{name} {n}" for name, n in refused.items()) or "none"
        points.append(
            f"Of {sum(queries.values())} queries that models wrote {queries.get('kept', 0)} are used; refused: {named}. "
            "Which actions a query asks for was read by a model, which may err; what it read was compared by code."
        )
    trips = counts.get("proposals_round_trip") or {}
    if trips:
        points.append(
            f"Round trip: another model that had not seen the task reached the goal for {trips.get('reached', 0)} of "
            f"{sum(trips.values())} queries; the others are not used."
        )
    judged = counts.get("proposals_plausible") or {}
    if judged:
        points.append(
            f"A model rejected {judged.get('implausible', 0)} of {sum(judged.values())} tasks as implausible before "
            "words were written; the table `discards` says why."
        )
    return points


def _limits(counts: Mapping[str, Any], gold: int) -> str:
    over = counts.get("gold_over_serialised", 0)
    points = [
        f'{over} trajectories ({_share(over, gold)}) are over-serialised: their dependences are N-shaped, which "," and '
        '"||" cannot say, so some calls that could run in one turn stand in two.',
        "A parallel block is proven for the scenario's state; other states may couple the same calls.",
        "The domains are simulations of our own making: their ids, people and companies do not exist.",
    ]
    if counts.get("gold_kind", {}).get("emulated"):
        points.append(
            "Emulated executions prove arguments and the flow of ids, not what the real service means."
        )
    if counts.get("gold_kind", {}).get("simulated"):
        points.append(
            "Simulated executions prove nothing about the tools: a language model made their results up."
        )
    if counts.get("proposals_query"):
        points.append(
            "Texts by models are checked for what they state, not for how they read; where one failed its checks, the "
            "offline generator's text stands (`source` and the table `proposals` tell)."
        )
    points += _queries_by_models(counts)
    points.append(
        "The offline generator words queries from templates of each tool: fluent, checked for grounding, but narrower "
        "than what people or language models write."
    )
    points.append("No person has judged the trajectories unless the table `audits` says so. English only.")
    return "\n".join(f"- {point}" for point in points)
