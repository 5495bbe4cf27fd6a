# Everything that is done with this project; plain `make` lists it.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

TOOLS := $(CURDIR)/.tools
GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
FUZZTIME ?= 20s
BENCH ?= .
# For example make bench BENCHFLAGS='-rounds 1 -rows rejecting -out -'
BENCHFLAGS ?=

# The plugin is standard Go.
WASM := GOOS=wasip1 GOARCH=wasm
PLUGIN_PACKAGES := . ./plugin/... ./internal/goabi/... ./internal/host/...

.PHONY: help
help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: build/sluice.wasm build/sluice-higress.wasm build/sluice ## compile the plugin (build/sluice.wasm, build/sluice-higress.wasm) and the tool (build/sluice)

# Without VERSION it is the one that internal/version names.
VERSION ?=
SET_VERSION := $(if $(VERSION),-X sluice/internal/version.Version=$(VERSION))

# go build itself knows whether there is anything to do. What it makes works as it
# is; packing takes a quarter off, and the stamp is what `sluice version FILE` reads.
.PHONY: FORCE
build/sluice.wasm: FORCE
	$(WASM) go build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w $(SET_VERSION)' -o build/sluice-unpacked.wasm .
	go run ./internal/wasmpack/pack build/sluice-unpacked.wasm build/sluice-unstamped.wasm
	go run ./internal/wasmfile/stamp $(if $(VERSION),-version $(VERSION)) build/sluice-unstamped.wasm $@

# For Higress, whose Redis calls any other proxy refuses.
build/sluice-higress.wasm: FORCE
	$(WASM) go build -tags=higress -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w $(SET_VERSION)' -o build/sluice-higress-unpacked.wasm .
	go run ./internal/wasmpack/pack build/sluice-higress-unpacked.wasm build/sluice-higress-unstamped.wasm
	go run ./internal/wasmfile/stamp $(if $(VERSION),-version $(VERSION)) build/sluice-higress-unstamped.wasm $@

# The tool knows the checksum of the module that was built with it.
build/sluice: build/sluice.wasm FORCE
	go build -ldflags="$(SET_VERSION) -X main.moduleSHA256=$$(cut -d' ' -f1 build/sluice.wasm.sha256)" -o $@ ./cmd/sluice

.PHONY: run
run: build ## start Redis and Envoy with the plugin, and say what to type next
	@build/sluice dev

# -count=1: Envoy reads the compiled plugin, so Go can't know when to run a test
# anew. Packages that put gateways under load run one after the other: they would
# take each other's processors and see delays that aren't the plugin's.
LOADED := ./e2e/... ./chaos/...
.PHONY: test
test: build ## run every test: unit, emulator, script and end-to-end
	go test -count=1 -p 2 -timeout 30m $$(go list ./... | grep -Ev '^sluice/(e2e|chaos)(/|$$)')
	go test -count=1 -p 1 -timeout 30m $(LOADED)

.PHONY: test-redis-matrix
test-redis-matrix: ## run the scripts on each version of Redis and Valkey that can be downloaded
	go run ./internal/stack/redismatrix go test -count=1 -p 1 -timeout 10m ./lua/...

# Each is a Go module of its own, since control planes are large. They run one
# after the other: Envoy Gateway has fixed ports.
PLATFORMS := e2e/istio e2e/envoygateway
.PHONY: test-platforms
test-platforms: build ## run the control planes of Istio and Envoy Gateway on what the tool makes
	@for dir in $(PLATFORMS); do echo "$$dir"; (cd $$dir && go vet ./... && go test -count=1 -timeout 20m ./...); done

.PHONY: bench
bench: build ## measure beside what people use today, into docs/benchmarks.md
	go run ./bench $(BENCHFLAGS)

# For example make soak SOAK=2m
SOAK ?= 30m
.PHONY: soak
soak: build ## keep a gateway under load by a million callers for SOAK (30m): memory and latency
	go run ./bench -soak $(SOAK)

.PHONY: screenshots
screenshots: build ## take the README's pictures of the page anew
	go test -count=1 -run '^TestPictures$$' ./internal/playground -args -screenshots $(CURDIR)/docs/images

.PHONY: chaos
chaos: build ## break things under load, and write what held into docs/reliability.md
	go test -count=1 -timeout 20m ./chaos -long -report docs/reliability.md

.PHONY: size
size: build ## say what the plugin is made of, and what memory a gateway needs for it
	$(WASM) go build -buildmode=c-shared -trimpath -buildvcs=false -o build/sluice-names.wasm .
	go run ./bench/size -names build/sluice-names.wasm

# The oldest that can be had is the short form, for each change.
.PHONY: test-matrix
test-matrix: build ## run a selection of the end-to-end tests on every Envoy that can be had
	go run ./e2e/matrix -docs docs/envoy-versions.md

