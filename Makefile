# Each target is a line or two over cargo. `make help` lists them.

CARGO ?= cargo
# One profile and one set of flags (.cargo/config.toml) for the module that is tested, annotated and pushed.
TARGET := $(or $(CARGO_TARGET_DIR),target)
MODULE := $(TARGET)/wasm32-wasip1/wasm/hco_architecture_guard.wasm
# The module names the sources of its dependencies; not where they are on this machine. preflight/build.rs has it too.
REMAP := target.wasm32-wasip1.rustflags=["--remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src=/cargo/registry/src"]
PACKAGING := $(CARGO) run --quiet --locked -p packaging
SOURCES := $(shell find src engine/src json-stream/src -name '*.rs') $(wildcard Cargo.* engine/Cargo.toml json-stream/Cargo.toml .cargo/config.toml rust-toolchain.toml)

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9.-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

policy.wasm: $(SOURCES) | setup ## Build the policy
	$(CARGO) build --locked -p hco-architecture-guard --profile wasm --target wasm32-wasip1 --config '$(REMAP)'
	cp $(MODULE) $@

# First of all, so that nothing is compiled in vain. cargo would install the toolchain by itself, but not where
# RUSTUP_AUTO_INSTALL is 0.
.PHONY: setup
setup: ## Check for rustup and a C compiler, install the toolchain and its targets; the other targets do it first
	@command -v rustup >/dev/null || { echo 'rustup is missing: install it from https://rustup.rs' >&2; exit 1; }
	@command -v cc >/dev/null || { echo 'A C compiler is missing: install one, for example with apt install gcc' >&2; exit 1; }
	@rustup --quiet toolchain install

annotated-policy.wasm: policy.wasm policy-metadata.yml README.md ## Build the policy as it is deployed
	$(PACKAGING) -- annotate policy.wasm --output $@

# What scaffolds and Rancher copy its rules from, on a cluster that serves no v1.
annotated-policy-v1beta1.wasm: policy.wasm policy-metadata.yml README.md ## The same with rules for v1beta1 only: HCO up to 1.17
	$(PACKAGING) -- annotate policy.wasm --api-version v1beta1 --output $@

# RELEASED=1: refuse a version of which CHANGELOG.md does not say when it was released.
artifacthub-pkg.yml: policy-metadata.yml questions-ui.yml CHANGELOG.md ## Write the page on Artifact Hub
	$(PACKAGING) -- artifacthub --output $@ $(if $(RELEASED),--released)

# SOURCES_PATH: the sources.yml that kwctl takes, for a registry that is insecure or has a certificate of its own.
.PHONY: push
push: $(or $(MODULE_FILE),annotated-policy.wasm) ## Push the policy to OCI=registry/repository:tag, print its digest
	@$(PACKAGING) --features registry -- push $< $(or $(OCI),$(error OCI=registry/repository:tag)) $(if $(SOURCES_PATH),--sources-path $(SOURCES_PATH))

.PHONY: pull
pull: ## Pull OCI=registry/repository:tag into pulled-policy.wasm
	$(PACKAGING) --features registry -- pull $(or $(OCI),$(error OCI=registry/repository:tag)) --output pulled-policy.wasm $(if $(SOURCES_PATH),--sources-path $(SOURCES_PATH))

policy-sbom.cdx.json: $(SOURCES) ## Write down what is in the module (needs cargo-cyclonedx)
	.ci/sbom

.PHONY: reproducible
reproducible: policy.wasm ## Build the policy in another folder, with another Cargo home: the bytes must be the same
	.ci/reproducible policy.wasm $(wildcard $(TARGET)/policy-module/wasm32-wasip1/wasm/hco_architecture_guard.wasm)

.PHONY: hco-preflight
hco-preflight: setup ## Build the command, target/release/hco-preflight
	$(CARGO) build --release --locked -p hco-preflight --bin hco-preflight

# MACHINE=aarch64: for arm64, from another machine; the script says what it needs.
MACHINE ?= $(shell uname -m)
.PHONY: static
static: setup ## Build the command for any Linux, and run it in an empty directory: hco-preflight-linux-amd64 or -arm64
	.ci/static $(MACHINE)

.PHONY: push-image
push-image: ## Push the image of both static commands to OCI=registry/repository:tag, print its digest
	@$(PACKAGING) --features registry -- push-image hco-preflight-linux-amd64 hco-preflight-linux-arm64 $(or $(OCI),$(error OCI=registry/repository:tag)) $(if $(SOURCES_PATH),--sources-path $(SOURCES_PATH))

.PHONY: archives
archives: ## Pack the commands in RELEASE=directory for cargo binstall, krew and action.yml
	.ci/archives $(or $(RELEASE),$(error RELEASE=directory))

