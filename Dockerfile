# The core of planarena: the pipeline and the command line, without torch, with the sandbox for tools of others.
#   docker build --build-arg PLANARENA_COMMIT=$(git rev-parse --short=12 HEAD) -t planarena .
#   docker run --rm -v "$PWD/runs:/work/runs" planarena build builtin --trajectories 60 --out runs/first
# Tools of others run in bubblewrap, which wants user namespaces: docker run --security-opt seccomp=unconfined
# --security-opt apparmor=unconfined --security-opt systempaths=unconfined. `planarena doctor` says whether it has them.
FROM python:3.11-slim-bookworm AS build
WORKDIR /source
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
COPY requirements/core.lock requirements/core.lock
# The lock is the whole truth, each file held to its hash; it has its own layer, because it changes seldom.
RUN python -m venv /opt/planarena \
 && /opt/planarena/bin/python -m pip install --no-deps --require-hashes -r requirements/core.lock
COPY . .
# Which commit the image is made from; .git is not in it.
ARG PLANARENA_COMMIT=""
RUN PLANARENA_COMMIT="$PLANARENA_COMMIT" /opt/planarena/bin/python -m pip install --no-deps --no-build-isolation . \
 && /opt/planarena/bin/planarena --version

FROM python:3.11-slim-bookworm
# hadolint ignore=DL3008
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends bubblewrap util-linux \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 planarena \
 && install -d -o planarena -g planarena /work
COPY --from=build /opt/planarena /opt/planarena
ENV PATH=/opt/planarena/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 1000
WORKDIR /work
ENTRYPOINT ["planarena"]
CMD ["--help"]
