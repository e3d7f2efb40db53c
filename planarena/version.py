"""The package's version, for modules that must not import the package's root."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
