"""Pass rates: what is played is what is stored, nothing is asked twice, and ranges choose the tasks that they say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from planarena import formats
from planarena.bench import Reply, bench_options, load_tasks
from planarena.cli import main
from planarena.errors import UserError
from planarena.eval.rates import RateConfig, rate
from planarena.export import ExportOptions, export
from planarena.quality.splits import SPLITS
from planarena.records import Run
from planarena.rows import RowOptions, load_episodes, load_pairs, load_rows
from planarena.rows.difficulty import read_difficulty, tasks_within

SAMPLE = Path(__file__).parents[3] / "data" / "sample"


class Moody:
    """Does task number n as the gold does in n of its tries (modulo 3), else says that nothing is to be done."""

    name = "moody"
    format = "planarena"

    def __init__(self, run: Path) -> None:
        tasks = load_tasks(run, bench_options("planarena"), splits=SPLITS)
        self.texts = {task.id: task.row.targets for task in tasks}
        self.good = {task.id: number % 3 for number, task in enumerate(tasks)}
        self.asked = 0

    def reply(self, asked):
        self.asked += len(asked)
        return [Reply(text=self._text(one), tokens=1) for one in asked]

    def _text(self, one):
        if one.sample < self.good[one.id]:
            return self.texts[one.id][one.turn]
        wrong = formats.Call("no_such_tool", {})
        return formats.get("planarena").render(calls=[wrong]) if one.turn == 0 else ""


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    run = tmp_path_factory.mktemp("rated") / "run"
    shutil.copytree(SAMPLE, run)
    policy = Moody(run)
    made = rate(RateConfig(run=str(run), model="moody", tries=2), policy=policy)
    return run, policy, made


def test_rates_are_shares_of_the_tries(rated):
    run, policy, made = rated
    assert made.rates == {task: good / 2 for task, good in policy.good.items()}
    rows = Run.open(run).table("rates").collect().to_dicts()
    assert {row["task_id"]: row["rate"] for row in rows} == made.rates
    assert {(row["model"], row["tries"]) for row in rows} == {("moody", 2)}
    assert all(row["passed"] == 2 * row["rate"] for row in rows)


def test_the_same_call_again_asks_nothing(rated):
    run, policy, made = rated
    before = policy.asked
    assert rate(RateConfig(run=str(run), model="moody", tries=2), policy=policy) == made
    assert policy.asked == before


def test_report_and_card_show_them(rated, tmp_path):
    run = rated[0]
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    assert "## Difficulty" in (copy / "README.md").read_text()
    assert main(["report", str(copy)]) == 0
    assert "Tasks by pass rate" in (copy / "report.html").read_text()


@pytest.mark.parametrize(
    ("text", "kept"), [("0:0", {0.0}), ("0.2:0.8", {0.5}), ("0.5:1", {0.5, 1.0}), (":0.4", {0.0})]
)
def test_a_range_chooses_rows_episodes_pairs_and_exports(rated, tmp_path, text, kept):
    run, _, made = rated
    wanted = {task for task, one in made.rates.items() if one in kept}
    assert tasks_within(Run.open(run), text) == wanted
    options = RowOptions(splits=(), difficulty=text)
    assert {row.task_id for row in load_rows(run, options)} == wanted
    assert {row.task_id for row in load_episodes(run, options)} == wanted
    scenarios = {row.scenario_id for row in load_episodes(run, options)}
    assert {pair.scenario_id for pair in load_pairs(run, options)} <= scenarios
    for form in ("openai", "sharegpt", "nemo-gym", "verl"):
        folder = tmp_path / form
        part = export(Run.open(run), form, folder, ExportOptions(difficulty=text))
        whole = export(Run.open(run), form, tmp_path / f"{form}-all", ExportOptions())
        assert 0 < sum(part.rows.values()) < sum(whole.rows.values())


def test_rates_of_several_models_are_told_apart(rated, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(rated[0], copy)
    policy = Moody(copy)
    policy.good = dict.fromkeys(policy.good, 1)
    rate(RateConfig(run=str(copy), model="other", name="even", tries=1), policy=policy)
    run = Run.open(copy)
    with pytest.raises(UserError, match="pass rates of 2 models: even, moody"):
        tasks_within(run, "0:1")
    assert tasks_within(run, "1:1@even") == set(rated[2].rates)
    assert tasks_within(run, "1:1@moody") == {task for task, one in rated[2].rates.items() if one == 1}
    with pytest.raises(UserError, match="no pass rates of 'evn'") as caught:
        tasks_within(run, "0:1@evn")
    assert "did you mean even" in str(caught.value)


def test_what_is_no_range_or_has_no_rates_is_refused(rated, tmp_path):
    for text in ("0.2", "0.8:0.2", "a:b", "-1:2", "nan:1", "0:inf"):
        with pytest.raises(UserError, match="no range of pass rates"):
            read_difficulty(text)
    with pytest.raises(UserError, match="planarena rate"):
        list(load_rows(SAMPLE, RowOptions(difficulty="0.2:0.8")))
    (tmp_path / "rows.jsonl").write_text(json.dumps({"messages": []}) + "\n")
    with pytest.raises(UserError, match="only runs hold pass rates"):
        load_rows(tmp_path / "rows.jsonl", RowOptions(difficulty="0.2:0.8"))
    assert main(["rate", str(tmp_path / "none"), "--model", "x"]) == 2
    assert main(["rate", str(rated[0]), "--model", "x", "--tries", "0"]) == 2
    assert (
        main(
            ["export", str(SAMPLE), "--format", "openai", "--out", str(tmp_path / "o"), "--difficulty", "0:1"]
        )
        == 2
    )


def test_training_takes_a_range_and_validates_on_all(rated):
    from planarena.trainers.config import TrainConfig
    from planarena.trainers.loop.data import row_options

    config = TrainConfig(algorithm="sft")
    import msgspec

    data = msgspec.structs.replace(config.data, path=str(rated[0]), format="planarena", difficulty="0.2:0.8")
    config = msgspec.structs.replace(config, data=data)
    assert row_options(config, "train").difficulty == "0.2:0.8"
    assert row_options(config, "validation").difficulty == ""
