# `make help` lists the targets.
CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help setup fuzz fuzz-targets release-dry-run policy.wasm annotated-policy.wasm artifacthub-pkg.yml hco-preflight static run test test-wasm e2e-tests \
	e2e-cases e2e-registry e2e-commands e2e-cluster alerts playground playground-test handbook fmt lint deny generate \
	coverage mutants reproducible worst-cases bench chain-drift clean

help: ## List the targets
	@grep -hE '^[a-z0-9.-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

setup: ## Check for rustup and a C compiler, and install the toolchain; most targets run this first
	@command -v rustup >/dev/null || { echo 'rustup is missing: install it from https://rustup.rs' >&2; exit 1; }
	@command -v cc >/dev/null || { echo 'A C compiler is missing: install one, for example with apt install gcc' >&2; exit 1; }
	@case "$$(rustup --version 2>/dev/null)" in 'rustup 0.'*|'rustup 1.'[0-9].*|'rustup 1.1'[0-9].*|'rustup 1.2'[0-7].*) \
		echo 'rustup is older than 1.28: update it, for example with rustup self update' >&2; exit 1;; esac
	@rustup --quiet toolchain install

# The build script of policy-host builds the module. It is the only place with the flags and the profile.
policy.wasm: setup ## Build the policy
	$(CARGO) build --quiet --locked -p policy-host --no-default-features
	@cp $(TARGET)/policy-module/wasm32-unknown-unknown/wasm/hco_architecture_guard.wasm $@

KWCTL = command -v kwctl >/dev/null || { echo 'kwctl is missing: install it from https://github.com/kubewarden/adm-controller/releases' >&2; exit 1; }
annotated-policy.wasm: policy.wasm ## Build the policy with its metadata, as it is published (needs kwctl)
	@$(KWCTL)
	kwctl annotate -m policy-metadata.yml -u README.md -o $@ policy.wasm

artifacthub-pkg.yml: ## Write the package for Artifact Hub (needs kwctl)
	@$(KWCTL)
	kwctl scaffold artifacthub -m policy-metadata.yml -q questions-ui.yml -o $@
	echo 'category: security' >> $@

hco-preflight: setup ## Build the command, target/release/hco-preflight
	$(CARGO) build --release --locked -p hco-preflight

static: setup ## Build the command for any Linux, and run it in an empty directory: hco-preflight-linux-amd64 or -arm64 (MACHINE=aarch64)
	.ci/static $(or $(MACHINE),$(shell uname -m))

run: setup ## Check the example against a mixed cluster: it is denied, with the fix
	$(CARGO) build --locked -p hco-preflight
	$(TARGET)/debug/hco-preflight check -f deploy/examples/hyperconverged.yaml --nodes deploy/examples/mixed-nodes.yaml; test $$? -eq 1

# Tests always run in the whole workspace, and they build the programs, too. Another selection of packages has other features,
# and compiles more than a hundred crates again.
TEST := $(CARGO) test --locked --workspace
PROGRAMS := $(TEST) --quiet --no-run --test suite
test: setup ## Run the tests that need no other program
	$(TEST) --no-fail-fast

test-wasm: setup ## Run the tests of the module's crates in WebAssembly (needs Node.js and wasm-bindgen-cli)
	$(CARGO) test --locked -p engine -p operator-models -p kube-objects --tests --target wasm32-unknown-unknown

e2e-tests: annotated-policy.wasm ## Run the policy with kwctl (needs kwctl and bats)
	bats e2e-tests/e2e.bats

e2e-cases: setup ## Run all cases through the module, kwctl, and policy-server (needs both programs)
	$(TEST) --test suite -- module::the_module_answers
	$(TEST) --test kubewarden -- cases

e2e-registry: setup ## Push, pull, and load the policy, and read images (needs docker-registry, kwctl, and policy-server)
	$(TEST) --test suite -- --ignored registries:: cli::images::
	$(TEST) --test kubewarden -- registry

e2e-commands: setup ## Test the manifests, the action, and the hook (needs bash, git, kubectl, make, pre-commit, and shasum)
	$(TEST) --test commands

# The versions of etcd, kube-apiserver, and kubectl are in e2e-tests/tools/go.mod. Without -X, kubectl and kube-apiserver
# report the version v0.0.0-master.
TOOLS := $(abspath $(TARGET))/cluster-tools
KUBERNETES = $(shell sed -n 's|.*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' e2e-tests/tools/go.mod)
$(TOOLS)/stamp: e2e-tests/tools/go.mod e2e-tests/tools/go.sum
	mkdir -p $(TOOLS)
	cd e2e-tests/tools && CGO_ENABLED=0 go build -o $(TOOLS)/ -ldflags='-s -w $(foreach package,component-base client-go/pkg, \
		-X k8s.io/$(package)/version.gitVersion=$(KUBERNETES))' $$(go list tool)
	mv $(TOOLS)/server $(TOOLS)/etcd
	touch $@

