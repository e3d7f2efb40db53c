"""Opening an environment from its folder: the class of `environment.py`, with its words and seeds beside it.

Ours and those of users are opened alike, and run in this process: code of others goes through the sandbox.
"""

from __future__ import annotations

import sys
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from types import ModuleType

from planarena.environments.contract import Environment
from planarena.errors import SourceError

__all__ = ["open_folder"]

_CODE = "environment"


@cache
def open_folder(folder: Path, package: str = "") -> type[Environment]:
    """Return the environment that a folder holds; see `planarena.environments.contract` for what lies in it.

    Its modules import each other relatively (`from .world import ...`).

    Args:
        folder: The folder, absolute; its name is the environment's `domain`.
        package: Under which name Python can import the folder, where it can.

    Raises:
        SourceError: It holds no environment, or several, or what it holds cannot be imported.
    """
    file = folder / f"{_CODE}.py"
    if not file.is_file():
        raise SourceError(f"has no {file.name}", where=str(folder), fix="name the folder of an environment")
    try:
        module = import_module(f"{package or _package_over(folder)}.{_CODE}")
    except Exception as error:
        raise SourceError(
            f"cannot be imported: {type(error).__name__}: {error}",
            where=str(file),
            fix="correct the code; modules of the folder import each other as `from .world import ...`",
        ) from error
    found = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, Environment) and item.__module__ == module.__name__
    ]
    if len(found) != 1:
        names = ", ".join(item.__name__ for item in found) or "none"
        raise SourceError(
            f"defines {len(found)} environments ({names})",
            where=str(file),
            fix="define one class that derives from planarena.environments.Environment",
        )
    domain = getattr(found[0], "domain", None)
    if domain != folder.name:
        raise SourceError(
            f"the domain of {found[0].__name__} is {domain!r}, its folder is {folder.name!r}",
            where=str(file),
            fix=f'write `domain = "{folder.name}"`, or rename the folder',
        )
    return found[0]


def _package_over(folder: Path) -> str:
    """Make a folder importable under a name of its own and return the name: two folders may be called alike."""
    name = f"planarena_environment_{blake2b(str(folder).encode(), digest_size=6).hexdigest()}"
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return name
