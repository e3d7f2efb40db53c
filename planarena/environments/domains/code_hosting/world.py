"""Making organisations of developers: three repositories with issues, change requests and builds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as common
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "later", "make_organisation"]

Table = dict[str, Record]
_new_id = Environment.new_id


def later(now: str, minutes: int, *, day: bool = False) -> str:
    """Return the time of day some minutes after a moment, or the date."""
    moment = datetime.fromisoformat(now) + timedelta(minutes=minutes)
    return moment.date().isoformat() if day else moment.strftime("%H:%M")


def make_organisation(texts: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make an organisation, a pure function of `rng` and `shared`; the people known already are its developers."""
    people = common.load_people()
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(('09:00', '10:40', '15:20'))}"
    now = common.keep(shared, "now", now)
    given, family = rng.sample(people["given"], 13), rng.sample(people["family"], 13)
    names = common.cast_people([f"{a} {b}" for a, b in zip(given, family, strict=True)], shared)
    user, developers, outside = names[0], names[1:7], names[7:13]
    projects = rng.sample(texts["projects"], 3)
    tables: dict[str, Table] = {
        "repositories": {}, "issues": {}, "changes": {}, "builds": {},
        "developers": {
            name: {"developer": name, "elsewhere": load, "commits": {}}
            for name, load in zip(developers, rng.sample(range(12), 6), strict=True)
        },
    }  # fmt: skip
    for project in projects:
        _add_project(rng, tables, project, developers, outside, now)
    first = [row for row in tables["changes"].values() if row["repository"] == projects[0]["name"]]
    situation = rng.choice(texts["situations"])
    details = {
        "user": user, "first": projects[0]["name"], "second": projects[1]["name"],
        "developer": developers[0], "change": first[0]["title"],
    }  # fmt: skip
    mails = {name: common.mail_of(name, texts["mail_domain"], shared) for name in (*developers, *outside[:2])}
    story = {
        "repositories": [project["name"] for project in projects], "developers": developers,
        "new": {project["name"]: project["new"] for project in projects},
        **common.meet(shared, developers, mails),
    }  # fmt: skip
    title, description = (situation[part].format(**details) for part in ("title", "description"))
    facts = {"now": now, "user_name": user}
    return Seed(tables, title, description, facts, story)


def _add_project(
    rng: Random, tables: dict[str, Table], project: Any, developers: list[str], outside: list[str], now: str
) -> None:
    """One repository: five or six issues, four change requests of which one can nearly be merged."""
    name = project["name"]
    key = _new_id("rep", name)
    tables["repositories"][key] = {
        "repository_id": key, "name": name, "language": project["language"], "maintainer": rng.choice(developers),
        "version": f"{rng.randint(0, 6)}.{rng.randint(0, 19)}.{rng.randint(0, 9)}",
        "released": common.day_after(now, -rng.randint(9, 90)), "unreleased": rng.randint(1, 14),
    }  # fmt: skip
    for developer, commits in zip(developers, rng.sample(range(3, 260), len(developers)), strict=True):
        tables["developers"][developer]["commits"][name] = commits
    issues = rng.sample(project["issues"], 6)
    numbers = rng.sample(range(100, 990), 10)
    for (title, label), number, votes, age in zip(
        issues, numbers, rng.sample(range(1, 60), 6), rng.sample(range(2, 200), 6), strict=False
    ):
        issue_id = _new_id("iss", name, title)
        tables["issues"][issue_id] = {
            "issue_id": issue_id, "number": f"#{number}", "title": title, "label": label, "votes": votes,
            "reporter": rng.choice(outside), "opened": common.day_after(now, -age), "repository": name,
            "developer": "",
        }  # fmt: skip
    # Approvals and builds: one needs the user's word, one could be merged, the build of two has failed.
    kinds = [(1, "passed"), (2, "passed"), (0, "failed"), (1, rng.choice(("failed", "passed")))]
    rng.shuffle(kinds)
    for (approvals, state), title, number, age in zip(
        kinds, rng.sample(project["changes"], 4), numbers[6:], rng.sample(range(1, 30), 4), strict=True
    ):
        change_id, build_id = _new_id("chg", name, title), _new_id("bld", name, title)
        tables["changes"][change_id] = {
            "change_id": change_id, "number": f"#{number}", "title": title, "author": rng.choice(developers),
            "approvals": approvals, "approved": False, "reviewers": [], "build_id": build_id,
            "opened": common.day_after(now, -age), "repository": name,
        }  # fmt: skip
        step = rng.choice(("unit tests", "integration tests", "linting", "packaging", "browser tests"))
        tables["builds"][build_id] = {
            "build_id": build_id, "state": state, "step": step if state == "failed" else "publishing",
            "minutes": rng.randint(4, 55),
        }  # fmt: skip


def _issue_lists(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second, _ = env.story["repositories"]
    yield {"repository": first}
    label = rng.choice([row["label"] for row in env.rows("issues", repository=second)] or ["bug"])
    yield {"repository": second, "label": label}


def _new_issues(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for repository in rng.sample(env.story["repositories"], 2):
        title, label = rng.choice(env.story["new"][repository])
        yield {"repository": repository, "title": title, "label": label}


def _people(env: Any, rng: Random) -> list[Any]:
    # Whoever calls a meeting or has a card need not be a developer.
    outside = any(common.beside(env.story, domain) for domain in ("calendar", "boards"))
    return rng.sample(env.story["developers"], 2) + ([] if outside else [BOUND])


PROPOSALS: dict[str, Proposer] = {
    "find_code_repository": lambda env, rng: [{"name": one} for one in rng.sample(env.story["repositories"], 2)],
    "list_repository_issues": _issue_lists, "file_repository_issue": _new_issues,
    "assign_repository_issue": lambda env, rng: [{"developer": one} for one in _people(env, rng)],
    "close_repository_issue": lambda _env, rng: [{"reason": rng.choice(("fixed", "duplicate", "not_planned"))}],
    "list_change_requests": lambda env, _rng: [{"repository": one} for one in env.story["repositories"][:2]],
    "inspect_change_build": lambda _env, _rng: [{}], "restart_change_build": lambda _env, _rng: [{}],
    "find_change_reviewers": lambda _env, _rng: [{}],
    "request_change_review": lambda env, rng: [{"reviewer": one} for one in _people(env, rng)],
    "approve_change_request": lambda _env, _rng: [{}], "merge_change_request": lambda _env, _rng: [{}],
    "publish_code_release": lambda _env, rng: [{"part": rng.choice(("patch", "patch", "minor", "major"))}],
}  # fmt: skip
