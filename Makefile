# Each target runs one or two commands, mostly of cargo. `make help` lists the targets.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
# One profile and one set of flags (.cargo/config.toml, build.rs) for the module that is tested, annotated, and pushed. The directory
# is that of crates/policy-host/build.rs, so that the module is compiled once.
MODULE_TARGET := $(TARGET)/policy-module
MODULE := $(MODULE_TARGET)/wasm32-unknown-unknown/wasm/hco_architecture_guard.wasm
# The module contains the paths of its dependencies' sources. Remap them, so that they do not depend on this machine.
# crates/policy-host/build.rs does the same.
REMAP := target.wasm32-unknown-unknown.rustflags=["--remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src=/cargo/registry/src"]
PACKAGING := $(CARGO) run --quiet --locked -p packaging
CRATES := crates/engine crates/operator-models crates/kube-objects crates/json-stream
SOURCES := $(shell find src $(CRATES:=/src) -name '*.rs') $(wildcard build.rs Cargo.* $(CRATES:=/Cargo.toml) .cargo/config.toml rust-toolchain.toml)

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9.-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

OF_MODULE = --locked -p hco-architecture-guard --profile wasm --target wasm32-unknown-unknown --config '$(REMAP)'
policy.wasm: $(SOURCES) | setup $(TARGET)/CACHEDIR.TAG ## Build the policy
	$(CARGO) build $(OF_MODULE) --target-dir $(MODULE_TARGET)
	cp $(MODULE) $@

# By this file, crates/policy-host/build.rs finds the directory of the module. cargo writes it if it creates the directory, but the
# build of the module can be earlier; without it, the module would be built twice.
$(TARGET)/CACHEDIR.TAG:
	@mkdir -p $(TARGET)
	@echo 'Signature: 8a477f597d28d172789f06886806bc55' > $@

# This runs before anything is compiled. cargo would install the toolchain by itself, but not if RUSTUP_AUTO_INSTALL is 0.
# Versions of rustup before 1.28 do not install the toolchain of rust-toolchain.toml.
.PHONY: setup
setup: ## Check for rustup and a C compiler, install the toolchain and its targets; the other targets run this first
	@command -v rustup >/dev/null || { echo 'rustup is missing: install it from https://rustup.rs' >&2; exit 1; }
	@command -v cc >/dev/null || { echo 'A C compiler is missing: install one, for example with apt install gcc' >&2; exit 1; }
	@case "$$(rustup --version 2>/dev/null)" in 'rustup 0.'*|'rustup 1.'[0-9].*|'rustup 1.1'[0-9].*|'rustup 1.2'[0-7].*) \
		echo 'rustup is older than 1.28: update it, for example with rustup self update' >&2; exit 1;; esac
	@rustup --quiet toolchain install

annotated-policy.wasm: policy.wasm policy-metadata.yml README.md ## Build the policy as it is deployed
	$(PACKAGING) -- annotate policy.wasm --output $@

# For clusters that do not serve v1: `kwctl scaffold manifest` and Rancher copy the rules from the metadata of the module.
annotated-policy-v1beta1.wasm: policy.wasm policy-metadata.yml README.md ## Build the policy with rules only for v1beta1, for HCO 1.17 and earlier
	$(PACKAGING) -- annotate policy.wasm --api-version v1beta1 --output $@

# RELEASED=1: fail if CHANGELOG.md does not contain the release date of the version.
artifacthub-pkg.yml: policy-metadata.yml questions-ui.yml CHANGELOG.md ## Write the page on Artifact Hub
	$(PACKAGING) -- artifacthub --output $@ $(if $(RELEASED),--released)

# SOURCES_PATH: the sources.yml of kwctl, for a registry that is insecure or has a private certificate.
.PHONY: push
push: $(or $(MODULE_FILE),annotated-policy.wasm) ## Push the policy to OCI=registry/repository:tag, print its digest
	@$(PACKAGING) --features registry -- push $< $(or $(OCI),$(error OCI=registry/repository:tag)) $(if $(SOURCES_PATH),--sources-path $(SOURCES_PATH))

.PHONY: pull
pull: ## Pull OCI=registry/repository:tag into pulled-policy.wasm
	$(PACKAGING) --features registry -- pull $(or $(OCI),$(error OCI=registry/repository:tag)) --output pulled-policy.wasm $(if $(SOURCES_PATH),--sources-path $(SOURCES_PATH))

