# The front door for people who change Tenure. `make help` lists what there is to do.

GO ?= go
# Every module of the workspace, as folders.
MODULES = $(shell $(GO) list -m -f '{{.Dir}}')
# Built from tools/go.mod at first use, then taken from Go's build cache.
GOLANGCI = GOWORK=off $(GO) -C tools tool -n golangci-lint
# By default a program under the race detector sleeps for a second before it ends, for races at its
# exit. Some forty test binaries would do so one after another.
QUICK_EXIT = atexit_sleep_ms=0

.DEFAULT_GOAL := help

##@ Everyday

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: sample
sample: ## Run a fleet of real processes on this machine (keys: k d a p q)
	$(GO) run ./sample

.PHONY: quick
quick: ## The tests without the race detector; what needs a missing server is skipped
	$(GO) test work

.PHONY: core
core: ## The core's tests under the race detector, in a random order
	GORACE=$(QUICK_EXIT) $(GO) test -race -shuffle=on -count=1 ./...

.PHONY: fmt
fmt: ## Format everything
	@lint=$$($(GOLANGCI)) && "$$lint" fmt

.PHONY: tidy
tidy: ## Tidy every go.mod
	@for dir in $(MODULES) tools bench/peers; do echo "tidy $$dir"; GOWORK=off $(GO) -C "$$dir" mod tidy || exit; done

##@ What CI runs (.ci/run)

.PHONY: test
test: servers vet race long modules deps bench-once ## Everything the tests need, then all tests

.PHONY: lint
lint: ## golangci-lint over all modules, and tidy go.mod files
	@lint=$$($(GOLANGCI)) && for dir in $(MODULES); do \
		echo "lint $$dir"; (cd "$$dir" && "$$lint" run ./...) || exit; done
	@for dir in $(MODULES); do GOWORK=off $(GO) -C "$$dir" mod tidy -diff || exit; done

.PHONY: servers
servers: ## Install the missing test servers (Debian and Ubuntu; elsewhere says what to install)
	@.ci/servers

.PHONY: vet
vet: ## go vet over all modules
	$(GO) vet work

.PHONY: race
race: ## All tests under the race detector in a random order; a missing server fails
	GORACE=$(QUICK_EXIT) TENURE_REQUIRE_SERVERS=1 $(GO) test -race -shuffle=on -timeout 20m work

.PHONY: long
long: ## The core's tests with larger fleets and more random runs, without the race detector
	TENURE_LONG=1 $(GO) test -shuffle=on -timeout 10m ./...

.PHONY: modules
modules: ## Each module alone, without the workspace, as a user's build sees it
	@for dir in $(MODULES); do echo "alone $$dir"; \
		(cd "$$dir" && GOWORK=off $(GO) vet ./... && GOWORK=off $(GO) test -short ./...) || exit; done

.PHONY: deps
deps: ## The import order of the packages, and what the core may depend on
	GOWORK=off $(GO) test -count=1 -run '^TestDeps' .

.PHONY: bench-once
bench-once: ## Every benchmark, one iteration each: they still run
	TENURE_REQUIRE_SERVERS=1 $(GO) test -run='^$$' -bench=. -benchtime=1x work

##@ Measured claims of the README

# Without this, tests allow for machines that do other things as well while they test.
MEASURE = TENURE_MEASURE=1 TENURE_REQUIRE_SERVERS=1 $(GO) test -count=1 -v ./sample -run

.PHONY: sample-check
sample-check: ## Balance within 3 s, failover within TTL + 1 s, nobody twice after a pause or a wipe
	$(MEASURE) '^(TestFleet|TestPaused|TestWiped)'

.PHONY: sample-handovers
sample-handovers: servers ## The median of at least 200 graceful handovers on a private Redis
	$(MEASURE) '^TestHandovers'

SEEDS ?= 20
FOR ?= 60s
.PHONY: sample-chaos
sample-chaos: ## SEEDS=20 runs of random chaos, FOR=60s each; STORE=redis://... for a server of yours
	$(GO) build -o bin/sample ./sample
	@bad=0; for seed in $$(seq 1 $(SEEDS)); do \
		bin/sample -for $(FOR) -chaos -json -seed $$seed $(if $(STORE),-store $(STORE)) 2>bin/chaos.log >bin/chaos.ndjson \
			|| { bad=1; cp bin/chaos.ndjson bin/chaos-$$seed.ndjson; cp bin/chaos.log bin/chaos-$$seed.log; }; \
		echo "seed $$seed $$(tail -n 1 bin/chaos.ndjson)"; done; exit $$bad

ROUNDS ?= 100
.PHONY: run-rounds
run-rounds: servers ## "tenure run" on two hosts: ROUNDS=100 kills, stops and frozen servers, never two commands alive at once
	TENURE_REQUIRE_SERVERS=1 $(GO) test -count=1 -v -timeout 60m ./cmd/tenure -run '^TestOneCommandAtATime$$' -rounds $(ROUNDS)

##@ Longer

SCHEDULES ?= 5000
FIRST ?= 1
.PHONY: sim
sim: ## SCHEDULES=5000 random schedules of faults for whole fleets in virtual time, from seed FIRST=1
	$(GO) test -count=1 -v -timeout 2h -run 'TestSeeds$$' ./internal/sim -seeds $(SCHEDULES) -first-seed $(FIRST)

INSTANCES ?= 200
WORKLOADS ?= 20000
.PHONY: large-fleet
large-fleet: ## INSTANCES=200 with WORKLOADS=20000 in virtual time: start, join, crash of 1 %, rolling deploy (1000 with 100000: GOMEMLIMIT=18GiB GOGC=400)
	$(GO) test -count=1 -v -timeout 2h -run '^TestLargeFleet$$' ./coordinator -fleet.instances $(INSTANCES) -fleet.workloads $(WORKLOADS)

.PHONY: mutants
mutants: ## Break the engines on purpose, one rule at a time: each must turn its tests red (minutes)
	TENURE_MUTANTS=1 $(GO) test -count=1 -timeout 60m ./internal/mutants

.PHONY: faults
faults: servers ## Real fleets on private servers, hurt in every way of verify/faults: prints the table (minutes)
	TENURE_LONG=1 TENURE_REQUIRE_SERVERS=1 $(GO) test -count=1 -v -timeout 20m ./verify/faults

SOAK ?= 30m
.PHONY: soak
soak: servers ## The sample under chaos for SOAK=30m on all three stores at once; nothing may be owned twice, and nothing grow
	TENURE_REQUIRE_SERVERS=1 $(GO) test -count=1 -v -timeout 24h -parallel 3 -run '^TestSoak$$' ./verify/soak -soak.for $(SOAK) -soak.stores memory,redis,postgres

.PHONY: peers
peers: servers ## Tenure beside its peers: all tables of docs/performance.md and its plots
	$(GO) run ./bench -v -plots docs/performance

.PHONY: bench
bench: ## Every benchmark at full length
	$(GO) test -run='^$$' -bench=. -benchmem work

.PHONY: flakes
flakes: ## The core's tests 50 times over
	$(GO) test -count=50 -shuffle=on -timeout 60m ./...

.PHONY: cover
cover: ## Statement coverage of the core, by function
	$(GO) test -coverprofile=cover.out -coverpkg=./... ./... && $(GO) tool cover -func=cover.out | tail -n 40
