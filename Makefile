# `make demo` and `make test` need nothing but Python 3.11 or newer and the network: no GPU, no display, no compiler.
PYTHON ?= python3
VENV ?= .venv
DEFAULT_DEMO := demos/pick-cube
DEMO ?= $(DEFAULT_DEMO)
PYTEST_ARGS ?= -q -n 2

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help demo test lint format clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    film 32 episodes of a Franka Panda that picks up cubes, into $(DEMO)"
	@echo "make test    run the tests"
	@echo "make lint    check style, formatting and types"
	@echo "make format  repair style and formatting"
	@echo "make clean   remove $(VENV) and what the tools left behind; recordings stay"

# An earlier demo is replaced; a recording in a folder that someone names is not.
demo: $(VENV)/.robots
	$(BIN)/rollfilm record pick-cube --num-envs 16 --episodes 32 --cameras front:256x256,wrist:128x128 --keep success \
		--out $(DEMO) --seed 0 $(if $(filter $(DEFAULT_DEMO),$(DEMO)),--overwrite)

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache bench/out

# The stamps lie inside the environment: whoever deletes the environment deletes them too.
$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "rollfilm needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.robots: $(VENV)/.created pyproject.toml
	$(PIP) install --quiet --editable '.[robots]'
	touch $@

$(VENV)/.dev: $(VENV)/.robots pyproject.toml
	$(PIP) install --quiet --editable '.[robots,dev]'
	touch $@
