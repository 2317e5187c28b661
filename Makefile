# Targets for people: "make help". Anything longer than a line is in dev/*.sh.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 30s
export FUZZTIME
export CGO_ENABLED = 0
# With -trimpath, what is compiled doesn't depend on the directory, so that the copies of the repository in
# which walk-throughs and "make verify" work need not compile it again. Making debug information (DWARF) takes a
# sixth of the compiler's time: to debug a program, build it with "go build". Stack traces and profiles don't need it.
COMPILED := -trimpath -gcflags=all=-dwarf=false
export GOFLAGS := $(filter-out $(COMPILED),$(shell go env GOFLAGS 2>/dev/null)) $(COMPILED)
# Where as many packages as cores are compiled at once, a package needs one thread: more cost a tenth.
export GO19CONCURRENTCOMPILATION ?= $(if $(filter 1 2 3 4,$(shell nproc 2>/dev/null)),0)

##@ Everyday

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/signpost and bin/localcluster
	@VERSION=$(VERSION) dev/build.sh localcluster signpost

.PHONY: demo
demo: ## Show Signpost at work on a local cluster (STAY=1 keeps it running)
	@VERSION=$(VERSION) dev/build.sh localcluster signpost demo
	@bin/demo $(if $(STAY),--stay)

.PHONY: recording
recording: build ## Write what the demo prints to docs/demo.md
	@dev/recording.sh

.PHONY: pictures
pictures: deps ## Write the pictures of the page to docs/images
	@dev/pictures.sh

.PHONY: demo-multicluster
demo-multicluster: ## Show a federated Service gain and lose a cluster
	@VERSION=$(VERSION) dev/build.sh localcluster signpost demo
	@bin/demo --multicluster

.PHONY: test
test: deps ## Set up, then build, play the demo and test everything
	@dev/test.sh

.PHONY: test-long
test-long: deps build bin/kubectl ## Test with all repetitions of random tests and fault schedules, and run the contributors' pages
	@dev/testlong.sh

.PHONY: check
check: deps bin/tools/.installed ## Check what was changed: format, vet, lint, tests of its packages (BASE=main)
	@BASE=$(BASE) dev/check.sh

.PHONY: clean
clean: ## Remove what was built
	@rm -rf bin

##@ Code

.PHONY: fmt
fmt: bin/tools/.installed ## Format all Go files
	@bin/tools/gofumpt -l -w .

.PHONY: lint
lint: bin/tools/.installed ## Check format, go vet, staticcheck and dead code
	@dev/lint.sh

.PHONY: deadcode
deadcode: bin/tools/.installed ## Name the functions that nothing reaches, or only tests
	@dev/deadcode.sh

.PHONY: generate
generate: bin/tools/.installed ## Write generated code, resource definitions and docs
	@dev/generate.sh

.PHONY: verify
verify: bin/tools/.installed ## Fail when something generated is stale
	@dev/verify.sh

# The references of the DNS role, which "generate" writes too.
DNSREFERENCES = generate-sources-documentation generate-providers-documentation generate-flags-documentation generate-metrics-documentation
.PHONY: $(DNSREFERENCES)
$(DNSREFERENCES): generate-%-documentation:
	@go test ./cmd/signpost ./app/process -run '^TestReferenceOfDNS$$/^$*$$' -update

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what the program is made of (needs vuln.go.dev)
	@go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

##@ Release

.PHONY: image
image: ## Make the container image, as an OCI archive in dist/ (VERSION, IMAGE)
	@VERSION=$(VERSION) dev/release.sh image

.PHONY: release
release: ## Make the image, archives, chart, manifests, notes, SBOMs and checksums, in dist/ (VERSION)
	@VERSION=$(VERSION) dev/release.sh all

##@ Longer

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (30s)
	@dev/fuzz.sh

.PHONY: bench
bench: build bin/gocontrolplane ## Measure Signpost, or one part (ONLY=abuse)
	@go run ./dev/bench $(if $(ONLY),--only $(ONLY))

.PHONY: differential
differential: build ## Compare with Kubernetes' controllers (SEED, STEPS)
	@go run ./dev/differential $(if $(SEED),--seed $(SEED)) $(if $(STEPS),--steps $(STEPS))

.PHONY: consumers
consumers: deps build bin/kube-proxy bin/consumers ## Let kube-proxy and CoreDNS judge, beside Kubernetes' controllers; needs root (SCENES)
	@bin/consumers $(if $(SCENES),--scenes $(SCENES))

.PHONY: xds
xds: deps build bin/xds ## Let gRPC clients in four languages, and Envoy, judge xDS; needs root (SCENES, CLIENTS)
	@dev/xds/install.sh
	@bin/xds $(if $(SCENES),--scenes $(SCENES)) $(if $(CLIENTS),--clients $(CLIENTS))

.PHONY: lab
lab: build ## Break everything around two replicas, and judge what was said (SEED, RUNS, DURATION, PROFILE, MUTANT)
	@go run ./dev/lab $(if $(SEED),--seed $(SEED)) $(if $(RUNS),--runs $(RUNS)) $(if $(DURATION),--duration $(DURATION)) $(if $(PROFILE),--profile $(PROFILE)) $(if $(MUTANT),--mutant $(MUTANT))

.PHONY: lab-nightly
lab-nightly: build ## An hour in the lab, with new seeds (what a nightly job runs)
	@go run ./dev/lab --runs 1 --duration 60m
	@go run ./dev/lab --mutant all

.PHONY: rollback
rollback: deps build ## Replace an earlier program by this one and back, and judge that nothing is lost (OLDER)
	@dev/rollback.sh

.PHONY: deps
deps: ## Install what is missing on this machine, or say what it is
	@dev/deps.sh

# Go knows what is out of date, so that these targets always run it.
.PHONY: FORCE
FORCE:

bin/signpost bin/localcluster: FORCE
	@VERSION=$(VERSION) dev/build.sh $(notdir $@)

# The tests of the pages for users run their commands, with kubectl as Kubernetes has it. kube-proxy is for
# "make consumers". Both have the version of the local cluster.
bin/kubectl bin/kube-proxy: dev/localcluster/go.mod dev/localcluster/go.sum
	@go build -C dev/localcluster -o $(CURDIR)/$@ k8s.io/kubernetes/cmd/$(notdir $@)

bin/xds: FORCE
	@go build -o $@ ./dev/xds

bin/gocontrolplane: FORCE
	@go build -C dev/gocontrolplane -o $(CURDIR)/$@ .

bin/consumers: FORCE
	@go build -C dev/consumers -o $(CURDIR)/$@ .

bin/tools/.installed: dev/tools/go.mod dev/tools/go.sum
	@echo "installing tools: $(notdir $(shell sed -n '/^tool (/,/^)/s/^\t//p' dev/tools/go.mod))"
	@GOBIN=$(CURDIR)/bin/tools go install -C dev/tools tool
	@touch $@