# Half the time of a release build; the module in it is the same.
PREFLIGHT := $(TARGET)/debug/hco-preflight
.PHONY: run
run: setup ## Check the example against a mixed cluster: it is denied, with the fix
	$(CARGO) build --locked -p hco-preflight --bin hco-preflight
	$(PREFLIGHT) check -f examples/hyperconverged.yaml --nodes examples/mixed-nodes.yaml; test $$? -eq 1

# Always the same packages, whichever of their tests are run: other packages have other features, and cargo would
# build everything anew for them.
TEST := $(CARGO) test --locked -p hco-architecture-engine -p json-stream -p hco-preflight -p packaging -p sources -p e2e-tests

.PHONY: test
test: setup ## Test all that needs no other program
	$(TEST) --doc
	$(TEST) --no-fail-fast --lib --bins --test suite

.PHONY: e2e-tests
e2e-tests: setup ## The cases through every door; kwctl and policy-server if they are on PATH (POLICY_WASM: another module)
	$(TEST) --test doors

# The versions of these programs are in e2e-tests/tools/go.mod, and nowhere else.
TOOLS := $(abspath $(TARGET))/cluster-tools
KUBERNETES = $(shell sed -n 's|.*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' e2e-tests/tools/go.mod)

# Without the stamps kubectl and kube-apiserver call themselves v0.0.0-master.
$(TOOLS)/stamp: e2e-tests/tools/go.mod e2e-tests/tools/go.sum
	mkdir -p $(TOOLS)
	cd e2e-tests/tools && CGO_ENABLED=0 go build -o $(TOOLS)/ -ldflags='-s -w $(foreach package,component-base client-go/pkg, \
		-X k8s.io/$(package)/version.gitVersion=$(KUBERNETES))' $$(go list tool)
	mv $(TOOLS)/server $(TOOLS)/etcd
	touch $@

.PHONY: cluster-tools
cluster-tools: $(TOOLS)/stamp ## Build etcd, kube-apiserver and kubectl for e2e-cluster (needs Go; six minutes, once)

.PHONY: e2e-cluster
e2e-cluster: ## What users do, on a real API server (needs Go; WEBHOOK=library: without policy-server)
	@if test -e $(TOOLS)/stamp || command -v go >/dev/null; then \
		$(MAKE) --no-print-directory cluster-tools && \
		$(CARGO) build --locked -p hco-preflight --bin hco-preflight && \
		ln -sf $(abspath $(PREFLIGHT)) $(TOOLS)/kubectl-hco_preflight && \
		CLUSTER_TOOLS=$(TOOLS) $(TEST) --test cluster -- $(SCENARIOS); \
	else echo 'cluster: not run: go is not on PATH'; fi

.PHONY: test-wasm
test-wasm: setup ## Test the engine and its JSON reader in wasm, on Node.js (needs wasm-bindgen-cli, see .ci/run)
	$(CARGO) test --locked -p hco-architecture-engine --lib --test suite --target wasm32-unknown-unknown
	$(CARGO) test --locked -p json-stream --lib --target wasm32-unknown-unknown

.PHONY: coverage
coverage: setup ## Which lines of the engine and its JSON reader their tests run (needs cargo-llvm-cov)
	.ci/coverage

# A mutant is a small change of the code that a test has to notice. .cargo/mutants.toml lists those that no test can
# notice. BASE: the commit that the change is compared with.
MUTANTS := $(CARGO) mutants -p hco-architecture-engine -p json-stream --output $(TARGET)
.PHONY: mutants
mutants: setup ## Mutants in the lines of the engine and JSON reader that differ from BASE=main (needs cargo-mutants)
	@mkdir -p $(TARGET)
	git diff $$(git merge-base $(or $(BASE),main) HEAD) -- engine/src json-stream/src > $(TARGET)/mutants.diff
	$(MUTANTS) --in-diff $(TARGET)/mutants.diff

# SHARD=0/8: the first eighth.
.PHONY: mutants-all
mutants-all: setup ## All mutants of the engine and JSON reader; takes hours (SHARD=0/8: a part)
	$(MUTANTS) $(if $(SHARD),--shard $(SHARD))

# The engine is compared with HCO's own code, which Go builds from a checkout. SEED, CREATED, UPDATED: which objects.
ROWS := $(abspath $(TARGET))/hco-drift
ORACLE = engine/tests/oracle/run $(or $(HCO),$(error HCO=path/to/a/checkout/of/hyperconverged-cluster-operator)) $(ROWS) -seed $(or $(SEED),1)
.PHONY: hco-drift
hco-drift: setup ## Compare the engine with the HCO checkout HCO=path over generated objects (needs Go)
	$(ORACLE) -created $(or $(CREATED),5000) -updated $(or $(UPDATED),1000)
	RUST_BACKTRACE=0 HCO=$(abspath $(HCO)) HCO_ROWS=$(ROWS) $(CARGO) test --locked -q -p hco-architecture-engine --test suite -- --nocapture --exact \
		conformance::the_corpus_agrees_with_hco updates::the_corpus_agrees_with_the_webhooks_of_hco

