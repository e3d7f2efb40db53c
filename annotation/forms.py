"""What annotators are asked: the forms, told apart from Argilla so that another tool or a sheet can show them."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NamedTuple

from planarena.data import read_text
from planarena.records.canonical import content_id

__all__ = [
    "ISSUES",
    "LETTERS",
    "MAX_STEP",
    "Answer",
    "Field",
    "Form",
    "FormName",
    "Item",
    "Property",
    "Question",
    "Suggestion",
    "form",
]

FormName = Literal["trajectories", "decisions", "adjudication"]
LETTERS = ("A", "B", "C", "D", "E", "F")
"""Names of the choices at a decision point; a form has the same questions for every item, so there is a most."""
MAX_STEP = 20
"""The last step that can be named as the first wrong one; later ones count as this one."""

ISSUES = {
    "query_unclear": "Query unclear",
    "query_incomplete": "Query incomplete",
    "wrong_tool": "Wrong tool",
    "wrong_value": "Wrong value",
    "unknowable_value": "Unknowable value",
    "wrong_order": "Wrong order",
    "not_parallel": "Wrongly together",
    "missing_step": "Missing step",
    "needless_step": "Needless step",
    "failed_call": "Failed call",
    "wrong_plan": "Wrong plan",
    "wrong_answer": "Wrong final answer",
    "other": "Something else",
}
"""Issue -> what annotators read."""


class Field(NamedTuple):
    """Something shown. Texts come escaped; `template` names the template of structured values."""

    name: str
    title: str
    template: str = ""


class Question(NamedTuple):
    """Something asked.

    Attributes:
        name: Its key in answers.
        title: What annotators read.
        kind: `label`: one option; `labels`: any number; `rating`: one whole number; `text`.
        options: (value, what annotators read); the values of a rating are numbers.
        required: Whether an answer without it can be submitted.
        help: A longer explanation.
    """

    name: str
    title: str
    kind: Literal["label", "labels", "rating", "text"]
    options: tuple[tuple[str, str], ...] = ()
    required: bool = False
    help: str = ""


class Property(NamedTuple):
    """Something to filter and sort by; hidden ones only owners and admins see."""

    name: str
    title: str
    kind: Literal["terms", "integer", "float"]
    visible: bool = True


class Form(NamedTuple):
    """A task for annotators.

    Attributes:
        name: Which one.
        guidelines: Markdown, at most 10,000 characters.
        fields: What is shown.
        questions: What is asked.
        properties: What items can be filtered by.
    """

    name: FormName
    guidelines: str
    fields: tuple[Field, ...]
    questions: tuple[Question, ...]
    properties: tuple[Property, ...]

    @property
    def guideline_version(self) -> str:
        """The first 12 digits of the guidelines' content id."""
        return content_id(self.guidelines)[:12]


class Suggestion(NamedTuple):
    """What an automatic check would answer, and how sure it is from 0 to 1."""

    question: str
    value: Any
    score: float


class Item(NamedTuple):
    """One thing to judge.

    Attributes:
        item_id: The id of the trajectory or decision point.
        fields: By field name: escaped text, or a value for the field's template with escaped strings.
        metadata: By property name; besides, `guidelines` and `version`, which no property declares.
        suggestions: None for a blind item.
    """

    item_id: str
    fields: dict[str, Any]
    metadata: dict[str, Any]
    suggestions: tuple[Suggestion, ...]


class Answer(NamedTuple):
    """What one person answered about one item.

    Attributes:
        form: Of which form.
        item_id: The id of the trajectory or decision point.
        annotator: The person's account or name.
        values: By question; questions left out are absent.
        submitted_at: ISO 8601, UTC.
        blind: No suggestions were shown.
        guideline_version: Of the guidelines when the item was shown.
        version: The content of the item when it was shown.
    """

    form: FormName
    item_id: str
    annotator: str
    values: dict[str, Any]
    submitted_at: str
    blind: bool
    guideline_version: str
    version: str


