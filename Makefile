# make demo and make test are all a newcomer needs; each sets up .venv itself and starts at once when nothing changed.
SHELL := bash
ifeq ($(OS),Windows_NT)  # make of MinGW, bash of Git for Windows
PYTHON ?= python
BIN := .venv/Scripts
else
PYTHON ?= python3
BIN := .venv/bin
endif
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
STAMPS := .venv/.stamps
unexport PYTHONDONTWRITEBYTECODE  # tests start many processes, and each would compile all files again
BIOME := node_modules/.bin/biome

# Biome formats and checks the page's scripts. It comes from npm; where there is none, the scripts are left alone.
ifneq ($(shell command -v npm),)
PAGE := $(STAMPS)/page
biome = $(BIOME) $(1)
else
biome = @echo "npm not found: the page's scripts in src/ndcn/report/assets were NOT checked or formatted" >&2
endif

.PHONY: demo test coverage test-slow check format hooks bench docs examples browser clean

demo: $(STAMPS)/base
	$(BIN)/ndcn demo

test: $(STAMPS)/dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

# The same tests with their coverage, which takes a third longer.
coverage: $(STAMPS)/dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term:skip-covered --cov-fail-under=95

test-slow: $(STAMPS)/slow
	$(BIN)/python -m pytest -m slow

check: $(STAMPS)/dev $(PAGE)
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/ruff check --no-cache .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(call biome,check --error-on-warnings)

format: $(STAMPS)/dev $(PAGE)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(call biome,check --write)

# Git then runs .pre-commit-config.yaml before each commit.
hooks: $(STAMPS)/dev
	$(PIP) pre-commit
	$(BIN)/pre-commit install

bench: $(STAMPS)/dev
	$(BIN)/python benchmarks/speed.py

docs: $(STAMPS)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# What docs/examples.md shows: the words and pictures of each script; two of them need data (see their first lines).
examples: $(STAMPS)/base
	@scratch=$$(mktemp -d) && for script in examples/*.py; do \
	    name=$$(basename $$script .py); echo $$name; \
	    (cd $$scratch && PYTHONWARNINGS=ignore $(CURDIR)/$(BIN)/python $(CURDIR)/$$script > $$name.txt) \
	    && mv $$scratch/$$name.txt examples/output/ && mv $$scratch/example_$$name.png docs/images/; \
	done; rm -rf $$scratch

# AutoETS, which forecasts are compared with: python benchmarks/forecast.py --parts autoets
.venv-autoets:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install --quiet --disable-pip-version-check statsforecast

# Chromium, in which tests open pages; without it they are skipped. Only root may install it.
browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome \
	|| { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } \
	|| { echo "no browser could be installed: run 'apt-get install chromium' as root, or set CHROMIUM to its path" >&2; false; }

clean:
	rm -rf .venv .venv-autoets node_modules build dist site demo .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage src/*.egg-info

$(STAMPS)/base: pyproject.toml setup.py constraints.txt $(wildcard src/ndcn/solve/kernels/*.[ch] src/ndcn/neural/*.[ch])
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --editable .
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/dev: $(STAMPS)/base
	$(PIP) --editable '.[test,check]'
	touch $@

$(STAMPS)/page: package.json package-lock.json
	npm ci --silent --no-audit --no-fund || { echo "npm ci failed: run it by hand to see why" >&2; false; }
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/slow: $(STAMPS)/dev
	$(PIP) --editable '.[ray,pyg]'
	touch $@

$(STAMPS)/docs: $(STAMPS)/base
	$(PIP) --editable '.[docs]'
	touch $@
