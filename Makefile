# make demo | test | lint | bench | torch-versions; each sets up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# An editable install knows the modules there were: its stamp carries their list, so that a new one installs again.
READY := $(VENV)/.ready-$(shell find src -name '*.py' | sort | cksum | cut -d' ' -f1)
NATIVE := $(wildcard src/opbridge/native/*.h src/opbridge/native/core/*) src/opbridge/include/opbridge/abi.h
CPP := $(shell git ls-files --cached --others --exclude-standard "*.cpp" "*.h" "*.c" "*.cu")

.PHONY: help setup demo test lint format bench torch-versions clean

help:
	@echo "make demo            a C++ kernel becomes a PyTorch and a NumPy operator, on one screen"
	@echo "make test            the whole test suite"
	@echo "make lint            ruff, mypy, clang-format"
	@echo "make bench           speed against the peers, as one table"
	@echo "make torch-versions  compile the PyTorch adapter against every supported version's headers"

setup: $(READY)

$(READY): pyproject.toml constraints.txt CMakeLists.txt $(NATIVE)
	@$(PYTHON) tools/check_machine.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[torch]" --group dev
	@touch $@

demo: setup
	@$(BIN)/opbridge demo

test: setup
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/python tools/check_cpp.py

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: setup
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group bench
	@$(BIN)/python benchmarks/run.py

torch-versions: setup
	@$(BIN)/python tools/torch_versions.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
