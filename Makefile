# `make demo` shows the main job, `make test` runs everything that CI runs. Both
# install what is missing (scripts/setup.sh); neither needs more than the package
# registries.

PORT ?= 9347
DATA ?= .weir

export CARGO_TERM_COLOR ?= auto
WEIR := target/release/weir
GUESTS := target/guests

# Steps build on one another.
.NOTPARALLEL:
.PHONY: demo test bench binary build ui guests operators lint unit docs e2e setup setup-tests clean

## The main job: order-fulfilment, running, in the browser.
demo: setup binary operators
	exec $(WEIR) demo --listen 127.0.0.1:$(PORT) --data $(DATA)

## Everything that CI runs.
test: setup-tests ui-checks build lint guests unit docs e2e

## Figures, written to tests/benches/RESULTS.md.
bench: setup binary operators
	target/release/weir-bench $(BENCH_ARGS)

setup:
	@scripts/setup.sh

setup-tests:
	@scripts/setup.sh --tests

## The UI is embedded in the binary, so it comes first.
ui: web-ui/dist/index.html

web-ui/dist/index.html: $(shell find web-ui/src web-ui/index.html web-ui/package-lock.json web-ui/vite.config.ts -type f 2>/dev/null) | web-ui/node_modules
	npm --prefix web-ui run build
	@touch $@

web-ui/node_modules: web-ui/package-lock.json
	npm --prefix web-ui ci --no-audit --no-fund
	@touch $@

ui-checks: ui
	npm --prefix web-ui run typecheck
	npm --prefix web-ui run lint
	npm --prefix web-ui test

## What ships. The simulation stays out, since it turns planted faults on.
binary: ui
	cargo build --release --workspace --exclude weir-sim --bins

## Everything, with the planted faults of tests, which WEIR_FAULT switches.
build: ui
	cargo build --release --workspace --all-targets

guests: build operators

## Operators of the example and of the tests, as components.
operators:
	scripts/guests.sh $(WEIR) $(GUESTS)

lint:
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	cargo deny --all-features check bans licenses sources

unit:
	cargo nextest run --release --workspace
	cargo test --release --workspace --doc

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps

## The browser against the real binary, and a short bench for correctness.
e2e: guests
	scripts/e2e.sh $(WEIR) $(GUESTS)
	target/release/weir-bench --smoke

clean:
	rm -rf target web-ui/dist web-ui/node_modules
