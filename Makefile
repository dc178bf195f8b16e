# Everything runs from a virtual environment that the first command makes and the others reuse.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
ifeq ($(OS),Windows_NT)  # there make needs a Unix shell in the path, such as the one that comes with Git
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
# one more than the cores of a small machine: a third of the time of two workers is waiting
WORKERS ?= 3
export MPLBACKEND := Agg
export PYTHONDONTWRITEBYTECODE :=  # tests start Python often: it should read its own sources once

.PHONY: paper test quick test-slow nightly check benchmark docs figures gallery notebooks dist stranger clean

paper: $(VENV)/installed  ## every table and figure of the paper, run again; shows the time left, where the page is, what was found
	@$(BIN)/allais paper run --check --out build/paper

test: $(VENV)/installed  ## every check and every test but the slow ones, side by side
	@$(MAKE) --no-print-directory --jobs 2 check quick

quick: $(VENV)/installed  ## every test but the slow ones
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow" --timeout 600

test-slow: $(VENV)/installed  ## the statistical checks that take minutes
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

nightly: test test-slow  ## everything

check: $(VENV)/installed  ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

benchmark: $(VENV)/installed  ## speed, as ratios in one run; writes benchmarks/results.md
	$(BIN)/python -m benchmarks

docs: $(VENV)/installed  ## the documentation as a site that opens from disk; broken links are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --clean  # with --quiet it would count no warnings
	@echo "Open site/index.html"

figures: $(VENV)/installed  ## the pictures of the documentation
	$(BIN)/python -m tools.figures docs/figures
	$(BIN)/python tools/layers.py docs/figures
	$(BIN)/python -m tools.gallery docs/gallery

gallery: $(VENV)/installed  ## every page of the gallery, typed, its pictures in build/gallery; less than three minutes in all
	$(BIN)/python -m tools.gallery build/gallery

notebooks: $(VENV)/installed  ## the notebooks of the examples, run again
	$(BIN)/python -m tools.notebooks

dist: $(VENV)/installed  ## a wheel and its sources in dist/, checked: the README is typed in an empty environment
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m tools.type_readme dist/*.whl

stranger: dist  ## the first ten minutes of somebody who has the wheel, typed from their page with a stopwatch; needs node
	$(BIN)/python -m tools.stranger dist/*.whl

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "allais needs Python 3.11 or newer: set PYTHON=path")'
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
