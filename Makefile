# Sapwood: every job a newcomer or CI needs. Each target makes .venv and installs what it
# needs by itself; stamps in .venv remember what is done, so the second time is quick.
# Works with GNU make 3.81 (macOS) and later.

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= auto

BIN     := $(VENV)/bin
PINS    := pyproject.toml requirements/constraints.txt tools/install.py
MADE    := $(VENV)/.made
RUN     := $(VENV)/.installed-run
DEV     := $(VENV)/.installed-dev
DOCS    := $(VENV)/.installed-docs
PYTEST  := $(BIN)/python -m pytest -n $(JOBS)
QUICK   := -q -m "not slow and not long" --hypothesis-profile=quick --dist=worksteal

# What Python has compiled is kept, whatever the environment says: every process of the tests
# would compile all of it anew, which takes longer than most tests.
unexport PYTHONDONTWRITEBYTECODE

# A .venv that was moved, half made, or whose interpreter is gone is made again.
HERE    := $(shell cat $(MADE) 2>/dev/null)
ALIVE   := $(shell test "$(HERE)" = "$(CURDIR)" && $(BIN)/python -c "print(1)" 2>/dev/null)
ifneq ($(ALIVE),1)
.PHONY: $(MADE)
endif

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run check quick lint test test-long bench docs format clean

help: ## show this list
	@echo "Sapwood: make TARGET  (PYTHON=$(PYTHON), VENV=$(VENV))"
	@sed -n 's/^\([a-z-]*\):.*## /  \1|/p' Makefile | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

setup: $(DEV) ## make .venv with everything for working on Sapwood
	@echo "Ready: $(BIN)/sapwood --help"

run: $(RUN) ## run the main job: a network of broker processes at work, and the verdict on it
	$(BIN)/sapwood demo

check: $(DEV) ## lint, types, layers and quick tests, side by side: under a minute
	@$(MAKE) --no-print-directory -j2 lint quick

quick: $(DEV)
	$(PYTEST) $(QUICK) --durations=10 --durations-min=1

lint: $(DEV) ## only the static part of check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy src tests tools $(wildcard benchmarks/*.py)
	$(BIN)/lint-imports --no-logo

test: lint ## everything CI runs: lint and all tests but the long ones
	$(PYTEST) -m "not long" --hypothesis-profile=ci

test-long: $(DEV) ## all tests, the long ones too, with thousands of fresh random examples
	$(PYTEST) --hypothesis-profile=long --timeout=1800

bench: $(DEV) ## the full benchmarks
	$(BIN)/sapwood bench

docs: $(DOCS) ## build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet
	@echo "Built: site/index.html"

format: $(DEV) ## let ruff format and fix what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove .venv, caches and everything built
	rm -rf $(VENV) build dist site src/*.egg-info .mypy_cache .pytest_cache .ruff_cache \
	  .import_linter_cache .hypothesis
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# --- what the targets above stand on ---------------------------------------------------------

$(MADE):
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "error: no '$(PYTHON)' here; install Python 3.11 or newer," \
	    "or name one: make PYTHON=/path/to/python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "error: $$($(PYTHON) --version 2>&1) is too old; Sapwood needs 3.11 or newer:" \
	    "make PYTHON=/path/to/python3.12 ..." >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 && $(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	  rm -rf $(VENV); \
	  echo "error: '$(PYTHON) -m venv' does not work here; on Debian and Ubuntu:" \
	    "sudo apt install python3-venv" >&2; exit 1; }
	@echo "$(CURDIR)" > $@

# Compiled code is cached at installation, so that the first match of a user is quick.
define warm
	@echo "Compiling the kernels"; $(BIN)/python -m sapwood.compiled.warm
endef

# So are the classes that Spark loads: it starts in half the time then.
define archive
	@echo "Archiving Spark's classes"; $(BIN)/python -m sapwood.pipeline.warm
endef

$(RUN): $(MADE) $(PINS)
	@$(BIN)/python tools/install.py matching network trace spark
	$(warm)
	$(archive)
	@touch $@

$(DEV): $(MADE) $(PINS)
	@$(BIN)/python tools/install.py matching network trace spark dev
	$(warm)
	$(archive)
	@touch $(RUN) $@

$(DOCS): $(MADE) $(PINS)
	@$(BIN)/python tools/install.py docs
	@touch $@
