"""Rented machines: their sizes and volumes, alarms, backups, and the budgets of the projects that pay for them."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared
from planarena.environments.domains.types import Count, Date, Datetime, Money, Payable, Percent, Person
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_projects

__all__ = ["Cloud"]

# Euros a month for each gigabyte of a volume, and once for each gigabyte of a backup.
GIGABYTE_PRICE, BACKUP_PRICE = 0.12, 0.03

MachineId = Annotated[str, Semantic("cloud_machine_id", hidden=True)]
SizeId = Annotated[str, Semantic("machine_size_id", hidden=True)]
VolumeId = Annotated[str, Semantic("volume_id", hidden=True)]
AlarmId = Annotated[str, Semantic("cloud_alarm_id", hidden=True)]
BackupId = Annotated[str, Semantic("volume_backup_id", hidden=True)]
MachineName = Annotated[str, Semantic("machine_name", surface="name")]
Project = Annotated[str, Semantic("cloud_project", surface="name")]
Size = Annotated[str, Semantic("machine_size", surface="name")]
VolumeName = Annotated[str, Semantic("volume_name", surface="name")]
Alarm = Annotated[str, Semantic("cloud_alarm", surface="name")]
Gigabytes = Annotated[int, Semantic("gigabytes", surface="number", minimum=1, maximum=4000)]
Held = Annotated[int, Semantic("gigabytes_held", surface="number", minimum=0)]
Cores = Annotated[int, Semantic("cores", surface="number", minimum=1)]
Hours = Annotated[int, Semantic("quiet_hours", surface="number", minimum=1, maximum=72)]
Budget = Annotated[float, Semantic("monthly_budget", surface="money", minimum=1)]
State = Annotated[Literal["running", "stopped"], Semantic("machine_state", surface="word")]
Action = Annotated[Literal["start", "stop", "restart"], Semantic("power_action", surface="word")]

record = Fields(
    machine_id=MachineId, size_id=SizeId, volume_id=VolumeId, alarm_id=AlarmId, backup_id=BackupId,
    name=MachineName, machine=MachineName, project=Project, owner=Person, state=State, size=Size, cores=Cores,
    memory=Held, load=Percent, started=Datetime, volume=VolumeName, gigabytes=Held, used=Percent, alarm=Alarm,
    since=Datetime, until=Datetime, made=Date, price=Money, monthly=Money, extra=Money, cost=Money, budget=Budget,
    spent=Payable, left=Money, alarms=Count, running=Count, count=Count, muted=bool,
)  # fmt: skip
SIZE = record("size_id size cores memory price")
MACHINE = record("machine_id name load state price")
VOLUME = record("volume_id volume machine gigabytes used")
ALARM = record("alarm_id alarm machine_id machine since muted")


class Cloud(Environment):
    """The machines that a small company rents, as the person sees them who keeps them running."""

    domain = "cloud"
    summary = "Rented machines: sizes, volumes, alarms, backups and the budgets of projects."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make the projects of a company."""
        return make_projects(cls.seeds(), rng, shared)

    @tool(
        "read",
        gives=record("machine_id name project owner state size cores memory price load started alarms"),
    )
    def find_cloud_machine(self, name: MachineName) -> Result:
        """Look up a machine: project and owner, size and price, average load, when it was started, and how many alarms it has.

        Args:
            name: Name of the machine.
        """
        for row in self.rows("machines", name=name):
            owner = self.require("projects", row["project"], "project")["owner"]
            alarms = len(self.rows("alarms", machine_id=row["machine_id"]))
            return {**self._sized(row), "owner": owner, "alarms": alarms}
        raise ToolError("machine_not_found", f"There is no machine named {name}.")

    @tool("read", gives=record("project count machines dearest", machines=[MACHINE], dearest=MACHINE))
    def list_project_machines(self, project: Project) -> Result:
        """List the machines of a project with the average load of the week and the monthly price, the busiest first.

        Args:
            project: Name of the project.
        """
        self._project(project)
        lines = [self._sized(row) for row in self.rows("machines", project=project)]
        lines.sort(key=lambda line: (-line["load"], line["machine_id"]))
        dearest = max(lines, key=lambda line: (line["price"], line["machine_id"]))
        return {"project": project, "count": len(lines), "machines": lines, "dearest": dearest}

    @tool("read", gives=record("name count sizes next_up", sizes=[SIZE], next_up=SIZE))
    def list_machine_sizes(self, machine_id: MachineId) -> Result:
        """List the other sizes that a machine could have, the cheapest first, and the next one above its own.

        Args:
            machine_id: The machine.
        """
        machine = self._sized(self.require("machines", machine_id, "machine"))
        sizes = [row for row in self.state.scan("sizes") if row["size_id"] != machine["size_id"]]
        sizes.sort(key=lambda row: row["price"])
        next_up = next((row for row in sizes if row["price"] > machine["price"]), sizes[-1])
        return {**machine, "count": len(sizes), "sizes": sizes, "next_up": next_up}

    @tool("update", gives=record("name before size cores memory price", before=Size))
    def resize_cloud_machine(self, machine_id: MachineId, size_id: SizeId) -> Result:
        """Give a machine another size; it pays the new price from now on.

        Args:
            machine_id: The machine.
            size_id: The new size.
        """
        machine = self._sized(self.require("machines", machine_id, "machine"))
        size = self.require("sizes", size_id, "size")
        if machine["size_id"] == size_id:
            raise ToolError("same_size", f"{machine['name']} has the size {size['size']} already.")
        self.state.patch("machines", machine_id, size_id=size_id)
        return {**machine, "before": machine["size"], **size}

    @tool("update", gives=record("name state project running"))
    def switch_cloud_machine(self, machine_id: MachineId, action: Action) -> Result:
        """Start, stop or restart a machine.

        Args:
            machine_id: The machine.
            action: What is done with it; only a machine that runs can be stopped or restarted.
        """
        machine = self.require("machines", machine_id, "machine")
        if (machine["state"] == "running") == (action == "start"):
            raise ToolError("wrong_state", f"{machine['name']} is {machine['state']}.")
        if action == "restart" and machine["started"] == self.now:
            raise ToolError("just_started", f"{machine['name']} has just been started.")
        changes = {"state": "stopped"} if action == "stop" else {"state": "running", "started": self.now}
        machine = self.state.patch("machines", machine_id, **changes)
        running = self.rows("machines", project=machine["project"], state="running")
        return {**machine, "running": len(running)}

    @tool("read", gives=record("machine count volumes", volumes=[VOLUME]))
    def list_machine_volumes(self, machine_id: MachineId) -> Result:
        """List the volumes of a machine and how full they are, the fullest first.

        Args:
            machine_id: The machine.
        """
        machine = self.require("machines", machine_id, "machine")
        found = self.rows("volumes", machine=machine["name"])
        found.sort(key=lambda row: (-row["used"], row["volume_id"]))
        return {"machine": machine["name"], "count": len(found), "volumes": found}

    @tool("update", gives=record("volume machine before gigabytes used extra", before=Held))
    def enlarge_machine_volume(self, volume_id: VolumeId, gigabytes: Gigabytes) -> Result:
        """Make a volume larger; it cannot be made smaller again.

        Args:
            volume_id: The volume.
            gigabytes: Its new size.
        """
        volume = self.require("volumes", volume_id, "volume")
        if gigabytes <= volume["gigabytes"]:
            raise ToolError(
                "not_larger", f"The {volume['volume']} volume has {volume['gigabytes']} gigabytes already."
            )
        used = round(volume["used"] * volume["gigabytes"] / gigabytes)
        extra = round((gigabytes - volume["gigabytes"]) * GIGABYTE_PRICE, 2)
        changed = self.state.patch("volumes", volume_id, gigabytes=gigabytes, used=used)
        return {**changed, "before": volume["gigabytes"], "extra": extra}

    @tool("read", gives=record("count alarms", alarms=[ALARM]))
    def list_cloud_alarms(self, project: Project | None = None) -> Result:
        """List the alarms that are on, muted or not, the one that has lasted longest first.

        Args:
            project: Only alarms of this project's machines.
        """
        if project is not None:
            self._project(project)
        found = self.state.scan("alarms")
        lines = [{**self.require("machines", row["machine_id"], "machine"), **row} for row in found]
        lines = [{**line, "muted": bool(line["until"])} for line in lines]
        lines = [line for line in lines if project in (None, line["project"])]
        lines.sort(key=lambda line: (line["since"], line["alarm_id"]))
        return {"count": len(lines), "alarms": lines}

    @tool("update", gives=record("alarm machine until"))
    def mute_cloud_alarm(self, alarm_id: AlarmId, hours: Hours) -> Result:
        """Mute an alarm for some hours.

        Args:
            alarm_id: The alarm.
            hours: For how many hours.
        """
        alarm = self.require("alarms", alarm_id, "alarm")
        if alarm["until"]:
            raise ToolError(
                "already_muted", f"The {alarm['alarm']} alarm on {alarm['machine']} is muted already."
            )
        until = datetime.fromisoformat(self.now) + timedelta(hours=hours)
        return self.state.patch("alarms", alarm_id, until=until.isoformat(timespec="minutes"))

    @tool(
        "read",
        gives=record("volume machine count backups", backups=[record("backup_id made gigabytes used")]),
    )
    def list_volume_backups(self, volume_id: VolumeId) -> Result:
        """List the backups of a volume, the newest first.

        Args:
            volume_id: The volume.
        """
        volume = self.require("volumes", volume_id, "volume")
        found = self.rows("backups", volume_id=volume_id)
        found.sort(key=lambda row: (row["made"], row["backup_id"]), reverse=True)
        return {**volume, "count": len(found), "backups": found}

    @tool("create", gives=record("backup_id volume machine made gigabytes cost"))
    def back_up_volume(self, volume_id: VolumeId) -> Result:
        """Make a backup of a volume, at most one a day.

        Args:
            volume_id: The volume.
        """
        volume = self.require("volumes", volume_id, "volume")
        backup_id = self.new_id("bck", volume_id, self.today)
        if self.state.get("backups", backup_id):
            raise ToolError("already_backed_up", f"The {volume['volume']} volume was backed up today.")
        held = max(1, round(volume["gigabytes"] * volume["used"] / 100))
        backup = {
            "backup_id": backup_id, "volume_id": volume_id, "made": self.today, "gigabytes": held,
            "used": volume["used"],
        }  # fmt: skip
        return {
            **volume,
            **self.state.put("backups", backup_id, backup),
            "cost": round(held * BACKUP_PRICE, 2),
        }

    @tool("update", gives=record("volume machine made used"))
    def restore_volume_backup(self, backup_id: BackupId) -> Result:
        """Put a volume back to the state of a backup; what came later is lost.

        Args:
            backup_id: The backup.
        """
        backup = self.require("backups", backup_id, "backup")
        volume = self.require("volumes", backup["volume_id"], "volume")
        if volume["restored"] == backup["made"]:
            raise ToolError("already_restored", f"The {volume['volume']} volume is in that state already.")
        share = min(100, round(100 * backup["gigabytes"] / volume["gigabytes"]))
        restored = self.state.patch("volumes", backup["volume_id"], used=share, restored=backup["made"])
        return {**restored, "made": backup["made"]}

    @tool("read", gives=record("project owner budget spent left monthly"))
    def check_project_budget(self, project: Project) -> Result:
        """Show the monthly budget of a project, what it has spent this month, and what its machines cost a month.

        Args:
            project: Name of the project.
        """
        row = self._project(project)
        machines = [self._sized(one) for one in self.rows("machines", project=project, state="running")]
        monthly = round(sum(one["price"] for one in machines), 2)
        return {**row, "left": max(0.0, round(row["budget"] - row["spent"], 2)), "monthly": monthly}

    @tool("update", gives=record("project owner before budget left", before=Budget))
    def set_project_budget(self, project: Project, budget: Budget) -> Result:
        """Set the monthly budget of a project.

        Args:
            project: Name of the project.
            budget: Euros a month; at least what has been spent this month.
        """
        row = self._project(project)
        if budget < row["spent"]:
            raise ToolError("below_spent", f"{project} has spent {row['spent']} euros this month.")
        if budget == row["budget"]:
            raise ToolError("same_budget", f"The budget of {project} is {budget} euros already.")
        changed = self.state.patch("projects", project, budget=budget)
        return {**changed, "before": row["budget"], "left": round(budget - row["spent"], 2)}

    def _project(self, project: str) -> Record:
        row = self.state.get("projects", project)
        if row is None:
            raise ToolError("project_not_found", f"There is no project named {project}.")
        return row

    def _sized(self, machine: Record) -> Record:
        return {**self.require("sizes", machine["size_id"], "size"), **machine}
