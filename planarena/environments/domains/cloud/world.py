"""Making projects on rented machines: three projects, ten machines with volumes and backups, and some alarms."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as common
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_projects"]

Table = dict[str, Record]
_new_id = Environment.new_id
# Cores, gigabytes of memory and euros a month, from the smallest size on.
SIZES = (
    (1, 2, 8.9),
    (2, 4, 16.9),
    (4, 8, 31.5),
    (8, 16, 59.0),
    (12, 32, 112.0),
    (16, 64, 219.0),
    (32, 128, 428.0),
)


def make_projects(texts: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make the projects of a company, a pure function of `rng` and `shared`; the people known already own them."""
    people = common.load_people()
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(3, 28):02d}T{rng.choice(('06:50', '09:30', '17:45'))}"
    now = common.keep(shared, "now", now)
    given, family = rng.sample(people["given"], 5), rng.sample(people["family"], 5)
    names = common.cast_people([f"{a} {b}" for a, b in zip(given, family, strict=True)], shared)
    user, owners = names[0], names[1:4]
    projects = rng.sample(texts["projects"], 3)
    machines = rng.sample(texts["machines"], 10)
    tables: dict[str, Table] = {
        "projects": {},
        "machines": {},
        "sizes": {},
        "volumes": {},
        "backups": {},
        "alarms": {},
    }
    for name, (cores, memory, price) in zip(texts["sizes"], SIZES, strict=True):
        size_id = _new_id("siz", name)
        tables["sizes"][size_id] = {
            "size_id": size_id, "size": name, "cores": cores, "memory": memory, "price": price,
        }  # fmt: skip
    for project, owner, own in zip(
        projects, owners, (machines[:4], machines[4:7], machines[7:]), strict=True
    ):
        _add_machines(rng, tables, project, own, texts["volumes"], now)
        monthly = sum(
            tables["sizes"][row["size_id"]]["price"]
            for row in tables["machines"].values()
            if row["project"] == project
        )
        tables["projects"][project] = {
            "project": project, "owner": owner, "spent": round(monthly * rng.randint(35, 104) / 100, 2),
            "budget": float(20 * round(monthly * rng.randint(110, 190) / 2000)),
        }  # fmt: skip
    _add_alarms(rng, tables, machines, texts["alarms"], now)
    situation = rng.choice(texts["situations"])
    details = {
        "user": user,
        "owner": owners[0],
        "project": projects[0],
        "second": projects[1],
        "machine": machines[0],
    }
    mails = {name: common.mail_of(name, texts["mail_domain"], shared) for name in owners}
    story = {"projects": projects, "machines": machines, **common.meet(shared, owners, mails)}
    title, description = (situation[part].format(**details) for part in ("title", "description"))
    return Seed(tables, title, description, {"now": now, "user_name": user}, story)


def _add_machines(
    rng: Random, tables: dict[str, Table], project: str, names: list[str], volumes: list[str], now: str
) -> None:
    """Machines of different sizes and loads, each with two or three volumes that were backed up at times."""
    sizes = rng.sample(list(tables["sizes"])[1:5], len(names))
    loads = rng.sample(range(3, 98), len(names))
    stopped = names[loads.index(min(loads))] if rng.random() < 0.5 else ""
    for name, size_id, load in zip(names, sizes, loads, strict=True):
        machine_id = _new_id("mch", name)
        tables["machines"][machine_id] = {
            "machine_id": machine_id, "name": name, "project": project, "size_id": size_id,
            "state": "stopped" if name == stopped else "running", "load": load,
            "started": f"{common.day_after(now, -rng.randint(2, 300))}T{rng.choice(('03:10', '08:20', '22:05'))}",
        }  # fmt: skip
        count = rng.choice((2, 2, 3))
        for volume, used in zip(rng.sample(volumes, count), rng.sample(range(11, 98), count), strict=True):
            volume_id, size = _new_id("vol", name, volume), rng.randrange(20, 170, 10)
            tables["volumes"][volume_id] = {
                "volume_id": volume_id, "volume": volume, "machine": name, "gigabytes": size, "used": used,
                "restored": "",
            }  # fmt: skip
            for age in rng.sample(range(1, 40), rng.choice((1, 2))):
                made, share = common.day_after(now, -age), max(2, used - rng.randint(1, 9))
                backup_id = _new_id("bck", volume_id, made)
                tables["backups"][backup_id] = {
                    "backup_id": backup_id, "volume_id": volume_id, "made": made, "used": share,
                    "gigabytes": max(1, round(size * share / 100)),
                }  # fmt: skip


def _add_alarms(
    rng: Random, tables: dict[str, Table], machines: list[str], alarms: list[str], now: str
) -> None:
    """Six alarms on machines that run: three in the first project, and never two of one kind."""
    ids = {row["name"]: key for key, row in tables["machines"].items() if row["state"] == "running"}
    places = [name for name in machines[:4] if name in ids][:3] + [
        name for name in machines[4:] if name in ids
    ][:3]
    for name, alarm, minutes in zip(
        places, rng.sample(alarms, len(places)), rng.sample(range(8, 2000), len(places)), strict=True
    ):
        alarm_id = _new_id("alm", name, alarm)
        since = datetime.fromisoformat(now) - timedelta(minutes=minutes)
        tables["alarms"][alarm_id] = {
            "alarm_id": alarm_id, "alarm": alarm, "machine_id": ids[name], "machine": name,
            "since": since.isoformat(timespec="minutes"), "until": "",
        }  # fmt: skip


def _budgets(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for project in env.story["projects"][:2]:
        now = env.state.get("projects", project)["budget"]
        yield {"project": project, "budget": now + rng.randrange(40, 320, 20)}


PROPOSALS: dict[str, Proposer] = {
    "find_cloud_machine": lambda env, rng: [{"name": name} for name in (*rng.sample(env.story["machines"], 2), BOUND)],
    "list_project_machines": lambda env, _rng: [{"project": one} for one in env.story["projects"]],
    "list_machine_sizes": lambda _env, _rng: [{}], "resize_cloud_machine": lambda _env, _rng: [{}],
    "switch_cloud_machine": lambda _env, rng: [{"action": rng.choice(("restart", "restart", "stop", "start"))}],
    "list_machine_volumes": lambda _env, _rng: [{}],
    "enlarge_machine_volume": lambda _env, rng: [{"gigabytes": rng.randrange(180, 520, 20)}],
    "list_cloud_alarms": lambda env, rng: [{} if rng.random() < 0.4 else {"project": env.story["projects"][0]}],
    "mute_cloud_alarm": lambda _env, rng: [{"hours": rng.choice((2, 3, 4, 6, 8, 12, 24, 48))}],
    "list_volume_backups": lambda _env, _rng: [{}], "back_up_volume": lambda _env, _rng: [{}],
    "restore_volume_backup": lambda _env, _rng: [{}],
    "check_project_budget": lambda env, _rng: [{"project": one} for one in env.story["projects"][:2]],
    "set_project_budget": _budgets,
}  # fmt: skip