policy-sbom.cdx.json: $(SOURCES) ## Write the software bill of materials (SBOM) of the module (needs cargo-cyclonedx)
	.ci/sbom

# With the names of its functions, and otherwise the same. In a copy, so that the module itself is not built again.
.PHONY: sizes
sizes: policy.wasm ## Print how many bytes each crate adds to the module
	@rm -rf $(MODULE_TARGET)-names && cp -R -p $(MODULE_TARGET) $(MODULE_TARGET)-names
	@$(CARGO) rustc --quiet $(OF_MODULE) --target-dir $(MODULE_TARGET)-names -- -C strip=debuginfo
	@$(PACKAGING) -- size $(patsubst $(MODULE_TARGET)/%,$(MODULE_TARGET)-names/%,$(MODULE))

.PHONY: reproducible
reproducible: policy.wasm ## Build the policy in another folder, with another Cargo home: the bytes must be the same
	.ci/reproducible policy.wasm $(wildcard $(MODULE))

.PHONY: hco-preflight
hco-preflight: setup ## Build the command, target/release/hco-preflight
	$(CARGO) build --release --locked -p hco-preflight --bin hco-preflight

# MACHINE=aarch64: build for arm64 on another machine; the script prints what it needs.
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

# A debug build takes half the time of a release build, and contains the same module. The module is built at the same time
# as the crates, because cargo would start crates/hco-preflight/build.rs when most of the rest is done.
PREFLIGHT := $(TARGET)/debug/hco-preflight
.PHONY: run
run: setup $(TARGET)/CACHEDIR.TAG ## Check the example against a mixed cluster: it is denied, with the fix
	@$(CARGO) build $(OF_MODULE) --target-dir $(MODULE_TARGET) & module=$$!; \
	$(CARGO) build --locked -p hco-preflight --bin hco-preflight; status=$$?; \
	wait $$module && exit $$status
	$(PREFLIGHT) check -f deploy/examples/hyperconverged.yaml --nodes deploy/examples/mixed-nodes.yaml; test $$? -eq 1

# Always the same packages, regardless of which tests are run: another set of packages has other features, for which cargo
# would build everything again.
TEST := $(CARGO) test --locked -p engine -p json-stream -p kube-objects -p operator-models -p manifest -p policy-host -p hco-preflight -p packaging -p registry -p e2e-tests -p test-data

.PHONY: test
test: setup ## Run the tests that need no other program
	$(TEST) --doc
	$(TEST) --no-fail-fast --lib --bins --test suite

.PHONY: e2e-tests
e2e-tests: setup ## Run the cases through every door, including kwctl and policy-server if they are on PATH (POLICY_WASM: another module)
	$(TEST) --test doors

# Only e2e-tests/tools/go.mod specifies the versions of these programs.
TOOLS := $(abspath $(TARGET))/cluster-tools
KUBERNETES = $(shell sed -n 's|.*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' e2e-tests/tools/go.mod)

# Without -X, kubectl and kube-apiserver report the version v0.0.0-master.
$(TOOLS)/stamp: e2e-tests/tools/go.mod e2e-tests/tools/go.sum
	mkdir -p $(TOOLS)
	cd e2e-tests/tools && CGO_ENABLED=0 go build -o $(TOOLS)/ -ldflags='-s -w $(foreach package,component-base client-go/pkg, \
		-X k8s.io/$(package)/version.gitVersion=$(KUBERNETES))' $$(go list tool)
	mv $(TOOLS)/server $(TOOLS)/etcd
	touch $@

.PHONY: cluster-tools
cluster-tools: $(TOOLS)/stamp ## Build etcd, kube-apiserver, and kubectl for e2e-cluster (needs Go; takes six minutes, once)

# Runs the scenarios of tests/cluster, or says why not, which is an error if REQUIRE_DOORS lists `cluster`.
CLUSTER = if test -e $(TOOLS)/stamp || command -v go >/dev/null; then \
		$(MAKE) --no-print-directory cluster-tools && \
		$(CARGO) build --locked -p hco-preflight --bin hco-preflight && \
		ln -sf $(abspath $(PREFLIGHT)) $(TOOLS)/kubectl-hco_preflight && \
		CLUSTER_TOOLS=$(TOOLS) $(TEST) --test cluster -- $(1) $(SCENARIOS); \
	else echo 'cluster: not run: go is not on PATH'; case " $$REQUIRE_DOORS " in *[\ ,]cluster[\ ,]*) exit 1;; esac; fi

