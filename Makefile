# Each target sets up .venv first; `make demo` installs only what it shows.  newest-jax, paddle and ray set up separate
# environments, and networks a folder of packages.  `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MINUTES ?= 10
TESTS ?= tests
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest
NEWEST := build/newest-jax
PADDLE := build/paddle
NETWORKS := build/networks
RAY := build/ray
# An editable install knows only the modules that existed: the stamp contains their list, so a new module installs again.
READY := $(VENV)/.ready-$(shell find src -name '*.py' | sort | cksum | cut -d' ' -f1)
SHOWN := $(VENV)/.shown-$(shell find src -name '*.py' | sort | cksum | cut -d' ' -f1)
NATIVE := $(wildcard src/opbridge/native/*.h src/opbridge/native/core/*) src/opbridge/include/opbridge/abi.h
CPP := $(shell git ls-files --cached --others --exclude-standard "*.cpp" "*.h" "*.c" "*.cu")

.PHONY: help setup demo dist test matrix costs quick fuzz uncompiled attacks declarations formulas math lint format bench conformance torch-versions newest-jax paddle networks ray docs clean

help:
	@echo "make demo            a C++ kernel becomes a PyTorch and a NumPy operator, on one screen"
	@echo "make dist            a wheel with everything that can be compiled in advance, tested in a new environment, in dist/"
	@echo "make test            every feature; about 16 minutes on two cores; TESTS=tests/analysis/judge"
	@echo "make matrix          the tests that make test leaves out: a second compiler, whole wheels, large draws; half an hour"
	@echo "make costs           make test, and what each file costs, written to docs/evidence/test-costs.md"
	@echo "make quick           the tests of changes since main, nearest first, for at most two minutes"
	@echo "make fuzz            the tests with random inputs, with new inputs; MINUTES=10"
	@echo "make formulas        every formula function as CUDA and Ascend C, random formulas on the CPU; compiles for minutes"
	@echo "make declarations    build the YAMLs of a backend for the simulated npu and compare with PyTorch; FILES=\"a.yaml b.yaml\""
	@echo "make attacks         every known attack on opbridge judge; ten minutes"
	@echo "make uncompiled      the tests of transforms and gradients in PyTorch and JAX without the compiled adapters"
	@echo "make math            the functions of opbridge/math.h for every float; half an hour"
	@echo "make lint            ruff, mypy, clang-format, and the words and C++ rules of the project"
	@echo "make bench           speed against the peers, as one table; python tools/charts.py build/bench.json draws it"
	@echo "make conformance     every operator of PyTorch's test samples in MindSpore and NumPy; can be interrupted and resumed"
	@echo "make torch-versions  compile the PyTorch adapter against every supported version's headers"
	@echo "make newest-jax      the JAX tests with the newest JAX and NumPy 2, in a separate environment"
	@echo "make docs            the documentation as a site, in site/"
	@echo "make paddle          the Paddle tests, in a separate environment"
	@echo "make networks        networks of torchvision and transformers in MindSpore and JAX; a quarter of an hour"
	@echo "make ray             opbridge judge on a Ray cluster, in a separate environment"

setup: $(READY)

$(READY): pyproject.toml constraints.txt CMakeLists.txt $(NATIVE)
	@$(PYTHON) tools/check_machine.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PYTHON) tools/install.py $(VENV) --upgrade "pip>=25.1"
	$(PYTHON) tools/install.py $(VENV) --constraint constraints.txt --editable ".[torch]" --group dev
	$(BIN)/python tools/ship.py
	@touch $@

# Uses the environment of `make setup` if it exists, otherwise an environment with only what the demo shows.
demo: $(if $(wildcard $(READY)),$(READY),$(SHOWN))
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/opbridge demo --keep build/demo
	@echo; echo "To type these:  source $(BIN)/activate; cd build/demo"

$(SHOWN): pyproject.toml constraints.txt CMakeLists.txt $(NATIVE)
	@$(PYTHON) tools/check_machine.py
	@$(PYTHON) tools/install_demo.py $(VENV)
	@touch $@

dist: setup
	$(BIN)/python tools/dist.py dist

# Here and in `test`, bytecode is cached: otherwise each of a thousand processes would compile the same modules again.
quick: setup
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python tools/quick.py

test: setup
	$(PYTEST) -n auto --dist worksteal $(TESTS)

# Runs at the optimization level of users; `OPBRIDGE_OPTIMIZE=3 make test` repeats the other tests there.
matrix: setup
	OPBRIDGE_OPTIMIZE=3 $(PYTEST) --matrix -m matrix -n auto --dist worksteal $(TESTS)

costs: setup
	@mkdir -p docs/evidence
	$(PYTEST) -n auto --dist worksteal --costs docs/evidence/test-costs.md $(TESTS)

fuzz: setup
	$(BIN)/python tools/fuzz.py $(MINUTES)

# Kernels that the authors of a backend write are replaced; without FILES, the declarations of the tests are used.
declarations: setup
	OPBRIDGE_DECLARATIONS="$(FILES)" $(BIN)/python -m pytest -n 0 -s tests/codegen/whole/every_operator.py

formulas: setup
	$(BIN)/python -m pytest tests/waist/formulas/every_formula.py

attacks: setup
	OPBRIDGE_ALL_ATTACKS=1 $(BIN)/python -m pytest --matrix -n auto --dist worksteal tests/analysis/judge

# Deselected: tests of C++ nodes, threads, fast paths and messages, and in JAX tests that count calls of the handler or
# differentiate by PyTorch operators.
uncompiled: setup
	$(BIN)/python -m pytest -q -p tests.helpers.without_adapter $(addprefix tests/frameworks/torch/test_,transforms.py \
	  transforms_stacked.py compile.py gradients.py) --deselect \
	  tests/frameworks/torch/test_gradients.py::test_a_derivative_that_nobody_asks_for_may_be_missing --deselect \
	  tests/frameworks/torch/test_compile.py::test_inductor_keeps_writes
	$(BIN)/python -m pytest -q -p tests.helpers.without_handler $(addprefix tests/frameworks/jax/test_,transforms.py \
	  gradients.py values.py) -k 'not (makes_one_call or slices_run or loops_in_silence or checkpoints or list_of or readable_call)'

math: setup
	@mkdir -p build
	$(CXX) -std=c++17 -O3 -march=native -fno-math-errno -fno-trapping-math -Isrc/opbridge/include \
	  tests/include/math_accuracy.cpp -o build/math_accuracy
	build/math_accuracy | xargs -P $$(nproc) -I{} build/math_accuracy 1 0 0xffffffff {} \
	  | awk '{ print } $$3 > 2 || $$6 > 0 { bad = 1 } END { exit bad || NR == 0 }'

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/check_words.py
	$(BIN)/mypy
	@$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/python tools/check_cpp.py

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(CPP)

bench: setup
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group bench
	@mkdir -p build
	@$(BIN)/python benchmarks/run.py --json build/bench.json

conformance: setup
	@$(BIN)/python conformance/run.py --write

torch-versions: setup
	@$(BIN)/python tools/torch_versions.py

# MindSpore needs NumPy 1 in the common environment, and JAX 0.7 and later need NumPy 2.
newest-jax:
	@$(PYTHON) tools/check_machine.py
	test -x $(NEWEST)/bin/python || $(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(NEWEST)/bin/python -m pip install --quiet --upgrade "numpy>=2" --group newest-jax
	$(NEWEST)/bin/python -m pip install --quiet --config-settings build-dir=$(NEWEST)/cmake --editable .
	$(NEWEST)/bin/python -m pytest tests/frameworks/jax tests/distributed/test_training.py::test_in_jax_over_eight_devices

docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

# Paddle has 200 MB that few contributors need.
paddle:
	@$(PYTHON) tools/check_machine.py
	test -x $(PADDLE)/bin/python || $(PYTHON) -m venv $(PADDLE)
	$(PADDLE)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(PADDLE)/bin/python -m pip install --quiet --group paddle
	$(PADDLE)/bin/python -m pip install --quiet --config-settings build-dir=$(PADDLE)/cmake --editable .
	$(PADDLE)/bin/python -m pytest -W "ignore:No ccache" tests/frameworks/paddle tests/frameworks/test_pickling.py

# In addition to `make setup`, without dependencies: these would install another NumPy.
networks: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --no-deps --target $(NETWORKS) --group networks
	OPBRIDGE_ALL_NETWORKS=1 PYTHONPATH=$(NETWORKS) $(BIN)/python -m pytest --matrix \
	  $(addprefix tests/models/conversion/,every_network.py test_nnx_module.py test_plain_networks.py)

# Without PyTorch: these verdicts need no run, because the tests check the cluster.
ray:
	@$(PYTHON) tools/check_machine.py
	test -x $(RAY)/bin/python || $(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(RAY)/bin/python -m pip install --quiet --group ray
	$(RAY)/bin/python -m pip install --quiet --config-settings build-dir=$(RAY)/cmake --editable .
	$(RAY)/bin/python -m pytest tests/analysis/judge/many/cluster

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
