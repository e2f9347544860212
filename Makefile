PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
COMPILE = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
          --no-emit-index-url --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test check bench load chaos eval lock clean

help:            ## say what each target does
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

demo: $(VENV)/.run    ## index the example book and take questions
	$(BIN)/bookbound demo

test: check      ## run every check and every test
	$(BIN)/python -m compileall -q src tests
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

check: $(VENV)/.dev   ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

eval: $(VENV)/.dev    ## measure retrieval, answers and refusals on the question sets
	$(BIN)/python -m evals

bench: $(VENV)/.dev   ## measure speed, as ratios in one run
	$(BIN)/python -m evals.bench

load: $(VENV)/.dev    ## 16 readers against 2 workers, PostgreSQL and Redis for 10 minutes
	$(BIN)/python -m evals.load

chaos: $(VENV)/.dev   ## the same, while PostgreSQL, Redis and workers are killed
	$(BIN)/python -m evals.load --chaos

lock: $(VENV)/.dev    ## pin every dependency again, with hashes
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) --all-extras --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock

clean:           ## remove what the other targets made
	rm -rf $(VENV) .bookbound evals/out

$(VENV)/.run: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.run
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.lock
	@touch $@
