"""Whether an environment keeps the contract: findings, each with what to write instead."""

from planarena.environments.check.composing import too_few_tasks
from planarena.environments.check.findings import Finding
from planarena.environments.check.run import check_folder

__all__ = ["Finding", "check_folder", "too_few_tasks"]