e2e-cluster: setup $(TOOLS)/stamp ## Run scenarios on a real API server (needs Go and docker-registry; WEBHOOK=policy-server, SCENARIOS="1 2")
	$(PROGRAMS)
	ln -sf $(abspath $(TARGET)/debug/hco-preflight) $(TOOLS)/kubectl-hco_preflight
	CLUSTER_TOOLS=$(TOOLS) $(TEST) --test cluster -- $(SCENARIOS)

alerts: ## Read the alerts in deploy/ with Prometheus' parser (needs Go)
	cd e2e-tests/tools/alerts && go run . $(abspath deploy/components/monitoring/alerts.yaml)

NPM := playground/node_modules/.package-lock.json
$(NPM): playground/package-lock.json
	cd playground && npm ci --ignore-scripts --no-audit --no-fund
	touch $@

playground: policy.wasm $(NPM) ## Build the page that runs the policy in a browser, target/playground (needs Node.js)
	cd playground && npm run --silent build -- $(abspath policy.wasm) $(abspath $(TARGET))/playground

playground-test: handbook ## Test the page and the handbook (needs Node.js, mdbook, and Chromium)
	cd playground && npm run --silent check
	$(PROGRAMS)
	$(TARGET)/debug/answers > $(TARGET)/playground-answers.jsonl
	cd playground && TARGET=$(abspath $(TARGET)) POLICY_WASM=$(abspath policy.wasm) npm run --silent test

handbook: playground ## Build the handbook with the playground in it, target/handbook (needs Node.js and mdbook)
	@command -v mdbook >/dev/null || { echo 'mdbook is missing: cargo install --locked mdbook' >&2; exit 1; }
	node docs/pictures.mjs
	node docs/build.mjs $(abspath $(TARGET))/handbook $(abspath $(TARGET))/playground

fmt: ## Check the format
	$(CARGO) fmt --all --check

# `--examples` selects nothing, but makes rustdoc use the crates that clippy has checked.
lint: setup fmt ## Run rustfmt, clippy, and rustdoc; warnings are errors
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked --workspace --test '*' -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --workspace --lib --bins --examples --no-deps --document-private-items

deny: ## Check the licences and sources of the dependencies (needs cargo-deny; DENY=advisories)
	$(CARGO) deny --locked check $(or $(DENY),licenses bans sources)
	$(CARGO) deny --locked --manifest-path fuzz/Cargo.toml check $(or $(DENY),licenses sources)

generate: ## Write the files that repeat the rules and their pages, and the snapshots; read the diff
	find crates e2e-tests -name '*.snap.new' -delete
	GENERATE=1 INSTA_UPDATE=always $(TEST) --quiet --test suite

coverage: setup ## Measure the lines of the module's crates that their tests run (needs cargo-llvm-cov)
	$(CARGO) llvm-cov --locked -p engine -p operator-models -p kube-objects --tests --quiet --summary-only --fail-under-lines 98

mutants: setup ## Change the module's crates in many small ways, and list what no test notices (needs cargo-mutants; PART=3/20 or FILES="..."; UPDATE=1)
	UPDATE=$(UPDATE) .ci/mutants $(or $(FILES),$(PART))

reproducible: policy.wasm ## Build the policy in another folder, with another Cargo home: the bytes must be the same
	.ci/reproducible policy.wasm

# Without a sanitizer: the code is safe Rust, and a sanitizer needs a nightly toolchain.
fuzz-targets: setup ## Build the fuzz targets (needs cargo-fuzz and a C++ compiler)
	$(CARGO) fuzz build --fuzz-dir fuzz --target-dir fuzz/target --sanitizer none

fuzz: fuzz-targets ## Fuzz each target for SECONDS=60, and run CHAINS=20000 chains of updates (ONLY="target ..." SEED=1)
	SECONDS_EACH=$(or $(SECONDS),60) CHAINS=$(or $(CHAINS),20000) SEED=$(or $(SEED),0) fuzz/run $(ONLY)

release-dry-run: ## Run the steps of a release with small files, and publish nothing (needs git, kubectl, and tar)
	.ci/release-dry-run

worst-cases: setup ## Count the instructions that the worst requests need
	$(CARGO) test --locked -q --workspace --test suite -- --ignored --exact worst::worst_cases

bench: setup ## Measure an evaluation, and write docs/developers/performance.md (with policy-server on PATH: a request through it too)
	HCO_BENCH_WRITE=1 $(CARGO) bench --locked -p policy-host -p hco-preflight -p e2e-tests

chain-drift: setup ## Compare with the checkouts HCO=path, SSP=path, CDI=path, KUBEVIRT=path, or with HCO alone (needs Go)
	HCO=$(HCO) SSP=$(SSP) CDI=$(CDI) KUBEVIRT=$(KUBEVIRT) SEED=$(SEED) HCO_VERSION=$(HCO_VERSION) crates/engine/tests/oracle/drift $(abspath $(TARGET))/drift

clean: ## Remove everything that was built
	$(CARGO) clean
	rm -f hco-preflight-linux-* policy.wasm annotated-policy.wasm
