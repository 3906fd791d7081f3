# Two commands for everyone: `make all` grades the track, `make test` tests the course itself. Both set up .venv first.

PYTHON ?= python3
FROM ?= exercises
BIN := .venv/bin

.PHONY: all solutions test lint types format setup clean

all: setup
ifeq ($(FROM),exercises)
	@$(BIN)/grader progress --grade
else
	@$(BIN)/grader check --all --from $(FROM)
endif

solutions:
	@$(MAKE) --no-print-directory all FROM=solutions

test: setup lint types
	@$(BIN)/pytest -n auto --dist loadfile

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports

types: setup
	@$(BIN)/mypy

format: setup
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "The course needs Python 3.11 or newer. Try: make all PYTHON=python3.12")'
	@echo "Setting up .venv: this downloads PyTorch and Triton once, and can take some minutes."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv
