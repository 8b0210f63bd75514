# Every target sets up what it needs in .venv; all that has to be there is make, and Python 3.11 or later with venv.
# Once installed, nothing here needs a network: a stamp file newer than pyproject.toml means that pip is not called.

VENV    := .venv
BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip --disable-pip-version-check
EXAMPLES := src/robustpool/families/examples
WORKERS ?= 2
MINUTES ?= 10
ROWS    ?= 1e7
MUTANTS ?=

# What `make test-lowest` runs: a file or more of every layer.
LOWEST_TESTS ?= $(addprefix tests/test_,$(addsuffix .py,cli files forecasts rules verify cutting_planes tables table_formats bad_input \
    estimator fit_cli compare_cli report web_aggregate web_jobs log_loss plots))

# What `make fresh` runs, and how it keeps the long ones short: make fresh TARGETS="run docs" SHORT=
TARGETS ?= help lint docs run test test-all test-lowest fuzz regrets bench mutants soak lock sbom audit wheel clean
SHORT   ?= MINUTES=0.1 ROWS=1e6 MUTANTS=wording

# The first of these that runs, is new enough and can make an environment is taken; or name one: make test PYTHON=python3.12
PYTHON  ?= python3.13 python3.12 python3.11 python3

# One process a core: threads inside numpy and numba would only take the cores away from the other pytest worker.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1
# The files in the order in which conftest.py has them: the long ones first, the many small modules of src last.
# What is compiled is kept, whatever the environment says: the tests start a thousand processes.
PYTEST     := $(ONE_THREAD) PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-lowest mutants fuzz soak lint regrets bench docs lock sbom audit wheel fresh clean
.NOTPARALLEL: # two pips in one environment get into each other's way
.DELETE_ON_ERROR:

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.installed ## design and explain robust aggregators, reproduce the paper, prove the bounds, write the report (some minutes)
	@echo "Two forecasters say 70 % and 60 %. What should you say?"
	$(BIN)/robustpool aggregate 70% 60% --explain
	@echo "They may or may not have read the same bulletin; both say 50 %:"
	$(BIN)/robustpool design --family $(EXAMPLES)/weather-unknown.json --out out/weather-unknown.json --report out/weather-unknown.html
	$(BIN)/robustpool aggregate 0.5 0.5 --rule out/weather-unknown.json
	@echo "And for any two forecasters with independent evidence: the paper, recomputed and proved, in some minutes."
	$(BIN)/robustpool reproduce all --quick --resume --workers $(WORKERS) --out out/reproduction
	@echo "Anyone can check the proofs again:"
	$(BIN)/robustpool verify out/reproduction/certificates/continuous-20.json
	$(BIN)/robustpool verify out/reproduction/certificates/minimax.json
	@echo "The report is out/reproduction/report.html: open it in a browser, or send it to a colleague."
	@echo "To combine, compare and design in your browser: $(BIN)/robustpool serve"

test: $(VENV)/.installed-test $(VENV)/.browser ## run the test suite, the doctests and the code blocks of the documentation
	$(PYTEST) -m "not slow"

test-all: $(VENV)/.installed-test $(VENV)/.browser ## the same, with the tests marked slow
	$(PYTEST)

test-lowest: $(VENV)/.installed-release ## the core tests with the lowest versions that pyproject.toml allows, in an environment of its own
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT INT TERM && set -e && unset PYTHONPATH VIRTUAL_ENV && \
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --extra all --python $(BIN)/python pyproject.toml -o "$$folder/lowest.txt" >/dev/null && \
	$(BIN)/uv venv --quiet --python $(BIN)/python "$$folder/env" && \
	$(BIN)/uv pip install --quiet --python "$$folder/env" --editable . -r "$$folder/lowest.txt" && \
	$(BIN)/uv pip install --quiet --python "$$folder/env" --group unit -c "$$folder/lowest.txt" && \
	$(ONE_THREAD) "$$folder/env/bin/python" -m pytest -n $(WORKERS) --dist loadfile -W default -m "not slow" $(LOWEST_TESTS)

mutants: $(VENV)/.installed-test $(VENV)/.browser ## break the code on purpose, in copies, and see whether a test fails (about 20 minutes)
	$(BIN)/python tools/mutants.py --jobs $(WORKERS) --only "$(MUTANTS)"