.PHONY: alerts
alerts: ## Read the alerts in deploy/components/monitoring with Prometheus' own parser (needs Go)
	cd e2e-tests/tools/alerts && go run . $(abspath deploy/components/monitoring/alerts.yaml)

.PHONY: e2e-cluster
e2e-cluster: ## What users do, on a real API server (needs Go; WEBHOOK=library: without policy-server)
	@$(call CLUSTER)

.PHONY: plan-memory
plan-memory: setup ## Measure the memory of plan, status, and snapshot with 5,000 nodes and 20,000 virtual machines: at most 150 MiB
	$(TEST) --test suite cli::large -- --ignored --nocapture

.PHONY: chaos
chaos: ## Faults at a real API server, and how long they last (needs what e2e-cluster needs)
	@$(call CLUSTER,chaos)

.PHONY: test-wasm
test-wasm: setup ## Test the engine and its JSON reader in WebAssembly, on Node.js (needs wasm-bindgen-cli, see .ci/run)
	$(CARGO) test --locked -p engine -p operator-models -p kube-objects --lib --test suite --target wasm32-unknown-unknown
	$(CARGO) test --locked -p json-stream --lib --target wasm32-unknown-unknown

.PHONY: coverage
coverage: setup ## Measure which lines and branches of the engine and its JSON reader their tests run (needs cargo-llvm-cov)
	.ci/coverage

# A mutant is a small change of the code that a test has to notice. .cargo/mutants.toml lists those that no test can
# notice. Of the preflight, only the files that decide about a verdict have mutants. BASE: the commit to compare with.
MUTANTS = $(CARGO) mutants --output $(TARGET)/mutants$(1)
OF_ENGINE := -p engine -p operator-models -p kube-objects -p json-stream --test-package engine,operator-models,kube-objects,json-stream
OF_PREFLIGHT := -p policy-host -p hco-preflight --test-package policy-host,hco-preflight \
	$(patsubst %,-f %.rs,crates/policy-host/src/mask crates/policy-host/src/session $(addprefix crates/hco-preflight/src/,admission apply check exit stage/judge verdict))
CHANGED = $(TARGET)/mutants.diff
.PHONY: mutants
mutants: setup ## Test mutants in the lines that differ from BASE=main (needs cargo-mutants)
	@mkdir -p $(TARGET)
	git diff $$(git merge-base $(or $(BASE),main) HEAD) -- $(CRATES:=/src) crates/policy-host/src crates/hco-preflight/src > $(CHANGED)
	$(call MUTANTS,-engine) $(OF_ENGINE) --in-diff $(CHANGED) -- --lib --test suite; status=$$?; \
	$(call MUTANTS,-preflight) $(OF_PREFLIGHT) --in-diff $(CHANGED) -- --lib --bins --test suite && exit $$status

# SHARD=0/8: the first eighth.
.PHONY: mutants-all
mutants-all: setup ## Test all mutants; takes hours (SHARD=0/8: a part)
	$(call MUTANTS,-engine) $(OF_ENGINE) $(if $(SHARD),--shard $(SHARD)) -- --lib --test suite; status=$$?; \
	$(call MUTANTS,-preflight) $(OF_PREFLIGHT) $(if $(SHARD),--shard $(SHARD)) -- --lib --bins --test suite && exit $$status

# These targets run the code of the HyperConverged Cluster Operator (HCO), which Go builds from a checkout. SEED, CREATED,
# and UPDATED select the generated objects.
ROWS := $(abspath $(TARGET))/hco-drift
ORACLE = crates/engine/tests/oracle/run $(or $(HCO),$(error HCO=path/to/a/checkout/of/hyperconverged-cluster-operator)) $(ROWS) -seed $(or $(SEED),1)
.PHONY: hco-drift
hco-drift: setup ## Compare the engine with the HCO checkout HCO=path, by the newest version or by HCO_VERSION=1.18 (needs Go)
	$(ORACLE) -created $(or $(CREATED),5000) -updated $(or $(UPDATED),1000)
	RUST_BACKTRACE=0 HCO=$(abspath $(HCO)) HCO_ROWS=$(ROWS) $(CARGO) test --locked -q -p engine --test suite -- --nocapture --exact \
		$(if $(HCO_VERSION),versions::the_rows_of_a_checkout_agree_with_its_version,conformance::the_corpus_agrees_with_hco updates::the_corpus_agrees_with_the_webhooks_of_hco)

