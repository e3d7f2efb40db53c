"""Names, options, presets, recipes and ablations: complete, strict, sourced, and each switch does something."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

import planarena.trainers
from planarena import formats
from planarena.errors import ConfigError
from planarena.trainers import algorithms, rewards
from planarena.trainers.algorithms import ablation, ablation_names, build_config, get, recipe
from planarena.trainers.algorithms.ablations import current_name
from planarena.trainers.recipes import Recipe, load_recipe, recipe_names
from planarena.trainers.types import Algorithm, AlgorithmConfig, LossInputs, RolloutBatch, Step

ROWS = {
    "awpo", "chord-mu", "chord-phi", "cispo", "dapo", "dpo", "dppo", "dr-grpo", "dupo", "fg-dapo", "gagpo", "gdpo", "gear",
    "gigpo", "gmpo", "grpo", "gspo", "gtpo", "kto", "luffy", "opd", "opsd", "reinforce-pp", "relift", "rloo", "rlsd", "sapo",
    "sasr", "sft", "sft-rl", "srft", "toolupt", "uft",
}  # fmt: skip
BASELINES = {
    "toolrl", "grpo-binary", "mixed-reward-grpo", "cold-start", "dapo-star", "sft-grpo", "sft-dapo-star",
    "sft-fg-dapo-star", "sft-light", "sft-best", "sft-light-rl", "sft-best-rl", "dft", "chord-adaptive",
    "chord-tune-both", "reinforce-pp-baseline",
}  # fmt: skip


def test_every_algorithm_and_baseline_is_there() -> None:
    assert set(algorithms.names()) == ROWS
    assert set(algorithms.preset_names()) >= BASELINES
    assert ROWS | set(algorithms.preset_names()) == set(recipe_names())


def test_the_package_exports_the_registry_lazily() -> None:
    assert planarena.trainers.names() == algorithms.names()
    assert isinstance(planarena.trainers.get("dupo"), Algorithm)
    for name in planarena.trainers.__all__:
        assert getattr(planarena.trainers, name) is not None
    assert dir(planarena.trainers) == sorted(planarena.trainers.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = planarena.trainers.nothing
    code = "import sys, planarena.trainers; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_list_is_ready_for_json() -> None:
    entries = json.loads(json.dumps(planarena.trainers.list_algorithms()))
    by_name = {entry["name"]: entry for entry in entries}
    assert set(by_name) == ROWS | set(algorithms.preset_names())
    for entry in entries:
        assert entry["title"] and entry["paper"], entry["name"]
        assert isinstance(entry["needs"], list)
        for option in entry["options"]:
            assert option["source"] and option["about"], (entry["name"], option["name"])
    assert [name for name, entry in by_name.items() if entry["approximate"]] == [
        "gagpo",
        "gear",
        "gtpo",
        "sasr",
    ]
    assert "reconstruction" in by_name["gear"]["title"]
    assert by_name["cold-start"]["preset_of"] == "dupo"
    assert by_name["dupo"]["preset_of"] is None
    options = {option["name"]: option for option in by_name["dupo"]["options"]}
    assert options["zeta"]["default"] == 0.02
    assert options["zeta"]["source"].startswith("ours")
    assert options["rho.tool"]["default"] == 1.5
    # What a run of that name takes: the recipe's values, sources and needs.
    assert by_name["toolupt"]["needs"] == ["rollouts", "experts", "expert_keep", "token_rewards", "entropy"]
    options = {option["name"]: option for option in by_name["toolupt"]["options"]}
    assert (options["entropy_coef"]["default"], options["entropy_coef"]["source"]) == (
        3e-4,
        "ToolUPT Table 7",
    )
    assert (by_name["toolupt"]["reward"], by_name["toolupt"]["format"]) == ("toolupt", "toolupt")
    options = {option["name"]: option for option in by_name["chord-tune-both"]["options"]}
    assert (options["mu_peak"]["default"], options["mu_peak"]["source"]) == (0.3, "CHORD appendix B.7")
    assert by_name["kto"]["reward"] is None
    assert "experts" not in by_name["cold-start"]["needs"]


@pytest.mark.parametrize("name", sorted(ROWS))
def test_an_unknown_option_names_the_nearest(name: str) -> None:
    field = msgspec.structs.fields(get(name).config)[0].name
    with pytest.raises(ConfigError, match=f"write '{field}'"):
        get(name, **{f"{field}x": 1})


def test_wrong_names_and_values_are_the_users_mistake() -> None:
    with pytest.raises(ConfigError, match="write 'dupo'"):
        get("dupe")
    with pytest.raises(ConfigError, match="zeta"):
        get("dupo", zeta=7.0)
    with pytest.raises(ConfigError, match="tooI"):
        get("dupo", rho={"tooI": 1.0})
    with pytest.raises(ConfigError, match="no recipe"):
        recipe("dupe")
    with pytest.raises(ConfigError, match="no ablation"):
        ablation("dupo-table-9")
    with pytest.raises(ConfigError, match="no algorithm"):
        build_config({})


def test_an_ablation_is_found_by_the_number_that_its_paper_used_to_be() -> None:
    assert ablation("000-table-4") is ablation("dupo-table-4")
    assert ablation("003-figure-7").name == "chord-figure-7"
    assert [current_name(name) for name in ablation_names()] == ablation_names()


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_configuration_survives_plain_values(name: str) -> None:
    config = get(name).config
    assert isinstance(config, AlgorithmConfig)
    plain = msgspec.to_builtins(config)
    assert plain["algorithm"] == name
    assert build_config(plain) == config
    assert get(config).config == config
    with pytest.raises(AttributeError):
        config.algorithm = "other"


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_loads_and_every_value_has_a_source(name: str) -> None:
    loaded = load_recipe(name)
    assert loaded.name == name
    assert loaded.unsourced() == []
    assert all(source.strip() for source in loaded.sources.values())
    build_config(loaded.algorithm)
    formats.get(loaded.format)
    if loaded.reward is not None:
        rewards.get(loaded.reward.name, loaded.reward.options)
        if loaded.reward.overlong is not None:
            rewards.get("overlong", loaded.reward.overlong)


def test_a_recipe_without_a_source_is_noticed() -> None:
    made = Recipe(
        name="x", title="X", paper="", algorithm={"algorithm": "grpo", "ddof": 0}, format="planarena"
    )
    assert made.unsourced() == ["algorithm.ddof", "format"]


WANTED = {
    "dupo-table-3", "dupo-table-4", "dupo-table-5", "dupo-table-6", "dupo-table-7", "dupo-figure-5-tag",
    "dupo-figure-5-content", "dupo-figure-6", "awpo-table-5", "toolupt-figure-4", "chord-figure-7", "chord-table-3",
    "chord-table-4", "chord-table-5", "chord-group-and-sync", "gear-variants",
}  # fmt: skip


def test_every_ablation_of_the_papers_is_there() -> None:
    assert set(ablation_names()) >= WANTED


@pytest.mark.parametrize("name", ablation_names())
def test_every_variant_resolves_to_a_recipe_of_its_own(name: str) -> None:
    entry = ablation(name)
    seen = []
    for variant in entry.variants:
        resolved = variant.resolve()
        build_config(resolved.algorithm)
        formats.get(resolved.format)
        if resolved.reward is not None:
            rewards.get(resolved.reward.name, resolved.reward.options)
        seen.append((msgspec.json.encode(resolved), tuple(variant.data.items())))
    assert len(set(seen)) == len(seen) >= 2
    assert len({variant.label for variant in entry.variants}) == len(entry.variants)


def test_a_wrong_path_in_a_variant_is_refused() -> None:
    with pytest.raises(ConfigError, match="trainning"):
        algorithms.Variant("typo", "dupo", {"trainning.steps": 3}).resolve()


def outcome_of(algorithm: Algorithm) -> float:
    """One loss on a batch in which every switch of the ablations has something to act on."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    rows, width = 16, 24
    # Four groups from much to hardly any variance, so that AWPO's gate weighs each differently; the
    # mean lies below the thresholds of the adaptive mu.
    spread = [[1.6, 0.2, 1.0, 0.8], [0.1, 0.6, 0.3, 0.5], [0.0, 0.15, 0.05, 0.12], [0.3, 0.31, 0.3, 0.3]]
    rewards_B = torch.tensor(spread, dtype=torch.float64).flatten()
    lengths = torch.tensor([[24], [20], [9], [24]]).repeat(4, 1)
    mask = (torch.arange(width) < lengths).double()
    batch = RolloutBatch(
        rewards_B=rewards_B,
        mask_BT=mask,
        group_B=torch.arange(rows) // 4,
        old_logp_BT=-3 * draw(rows, width),
        token_rewards_BT=torch.maximum(rewards_B[:, None], 4 * (draw(rows, width) > 0.6)),
        reason_B=torch.tensor([0.25, 0.9, 0.5, 0.75], dtype=torch.float64).repeat(4),
        decay_B=draw(rows),
        entropy_BT=draw(rows, width),
        reverse_kl_BT=draw(rows, width),
    )
    step = Step(step=5, total_steps=60)
    advantages = algorithm.advantages(batch, step)
    assert batch.old_logp_BT is not None
    inputs = LossInputs(
        logp_BT=batch.old_logp_BT + 1.6 * draw(rows, width) - 0.8,
        mask_BT=mask,
        old_logp_BT=batch.old_logp_BT,
        advantages_BT=advantages.values_BT,
        eps_low_B=advantages.eps_low_B,
        eps_high_B=advantages.eps_high_B,
        scalars=advantages.scalars,
        token_type_BT=torch.randint(0, 7, (rows, width), generator=generator),
        entropy_BT=draw(rows, width),
        expert_logp_ET=-3 * draw(3, width),
        expert_mask_ET=torch.ones(3, width, dtype=torch.float64),
        expert_entropy_ET=draw(3, width),
        expert_keep_ET=(draw(3, width) > 0.5).double(),
    )
    return float(algorithm.loss(inputs, step).loss)


