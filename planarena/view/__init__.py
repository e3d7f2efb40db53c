"""A local web application over folders of runs, trainings and evaluations."""

from __future__ import annotations

from planarena.view.library import Folder, Library

__all__ = ["Folder", "Library"]
