#!/usr/bin/env bash
# Install the wheel into a fresh environment and build 60 trajectories with it.
#   requirements/try.sh lock       with the versions of core.lock
#   requirements/try.sh lowest     with the lowest versions that pyproject.toml allows
#   requirements/try.sh highest    with the newest
# TRAIN=1 takes the extra `train` too (not with lock) and trains 5 steps. PYTHON names the interpreter. Wants uv.
set -euo pipefail
cd "$(dirname "$0")/.."
versions=${1:?lock, lowest or highest}
python=${PYTHON:-python3}
extra=${TRAIN:+[train]}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

uv build --quiet --python "$python" --wheel --sdist --out-dir dist
wheel=$(ls -t dist/planarena-*.whl | head -1)
uv venv --quiet --python "$python" "$place/venv"
install=(uv pip install --quiet --python "$place/venv/bin/python")
case $versions in
  lock)
    "${install[@]}" --no-deps --require-hashes -r requirements/core.lock
    "${install[@]}" --no-deps "$wheel" ;;
  # Only wheels: an old release without one for this Python would be compiled, which proves nothing about it.
  lowest) "${install[@]}" --only-binary :all: --resolution lowest-direct "$wheel$extra" ;;
  highest) "${install[@]}" "$wheel$extra" ;;
  *) echo "lock, lowest or highest, not $versions" >&2; exit 2 ;;
esac

cd "$place"
planarena=venv/bin/planarena
$planarena --version
$planarena build builtin --trajectories 60 --workers 1 --out run
$planarena export run --format hf --out rows
$planarena doctor
if [ -n "${TRAIN:-}" ]; then
  small=(hidden=16 layers=1 heads=2 intermediate=16 vocabulary=400 warm_start=2)
  $planarena train --algorithm dupo --data run --model tiny --steps 5 --out trained "${small[@]/#/--set=model.tiny.}" \
    --set rollout.batch_size=2 --set rollout.group_size=2 --set update.expert_batch_size=1 --set threads=1
fi
