"""Write the hashed locks (core, dev, torch-cpu, cuda, docs) from pyproject.toml (`make lock`).

The locks are for Linux on x86-64 with Python 3.11 and name no index: pip's ordinary configuration decides
where the files come from, the hashes decide which ones are taken.

- core.lock: what the pipeline and the command line need; no torch.
- dev.lock: core, every extra and the development tools. `torch` is pinned by its public version and carries
  the hashes of the registry's wheels and of the CPU wheel, so whichever pip finds is accepted.
- torch-cpu.lock: the CPU wheel alone, which an installation asks for first.
- cuda.lock: what the registry's torch needs besides; nobody with the CPU wheel installs it.
- docs.lock: what builds the documentation (docs.in), in an environment of its own that shares no pin with these.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from piptools.repositories.pypi import PyPIRepository
from piptools.scripts.compile import cli as pip_compile

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EXTRAS = ("audit", "dev", "eval", "ray", "train", "verl")
TORCH = "2.13.0"
# torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl: on the index of CPU wheels, not in the registry.
TORCH_CPU_SHA256 = "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"
HEADER = "# Made by `make lock` from pyproject.toml; see requirements/lock.py. Do not edit.\n"

Pins = dict[str, str]  # name -> the whole entry: pin, hashes, who asked for it


def main() -> None:
    """Compile both locks, then split what only a CUDA build of torch needs from the rest."""
    os.environ["PIP_PREFER_BINARY"] = "1"
    os.chdir(ROOT)
    _trust_stated_hashes()
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        constraints = HERE / "constraints.txt"
        every = compile_lock(work / "dev.lock", _inputs(EXTRAS), constraints, keep=HERE / "dev.lock")
        plain = work / "pins.txt"
        plain.write_text("".join(f"{_pin(entry)}\n" for name, entry in every.items() if name != "torch"))
        request = work / "torch.in"
        request.write_text(f"torch==={TORCH}\n")  # === leaves the CPU wheel (2.13.0+cpu) out
        registry = compile_lock(work / "cuda.lock", [str(request)], plain, keep=HERE / "cuda.lock")
        docs = compile_lock(work / "docs.lock", [str(HERE / "docs.in")], constraints, keep=HERE / "docs.lock")
        core = compile_lock(work / "core.lock", _inputs(()), plain, keep=HERE / "core.lock")
    hashes = {line for entry in (every["torch"], registry["torch"]) for line in _hash_lines(entry)}
    hashes.add(f"    --hash=sha256:{TORCH_CPU_SHA256}")
    every["torch"] = f"torch=={TORCH} \\\n" + " \\\n".join(sorted(hashes)) + "\n"
    cpu = {"torch": f"torch=={TORCH}+cpu \\\n    --hash=sha256:{TORCH_CPU_SHA256}\n"}
    cuda = {name: entry for name, entry in {**registry, **every}.items() if _is_cuda(name)}
    rest = {name: entry for name, entry in every.items() if not _is_cuda(name)}
    missing = sorted(set(registry) - set(cuda) - set(rest))
    if missing:
        sys.exit(f"the registry's torch needs packages that neither lock would hold: {', '.join(missing)}")
    for name, pins in (("core", core), ("dev", rest), ("torch-cpu", cpu), ("cuda", cuda), ("docs", docs)):
        text = HEADER + "".join(pins[key] for key in sorted(pins))
        (HERE / f"{name}.lock").write_text(text, encoding="utf-8")
        print(f"requirements/{name}.lock: {len(pins)} packages", flush=True)


def compile_lock(out: Path, inputs: list[str], constraints: Path, *, keep: Path) -> Pins:
    """Run pip-compile and return its entries; pins of the file `keep` stay where they still fit."""
    if keep.exists() and "--upgrade" not in sys.argv:
        out.write_text(keep.read_text(encoding="utf-8"), encoding="utf-8")
    options = [
        "--quiet",
        "--generate-hashes",
        "--allow-unsafe",
        "--strip-extras",
        "--no-header",
        "--no-annotate",
    ]
    options += ["--no-emit-index-url", "--no-emit-find-links", "--no-emit-trusted-host", "--no-emit-options"]
    options += ["--constraint", str(constraints), "--output-file", str(out)]
    print(f"resolving {out.name} ...", flush=True)
    pip_compile.main([*options, *inputs], standalone_mode=False)
    return _entries(out.read_text(encoding="utf-8"))


def _trust_stated_hashes() -> None:
    """Let pip-compile take a file's hash from the index page, where the page states it (PEP 503).

    It asks an index's own JSON interface and, where there is none, downloads every wheel of every platform to
    hash it: many gigabytes for torch alone.
    """
    download = PyPIRepository._get_file_hash

    def find_hash(repository: PyPIRepository, link: Any) -> str:
        return f"sha256:{link.hash}" if link.hash_name == "sha256" else download(repository, link)

    PyPIRepository._get_file_hash = find_hash


def _inputs(extras: tuple[str, ...]) -> list[str]:
    options = [option for extra in extras for option in ("--extra", extra)]
    return [*options, str(ROOT / "pyproject.toml"), str(HERE / "build.in")]


def _entries(text: str) -> Pins:
    pins: Pins = {}
    name = ""
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not line.startswith(" "):
            name = line.split("=")[0].strip()
            pins[name] = ""
        pins[name] += line + "\n"
    return pins


def _pin(entry: str) -> str:
    return entry.splitlines()[0].split()[0]


def _hash_lines(entry: str) -> list[str]:
    return [line.rstrip(" \\") for line in entry.splitlines() if "--hash" in line]


def _is_cuda(name: str) -> bool:
    return name.startswith(("nvidia-", "cuda-")) or name == "triton"


if __name__ == "__main__":
    main()
