"""The package's version and the commit it was made from, for modules that must not import the package's root."""

from __future__ import annotations

__all__ = ["__version__", "describe", "find_commit"]

__version__ = "0.1.0"


def describe() -> str:
    """Return the version with its commit, as `0.1.0 (1a2b3c4d5e6f)`; the version alone where nobody knows it."""
    commit = find_commit()
    return f"{__version__} ({commit})" if commit else __version__


def find_commit() -> str:
    """Return the commit: what the build wrote into the package, else the checkout's own; "" where there is neither.

    A checkout whose tracked files were changed says so: `1a2b3c4d5e6f-dirty`.
    """
    import subprocess
    from pathlib import Path

    package = Path(__file__).resolve().parent
    written = package / "commit.txt"  # setup.py writes it into wheels and source distributions
    if written.is_file():
        return written.read_text(encoding="utf-8").strip()
    if not (package.parent / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", package.parent, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # no git here
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
