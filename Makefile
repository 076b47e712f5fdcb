# Virtual environments with the pinned versions: one for tests and tools, and one for the demo, which needs the product
# alone and a fifth of the time. An environment that exists is added to, and never cleared.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/demo
DEMO_READY := $(DEMO)/.ready
DEV_READY := $(VENV)/.dev-ready
TESTS_COMPILED := build/.tests-compiled
DOCS_READY := $(VENV)/.docs-ready
PIP_INSTALL := -m pip install --quiet --constraint constraints.txt --no-compile

# Tests start hundreds of processes: each would compile this project's modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo check test system lint style types layers spelling quick whole architecture bench faults \
	programs with-system typescript test-browsers assets vendored screenshots golden schemas docs images requirements \
	test-images release clean mutants

setup: $(DEV_READY)

SETTINGS := pyproject.toml client_sdk/pyproject.toml hatch_build.py constraints.txt

$(DEMO_READY): $(SETTINGS)
	@echo "setting up $(DEMO); this takes half a minute or so"
	@$(PYTHON) -m venv $(DEMO)
	@$(DEMO)/bin/python $(PIP_INSTALL) --editable ./client_sdk --editable '.[collector,estimator]'
	@touch $@

$(DEV_READY): $(SETTINGS)
	@echo "setting up $(VENV) with tests and tools; this takes two minutes or so"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(PIP_INSTALL) --editable ./client_sdk --editable '.[collector,estimator,parquet,dev]'
	@touch $@

# Sphinx, which no test of `make test` needs.
$(DOCS_READY): $(DEV_READY)
	@$(BIN)/python $(PIP_INSTALL) --editable '.[docs]'
	@touch $@

demo: $(DEMO_READY)
	@$(DEMO)/bin/python examples/health/demo.py

# Side by side: the checker of types takes as long as all others, and tests wait for servers now and then.
TOGETHER := $(MAKE) --no-print-directory --jobs
CODE := client_sdk collector estimator tests tools benchmarks examples docker
LINT := style types layers spelling

lint: setup
	@$(TOGETHER) $(LINT)

style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The SDK also as on the systems that no test runs on.
types:
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 client_sdk
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin client_sdk

layers:
	$(BIN)/lint-imports