lint: $(VENV)/.installed-lint ## check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fuzz: $(VENV)/.installed-test ## attack the verifier, every reader of files and the server with what is broken, forged and costly; MINUTES=60 each for longer
	$(ONE_THREAD) $(BIN)/python tools/fuzz_verifier.py --minutes $(MINUTES)
	$(ONE_THREAD) $(BIN)/python tools/fuzz_files.py --minutes $(MINUTES)
	$(ONE_THREAD) $(BIN)/python tools/fuzz_server.py --minutes $(MINUTES)

soak: $(VENV)/.installed-test ## kill jobs of every kind at random moments and continue them; MINUTES=60 for the long one
	$(ONE_THREAD) $(BIN)/python tools/soak.py --minutes $(MINUTES)

regrets: $(VENV)/.installed ## find and prove again the worst cases that `robustpool rules` shows (some minutes)
	$(BIN)/python tools/worst_cases.py

bench: $(VENV)/.installed ## measure solvers and throughput against others, side by side, and how costs grow
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench.py
	$(ONE_THREAD) $(BIN)/python benchmarks/throughput.py
	$(BIN)/python benchmarks/tables.py --rows $(ROWS)
	$(BIN)/python benchmarks/fitting.py
	$(ONE_THREAD) $(BIN)/python benchmarks/scaling.py --quick
	$(ONE_THREAD) $(BIN)/python benchmarks/growth.py --quick
	$(ONE_THREAD) $(BIN)/python benchmarks/serving.py

docs: $(VENV)/.installed-docs ## build the documentation; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html."

lock: $(VENV)/.installed-release ## write requirements/dev.lock again: every package of development, its version and its hashes
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --python-version 3.11 --no-annotate --no-header \
	    --extra all --group dev pyproject.toml -o requirements/dev.lock

sbom: $(VENV)/.installed ## write a software bill of materials of the environment to out/sbom.json (CycloneDX)
	$(BIN)/python tools/sbom.py out/sbom.json

audit: $(VENV)/.installed-release ## look up the packages of the lock file in the database of known vulnerabilities
	$(BIN)/python tools/audit.py

wheel: $(VENV)/.installed-release ## build the wheel twice, the same byte for byte, into dist
	$(BIN)/python tools/wheel.py dist

fresh: ## run every target, long ones shortened, in a clone of the last commit with an environment of its own; TARGETS="run docs" for some
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT INT TERM && unset PYTHONPATH VIRTUAL_ENV && \
	git clone --quiet . "$$folder/robustpool" && \
	for target in $(TARGETS); do \
	    echo "== make $$target" && $(MAKE) --no-print-directory -C "$$folder/robustpool" $$target $(SHORT) || exit 1; \
	done

clean: ## remove what was built, but not the environment (that is: rm -r .venv)
	rm -rf out build dist docs/_build docs/auto_gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment -------------------------------------------------------------------------------------------------

$(VENV)/.made:
	@for python in $(PYTHON); do \
	    if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "Making $(VENV) with $$("$$python" --version)." && "$$python" -m venv $(VENV) && touch $@ && exit 0; \
	        exit 1; \
	    fi; \
	done; \
	echo "robustpool needs Python 3.11 or later with the venv module, and none of these is one: $(PYTHON)." >&2; exit 1

# Dependency groups came with pip 25.1; a pip that is new enough is left alone.
$(VENV)/.installed: pyproject.toml | $(VENV)/.made
	$(PIP) install --quiet "pip>=25.1"
	$(PIP) install --quiet --editable '.[all]'
	@touch $@

$(VENV)/.installed-test $(VENV)/.installed-docs $(VENV)/.installed-release: $(VENV)/.installed-%: $(VENV)/.installed
	$(PIP) install --quiet --group $*
	@touch $@

# mypy reads the tests too, so it needs what they import.
$(VENV)/.installed-lint: $(VENV)/.installed-test
	$(PIP) install --quiet --group lint
	@touch $@

# The reports are tested in a browser. Where there is none, one is installed: as root (in a container, in CI) from the system's
# packages, else playwright's own into the user's cache. Where neither works the tests that miss it are skipped and say so; with CI
# set they fail.
$(VENV)/.browser: | $(VENV)/.installed-test
	@if { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && echo "Installing chromium for the browser tests." && \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null; then touch $@; \
	elif $(BIN)/python -m playwright install chromium; then touch $@; \
	else echo "There is no Chromium and none could be installed: the browser tests will be skipped."; fi
