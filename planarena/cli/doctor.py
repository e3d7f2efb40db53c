"""`planarena doctor`: what works on this machine, and how to get the rest."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import typer

from planarena import managed
from planarena.cli import plain
from planarena.cli._options import AsJson

__all__ = ["Check", "doctor", "examine"]

_GIB = 1024**3
_APT = "install the system package {} (Debian, Ubuntu: apt-get install {})"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding.

    Attributes:
        name: What was looked at.
        status: `ok`; `missing`: an optional part is absent; `failed`: planarena cannot work without it.
        detail: What was found.
        remedy: How to get it; empty where nothing is missing.
    """

    name: str
    status: str
    detail: str
    remedy: str = ""


def doctor(
    as_json: AsJson = False,
) -> int:
    """Say what works on this machine and how to get the rest; exit 1 if planarena cannot work here."""
    checks = examine()
    failed = any(check.status == "failed" for check in checks)
    if as_json:
        typer.echo(json.dumps({"ok": not failed, "checks": [asdict(check) for check in checks]}, indent=2))
        return int(failed)
    width = max(len(check.name) for check in checks)
    for check in checks:
        typer.echo(plain(f"{check.status:<8} {check.name:<{width}}  {check.detail}"))
        if check.remedy:
            typer.echo(plain(f"{'':<8} {'':<{width}}  -> {check.remedy}"))
    absent = sum(check.status == "missing" for check in checks)
    typer.echo(
        "planarena cannot work here before the failed checks are mended."
        if failed
        else f"planarena works here; optional parts missing: {absent}."
        if absent
        else "planarena works here, with every optional part."
    )
    return int(failed)


def examine() -> list[Check]:
    """Look at everything; takes about a second and changes nothing but a probe in the cache folder."""
    return [
        _python(),
        _cores(),
        _memory(),
        _shared_memory(),
        _cache(),
        *_packages(),
        _sandbox(),
        _browser(),
        _gpu(),
        *_managed(),
    ]


def _python() -> Check:
    found = f"{platform.python_implementation()} {platform.python_version()} on {platform.platform()}"
    return Check("python", "ok", found)


def _cores() -> Check:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _read("/sys/fs/cgroup/cpu.max").split()
    if len(quota) == 2 and quota[0].isdigit():
        return Check(
            "cores", "ok", f"{usable}, of which a control group grants {int(quota[0]) / int(quota[1]):g}"
        )
    return Check("cores", "ok", str(usable))


def _memory() -> Check:
    facts = dict(line.split(":", 1) for line in _read("/proc/meminfo").splitlines() if ":" in line)
    if "MemTotal" not in facts:
        return Check("memory", "ok", "this system does not say")
    total, free = (int(facts[key].split()[0]) * 1024 / _GIB for key in ("MemTotal", "MemAvailable"))
    limit = _read("/sys/fs/cgroup/memory.max").strip()
    detail = f"{total:.1f} GiB, {free:.1f} GiB available"
    if limit.isdigit():
        detail += f", limited to {int(limit) / _GIB:.1f} GiB"
    if free < 1:
        return Check("memory", "missing", detail, "a build wants 1 GiB, a small training run 4 GiB")
    return Check("memory", "ok", detail)


def _shared_memory() -> Check:
    folder = Path("/dev/shm")  # noqa: S108  the mount point itself is what is measured
    if not folder.is_dir():
        return Check("shared memory", "missing", "no /dev/shm", "Ray and verl fall back to files, slowly")
    free = shutil.disk_usage(folder).free / _GIB
    detail = f"{free:.1f} GiB free in /dev/shm"
    if free < 0.5:
        return Check(
            "shared memory", "missing", detail, "Ray and verl want 1 GiB; with Docker: --shm-size=2g"
        )
    return Check("shared memory", "ok", detail)


def _cache() -> Check:
    folder = managed.cache_directory()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"probe")
    except OSError as error:
        reason = f"{folder}: {error.strerror}"
        return Check(
            "cache folder", "failed", reason, "set PLANARENA_CACHE to a folder that you may write to"
        )
    return Check("cache folder", "ok", f"{folder}, {shutil.disk_usage(folder).free / _GIB:.1f} GiB free")


def _packages() -> list[Check]:
    """Hold what is installed against the requirements of the project and of each extra."""
    from packaging.requirements import Requirement

    faults: dict[str, list[str]] = {"": []}
    for extra in metadata.metadata("planarena").get_all("Provides-Extra") or []:
        faults[extra] = []
    for line in metadata.requires("planarena") or []:
        requirement = Requirement(line)
        wanted_by = [
            extra
            for extra in faults
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra})
        ]
        core = "" in wanted_by
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            fault = f"{requirement.name} is absent"
        else:
            if requirement.specifier.contains(version, prereleases=True):
                continue
            fault = f"{requirement.name} is {version}, not {requirement.specifier}"
        for extra in [""] if core else wanted_by:
            faults[extra].append(fault)
    return [_package_check(extra, missing) for extra, missing in faults.items()]


def _package_check(extra: str, faults: list[str]) -> Check:
    name = f"extra {extra}" if extra else "core packages"
    if not faults:
        return Check(name, "ok", "installed")
    wanted = f"planarena[{extra}]" if extra else "planarena"
    status = "missing" if extra else "failed"
    return Check(
        name, status, "; ".join(faults), f"pip install '{wanted}' (in a checkout: pip install -e '.[...]')"
    )


def _sandbox() -> Check:
    from planarena.environments.sandbox import missing

    if reason := missing():
        remedy = _APT.format("bubblewrap", "bubblewrap util-linux")
        remedy += (
            "; inside a container, allow user namespaces; without a sandbox, tools written by others need"
        )
        return Check("sandbox", "missing", reason, f"{remedy} --unsafe-no-sandbox")
    return Check("sandbox", "ok", _ask(["bwrap", "--version"])[1])


def _browser() -> Check:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        absent = " and ".join(
            name for name, at in (("chromium", browser), ("chromedriver", driver)) if at is None
        )
        remedy = "only the browser tests want it: " + _APT.format("chromium", "chromium chromium-driver")
        return Check("browser", "missing", f"no {absent}", remedy)
    return Check("browser", "ok", _ask([driver, "--version"])[1])


def _gpu() -> Check:
    program = shutil.which("nvidia-smi")
    good, answer = (
        _ask([program, "--query-gpu=name,memory.total", "--format=csv,noheader"]) if program else (False, "")
    )
    if not good or not answer:
        return Check(
            "gpu", "missing", "no NVIDIA GPU that answers", "not needed; training of larger models is slow"
        )
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return Check("gpu", "ok", f"{answer}; torch is not installed")
    if version.endswith("+cpu"):
        return Check(
            "gpu", "missing", f"{answer}; torch {version} cannot use it", "install a CUDA build of torch"
        )
    return Check("gpu", "ok", f"{answer}; torch {version}")


def _managed() -> list[Check]:
    return [
        Check(f"environment {name}", "ok", "built")
        if managed.is_built(name)
        else Check(
            f"environment {name}", "missing", "not built yet", "built on first use; needs a package index"
        )
        for name in managed.names()
    ]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def _ask(command: list[str]) -> tuple[bool, str]:
    """Run a program for ten seconds at most; return whether it succeeded and its first line."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return done.returncode == 0, lines[0] if lines else ""
