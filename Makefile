# Each target is a line or two over cargo. `make help` lists them.

CARGO ?= cargo
# One profile and one set of flags (.cargo/config.toml) for the module that is tested, annotated and pushed.
MODULE := $(or $(CARGO_TARGET_DIR),target)/wasm32-wasip1/wasm/hco_architecture_guard.wasm
SOURCES := $(shell find src engine/src -name '*.rs') $(wildcard Cargo.* engine/Cargo.toml .cargo/config.toml rust-toolchain.toml)

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9.-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

policy.wasm: $(SOURCES) ## Build the policy
	$(CARGO) build --locked -p hco-architecture-guard --profile wasm --target wasm32-wasip1
	cp $(MODULE) $@

annotated-policy.wasm: policy.wasm policy-metadata.yml README.md ## Build the policy as it is deployed (needs kwctl)
	kwctl annotate --metadata-path policy-metadata.yml --usage-path README.md --output-path $@ policy.wasm

.PHONY: test
test: ## Test all that needs no other program
	$(CARGO) test --locked -p hco-architecture-engine -p hco-preflight

.PHONY: e2e-tests
e2e-tests: ## The cases through every door; kwctl and policy-server if they are on PATH (POLICY_WASM: another module)
	$(CARGO) test --locked -p e2e-tests

.PHONY: test-wasm
test-wasm: ## Test the engine in wasm, on Node.js (needs wasm-bindgen-cli, see .ci/run)
	$(CARGO) test --locked -p hco-architecture-engine --lib --test suite --target wasm32-unknown-unknown

.PHONY: bench
bench: ## Measure what it costs, and write it into README.md and docs/growth.svg (HCO_BENCH_MODULES: other modules)
	HCO_BENCH_WRITE=1 $(CARGO) bench --locked -p hco-preflight --bench evaluate

.PHONY: lint
lint: ## rustfmt, clippy and rustdoc, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --no-deps --document-private-items

.PHONY: fmt
fmt: ## Format the code
	$(CARGO) fmt --all

.PHONY: deny
deny: ## Licences, bans and sources of the dependencies (needs cargo-deny)
	$(CARGO) deny --locked check licenses bans sources

.PHONY: readme
readme: ## Write the table of rules in README.md from the pages
	UPDATE_README=1 $(CARGO) test -q --locked -p hco-architecture-engine --test suite readme

.PHONY: snapshots
snapshots: ## Write the snapshots of the wording anew; read the diff before you commit it
	INSTA_UPDATE=always $(CARGO) test -q --locked -p hco-architecture-engine --test suite wording

.PHONY: clean
clean: ## Remove everything that was built
	$(CARGO) clean
	rm -f policy.wasm annotated-policy.wasm