# The checkouts of the four operators that a HyperConverged goes through.
CHAIN_ROWS := $(abspath $(TARGET))/chain-drift
OPERATORS = $(foreach name,HCO SSP CDI KUBEVIRT,$(or $($(name)),$(error $(name)=path/to/a/checkout is missing)))
OF_CHAIN := forecast::the_forecasts_agree_with_the_operators data_import_crons::every_data_import_cron_becomes_what_cdi_makes_of_it \
	data_import_crons::the_api_server_rejects_the_data_sources_that_it_rejects virtual_machines::the_virtual_machines_agree_with_kubevirt
.PHONY: chain-drift
chain-drift: setup ## Compare the forecast with the checkouts HCO=path, SSP=path, CDI=path, and KUBEVIRT=path (needs Go)
	crates/engine/tests/oracle/chain/run $(OPERATORS) $(CHAIN_ROWS) $(or $(SEED),1) $(or $(CREATED),5000)
	export RUST_BACKTRACE=0 HCO_ROWS=$(CHAIN_ROWS); \
	$(CARGO) test --locked -q -p operator-models --test suite -- --nocapture --exact $(OF_CHAIN); status=$$?; \
	$(CARGO) test --locked -q -p engine --test suite -- --nocapture --exact \
		chain::the_rules_fire_where_the_operators_refuse_or_lose_something && exit $$status

.PHONY: hco-sample
hco-sample: ## Write the samples in crates/engine/tests/suite/data from the HCO checkout HCO=path, those of main or of HCO_VERSION=1.18 (needs Go)
	$(ORACLE) -created $(or $(CREATED),$(if $(HCO_VERSION),290,2000)) -updated $(or $(UPDATED),$(if $(HCO_VERSION),300,600))
	cp $(ROWS)/hco.jsonl.gz crates/engine/tests/suite/data/hco-$(or $(HCO_VERSION),sample).jsonl.gz
	cp $(ROWS)/update.jsonl.gz crates/engine/tests/suite/data/update-$(or $(HCO_VERSION),sample).jsonl.gz