.PHONY: test-oldest
test-oldest: build ## the same on the oldest of these Envoys only
	go run ./e2e/matrix -versions 1.36.4

# What has no place in the main module, because of what it needs.
IMAGE := cd internal/image &&

.PHONY: image
image: build/sluice.wasm ## write the plugin's image for Istio, Envoy Gateway and Higress; PUSH=REGISTRY/NAME:TAG pushes it
	$(IMAGE) go run ./cmd/image -root $(CURDIR) -module $(CURDIR)/build/sluice.wasm -out $(CURDIR)/build/image $(if $(PUSH),-push $(PUSH))

.PHONY: release
release: ## make what a version ships, in build/release; SNAPSHOT=1 from a tree with changes
	$(IMAGE) go run ./cmd/release -root $(CURDIR) -out $(CURDIR)/build/release $(if $(SNAPSHOT),-snapshot)

# Beside the release before: make test-upgrade OLD=v1.2.3
.PHONY: test-upgrade
test-upgrade: build/sluice.wasm ## run this version beside the module of commit OLD on one Redis
	@test -n "$(OLD)" || { echo "say OLD=COMMIT, such as the last release's tag"; exit 2; }
	rm -rf build/old && git worktree prune && git worktree add -f --detach build/old $(OLD)
	trap 'git worktree remove --force build/old' EXIT; \
	$(MAKE) -C build/old build/sluice.wasm; \
	SLUICE_OLD_MODULE=$(CURDIR)/build/old/build/sluice.wasm go test -count=1 -v -run TestSameFormats ./e2e/upgrade

# Modules of their own: what a release is made of, and what Kubernetes gets.
.PHONY: test-deploy
test-deploy: image ## test the image, the release, the Helm chart and the kustomize overlays
	$(IMAGE) go test -count=1 ./...
	cd e2e/imagepull && go test -count=1 ./...
	cd deploy/test && go test -count=1 ./...

.PHONY: microbench
microbench: build ## run the Go benchmarks; BENCH picks some
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (20s)
	@for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

.PHONY: generate
generate: ## make the generated files anew
	go generate ./...

.PHONY: check
check: format vet lint tidy generated words ## format, vet, linters, generated files, dependency directions

.PHONY: format
format:
	@wrong=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$wrong" ]; then echo "gofmt would change:"; echo "$$wrong"; exit 1; fi

.PHONY: vet
vet: build/sluice.wasm
	go vet ./...
	go -C deploy/observability/dashboard vet ./...
	go test -run 'TestDependencyDirections|TestStandardLibraryOnly|TestModuleStaysSmall' .

# Twice: what only the plugin's target compiles is out of sight at first, and
# exports to the proxy look unused there.
.PHONY: lint
lint: $(GOLANGCI)
	$(GOLANGCI) run ./...
	$(WASM) $(GOLANGCI) run --tests=false --enable-only=govet,errcheck,ineffassign,staticcheck $(PLUGIN_PACKAGES)
	$(WASM) GOFLAGS=-tags=higress $(GOLANGCI) run --tests=false --enable-only=govet,errcheck,ineffassign,staticcheck $(PLUGIN_PACKAGES)

$(GOLANGCI):
	mkdir -p $(TOOLS)/bin
	GOBIN=$(TOOLS)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(TOOLS)/bin/golangci-lint $@

.PHONY: tidy
tidy:
	go mod tidy -diff
	go mod verify
	go -C deploy/observability/dashboard mod tidy -diff

# Compares by content, so that work in progress doesn't count as out of date.
.PHONY: generated
generated:
	@sums() { git ls-files -co --exclude-standard -z | xargs -0 sha256sum 2>/dev/null || true; }; \
	before=$$(sums); go generate ./...; after=$$(sums); \
	if [ "$$before" != "$$after" ]; then \
	  echo "generated files were out of date (make generate has just mended them):"; \
	  diff <(echo "$$before") <(echo "$$after") | awk '/^>/ {print $$3}'; exit 1; \
	fi

# What must not be published: places of one machine, addresses of package
# registries, conflict marks.
.PHONY: words
words:
	@found=$$(git ls-files -co --exclude-standard -z | xargs -0 grep -nIE \
	  '/wor[k]/(main|shared)|py[p]i\.org|files\.python[h]osted|proxy\.go[l]ang\.org|registry\.np[m]js|deb\.de[b]ian\.org|^(<{7}|>{7}) ' || true); \
	if [ -n "$$found" ]; then echo "$$found"; echo "these words must not be in the project"; exit 1; fi

.PHONY: clean
clean: ## remove what was built; downloaded tools stay
	rm -rf build
