# Every recipe is a plain command that works without just, too.

# build the program and the plugins into dist/
build:
    go build -o dist/ ./cmd/bulkhead
    go run ./cmd/bulkhead plugin build plugins/*

# build everything and show it at work
demo:
    go run ./cmd/bulkhead demo

# the tests for everyday use
test:
    go test ./...

# the tests that neither run the program nor compile modules, with few rounds of random input
test-short:
    go test -short ./...

# all tests
test-all:
    BULKHEAD_TESTS=all go test ./...

# what a start and a call cost against a native server, as ratios of one run; writes the charts of docs/cost.md
bench:
    go test ./tests/bench -run '^$' -bench . -skip Capacity -benchtime 3s | go run ./tests/bench/charts docs/cost.md

# how many clients one server has room for, and what a thousand, ten thousand and a million need; writes the tables of docs/capacity.md
capacity:
    go test ./tests/bench -run '^$' -bench Capacity -benchtime 20x | go run ./tests/bench/capacity docs/capacity.md

# what metrics, traces and live state cost a call: processor time and median, each against a server without it in the same run
bench-telemetry:
    go test ./tests -run '^$' -bench '^BenchmarkTelemetry$' -benchtime 300x -count 5

# what a hostile module costs the others, what metering costs, and how long anything can keep a processor
bench-hostile:
    go test ./tests/hostile ./internal/runtime/engine/... -run '^$' -bench 'Neighbour|Isolation|Resident|Cost|Stalls' -benchtime 1x

# what twenty clients with five roles cost against one client with the same calls, for five minutes of an idle machine: `just load -load 10s`
load *FLAGS:
    go test ./tests -run TestTwentyClientsCostAsMuchAsOne -v -timeout 30m -load 5m {{FLAGS}}

# the counts of an audit log of 10 GB: how long the first takes, how long one more line, and in how much memory; `just large-log -log-size 1000000000`
large-log *FLAGS:
    go test ./internal/admin/history -run TestLargeLog -count 1 -v -timeout 2h -log-size 10000000000 {{FLAGS}}

# each fuzz target for a while: `.ci/fuzz 5m internal/runtime/engine` takes another time, and the targets of one folder
fuzz:
    .ci/fuzz 30s
    AGENTPACK_DIFF_PAIRS=10000 go test ./plugins/agentpack/diff -run AgreesWithGit -count 1

# which decisions of a package no test pins, by changing one at a time: `just mutate -every 10 ./sdk/transaction -- -short`
[positional-arguments]
mutate *ARGUMENTS:
    go run ./.ci/mutate "$@"

# formatting, vet and staticcheck
lint:
    gofmt -l .
    go vet ./...
    go tool -modfile=.ci/lint.mod staticcheck ./...
    go tool -modfile=.ci/lint.mod actionlint

# the files of a release, into dist/release/VERSION: `just release --help` lists the flags and variables;
# `just release sign v1.2.3` signs them, and `just release push v1.2.3` pushes image and plugins to a registry
[positional-arguments]
release +ARGUMENTS:
    go run -C .ci/release . "$@"

# two builds of a release in different directories have the same bytes: linux/amd64, or those of `--platforms LIST`
[positional-arguments]
reproducible *FLAGS:
    .ci/reproducible "$@"

# the manifests for Kubernetes, applied to an API server, which is built the first time
kubernetes:
    .ci/kubernetes

# what the continuous integration runs
ci:
    .ci/run

# the tests that have goroutines meet, with the race detector
race:
    go test -race ./host ./internal/...

# the SDKs for other languages and their examples, with the tool chains that are there
languages:
    .ci/languages

# what a plugin costs in each language: the table in docs/cost.md
language-costs:
    .ci/languages --table

# the examples that wrap existing programs, with Rust: the programs are built from crates.io
programs:
    .ci/programs

# the official conformance suites of MCP, with Node: `just conformance -v` shows what they print
[positional-arguments]
conformance *FLAGS:
    .ci/conformance "$@"

# what twenty tasks cost a model in each mode of the list of tools, with Node: the table in docs/context.md
context:
    BULKHEAD_TESTS=all go test ./tests -run TestTasksInEachMode -v -count 1

# two replicas and two shards behind HAProxy, under load of client libraries, while servers are killed, stopped and replaced, and a project moves, for ten
# minutes of an idle machine: `just cluster -cluster 1m`; with HAProxy, npm and Python
cluster *FLAGS:
    BULKHEAD_CLIENTS=$(.ci/clients --install) REQUIRE=node,python go test ./tests -run TestClusterUnderLoad -count 1 -v -timeout 30m -cluster 10m {{FLAGS}}

# the tests with client libraries of other projects, all versions of them, and with MCP Inspector: with npm and Python
clients:
    .ci/clients

# the pages of `bulkhead ui` in Chromium, with npm: `just pages DIR` keeps the screenshots
[positional-arguments]
pages *DIR:
    .ci/pages "$@"

# logins and tokens of a Keycloak, which Maven installs: with Java, npm and Python
[positional-arguments]
keycloak *FLAGS:
    .ci/keycloak "$@"

# tests for Windows, with Wine
wine:
    .ci/wine

# everything: the continuous integration, the race detector, each fuzz target for half a minute, the release built twice, wrapped programs, client
# libraries, Keycloak, Wine
ci-full: ci race fuzz reproducible programs clients keycloak wine