_YES_NO = (("yes", "Yes"), ("no", "No"))
_WHERE = (
    Property("scenario", "Scenario", "terms"),
    Property("domain", "Domain", "terms"),
    Property("length", "Steps", "integer"),
    Property("parallel_groups", "Parallel groups", "integer"),
    Property("execution_kind", "Execution", "terms"),
)
# What betrays how a trajectory came to be would be taken for the answer.
_HIDDEN = (
    Property("kind", "Kind", "terms", visible=False),
    Property("source", "Generator", "terms", visible=False),
    Property("mutation", "Mutation", "terms", visible=False),
    Property("blind", "Blind", "terms", visible=False),
)
_QUERY = Field("query", "Query")
_PLAN = Field("plan", "Global plan")
_GRAPH = Field("graph", "Which step needs which", "graph")
_TRAJECTORY = Field("trajectory", "Trajectory", "trajectory")
_TOOLS = Field("tools", "Tools", "tools")
_JUDGEMENT = (
    Question("query_ok", "1. Does the query state the goal?", "label", _YES_NO, required=True),
    Question("goal_ok", "2. Does the trajectory achieve the goal?", "label", _YES_NO, required=True),
    Question(
        "answer_ok",
        "3. Does the final answer tell truly what was asked?",
        "label",
        _YES_NO,
        help="Leave it empty where no answer was due.",
    ),
    Question("issues", "4. Issues", "labels", tuple(ISSUES.items())),
)
_CORRECTION = (
    Question(
        "corrected_call",
        "6. Corrected tool call (JSON)",
        "text",
        help='What the first wrong step should have been: {"name": "...", "arguments": {...}}; "the call as JSON" '
        "below each step can be copied.",
    ),
    Question("comment", "7. Comment", "text"),
)


def _judgement(steps: int) -> tuple[Question, ...]:
    where = Question(
        "first_wrong_step",
        "5. First wrong step",
        "label",
        tuple((str(step), str(step)) for step in range(1, min(max(steps, 1), MAX_STEP) + 1)),
        help="The step after which the goal could no longer be reached by going on well.",
    )
    return (*_JUDGEMENT, where, *_CORRECTION)


@cache
def form(name: FormName, steps: int = MAX_STEP, choices: int = len(LETTERS)) -> Form:
    """Return a form.

    Args:
        name: Which one.
        steps: Of the longest trajectory: so many can be named as the first wrong one, at most `MAX_STEP`.
        choices: Of the decision point with the most: so many are asked about, at most one for each letter.

    Raises:
        FileNotFoundError: There is no form of that name.
    """
    guidelines = read_text(f"guidelines/{name}.md")
    if name == "trajectories":
        shown = (_QUERY, _PLAN, _GRAPH, _TRAJECTORY, _TOOLS)
        return Form(name, guidelines, shown, _judgement(steps), _WHERE + _HIDDEN)
    if name == "adjudication":
        answers = Field("answers", "What the annotators answered", "answers")
        decided = (_QUERY, _PLAN, _GRAPH, _TRAJECTORY, answers, _TOOLS)
        return Form(name, guidelines, decided, _judgement(steps), _WHERE + _HIDDEN)
    letters = LETTERS[: max(choices, 1)]
    fields = (
        _QUERY,
        _PLAN,
        Field("so_far", "What was done so far", "trajectory"),
        Field("choices", "Choices for the next step", "choices"),
        _TOOLS,
    )
    questions = (
        Question(
            "right_choices",
            "1. Which choices are right?",
            "labels",
            (*((letter, letter) for letter in letters), ("none", "None of them")),
            required=True,
        ),
        *(
            Question(
                f"relevance_{letter}",
                f"{number}. How relevant is {letter}?",
                "rating",
                tuple((str(level), "") for level in range(5)),
                help="0: has nothing to do with the request; 4: as relevant as the right one. "
                "Leave it empty where there is no such choice.",
            )
            for number, letter in enumerate(letters, 2)
        ),
        Question("comment", f"{len(letters) + 2}. Comment", "text"),
    )
    step = Property("step", "Step", "integer")
    blind = _HIDDEN[-1]
    return Form(name, guidelines, fields, questions, (*_WHERE, step, blind))
