"""`planarena build` as a user meets it: what it prints, and one clear error for every mistake, with nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

ENV = {**os.environ, "COLUMNS": "200"}


def planarena(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "planarena", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=ENV,
    )


def fails(*words, says, cwd=None, code=2):
    done = planarena(*words, cwd=cwd)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    for text in says:
        assert text in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("build") / "run"
    done = planarena("build", "builtin:banking", "--out", out, "--trajectories", 40, "--workers", 1)
    assert done.returncode == 0, done.stderr
    return out, done


def snapshot(root):
    return {
        path: path.read_bytes()
        for path in sorted(Path(root).rglob("*"))
        if path.is_file() and path.name != "ledger.sqlite"
    }


def test_it_says_what_was_made_and_where(finished):
    out, done = finished
    assert "40 gold trajectories over banking" in done.stdout
    for name in ("tables/", "README.md", "report.html"):
        assert f"{out}/{name}" in done.stdout
        assert (out / name).exists()
    assert f"planarena inspect {out}" in done.stdout


def test_json_result_is_json_alone(tmp_path):
    done = planarena(
        "build", "builtin:banking", "--out", tmp_path / "run", "--trajectories", 5, "--json", "--workers", 1
    )
    assert json.loads(done.stdout)["counts"]["gold"] == 5
    assert done.stderr == ""


def test_dry_run_does_nothing(tmp_path):
    done = planarena("build", "--out", tmp_path / "run", "--dry-run", "--json")
    assert json.loads(done.stdout)["llm_calls"] == 0
    assert not (tmp_path / "run").exists()


def test_a_configuration_file_presets_and_settings(tmp_path):
    file = tmp_path / "build.yaml"
    file.write_text("trajectories: 7\ncomposition:\n  max_actions: 2\n")
    out = tmp_path / "run"
    done = planarena(
        "build", "builtin:files", "--config", file, "--out", out, "--set", "chunk_scenarios=2", "--workers", 1,
        # What is done twice, as somebody changes their mind, takes twice the calls.
        "--set", "conversations.shares={}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    info = json.loads((out / "run.json").read_text())
    assert info["counts"]["gold"] == 7
    assert set(info["counts"]["gold_length"]) <= {"1", "2"}
    assert info["config"]["chunk_scenarios"] == 2


def test_a_limit_of_scenarios_ends_the_build_and_says_so(tmp_path):
    out = tmp_path / "run"
    done = planarena(
        "build",
        "builtin:files",
        "--scenarios",
        2,
        # Conversations that happen in a scenario of their own count as one more.
        "--set",
        "conversations.shares={}",
        "--trajectories",
        500,
        "--out",
        out,
        "--json",
        "--workers",
        1,
    )
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert result["stop_reason"] == "scenarios"
    assert result["counts"]["scenarios"] == 2


def test_unknown_names_name_the_nearest(tmp_path):
    out = tmp_path / "run"
    fails("build", "--out", out, "--trajektories", 3, says=["--trajektories", "--trajectories"])
    fails(
        "build",
        "--out",
        out,
        "--set",
        "composition.max_action=3",
        says=["unknown key", "composition.max_actions"],
    )
    fails("build", "--out", out, "--preset", "dmeo", says=["dmeo", "demo"])
    fails("build", "builtin:bankin", "--out", out, says=["bankin", "banking"])
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--trajectories", "0"], "trajectories"),
        (["--max-actions", "99"], "composition.max_actions"),
        (["--set", "composition.length_mix=[0, 0]"], "composition.length_mix"),
        (["--set", "trajectories=many"], "trajectories"),
        (["--set", "nonsense"], "key=value"),
        (["--workers", "-1"], "execution.workers"),
        (["--set", "composition.mixed_share=3"], "composition.mixed_share"),
        (["--set", "composition.mixed_share=.nan"], "composition.mixed_share"),
        (["--set", "composition.shape_mix={round: 1}"], "composition.shape_mix"),
        (["--set", "composition.domain_mix={travel: -1}"], "composition.domain_mix"),
        (["--set", "composition.domain_mix={travle: 1}"], "composition.domain_mix"),
        (["--set", "split.held_out=[suport]"], "split.held_out"),
        (["--seed", str(2**70)], "seed"),
    ],
)
def test_bad_values_are_named(tmp_path, words, says):
    fails("build", "--out", tmp_path / "run", *words, says=[says, "fix:"])


def test_no_output_folder(tmp_path):
    fails("build", says=["--out"], cwd=tmp_path)


def test_a_configuration_that_is_no_yaml(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("a: [1,\n")
    fails("build", "--out", tmp_path / "run", "--config", file, says=["bad.yaml", "YAML"])
    fails(
        "build",
        "--out",
        tmp_path / "run",
        "--config",
        tmp_path / "absent.yaml",
        says=["absent.yaml", "cannot be read"],
    )


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    for words in ((), ("--fresh",)):
        fails("build", "--out", tmp_path, *words, says=["no planarena run"])
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    fails("build", "--out", tmp_path / "thesis.txt", says=["is a file"])


def test_another_configuration_in_the_same_folder(finished):
    out, _ = finished
    before = snapshot(out)
    fails(
        "build",
        "builtin:banking",
        "--out",
        out,
        "--trajectories",
        40,
        "--seed",
        3,
        says=["seed is 0 there, 3 here", "--fresh"],
    )
    fails("build", "builtin:banking", "--out", out, "--trajectories", 50, says=["--extend"])
    assert snapshot(out) == before


def test_a_run_of_another_format_version(finished, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(finished[0], out)
    info = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps({**info, "format_version": 99}))
    fails("inspect", out, says=["format version 99"])


def test_a_damaged_ledger_is_named(finished, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(finished[0], out)
    (out / "ledger.sqlite").write_bytes(b"garbage")
    fails("build", "builtin:banking", "--out", out, "--trajectories", 40, says=["ledger", "--fresh"])


def test_fresh_throws_the_old_run_away(finished, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(finished[0], out)
    done = planarena(
        "build", "builtin:banking", "--out", out, "--trajectories", 9, "--seed", 3, "--fresh", "--workers", 1
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((out / "run.json").read_text())["counts"]["gold"] == 9


@contextmanager
def small_disk(folder, options):
    """Mount a file system of its own; only root may, and not everywhere."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a tmpfs here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=False)


