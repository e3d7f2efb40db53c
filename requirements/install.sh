#!/usr/bin/env bash
# Make .venv at the root hold exactly one lock and this checkout; does nothing when it already does.
#   requirements/install.sh core    the pipeline and the command line (no torch)
#   requirements/install.sh dev     core, every extra and the development tools
# PYTHON names the interpreter (3.11 or newer; the locks were made with 3.11). VENV names another folder.
set -euo pipefail
cd "$(dirname "$0")/.."
lock=${1:?core or dev}
venv=${VENV:-.venv}
started=$SECONDS

say() { printf '%s\n' "$*" >&2; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3 python}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      printf '%s' "$candidate"
      return
    fi
  done
  say "planarena needs Python 3.11 or newer; install it, or name it: make PYTHON=/path/to/python3.11 ..."
  exit 2
}

# Counts packages on a terminal's one line, and every 25 packages in a log.
count_packages() {
  awk -v total="$1" -v tty="$([ -t 2 ] && echo 1 || echo 0)" '
    function show(text) { printf(tty ? "\r\033[K  %s" : "  %s\n", text) > "/dev/stderr"; fflush("/dev/stderr") }
    /^(Collecting|Processing|Requirement already satisfied)/ {
      n++
      name = $1 == "Requirement" ? $4 : $2
      sub(/==.*/, "", name); sub(/.*\//, "", name)
      if (tty || n % 25 == 0) show(n " of " total " packages fetched (" name ")")
    }
    /^Installing collected packages/ { show("unpacking " n " packages; this takes a while") }
    END { if (tty) printf "\n" > "/dev/stderr" }
  '
}

install_lock() {
  local file=$1 total
  total=$(grep -c '==' "$file")
  say "installing $file ($total packages)"
  # --no-deps: the lock is the whole truth. --no-compile: what is imported is compiled then, once.
  "$venv/bin/python" -m pip install --no-deps --require-hashes --no-compile --no-input \
    --disable-pip-version-check --progress-bar off -r "$file" | count_packages "$total"
}

# TORCH=cpu or TORCH=cuda decides; otherwise the machine does.
choose_torch() {
  if [ -n "${TORCH:-}" ]; then
    printf '%s' "$TORCH"
  elif nvidia-smi -L >/dev/null 2>&1; then
    printf cuda
  else
    printf cpu
  fi
}

# pip ranks a wheel whose page states its hash above one in a plain folder, so the lock that accepts both
# would take the CUDA build from the registry even where a CPU wheel lies at hand: ask for that one first.
try_cpu_torch() {
  local answer
  say "looking for a CPU build of torch"
  if answer=$("$venv/bin/python" -m pip install --no-deps --require-hashes --no-compile --no-input \
    --disable-pip-version-check --quiet -r requirements/torch-cpu.lock 2>&1); then
    return
  fi
  if [[ $answer != *"No matching distribution"* ]]; then
    say "$answer"
    exit 1
  fi
  say "pip finds none, so torch comes with its CUDA libraries (several GB). To spare them, set PIP_FIND_LINKS"
  say "or PIP_EXTRA_INDEX_URL to where the wheel of requirements/torch-cpu.lock lies."
}

stamp_of() {
  cat "$@" requirements/install.sh | sha256sum | cut -c1-16
}

if [ -e "$venv" ] && ! "$venv/bin/python" -c '' >/dev/null 2>&1; then
  say "$venv does not work any more (was it moved, or its Python removed?); making it anew"
  rm -rf "$venv"
fi
if [ ! -e "$venv" ]; then
  python=$(find_python)
  say "creating $venv with $("$python" --version)"
  "$python" -m venv "$venv" || {
    say "could not create $venv; on Debian and Ubuntu the module comes with: apt-get install python3-venv"
    rm -rf "$venv"
    exit 1
  }
fi

wanted=$(stamp_of requirements/dev.lock requirements/cuda.lock requirements/torch-cpu.lock)
full="$venv/.planarena-dev-$wanted"
mine=$full
[ "$lock" = core ] && mine="$venv/.planarena-core-$(stamp_of requirements/core.lock)"
if [ ! -e "$mine" ] && [ ! -e "$full" ]; then  # the dev lock holds the core lock's pins too
  rm -f "$venv"/.planarena-*
  if [ "$lock" = dev ] && [ "$(choose_torch)" = cpu ]; then
    try_cpu_torch
  fi
  install_lock "requirements/$lock.lock"
  if [ "$lock" = dev ] && [ "$(uname -sm)" = "Linux x86_64" ]; then
    torch=$("$venv/bin/python" -c 'from importlib.metadata import version; print(version("torch"))')
    [[ $torch == *+cpu ]] || install_lock requirements/cuda.lock
  fi
  # Where Python is told to keep no bytecode (as in many containers), every process would compile every module
  # that it imports anew: seconds for torch and transformers, which the core lock has not. A file or two in the
  # packages is not meant to compile.
  if [ "$lock" = dev ] && [ -n "${PYTHONDONTWRITEBYTECODE:-}" ]; then
    say "compiling the packages, because PYTHONDONTWRITEBYTECODE is set"
    env -u PYTHONDONTWRITEBYTECODE "$venv/bin/python" -m compileall -q -j 0 "$venv"/lib/python*/site-packages \
      >/dev/null 2>&1 || true
  fi
  touch "$mine"
fi

project="$venv/.planarena-project-$(stamp_of pyproject.toml)"
if [ ! -e "$project" ]; then
  rm -f "$venv"/.planarena-project-*
  say "installing planarena from this folder"
  "$venv/bin/python" -m pip install --no-deps --no-build-isolation --no-input --disable-pip-version-check \
    --quiet --quiet --editable .
  touch "$project"
fi
if [ $((SECONDS - started)) -gt 5 ]; then
  say "$venv is ready after $((SECONDS - started)) s"
fi