@pytest.mark.parametrize("name", ablation_names())
def test_every_switch_changes_the_loss(name: str) -> None:
    outcomes: dict[str, float] = {}
    for variant in ablation(name).variants:
        resolved = variant.resolve()
        if (
            any(path.startswith("algorithm.") for path in variant.changes)
            or resolved.algorithm["algorithm"] == "gear"
        ):
            outcomes[json.dumps(resolved.algorithm, sort_keys=True)] = outcome_of(
                get(build_config(resolved.algorithm))
            )  # type: ignore[arg-type]
    assert len({round(value, 12) for value in outcomes.values()}) == len(outcomes)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_file_and_configuration_say_what_they_are(name: str) -> None:
    algorithm: Any = get(name)
    module = sys.modules[type(algorithm).__module__]
    assert isinstance(algorithm, Algorithm)
    document = module.__doc__ or ""
    assert "Source:" in document or "Sources:" in document, module.__name__
    assert "eviation" in document, module.__name__
    assert len(Path(str(module.__file__)).read_text().splitlines()) <= 400
    hints = typing.get_type_hints(type(algorithm.config), include_extras=True)
    assert set(hints) >= {field.name for field in msgspec.structs.fields(algorithm.config)}


def test_phases_follow_the_algorithm() -> None:
    assert get("grpo").phase(Step()) == "rl"
    assert get("sft").phase(Step()) == "sft"
    assert get("kto").phase(Step()) == get("dpo").phase(Step()) == "preference"
    assert (
        get("chord-mu").phase(Step()) == get("toolupt").phase(Step()) == get("dupo").phase(Step()) == "both"
    )
    assert get("cold-start").phase(Step()) == "rl"
    two = get("sft-rl", sft_steps=3)
    assert [two.phase(Step(step=step)) for step in (0, 2, 3)] == ["sft", "sft", "rl"]
    hints = get("uft")
    assert [hints.phase(Step(step=step)) for step in (0, 300, 301)] == ["both", "both", "rl"]


