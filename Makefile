# The commands for developers. `make bench` and `make test` first install missing packages.

CARGO ?= cargo
RESULT ?= results/bench.json
RUNS ?= 20
N ?= 10000
REPORT ?= $(basename $(RESULT)).html
# How modules are built: `quick` is without optimisation, for tests, and is never measured.
export MODULE_PROFILE ?= release
MODULE_DIR ?= target/$(MODULE_PROFILE)/modules
MODULE_BUILD ?= target/$(MODULE_PROFILE)/module-build
# The development build of the command; `make test` has made it already, with the features that its tests need.
PYTHON_BUILD ?= build --package ipcmark-cli

.PHONY: help deps browser build modules bare bench test beside lint format unit module-crates conformance check-transport soak torture \
    fuzz loom miri python packages packages-native packages-arm64 test-packages test-image test-aarch64 test-launchers doc overhead honesty regret clean

help:
	@echo 'make bench     measure every transport on this machine, show the table, make a page of it'
	@echo 'make test      all tests and lints'
	@echo 'make conformance NAME=shm-ring  the suite for one transport'
	@echo 'make check-transport NAME=shm-ring  all that a new transport needs, and what is missing'
	@echo 'make soak RUNS=20  the end-to-end tests again and again, half of the time on a busy machine'
	@echo 'make torture N=10000  kills at every name, then random signals to random processes of random runs'
	@echo 'make fuzz TARGET=tunnel TIME=600  bytes at which what reads them panics or hangs'
	@echo 'make python    the Python package, and the formats for other tools read by those tools'
	@echo 'make build     the command, at target/release/ipcmark'
	@echo 'make packages  for Debian and Python, at target/packages; make test-packages installs and removes them'
	@echo 'make packages ARCH=arm64  the same for aarch64, cross-built, at target/packages-arm64'
	@echo 'make test-aarch64  what depends on the processor, cross-built and run under qemu-user'
	@echo 'make test-launchers  ipcmark rank under Open MPI, MPICH and Slurm'
	@echo 'make overhead  what ipcmark itself adds, as ratios (cargo bench); one part: SECTIONS=f, one row: SECTIONS="f ucx-shm" ROUNDS=99'
	@echo 'make honesty   what the figures of this machine can be trusted for, in experiments; some of them: SECTIONS=spread'
	@echo 'make regret    is the advice right? random questions, answered and checked; half an hour'
	@echo 'make modules   only the shared objects of the libraries that are there; one of them: ONLY=zeromq'
	@echo 'make deps      install what building and testing need'
	@echo 'make format    the format of Rust, C and C++'
	@echo 'make lint, make doc, make clean'

deps:
	@sh scripts/deps.sh

build: deps
	$(CARGO) build --release --locked --package ipcmark-cli
	@$(MAKE) --no-print-directory modules MODULE_DIR=target/release/modules

# One shared object per installed library, or only the one of ONLY=name.
modules:
	@sh scripts/modules.sh $(abspath $(MODULE_DIR)) $(MODULE_BUILD) $(ONLY)

# The bare programs that `make overhead` compares modules with.
bare:
	@sh scripts/modules.sh $(abspath $(MODULE_DIR)) $(MODULE_BUILD) --bare

# Asks a first-time user before it installs anything; YES=1 answers yes.
bench: export IPCMARK_ASK = 1
bench: build
	@mkdir -p $(dir $(RESULT))
	@target/release/ipcmark run --output $(RESULT); status=$$?; \
	    target/release/ipcmark report $(RESULT) --output $(REPORT) || exit; \
	    echo; echo 'every figure and histogram: $(RESULT)'; \
	    echo 'to look at in a browser:    $(REPORT)'; exit $$status

# Runs all of them, even after a failure.
test: export MODULE_PROFILE = quick
test:
	@$(MAKE) --no-print-directory --keep-going browser lint; status=$$?; \
	    sh scripts/deps.sh python || status=$$?; \
	    $(MAKE) --no-print-directory --keep-going --jobs=2 unit beside || status=$$?; \
	    $(MAKE) --no-print-directory module-crates || exit; exit $$status

