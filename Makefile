# The commands a person types. `make bench` and `make test` install what is missing first.

CARGO ?= cargo
RESULT ?= results/bench.json

.PHONY: help deps build bench test lint unit loom miri doc overhead clean

help:
	@echo 'make bench     measure every transport on this machine and show the table'
	@echo 'make test      all tests and lints'
	@echo 'make build     the command, at target/release/ipcmark'
	@echo 'make overhead  what ipcmark itself adds, as ratios (cargo bench)'
	@echo 'make deps      install what building and testing need'
	@echo 'make lint, make doc, make clean'

deps:
	@sh scripts/deps.sh

build: deps
	$(CARGO) build --release --locked --package ipcmark-cli

bench: build
	@mkdir -p $(dir $(RESULT))
	@target/release/ipcmark run --output $(RESULT)
	@echo; echo 'every figure and histogram: $(RESULT)'

test: lint unit loom miri

lint: deps
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- --deny warnings

unit: deps
	$(CARGO) test --locked --workspace

# The rings under every interleaving that the memory model allows.
loom: deps
	RUSTFLAGS='--cfg loom' $(CARGO) test --locked --release --package ipcmark-native \
	    --target-dir target/loom --lib loom

# Undefined behaviour in the rings; where the toolchain has no Miri it says so.
miri: deps
	@if $(CARGO) +nightly miri --version >/dev/null 2>&1; then \
	    $(CARGO) +nightly miri test --locked --package ipcmark-native --lib shared::ring; \
	else \
	    echo 'miri: not run, for this machine has no nightly toolchain with Miri'; \
	    echo '      (rustup toolchain install nightly --component miri rust-src)'; \
	fi

doc: deps
	RUSTDOCFLAGS='--deny warnings' $(CARGO) doc --locked --workspace --no-deps

overhead: deps
	$(CARGO) bench --locked --package ipcmark-cli

clean:
	$(CARGO) clean
