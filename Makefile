# `make help` explains every target.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test soak fuzz torture lint bench bench-peers docs screenshots format pin clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

setup: $(READY)  ## Make .venv from the pinned requirements and see to Java 17+
	@sh scripts/ensure-java
	@sh scripts/ensure-mona

$(READY): requirements/dev.txt pyproject.toml
	@PYTHON="$(PYTHON)" sh scripts/make-venv $(VENV)
	@touch $@

demo: setup  ## Find trends in a made-up market, with Spark on this machine
	@$(BIN)/wex demo

test: setup  ## Run every test, the docs and docstrings included
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

soak: setup  ## Kill an endless job again and again, for half an hour
	$(BIN)/python -m tests.spark.killed 10 1800

fuzz: setup  ## Try to break the parser, the analysis, saved states and large specs, for an hour or two
	$(BIN)/python -m tests.fuzz.parser 120000 1
	$(BIN)/python -m tests.fuzz.analysis 2000 1
	$(BIN)/python -m tests.fuzz.states 20000 1
	$(BIN)/python -m tests.fuzz.blowups 200 1

torture: setup  ## Compare the analysis of 2,000 random specs with every short stream, for half an hour
	$(BIN)/python -m tests.analysis.torture 2000 $${SEED:-$$(date +%s)}

lint: $(READY)  ## Check style, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: setup  ## Print the benchmarks, as ratios
	$(BIN)/python -m benchmarks.formulas
	$(BIN)/python -m benchmarks.verdicts
	$(BIN)/python -m benchmarks

bench-peers: setup  ## Compare with Flink SQL: matches and speed (installs Flink in .venv-flink)
	$(BIN)/python -m benchmarks.peers

docs: $(READY)  ## Build the documentation into docs/_build/html
	$(BIN)/python docs/make_pages.py
	$(BIN)/python docs/make_pictures.py
	$(BIN)/sphinx-build -E -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

screenshots: docs  ## Make screenshots of every page of the documentation, with Chromium
	$(BIN)/python docs/screenshots.py

format: $(READY)  ## Rewrite the code in the project's style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

pin: $(READY)  ## Pin the requirements anew (downloads uv)
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile -q -U pyproject.toml --group dev --extra spark --extra sql --extra pictures --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements/dev.txt
	echo apache-flink | $(BIN)/uv pip compile -q -U - --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate -o requirements/flink.txt

clean:  ## Remove .venv and everything built
	rm -rf $(VENV) .venv-flink build dist docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