# What runs while the other tests wait; its output follows in one piece.
beside:
	@said=$$(mktemp); \
	    $(MAKE) --no-print-directory --keep-going loom miri python PYTHON_BUILD='test --workspace --no-run' \
	        >"$$said" 2>&1; status=$$?; cat "$$said"; rm "$$said"; exit $$status

lint:
	@sh scripts/deps.sh lint
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path modules/iceoryx2/Cargo.toml --check
	$(CARGO) fmt --manifest-path modules/zenoh/Cargo.toml --check
	$(CARGO) fmt --manifest-path modules/tonic/Cargo.toml --check
	$(CARGO) fmt --manifest-path modules/varlink/Cargo.toml --check
	$(CARGO) clippy --locked --workspace --all-targets -- --deny warnings
	@$(CARGO) run --quiet --locked --package ipcmark-imports
	@sh scripts/lint-c.sh $(abspath $(MODULE_DIR)) $(MODULE_BUILD)

format:
	@sh scripts/deps.sh lint
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path modules/iceoryx2/Cargo.toml
	$(CARGO) fmt --manifest-path modules/zenoh/Cargo.toml
	$(CARGO) fmt --manifest-path modules/tonic/Cargo.toml
	$(CARGO) fmt --manifest-path modules/varlink/Cargo.toml
	@sh scripts/lint-c.sh --fix

# A browser to test the report, and network tools to test runs by hand, where the system offers them.
browser:
	@sh scripts/deps.sh browser

# Properties of results are tried with a tenth of proptest's usual cases, which are others each time. Without this make's
# flags: the make that a test runs would look for a share of its jobs.
unit: export PROPTEST_CASES ?= 24
unit: browser modules
	MAKEFLAGS= IPCMARK_MODULE_PATH=$(abspath $(MODULE_DIR)) $(CARGO) test --locked --workspace --no-fail-fast

# The tests of the modules that are crates, as far as these could be built.
module-crates: modules
	@for crate in iceoryx2 tonic varlink zenoh; do \
	    [ ! -e $(MODULE_DIR)/$$crate.so ] || RUSTFLAGS= $(CARGO) test --locked --quiet --lib --profile $(MODULE_PROFILE) \
	        --manifest-path modules/$$crate/Cargo.toml --target-dir $(abspath $(MODULE_BUILD))/crates || exit; \
	done

# The conformance suite; NAME=shm-ring/spin selects transports, which must exist.
conformance: deps modules
	@IPCMARK_MODULE_PATH=$(abspath $(MODULE_DIR)) sh scripts/conformance.sh $(NAME)

# All checks for a new transport, in the development build, and a list of what is missing.
check-transport: deps
	@sh scripts/check-transport.sh $(or $(NAME),$(error NAME=… names the transport)) \
	    $(abspath $(MODULE_DIR)) $(MODULE_BUILD)

# The end-to-end tests repeatedly, every other time with busy loops.
soak: browser modules
	@IPCMARK_MODULE_PATH=$(abspath $(MODULE_DIR)) bash scripts/soak.sh $(RUNS)

# Kills processes at every name that they make or remove, then sends random signals at random moments to random
# processes of random runs, over all transports.
torture: modules
	@IPCMARK_MODULE_PATH=$(abspath $(MODULE_DIR)) bash scripts/torture.sh $(N)

# libFuzzer on one target, for TIME seconds; keeps a few dozen inputs that reach the same code, and make test replays
# them.
fuzz:
	@sh scripts/fuzz.sh $(or $(TARGET),$(error TARGET=… names a file in crates/fuzz/src/targets)) $(or $(TIME),60)

# The rings under every interleaving that the memory model allows.
loom: deps
	RUSTFLAGS='--cfg loom' $(CARGO) test --locked --package ipcmark-native \
	    --target-dir target/loom --lib loom

