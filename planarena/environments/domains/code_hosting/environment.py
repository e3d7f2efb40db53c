"""Code hosting: repositories with issues, change requests, their reviews and builds, and releases."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared
from planarena.environments.domains.types import Count, Date, Minutes, Person
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, later, make_organisation

__all__ = ["CodeHosting"]

RepositoryId = Annotated[str, Semantic("repository_id", hidden=True)]
IssueId = Annotated[str, Semantic("code_issue_id", hidden=True)]
ChangeId = Annotated[str, Semantic("change_request_id", hidden=True)]
BuildId = Annotated[str, Semantic("build_id", hidden=True)]
RepositoryName = Annotated[str, Semantic("repository_name", surface="name")]
Language = Annotated[str, Semantic("programming_language", surface="name")]
Version = Annotated[str, Semantic("code_version", surface="name")]
Number = Annotated[str, Semantic("issue_number", surface="name")]
IssueTitle = Annotated[str, Semantic("issue_title", surface="name")]
ChangeTitle = Annotated[str, Semantic("change_title", surface="name")]
Step = Annotated[str, Semantic("build_step", surface="name")]
Clock = Annotated[str, Semantic("build_end", surface="time")]
Label = Annotated[
    Literal["bug", "enhancement", "documentation", "question"], Semantic("issue_label", surface="word")
]
Reason = Annotated[Literal["fixed", "duplicate", "not_planned"], Semantic("closing_reason", surface="word")]
State = Annotated[Literal["passed", "failed", "queued"], Semantic("build_state", surface="word")]
Part = Annotated[Literal["patch", "minor", "major"], Semantic("release_part", surface="word")]

record = Fields(
    repository_id=RepositoryId, issue_id=IssueId, change_id=ChangeId, build_id=BuildId, name=RepositoryName,
    repository=RepositoryName, language=Language, version=Version, number=Number, title=IssueTitle, label=Label,
    state=State, build=State, step=Step, minutes=Minutes, ready=Clock, released=Date, opened=Date, due=Date,
    maintainer=Person, reporter=Person, author=Person, developer=Person, reviewer=Person, votes=Count,
    approvals=Count, open_issues=Count, open_changes=Count, unreleased=Count, issues=Count, reviews=Count,
    commits=Count, changes=Count, count=Count,
)  # fmt: skip
ISSUE = record("issue_id number title label reporter votes opened")
CHANGE = record("change_id number title author approvals build opened", title=ChangeTitle)
PERSON = record("developer reviews issues commits")


class CodeHosting(Environment):
    """The repositories of a small group of developers, seen by one who keeps them in order."""

    domain = "code_hosting"
    summary = "Code hosting: repositories with issues, change requests, reviews, builds and releases."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make an organisation of developers."""
        return make_organisation(cls.seeds(), rng, shared)

    @tool(
        "read",
        gives=record(
            "repository_id name language maintainer version released open_issues open_changes unreleased"
        ),
    )
    def find_code_repository(self, name: RepositoryName) -> Result:
        """Look up a repository: maintainer, latest release, open issues and change requests, changes not released yet.

        Args:
            name: Name of the repository.
        """
        row = self._repository(name)
        issues, changes = self.rows("issues", repository=name), self.rows("changes", repository=name)
        return {**row, "open_issues": len(issues), "open_changes": len(changes)}

    @tool("read", gives=record("repository count issues oldest", issues=[ISSUE], oldest=ISSUE))
    def list_repository_issues(self, repository: RepositoryName, label: Label | None = None) -> Result:
        """List the open issues of a repository, those with most votes first.

        Args:
            repository: Name of the repository.
            label: Only issues with this label.
        """
        self._repository(repository)
        found = [row for row in self.rows("issues", repository=repository) if label in (None, row["label"])]
        if not found:
            raise ToolError("nothing_found", f"{repository} has no such open issue.")
        found.sort(key=lambda row: (-row["votes"], row["issue_id"]))
        oldest = min(found, key=lambda row: (row["opened"], row["issue_id"]))
        return {"repository": repository, "count": len(found), "issues": found, "oldest": oldest}

    @tool("create", gives=record("issue_id number title repository label open_issues"))
    def file_repository_issue(self, repository: RepositoryName, title: IssueTitle, label: Label) -> Result:
        """Open a new issue in a repository.

        Args:
            repository: Name of the repository.
            title: What is wrong or wanted, in one line.
            label: What kind of issue it is.
        """
        self._repository(repository)
        issue_id = self.new_id("iss", repository, title)
        if self.state.get("issues", issue_id):
            raise ToolError("already_open", f'"{title}" is open in {repository} already.')
        issue = {
            "issue_id": issue_id, "number": f"#{int(issue_id[4:], 16) % 9000 + 1000}", "title": title,
            "label": label, "reporter": self.facts["user_name"], "votes": 0, "opened": self.today,
            "repository": repository, "developer": "",
        }  # fmt: skip
        self.state.put("issues", issue_id, issue)
        return {**issue, "open_issues": len(self.rows("issues", repository=repository))}

    @tool("update", gives=record("number title repository developer issues"))
    def assign_repository_issue(self, issue_id: IssueId, developer: Person) -> Result:
        """Give an issue to a developer; whoever had it has it no longer.

        Args:
            issue_id: The issue.
            developer: Full name of the developer.
        """
        issue = self.require("issues", issue_id, "issue")
        self._developer(developer)
        if issue["developer"] == developer:
            raise ToolError("already_assigned", f"{developer} has issue {issue['number']} already.")
        issue = self.state.patch("issues", issue_id, developer=developer)
        return {**issue, "issues": len(self.rows("issues", developer=developer))}

    @tool("delete", gives=record("number title repository open_issues"))
    def close_repository_issue(self, issue_id: IssueId, reason: Reason) -> Result:
        """Close an issue, which takes it off the list.

        Args:
            issue_id: The issue.
            reason: Why it is closed.
        """
        issue = self.require("issues", issue_id, "issue")
        self.state.delete("issues", issue_id)
        left = self.rows("issues", repository=issue["repository"])
        return {**issue, "reason": reason, "open_issues": len(left)}

    @tool("read", gives=record("repository count changes", changes=[CHANGE]))
    def list_change_requests(self, repository: RepositoryName) -> Result:
        """List the open change requests of a repository, the one that has waited longest first.

        Args:
            repository: Name of the repository.
        """
        self._repository(repository)
        found = [
            {**row, "build": self.require("builds", row["build_id"], "build")["state"]}
            for row in self.rows("changes", repository=repository)
        ]
        found.sort(key=lambda row: (row["opened"], row["change_id"]))
        return {"repository": repository, "count": len(found), "changes": found}

    @tool("read", gives=record("build_id number title state step minutes", title=ChangeTitle))
    def inspect_change_build(self, change_id: ChangeId) -> Result:
        """Show the latest build of a change request: how it ended, at which step, and how long it took.

        Args:
            change_id: The change request.
        """
        change = self.require("changes", change_id, "change request")
        return {**change, **self.require("builds", change["build_id"], "build")}

    @tool("update", gives=record("number title ready", title=ChangeTitle))
    def restart_change_build(self, build_id: BuildId) -> Result:
        """Run a build that has failed once more.

        Args:
            build_id: The build.
        """
        build = self.require("builds", build_id, "build")
        if build["state"] != "failed":
            raise ToolError("not_failed", f"The build has {build['state']}; only failed ones are run again.")
        self.state.patch("builds", build_id, state="queued", step="queue")
        [change] = self.rows("changes", build_id=build_id)
        return {**change, "ready": later(self.now, build["minutes"])}

    @tool(
        "read", gives=record("title count people expert", title=ChangeTitle, people=[PERSON], expert=PERSON)
    )
    def find_change_reviewers(self, change_id: ChangeId) -> Result:
        """List who could review a change request, those with the fewest reviews to do first.

        Args:
            change_id: The change request; its author and its reviewers are left out.
        """
        change = self.require("changes", change_id, "change request")
        lines = []
        for row in self.state.scan("developers"):
            name = row["developer"]
            if name != change["author"] and name not in change["reviewers"]:
                reviews = sum(name in one["reviewers"] for one in self.state.scan("changes"))
                line = {
                    **row,
                    "reviews": row["elsewhere"] + reviews,
                    "commits": row["commits"][change["repository"]],
                }
                lines.append({**line, "issues": len(self.rows("issues", developer=name))})
        lines.sort(key=lambda line: (line["reviews"], line["developer"]))
        expert = max(lines, key=lambda line: (line["commits"], line["developer"]))
        return {**change, "count": len(lines), "people": lines, "expert": expert}

    @tool("update", gives=record("number title reviewer due", title=ChangeTitle))
    def request_change_review(self, change_id: ChangeId, reviewer: Person) -> Result:
        """Ask a developer to review a change request within two days.

        Args:
            change_id: The change request.
            reviewer: Full name of the developer, who must not be its author.
        """
        change = self.require("changes", change_id, "change request")
        self._developer(reviewer)
        if reviewer == change["author"]:
            raise ToolError("own_change", f"{reviewer} has written {change['number']}.")
        if reviewer in change["reviewers"]:
            raise ToolError(
                "already_asked", f"{reviewer} has been asked to review {change['number']} already."
            )
        change = self.state.patch("changes", change_id, reviewers=sorted([*change["reviewers"], reviewer]))
        return {**change, "reviewer": reviewer, "due": later(self.now, 2 * 24 * 60, day=True)}

    @tool("update", gives=record("number title author approvals", title=ChangeTitle))
    def approve_change_request(self, change_id: ChangeId) -> Result:
        """Approve a change request in the user's name; two approvals are needed to merge it.

        Args:
            change_id: The change request.
        """
        change = self.require("changes", change_id, "change request")
        if change["approved"]:
            raise ToolError(
                "already_approved", f"Change request {change['number']} has this approval already."
            )
        return self.state.patch("changes", change_id, approved=True, approvals=change["approvals"] + 1)

    @tool("delete", gives=record("number title author repository unreleased", title=ChangeTitle))
    def merge_change_request(self, change_id: ChangeId) -> Result:
        """Merge a change request that has two approvals and a build that passed.

        Args:
            change_id: The change request.
        """
        change = self.require("changes", change_id, "change request")
        if self.require("builds", change["build_id"], "build")["state"] != "passed":
            raise ToolError("build_not_passed", f"The build of {change['number']} has not passed.")
        if change["approvals"] < 2:
            raise ToolError("approvals_missing", f"Change request {change['number']} needs two approvals.")
        row = self._repository(change["repository"])
        self.state.delete("changes", change_id)
        unreleased = row["unreleased"] + 1
        return {**change, **self.state.patch("repositories", row["repository_id"], unreleased=unreleased)}

    @tool("update", gives=record("name version before changes", before=Version))
    def publish_code_release(self, repository_id: RepositoryId, part: Part) -> Result:
        """Publish what has been merged since the last release under the next version number.

        Args:
            repository_id: The repository.
            part: Which part of the version number goes up.
        """
        row = self.require("repositories", repository_id, "repository")
        if not row["unreleased"]:
            raise ToolError(
                "nothing_to_release", f"Nothing was merged into {row['name']} since {row['version']}."
            )
        major, minor, patch = (int(one) for one in row["version"].split("."))
        steps = {
            "major": (major + 1, 0, 0),
            "minor": (major, minor + 1, 0),
            "patch": (major, minor, patch + 1),
        }
        version = ".".join(str(one) for one in steps[part])
        self.state.patch("repositories", repository_id, version=version, released=self.today, unreleased=0)
        return {
            "name": row["name"],
            "version": version,
            "before": row["version"],
            "changes": row["unreleased"],
        }

    def _repository(self, name: str) -> Record:
        for row in self.rows("repositories", name=name):
            return row
        raise ToolError("repository_not_found", f"There is no repository named {name}.")

    def _developer(self, name: str) -> None:
        if self.state.get("developers", name) is None:
            raise ToolError("developer_not_found", f"{name} is not one of the developers.")