# ONLY: the names of targets. New inputs are kept in fuzz/target/corpus, and the module gets those of `report` too. There is no
# sanitizer, because the code is safe Rust. The target `cost` is a search for the request that costs the most for its size
# (crates/policy-host/tests/suite/cost/search.rs); libFuzzer cannot look for that.
FUZZED := $(or $(ONLY),cost json_stream jsonpatch manifest_yaml node_list placement registry_answers remedies report session settings validate)
FUZZ = $(CARGO) fuzz run --fuzz-dir fuzz --sanitizer none
SEEDS := $(CURDIR)/fuzz/target/seeds
.PHONY: fuzz
fuzz: setup ## Fuzz each target for SECONDS=60, or only the targets ONLY=name (needs cargo-fuzz)
	$(if $(filter cost,$(FUZZED)),SECONDS=$(or $(SECONDS),60) $(TEST) -q --test suite -- --ignored --exact --nocapture cost::search::search)
	FUZZ_SEEDS=$(SEEDS) $(CARGO) test -q --locked -p engine --test suite -- --exact fuzzed::seeds
	mkdir -p $(SEEDS)/manifest_yaml && cp crates/manifest/tests/edits.yaml deploy/examples/*.yaml $(SEEDS)/manifest_yaml
	for target in $(filter-out cost,$(FUZZED)); do \
		mkdir -p fuzz/corpus/$$target fuzz/target/corpus/$$target $(SEEDS)/$$target && \
		$(FUZZ) $$target fuzz/target/corpus/$$target fuzz/corpus/$$target $(SEEDS)/$$target -- \
			-max_total_time=$(or $(SECONDS),60) -max_len=8192 -timeout=60 -print_final_stats=1 || failed="$$failed $$target"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }
	$(if $(filter report,$(FUZZED)),FUZZ_INPUTS=$(CURDIR)/fuzz/target/corpus $(TEST) -q --test suite -- --exact fuzzed::wasm_vs_native)

# Keeps the fewest short inputs that reach the same code, all findings (files whose names begin with `found`), and the longer
# inputs about VirtualMachines (`vm-`).
.PHONY: fuzz-corpus
fuzz-corpus: setup ## Select fuzz/corpus from the inputs that `make fuzz` found; run that first (ONLY=name)
	for target in $(filter-out cost,$(FUZZED)); do \
		find fuzz/corpus/$$target -type f ! -name 'found*' ! -name 'vm-*' -delete && \
		$(FUZZ) $$target fuzz/corpus/$$target fuzz/target/corpus/$$target $(SEEDS)/$$target -- \
			-set_cover_merge=1 -use_counters=0 -max_len=700 || exit; \
	done

# npm writes this file after an installation. The scripts of packages are not needed, and are not run.
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

# The tests compare the page with the answers of the native engine.
.PHONY: playground-test
playground-test: playground ## Test the page, and the handbook if it is built, in Chromium, if that is on PATH; check types and format
	cd playground && npm run --silent check
	$(CARGO) run --quiet --locked -p e2e-tests --bin answers > $(TARGET)/playground-answers.jsonl
	cd playground && TARGET=$(abspath $(TARGET)) POLICY_WASM=$(abspath policy.wasm) npm run --silent test

.PHONY: bench-playground
bench-playground: playground ## Measure the page in Chromium
	cd playground && npm run --silent bench -- $(abspath $(TARGET))/playground

.PHONY: handbook
handbook: playground ## Build the handbook with the playground in it, target/handbook (needs Node.js and mdbook, see .ci/run)
	@command -v mdbook >/dev/null || { echo 'mdbook is missing: install it with cargo install --locked mdbook --version 0.5.4' >&2; exit 1; }
	node docs/pictures.mjs
	node docs/build.mjs $(abspath $(TARGET))/handbook $(abspath $(TARGET))/playground

.PHONY: handbook-serve
handbook-serve: handbook ## Serve the handbook on http://127.0.0.1:8080 (PORT)
	cd playground && npm run --silent serve -- $(abspath $(TARGET))/handbook $(or $(PORT),8080)

.PHONY: worst-cases
worst-cases: setup ## Measure the worst inputs that users, nodes, and registries can send, and write them to docs/threat-model.md
	$(CARGO) test --locked -q -p policy-host --test suite -- --ignored --exact worst::worst_cases

.PHONY: bench
bench: ## Measure the cost of an evaluation, and write it to docs/performance.md and docs/growth.svg (HCO_BENCH_MODULES: other modules)
	HCO_BENCH_WRITE=1 $(CARGO) bench --locked -p policy-host --bench evaluate

.PHONY: bench-preflight
bench-preflight: setup ## Measure how long hco-preflight takes for one manifest
	$(CARGO) bench --quiet --locked -p hco-preflight --bench warm

.PHONY: bench-readers
bench-readers: ## Compare JSON readers for the node list; crates/json-stream/README.md has the table
	$(CARGO) bench --locked -p policy-host --bench readers

.PHONY: bench-policy-server
bench-policy-server: ## Measure a request through policy-server, if it is on PATH
	@$(CARGO) bench --quiet --locked -p e2e-tests --bench policy-server

.PHONY: lint
lint: setup ## Run rustfmt, clippy, and rustdoc; warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --no-deps --document-private-items

.PHONY: fmt
fmt: ## Format the code
	$(CARGO) fmt --all

.PHONY: deny
deny: ## Check the licences, bans, and sources of the dependencies; DENY=advisories: the advisories (needs cargo-deny)
	$(CARGO) deny --locked check $(or $(DENY),licenses bans sources)

.PHONY: generate
generate: ## Write the files that repeat the home in Cargo.toml, the rules, or their pages
	$(PACKAGING) -- home
	GENERATE=1 $(TEST) --test suite generated
	$(MAKE) artifacthub-pkg.yml

.PHONY: snapshots
snapshots: ## Write the snapshots of the wording, and the picture; read the diff before you commit it
	INSTA_UPDATE=always $(CARGO) test -q --locked -p engine --test suite wording
	INSTA_UPDATE=always EDITS=write $(CARGO) test -q --locked -p manifest -p hco-preflight --test suite -- cli edit

.PHONY: clean
clean: ## Remove everything that was built
	$(CARGO) clean
	rm -f hco-preflight-linux-* policy.wasm annotated-policy.wasm annotated-policy-v1beta1.wasm pulled-policy.wasm
