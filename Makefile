# Every target creates what it needs from python3 (3.11 to 3.13) and costs nothing when repeated.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary -c constraints.txt

.PHONY: install run test test-all smoke lint bench docs clean
install: $(VENV)/.run

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 11) <= v <= (3, 13) or sys.exit(f"rillax needs Python 3.11 to 3.13, but $(PYTHON) is {v[0]}.{v[1]}; try: make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing rillax into $(VENV) (about a minute the first time)"
	@$(PIP) -e . && touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing rillax and its development tools into $(VENV)"
	@$(PIP) -e '.[dev]' && touch $@ $(VENV)/.run

run: install
	@$(BIN)/rillax demo --out runs/demo

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

test: lint
	@$(BIN)/pytest -n 2 -m "not slow"

test-all: lint
	@$(BIN)/pytest -n 2

smoke:
	@.ci/smoke

docs: $(VENV)/.dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --site-dir site
	@echo "wrote site/index.html"

bench: install
	@$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .venv-newest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis bench.json site