# codespell also refuses British spellings, and our own list of words; proselint refuses clichés and archaisms of pages.
spelling:
	$(BIN)/codespell *.md docs $(CODE)
	$(BIN)/proselint check --config tools/proselint.json *.md docs client_sdk/*.md client_sdk/typescript/*.md

PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile

# The daily loop: what most mistakes are seen by, within 60 seconds. Few tests are marked slow; together these take as
# long as all others.
check: setup
	@$(TOGETHER) $(LINT) quick

quick:
	$(PYTEST) --numprocesses $$(nproc) -m 'not slow and not long and not system' tests/unit tests/architecture

# What an app is told in so many words does not depend on the environment: the tests and the demonstration say so.
test demo: export CI := true
test demo: export DO_NOT_TRACK := 1

# Needs Python alone: Node comes from PyPI, the store is embedded, and nobody has to be root.
test: setup
	@$(TOGETHER) $(LINT) whole typescript

whole: $(TESTS_COMPILED)
	$(PYTEST) -m 'not system and not long'

# In a new checkout the tests are compiled once: each of the workers would do it.
$(TESTS_COMPILED): | setup
	@$(BIN)/python -m pytest --collect-only --quiet >/dev/null 2>&1 || true # the run says why
	@mkdir -p $(@D) && touch $@

# What tests with real browsers, proxies, disks, clocks and networks: needs root, installs Debian's programs, takes minutes.
system: with-system test-browsers

with-system: $(DOCS_READY) programs
	@test "$$(id -u)" = 0 || { echo "make system mounts disks and makes networks: run it as root"; exit 1; }
	$(PYTEST) --numprocesses $$(($$(nproc) + 2)) -m 'system or long' # most wait

# The SDK for browsers and Node: its types, its units, and the vectors of the project.
TYPESCRIPT := client_sdk/typescript
MODULES := $(TYPESCRIPT)/node_modules/.package-lock.json

# npm and Node of this environment, which trust the certificates that this machine trusts.
WITH_NODE := NODE_USE_SYSTEM_CA=1 PATH="$(abspath $(BIN)):$$PATH"

$(MODULES): $(TYPESCRIPT)/package.json $(TYPESCRIPT)/package-lock.json | setup
	@cd $(TYPESCRIPT) && $(WITH_NODE) npm ci --silent --ignore-scripts
	@touch $@

SAID := $(TYPESCRIPT)/dist/said.json

.PHONY: $(SAID)
$(SAID): setup
	@$(BIN)/python -m tests.support.typescript $(@D)

typescript: $(MODULES) $(SAID)
	@cd $(TYPESCRIPT) && HEARSAY_BIN=$(abspath $(BIN)) $(WITH_NODE) npm test --silent

# Minutes: real browsers of Debian, a real collector on another origin, two tabs, killed tabs, a wiped storage; then the
# example page, up to the estimator's report. HEARSAY_ROUNDS says how often each race and kill is run: 2 by default.
test-browsers: programs $(MODULES) $(SAID)
	@cd $(TYPESCRIPT) && HEARSAY_BIN=$(abspath $(BIN)) $(WITH_NODE) npm run --silent test:browsers

# Programs of Debian: its browsers open pages, its nginx stands before the collector, its faketime steps clocks, its
# Prometheus scrapes, its strace sees what is written when. Who is not root installs them beforehand.
PROGRAMS := chromium firefox-esr nginx faketime prometheus prometheus-blackbox-exporter prometheus-node-exporter strace
programs:
	@for name in $(PROGRAMS); do command -v $$name >/dev/null || missing="$$missing $$name"; done; \
	test -z "$$missing" || test "$$(id -u)" != 0 || \
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends $$missing; }

images:
	$(PYTHON) -m tools.images

# The hashes of what the images install, from constraints.txt: after every change of a version there.
requirements: setup
	$(BIN)/python -m tools.requirements

# Takes minutes: a root of Debian, and three builds.
test-images: PROGRAMS += buildah mmdebstrap
test-images: setup programs
	$(BIN)/python -m pytest tests/images

# What commands print, to be reviewed line by line before a commit: NAMES picks some of them.
golden: setup
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.golden.outputs $(NAMES) # in one thread, as the command and its tests

architecture: setup
	$(BIN)/python -m tools.architecture
	$(BIN)/python -m tools.trusted_core

# Drawings and plots, with the numbers that pages take from them.
assets: setup
	$(BIN)/python -m tools.figures

vendored: setup
	$(BIN)/python -m tools.fetch_assets

# What looks for a browser asks whether it may, as tests do.
screenshots: export TEST_MAY_USE_THE_SYSTEM := 1
screenshots: setup programs
	$(BIN)/python -m tools.screenshots
	$(BIN)/python -m tools.tutorial
	$(BIN)/python -m tools.terminal_pictures

schemas: setup
	$(BIN)/python -m tools.schema_page

# A warning, such as a link that leads nowhere, fails the build. Pages of reference are filled in from the code.
docs: $(DOCS_READY)
	$(BIN)/sphinx-build --fail-on-warning --keep-going --nitpicky --quiet docs build/docs
	@echo "open build/docs/index.html"

bench: setup programs
	$(BIN)/python -m benchmarks

# Small faults in the trusted core, the protocol, the ledger and what counts: which of them the tests refuse. An hour.
mutants: setup
	$(BIN)/python -m tools.mutants

faults: setup programs
	$(BIN)/python -m pytest tests/faults --rounds 20

# Wheels and sdists, the compiled SDK for npm, what the images install (CycloneDX), and the hashes of all. Two runs on
# one commit write the same.
DIST := dist
release: $(MODULES)
	@rm -rf $(DIST) && mkdir -p $(DIST)/npm
	@for project in client_sdk .; do \
	(cd $$project && $(abspath $(BIN))/python -m hatchling build --directory $(abspath $(DIST))) || exit 1; done
	@cd $(TYPESCRIPT) && $(WITH_NODE) npm run --silent build -- --outDir $(abspath $(DIST))/npm/dist
	@cp $(TYPESCRIPT)/package.json $(TYPESCRIPT)/README.md client_sdk/LICENSE $(DIST)/npm
	@cd $(DIST)/npm && PATH="$(abspath $(BIN)):$$PATH" npm pack --silent --ignore-scripts --pack-destination ..
	@rm -r $(DIST)/npm
	@$(BIN)/python -m tools.sbom $(DIST)
	@cd $(DIST) && sha256sum * > SHA256SUMS && cat SHA256SUMS

clean:
	rm -rf $(VENV) .venv-peers build/docs
