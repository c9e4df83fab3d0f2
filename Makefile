# `make run` and `make test` are each enough on a fresh clone: they set up what they need, once.

SHELL := /bin/sh
# Where this file is, so that `make -f path/to/Makefile run` starts ogcode in the directory you are in.
HERE := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
VENV := $(HERE)/.venv
# The interpreter for a new .venv; empty: the newest suitable one of these.
PYTHON ?=
CANDIDATES := $(or $(PYTHON),python3.13 python3.12 python3.11 python3)
# `make lock UPGRADE=--upgrade` moves every pin to its newest release.
UPGRADE ?=
UV ?= uv
BIN = $(abspath $(VENV))/bin

# Settings that would send an installation elsewhere or change what it checks. Index, proxy and certificates stay yours.
unexport PIP_TARGET PIP_PREFIX PIP_ROOT PIP_USER PIP_SRC PIP_CONSTRAINT PIP_REQUIREMENT PIP_REQUIRE_HASHES PIP_NO_BINARY
unexport PIP_ONLY_BINARY PIP_DRY_RUN PIP_QUIET PIP_VERBOSE PIP_LOG PIP_REQUIRE_VIRTUALENV PIP_PYTHON PIP_IGNORE_INSTALLED
unexport PYTHONHOME

# -I: no PYTHON* setting and no package of the user's reaches pip. -qq: errors only.
INSTALL = "$(VENV)/bin/python" -I -m pip --disable-pip-version-check --no-input install -qq --no-deps --no-compile
# On all cores, and whatever PYTHONDONTWRITEBYTECODE says: half the time that pip's own compiling takes.
COMPILE = "$(VENV)/bin/python" -I -m compileall -qq -j 0 "$(VENV)/lib" || true
# Without any local configuration: the hashes must be those of the public releases.
PIN = "$(UV)" --no-config pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-header --no-annotate $(UPGRADE)

.PHONY: run test check torture bench lock clean FORCE

run: $(VENV)/.run
	@"$(BIN)/ogcode"

test: $(VENV)/.dev
	@cd "$(HERE)" && "$(BIN)/python" -P -m pytest -n 2 --durations=20

check: $(VENV)/.dev
	@cd "$(HERE)" && mkdir -p build/types/ogcode && \
	for package in agent librarian scribe tui; do ln -sfn "../../../$$package" "build/types/ogcode/$$package"; done
	cd "$(HERE)" && "$(BIN)/ruff" check .
	cd "$(HERE)" && "$(BIN)/ruff" format --check .
	cd "$(HERE)" && MYPYPATH=tests:bench "$(BIN)/mypy" build/types/ogcode tests bench
	cd "$(HERE)" && "$(BIN)/lint-imports"

torture: $(VENV)/.dev
	@cd "$(HERE)" && OGCODE_TORTURE=1 "$(BIN)/python" -P -m pytest -n 2 --durations=20 -m torture

bench: $(VENV)/.dev
	@cd "$(HERE)" && "$(BIN)/python" -P bench/startup.py

lock:
	@command -v "$(UV)" >/dev/null || { echo "make lock needs uv: python3 -m pip install uv" >&2; exit 1; }
	cd "$(HERE)" && sed -n 's/^requires = \["\(.*\)"\]$$/\1/p' pyproject.toml | $(PIN) pyproject.toml - -o requirements.lock
	cd "$(HERE)" && $(PIN) pyproject.toml requirements.lock --group dev -o requirements-dev.lock

clean:
	cd "$(HERE)" && rm -rf .venv build dist ogcode.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	cd "$(HERE)" && find agent librarian scribe tui tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# A virtual environment knows its own path and its interpreter: make it again after a move, or when either is gone.
ifneq ($(shell test -x "$(VENV)/bin/python" && cat "$(VENV)/.made" 2>/dev/null),$(abspath $(VENV)))
$(VENV)/.made: FORCE
endif
$(VENV)/.made:
	@found=; \
	for python in $(CANDIDATES); do \
		"$$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
		found="$$python"; \
		"$$python" -I -c 'import ensurepip, venv' 2>/dev/null || continue; \
		echo "ogcode: setting up $(VENV) with $$("$$python" -V); this happens once" >&2; \
		clear=; test ! -f "$(VENV)/pyvenv.cfg" || clear=--clear; \
		"$$python" -I -m venv $$clear "$(VENV)" && echo "$(abspath $(VENV))" > "$(VENV)/.made"; \
		exit; \
	done; \
	if test -n "$$found"; then \
		echo "ogcode: $$found cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv" >&2; \
	else \
		echo "ogcode: no Python >= 3.11 among: $(CANDIDATES). Install one, or name it: make PYTHON=/path/to/python3" >&2; \
	fi; \
	exit 1

$(VENV)/.run: $(VENV)/.made $(HERE)/requirements.lock $(HERE)/pyproject.toml
	@$(INSTALL) --require-hashes -r "$(HERE)/requirements.lock"
	@$(COMPILE)
	@$(INSTALL) --no-build-isolation -e "$(HERE)"
	@touch "$@"

$(VENV)/.dev: $(VENV)/.made $(HERE)/requirements-dev.lock $(HERE)/pyproject.toml
	@$(INSTALL) --require-hashes -r "$(HERE)/requirements-dev.lock"
	@$(COMPILE)
	@$(INSTALL) --no-build-isolation -e "$(HERE)"
	@touch "$(VENV)/.run" "$@"

FORCE:
