"""What is said in conversations beyond asking and serving, and the wrong choices at their questions and answers.

One file a kind; what the kinds do is made and proven by `planarena.pipeline.execute.conversations`.
"""

from __future__ import annotations

from planarena.pipeline.language.conversations.briefs import brief_of
from planarena.pipeline.language.conversations.choices import Scenery, choices_of
from planarena.pipeline.language.conversations.failed_call import failures_of
from planarena.pipeline.language.conversations.plans import plans_of, unmade_of
from planarena.pipeline.language.conversations.telling import teller_of

__all__ = ["Scenery", "brief_of", "choices_of", "failures_of", "plans_of", "teller_of", "unmade_of"]
