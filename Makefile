# Every target sets up .venv at the root on first use, from a hashed lock; later runs take a moment.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

export VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2
# Further options of pytest: make test ARGS="-k ledger -x"
ARGS ?=

export OMP_NUM_THREADS ?= 1

.PHONY: help core dev demo test test-full test-faults test-verl bench lint format lock site wheel clean

help: ## Say what there is
	@echo "make TARGET"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

core: ## .venv with what the pipeline and the command line need (no torch)
	@requirements/install.sh core

dev: ## .venv with every extra and the development tools
	@requirements/install.sh dev

demo: core ## Build a first dataset into demo/run; continues where an earlier one stopped
	$(BIN)/planarena build builtin --preset demo --out demo/run

test: dev ## The tests, under 25 minutes on two cores
	$(BIN)/pytest -n $(JOBS) -m "not full and not verl and not bench" $(ARGS)

test-full: dev ## The tests and the long suites: all of verl, the browser, kills, scale
	$(BIN)/pytest -n $(JOBS) -m "not bench" $(ARGS)

test-faults: dev ## The whole fault suite: servers, files, processes, tools, command lines, and the suite itself
	$(BIN)/pytest -n $(JOBS) tests/faults $(ARGS)

test-verl: dev ## Every algorithm on verl: Ray, FSDP over gloo, tools, kills; one process at a time
	$(BIN)/pytest -q tests/oracle/verl_engine tests/e2e/test_verl_engine.py $(ARGS)

bench: dev ## Print speeds and ratios
	@for script in tests/bench/bench_*.py; do \
	  [ -e "$$script" ] || continue; \
	  echo "== $$script"; $(BIN)/python "$$script"; \
	done
	@if compgen -G "tests/bench/test_*.py" >/dev/null; then $(BIN)/pytest -q -s -m bench tests/bench $(ARGS); fi

lint: dev ## ruff, mypy, import order
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p planarena
	$(BIN)/lint-imports

format: dev ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: dev ## Write requirements/*.lock anew; ARGS=--upgrade takes the newest releases
	$(BIN)/python requirements/lock.py $(ARGS)

site: core ## The documentation as a site in site/; warnings and dead links fail it
	$(BIN)/python docs/site/build.py $(ARGS)

wheel: dev ## The wheel and the source distribution in dist/, with the commit that they are made from
	$(BIN)/python -m build --no-isolation

clean: ## Remove build outputs, caches and the demo; leave .venv
	rm -rf build dist demo site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +
