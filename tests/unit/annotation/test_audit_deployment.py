"""The compose file for a team: no default credentials, nothing published beyond loopback."""

from __future__ import annotations

import re
import shutil
import stat
import subprocess

import pytest
import yaml


@pytest.fixture
def deploy(root, tmp_path):
    folder = tmp_path / "deploy"
    shutil.copytree(root / "annotation/deploy", folder)
    return folder


def test_every_secret_must_be_given(deploy):
    text = (deploy / "compose.yaml").read_text()
    named = set(re.findall(r"\$\{(\w+):\?", text))
    assert named == {
        "POSTGRES_PASSWORD", "REDIS_PASSWORD", "ARGILLA_AUTH_SECRET_KEY", "ADMIN_PASSWORD", "ADMIN_API_KEY",
    }  # fmt: skip
    # A secret is never a literal, and never has a default.
    read = yaml.safe_load(text)
    for name, service in read["services"].items():
        for key, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|API_KEY", key):
                assert re.fullmatch(r"\$\{\w+:\?run make-env.sh\}", value), (name, key)
    assert not re.search(r"\$\{\w*(PASSWORD|SECRET|KEY)\w*:-", text)
    assert "12345678" not in text and "argilla.apikey" not in text


def test_only_the_page_is_published_and_only_on_loopback(deploy):
    read = yaml.safe_load((deploy / "compose.yaml").read_text())
    ports = {name: one["ports"] for name, one in read["services"].items() if "ports" in one}
    assert ports == {"argilla": ["127.0.0.1:${ARGILLA_PORT:-6900}:6900"]}
    for name in ("postgres", "elasticsearch", "redis", "worker"):
        assert read["services"][name]["networks"] == ["inside"]
    assert read["networks"]["inside"] == {"internal": True}
    for name, one in read["services"].items():
        assert re.search(r":v?\d", one["image"]), f"{name} has no pinned image"


def test_secrets_are_random_and_readable_by_the_owner_alone(deploy):
    subprocess.run(["sh", "make-env.sh"], cwd=deploy, check=True, capture_output=True)
    path = deploy / ".env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    values = dict(line.split("=") for line in path.read_text().splitlines())
    assert len(set(values.values())) == 5
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in values.values())
    again = subprocess.run(["sh", "make-env.sh"], cwd=deploy, check=False, capture_output=True)
    assert again.returncode == 1
    assert dict(line.split("=") for line in path.read_text().splitlines()) == values