def test_a_full_disk_is_one_error_and_the_build_goes_on_afterwards(tmp_path):
    common = ("--trajectories", 300, "--set", "chunk_scenarios=2")
    with small_disk(tmp_path / "disk", "size=700k") as disk:
        out = disk / "run"
        words = ("build", "builtin:banking", "--out", out, *common)
        for workers in (1, 2):
            fails(*words, "--workers", workers, says=["no space left", "run the same command again"])
        assert not list(disk.rglob("*.tmp")), "temporary files left behind"
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        again = planarena(*words, "--json")
        assert again.returncode == 0, again.stderr
        whole = planarena("build", "builtin:banking", "--out", tmp_path / "whole", *common)
        assert whole.returncode == 0
        for path in (tmp_path / "whole/tables").rglob("*.parquet"):
            assert (out / path.relative_to(tmp_path / "whole")).read_bytes() == path.read_bytes()


def test_a_disk_that_is_full_from_the_start(tmp_path):
    for size in ("4k", "40k", "120k"):
        with small_disk(tmp_path / f"disk{size}", f"size={size}") as disk:
            fails("build", "builtin:banking", "--out", disk / "run", "--workers", 1, says=["no space left"])


def test_a_folder_that_cannot_be_written(tmp_path):
    with small_disk(tmp_path / "disk", "ro") as disk:
        fails("build", "--out", disk / "run", says=["cannot be written", "fix:"])


def test_a_source_that_nothing_can_execute(tmp_path):
    tools = tmp_path / "tools.json"
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools.write_text(json.dumps([{"name": "get_weather", "description": "Weather.", "parameters": schema}]))
    fails("build", tools, "--out", tmp_path / "run", says=["nothing here can execute"])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("this is no JSON", "JSON"),
        ("[]", "tools.json"),
        ('[{"name": "a", "parameters": {"type": "nonsense"}}]', "nonsense"),
        ('[{"name": "a", "parameters": {"$ref": "file:///etc/passwd"}}]', "points outside the document"),
        (
            '[{"name": "a", "parameters": {"$ref": "http://127.0.0.1:9/schema.json"}}]',
            "points outside the document",
        ),
        (
            '[{"name": "a", "parameters": {"type": "object"}}, {"name": "a", "parameters": {"type": "object"}}]',
            "a",
        ),
        ('[{"name": "a", "parameters": {"minimum": NaN}}]', "NaN"),
        ('[{"parameters": {"type": "object"}}]', "name"),
    ],
)
def test_a_bad_tool_list_is_one_clear_error(tmp_path, text, says):
    file = tmp_path / "tools.json"
    file.write_text(text)
    for words in (("build", file, "--out", tmp_path / "run"), ("tools", "check", file)):
        done = fails(*words, says=["tools.json", says])
        assert "root:" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_quarantine_fails_the_run_only_past_its_rate_and_is_retried(tmp_path, monkeypatch):
    import planarena as package
    from planarena.config import BuildConfig, ExecutionConfig
    from planarena.environments.domains import load_domain
    from planarena.errors import PlanArenaError

    banking = load_domain("banking")
    sound = banking.transfer_money
    broken = []

    def sometimes(self, *arguments, **named):
        if len(broken) < 3:
            broken.append(1)
            raise RuntimeError("a bug in an environment")
        return sound(self, *arguments, **named)

    from planarena.environments import operations

    found = operations(banking)["transfer_money"]
    monkeypatch.setitem(operations(banking), "transfer_money", found._replace(method=sometimes))
    common = {
        "out": str(tmp_path / "run"),
        "sources": ("builtin:banking",),
        "trajectories": 100,
        "chunk_scenarios": 2,
    }
    with pytest.raises(PlanArenaError, match="3 of .* scenarios failed .*--retry-failed"):
        package.build(BuildConfig(**common, execution=ExecutionConfig(workers=1)))
    done = planarena("inspect", tmp_path / "run", "--discarded", "quarantine")
    assert "a bug in an environment" in done.stdout
    run = package.build(BuildConfig(**common, execution=ExecutionConfig(workers=1, retry_failed=True)))
    assert run.info["quarantined"] == []
    clean = package.build(
        BuildConfig(**{**common, "out": str(tmp_path / "clean")}, execution=ExecutionConfig(workers=1))
    )
    assert run.table("trajectories").collect().equals(clean.table("trajectories").collect())
