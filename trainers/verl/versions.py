"""What the verl engine needs installed: one release of verl, and the packages that verl uses without naming them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from planarena.errors import UserError

__all__ = ["ROLLOUT", "VERL", "check_installed"]

# Private registries of verl are touched (`plugin.py`), so another release may differ where no error shows.
VERL = "0.9.1"
# The transformers rollout: its name in verl's registries.
ROLLOUT = "planarena"
# Module -> distribution; verl's synchronous trainer imports all of them and its metadata names none.
_UNDECLARED = {
    "transfer_queue": "TransferQueue",
    "fastapi": "fastapi",
    "uvicorn": "uvicorn",
    "zmq": "pyzmq",
    "msgspec": "msgspec",
    "cachetools": "cachetools",
}
_FIX = "pip install 'planarena[train,verl]'"


def check_installed() -> None:
    """Refuse to start without verl in the supported release and all that it imports.

    Raises:
        UserError: Something is missing, or verl is of another release.
    """
    try:
        found = version("verl")
    except PackageNotFoundError as error:
        raise UserError("verl is not installed", where="--engine verl", fix=_FIX) from error
    if found != VERL:
        raise UserError(
            f"verl {found} is installed; this engine extends verl {VERL} through parts that change between releases",
            where="--engine verl",
            fix=f"pip install verl=={VERL}",
        )
    names = {"ray": "ray", "torch": "torch", "transformers": "transformers", **_UNDECLARED}
    missing = [name for module, name in names.items() if find_spec(module) is None]
    if missing:
        raise UserError(
            f"verl needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
            where="--engine verl",
            fix=_FIX,
        )
