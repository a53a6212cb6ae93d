# Two commands do everything on a fresh machine: `make demo` and `make test`.
# Both make their own virtual environment from the locked requirements first: the demo what mane runs with (.runs), tests
# and everything else the tools of developers as well (.ready).

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
RUNS   := $(VENV)/.runs
READY  := $(VENV)/.ready
# Bytecode is compiled by Python itself where a module is imported; for all modules of all packages it takes as long as
# everything else of installing.
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
OUT    ?= out
NUMBA_ENDS := 0.62.0 0.68.1

# The page of the salon is built with node from PyPI; where node or its registry is missing, these say so and go on.
.PHONY: page page-test
.PHONY: help demo test lint docs stress bounds narrow numba bench gallery blender learn lock clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(RUNS)  ## simulate a full head of curls through a head shake; movie, pictures and USD are in out/
	$(BIN)/mane demo -o $(OUT)

test: lint  ## everything that must hold: lint, types, tests (under twelve minutes on two cores)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

page: $(READY)  ## build the page of the salon into the package (node comes from PyPI)
	$(BIN)/python page/make_page.py

page-test: $(READY)  ## tests of the page: its modules, and a real browser; skipped with a line where there is none
	$(BIN)/python page/make_page.py --test

lint: $(READY)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY) requirements/docs.txt  ## the documentation site in out/site, without a warning (installs MkDocs beside the rest)
	$(PIP) --require-hashes -r requirements/docs.txt
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

stress: $(READY)  ## what takes longer: fuzzing, large sizes, thousands of frames
	$(BIN)/python -m pytest -m stress -ra

bounds: $(READY)  ## random scenes with every index of every kernel checked (compiles all of them anew)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(OUT)/bounds MANE_STRESS_EXAMPLES=40 \
	  $(BIN)/python -m pytest -m stress tests/unit/scene/test_random_scenes.py

narrow: $(READY)  ## all tests with kernels for an x86 CPU without AVX-512 (compiles all of them anew)
	NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=+avx,+avx2,+fma,+bmi,+bmi2,+popcnt,+sse4.2 NUMBA_CACHE_DIR=$(OUT)/narrow \
	  $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

numba:  ## tests of simd, strand models and skins at both ends of the range of Numba that is supported (environments of their own)
	for version in $(NUMBA_ENDS); do \
	  $(PYTHON) -m venv $(OUT)/numba-$$version && \
	  $(OUT)/numba-$$version/bin/python -m pip install --quiet --disable-pip-version-check numba==$$version pytest hypothesis -e . && \
	  NUMBA_CACHE_DIR=$(OUT)/numba-$$version/kernels $(OUT)/numba-$$version/bin/python -m pytest tests/unit/simd \
	    tests/house/test_kernel_cache.py tests/contract/test_strand_models.py tests/contract/test_skins.py || exit 1; \
	done

bench: $(READY)  ## every benchmark, one after the other (run nothing else meanwhile)
	$(BIN)/mane bench all

gallery: $(READY)  ## redraw the pictures of README and documentation
	$(BIN)/mane style --strands 60000 --sheet docs/images/styles.jpg --looks docs/images/looks.jpg
	$(BIN)/mane demo -o $(OUT)
	$(BIN)/python -c "from PIL import Image; Image.open('$(OUT)/moments.png').save('docs/images/shake.jpg', quality=88)"
	$(BIN)/python -c "from PIL import Image; Image.open('$(OUT)/skins.png').save('docs/images/skins.jpg', quality=88)"
	$(BIN)/python examples/05_characters/01_fur_on_a_walking_creature.py --output $(OUT)/fox.mp4 --strip docs/images/fox.jpg
	$(BIN)/python docs/draw_methods.py docs/images
	$(BIN)/python docs/draw_tutorials.py docs/images

blender:  ## Blender as a Python module in an environment of its own (Python 3.11), for Alembic; see docs/blender.md
	$(PYTHON) -m venv .venv-blender
	.venv-blender/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/blender.txt

learn: $(READY)  ## PyTorch and JAX for the CPU over the environment of mane, for the stress test of docs/datasets.md
	$(PYTHON) -m venv .venv-learn
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > "$$(.venv-learn/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/mane.pth"
	.venv-learn/bin/python -m pip install --quiet --disable-pip-version-check jax torch==2.13.0

lock: $(READY)  ## renew the locked requirements after a change of dependencies
	$(PIP) uv
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --custom-compile-command "make lock" --upgrade --quiet -o requirements/lock.txt
	$(BIN)/uv pip compile pyproject.toml --group demo --constraint requirements/lock.txt --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --custom-compile-command "make lock" --upgrade --quiet -o requirements/run.txt
	$(BIN)/uv pip compile --group docs --constraint requirements/lock.txt --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --custom-compile-command "make lock" --upgrade --quiet -o requirements/docs.txt

clean:  ## forget the environment and everything generated
	rm -rf $(VENV) $(OUT) .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNS): requirements/run.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mane needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements/run.txt
	$(PIP) --no-deps --no-build-isolation -e .
	touch $@

$(READY): $(RUNS) requirements/lock.txt
	$(PIP) --require-hashes -r requirements/lock.txt
	touch $@