def test_sasr_leans_to_supervision_while_the_gradient_stays_large() -> None:
    algorithm: Any = get("sasr", warmup_steps=2)
    assert [algorithm.phase(Step(step=step)) for step in (0, 1)] == ["sft", "sft"]
    assert algorithm.probability() == 0.0
    for step in (0, 1):
        algorithm.observe_gradient_norm(4.0, Step(step=step))
    assert algorithm.probability() == pytest.approx(0.5)
    drawn = [algorithm.phase(Step(step=step)) for step in range(2, 402)]
    # Four hundred fair draws: 0.5 +- 0.025; five standard errors.
    assert 0.375 < drawn.count("sft") / len(drawn) < 0.625


def test_a_stateless_algorithm_refuses_a_foreign_state() -> None:
    get("grpo").load_state_dict({})
    with pytest.raises(ValueError, match="keeps no state"):
        get("grpo").load_state_dict({"moving_reward": 1.0})


def test_sft_rl_hands_its_stages_on() -> None:
    algorithm = get("sft-dapo-star")
    assert not algorithm.needs.group_filter
    assert algorithm.needs.experts and algorithm.needs.own_phases
    filtered = get("sft-rl", rl={"algorithm": "dapo"})
    batch = RolloutBatch(
        rewards_B=torch.tensor([1.0, 1.0, 0.0, 1.0]),
        mask_BT=torch.ones(4, 1),
        group_B=torch.tensor([0, 0, 1, 1]),
    )
    assert filtered.keep_groups(batch).tolist() == [False, False, True, True]
    assert algorithm.keep_groups(batch).tolist() == [True] * 4
    assert filtered.state_dict() == {}
    filtered.load_state_dict({})


def test_the_papers_table_names_what_exists(root: Path) -> None:
    """Every test, option and recipe that docs/papers.md names for the algorithms is there."""
    section = (root / "docs" / "papers.md").read_text().split("## Algorithms", 1)[1].split("## Formats", 1)[0]
    words = set(re.findall(r"`([^`]+)`", section))
    sources = "".join(path.read_text() for path in (root / "tests").rglob("test_algorithm*.py"))
    named_tests = {word for word in words if word.startswith("test_") and not word.endswith(".py")}
    assert len(named_tests) > 20
    assert {word for word in named_tests if f"def {word}(" not in sources} == set()
    code = "".join(path.read_text() for path in (root / "trainers").rglob("*.py"))
    functions = {word.rsplit(".", 1)[-1] for word in words if re.fullmatch(r"[a-z_]+\.[A-Za-z_.]+", word)}
    functions -= {"py", "yaml"} | {"json"}
    assert {word for word in functions if not re.search(rf"\b{re.escape(word)}\b", code)} == set()
    assert {f"`{name}`" for name in ablation_names() if f"`{name}`" not in section} == set()
    assert {
        name for name in (*algorithms.names(), *algorithms.preset_names()) if name not in section
    } == set()