# Undefined behaviour in the rings; reports if the toolchain has no Miri.
miri: deps
	@if $(CARGO) +nightly miri --version >/dev/null 2>&1; then \
	    $(CARGO) +nightly miri test --locked --package ipcmark-native --lib shared::ring; \
	else \
	    echo 'miri: not run, for this machine has no nightly toolchain with Miri'; \
	    echo '      (rustup toolchain install nightly --component miri rust-src)'; \
	fi

# The Python package against the command, and the formats for other tools read by those tools.
python:
	@sh scripts/deps.sh python
	$(CARGO) $(PYTHON_BUILD) --locked
	@sh scripts/python.sh $(abspath target/debug/ipcmark) target/python

# Two packages for Debian, a wheel and an archive with the command; each with licences and a bill of materials.
# ARCH=arm64: cross-built for aarch64.
packages: packages-$(or $(ARCH),native)

# Users of a package do not wait for its build.
packages-native packages-arm64: export CARGO_PROFILE_RELEASE_OPT_LEVEL = 3
packages-native packages-arm64: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = 4
packages-native packages-arm64: export CARGO_PROFILE_RELEASE_LTO = thin

packages-native: build
	@sh scripts/deps.sh packages
	@sh scripts/packages.sh target/release/modules target/packages

packages-arm64: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER = aarch64-linux-gnu-gcc
packages-arm64: export CC_aarch64_unknown_linux_gnu = aarch64-linux-gnu-gcc
packages-arm64:
	@sh scripts/deps.sh packages
	@sh scripts/deps.sh aarch64
	@sh scripts/deps.sh sysroot
	$(CARGO) build --release --locked --target aarch64-unknown-linux-gnu --package ipcmark-cli
	@CMAKE_TOOLCHAIN_FILE=$(CURDIR)/modules/shared/aarch64.cmake $(MAKE) --no-print-directory modules \
	    MODULE_DIR=target/aarch64-unknown-linux-gnu/release/modules MODULE_BUILD=target/modules-arm64
	@sh scripts/packages.sh target/aarch64-unknown-linux-gnu/release/modules target/packages-arm64 arm64

# The transports of the operating system, the rings and the C contract on aarch64, under qemu-user.
test-aarch64:
	@sh scripts/deps.sh aarch64
	@sh scripts/test-aarch64.sh

# Installs them in a root file system of Debian packages only, measures, removes them and looks for leftovers. As root.
# ARCH=arm64: only looks at the modules, and lists them under qemu-user if it can run them; needs no root.
test-packages: packages
	@sh scripts/test-$(if $(ARCH),aarch64,packages).sh target/packages$(ARCH:%=-%)

# Builds an image from the packages, and measures in it. As root.
test-image: packages
	@sh scripts/deps.sh image
	@sh scripts/test-image.sh target/packages

# `ipcmark rank` under the launchers that Debian has.
test-launchers:
	@sh scripts/deps.sh launchers
	$(CARGO) $(PYTHON_BUILD) --locked
	@sh scripts/test-launchers.sh $(abspath target/debug/ipcmark)

doc: deps
	RUSTDOCFLAGS='--deny warnings' $(CARGO) doc --locked --workspace --no-deps

# Random questions to `ipcmark advise`, and how far its choices are behind the best rows of a longer run.
regret: deps
	$(CARGO) bench --locked --package ipcmark-cli --bench regret

# Experiments on how far this machine's figures can be trusted; half an hour, or SECTIONS="spread ties".
honesty: deps
	$(CARGO) bench --locked --package ipcmark-cli --bench honesty -- $(SECTIONS)

overhead: deps modules bare
	IPCMARK_MODULE_PATH=$(abspath $(MODULE_DIR)) IPCMARK_BARE_DIR=$(abspath $(MODULE_BUILD)/bare) \
	    $(CARGO) bench --locked --package ipcmark-cli --bench overhead -- $(SECTIONS)

clean:
	$(CARGO) clean