.PHONY: hco-sample
hco-sample: ## Write the samples in engine/tests/suite/data from the HCO checkout HCO=path (needs Go)
	$(ORACLE) -created $(or $(CREATED),2000) -updated $(or $(UPDATED),600)
	cp $(ROWS)/hco.jsonl.gz engine/tests/suite/data/hco-sample.jsonl.gz
	cp $(ROWS)/update.jsonl.gz engine/tests/suite/data/update-sample.jsonl.gz

# SECONDS_EACH: how long each target runs.
.PHONY: fuzz
fuzz: ## Fuzz the JSON reader for a minute (needs a nightly toolchain and cargo-fuzz)
	$(CARGO) +nightly fuzz run json_stream -- -max_total_time=$(or $(SECONDS_EACH),60) -max_len=4096

# npm knows by this file what it installed. Scripts of packages are not needed, and not run.
NPM := playground/node_modules/.package-lock.json
$(NPM): playground/package-lock.json
	cd playground && npm ci --ignore-scripts --no-audit --no-fund
	touch $@

.PHONY: playground
playground: policy.wasm $(NPM) ## Build the page that runs the policy in a browser, target/playground (needs Node.js)
	cd playground && npm run --silent build -- $(abspath policy.wasm) $(abspath $(TARGET))/playground

.PHONY: playground-serve
playground-serve: playground ## Serve the page on http://127.0.0.1:8080 (PORT)
	cd playground && npm run --silent serve -- $(abspath $(TARGET))/playground $(or $(PORT),8080)

# The page is compared with what the engine answers natively.
.PHONY: playground-test
playground-test: playground ## Check the types and the format of the page, and test it in Chromium, if that is on PATH
	cd playground && npm run --silent check
	$(CARGO) run --quiet --locked -p e2e-tests --bin answers > $(TARGET)/playground-answers.jsonl
	cd playground && TARGET=$(abspath $(TARGET)) POLICY_WASM=$(abspath policy.wasm) npm run --silent test

.PHONY: bench-playground
bench-playground: playground ## Measure the page in Chromium
	cd playground && npm run --silent bench -- $(abspath $(TARGET))/playground

.PHONY: bench
bench: ## Measure what it costs, and write it into README.md and docs/growth.svg (HCO_BENCH_MODULES: other modules)
	HCO_BENCH_WRITE=1 $(CARGO) bench --locked -p hco-preflight --bench evaluate

.PHONY: bench-readers
bench-readers: ## Compare JSON readers for the node list; json-stream/README.md has the table
	$(CARGO) bench --locked -p hco-preflight --bench readers

.PHONY: bench-policy-server
bench-policy-server: ## Measure a request through policy-server, if it is on PATH
	@$(CARGO) bench --quiet --locked -p e2e-tests --bench policy-server

.PHONY: lint
lint: setup ## rustfmt, clippy and rustdoc, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --no-deps --document-private-items

.PHONY: lint-features
lint-features: setup ## clippy for hco-preflight with fewer features; CI runs it apart, because it compiles much anew
	for features in cli images cluster ''; do \
		$(CARGO) clippy --locked -p hco-preflight --lib --bins --no-default-features --features "$$features" -- -D warnings || exit; \
	done

.PHONY: fmt
fmt: ## Format the code
	$(CARGO) fmt --all

.PHONY: deny
deny: ## Licences, advisories, bans and sources of the dependencies (needs cargo-deny)
	$(CARGO) deny --locked check $(or $(DENY),licenses bans sources)

.PHONY: generate
generate: ## Write what repeats Cargo.toml's home, the rules and their pages
	$(PACKAGING) -- home
	GENERATE=1 $(TEST) --test suite generated
	$(MAKE) artifacthub-pkg.yml

.PHONY: snapshots
snapshots: ## Write the snapshots of the wording and the picture anew; read the diff before you commit it
	INSTA_UPDATE=always $(CARGO) test -q --locked -p hco-architecture-engine --test suite wording
	INSTA_UPDATE=always EDITS=write $(CARGO) test -q --locked -p hco-preflight --test suite -- cli edit

.PHONY: clean
clean: ## Remove everything that was built
	$(CARGO) clean
	rm -f hco-preflight-linux-* policy.wasm annotated-policy.wasm annotated-policy-v1beta1.wasm pulled-policy.wasm
