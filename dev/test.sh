#!/usr/bin/env bash
# Builds, plays the demo and runs the tests of all modules. A step runs even if one before it failed; the
# tests of the product come last. Format, go vet, staticcheck and generated files are for "make lint verify".
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source dev/memory.sh
logs=$(mktemp -d) # the output of steps, and the names of those that failed
touch "$logs/failed"
declare -A running=() # names of steps by process ID

# cleanup ends the steps that still run, because Ctrl-C doesn't reach what runs in the background.
cleanup() {
  local pid
  for pid in "${!running[@]}"; do kill -- "-$pid" 2>/dev/null; done
  rm -rf "$logs"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# cpu PID prints the CPU time, in seconds, of the processes that a shell has waited for.
cpu() { awk -v hertz="$(getconf CLK_TCK)" '{print int(($16 + $17) / hertz)}' "/proc/$1/stat" 2>/dev/null || echo 0; }

# step NAME COMMAND... runs the command, and says how it went and how much time it took.
step() {
  local name=$1 begin=$SECONDS verdict=ok shell=$BASHPID before
  before=$(cpu "$shell")
  shift
  "$@" || { verdict=FAILED; echo "$name" >>"$logs/failed"; }
  echo "$verdict: $name ($((SECONDS - begin)) s, $(($(cpu "$shell") - before)) s of CPU)"
}

# beside NAME COMMAND... is a step that runs beside two others, because most steps wait half of their time. Its
# output is printed when it ends, and those of several steps are not mixed.
begun=0
beside() {
  ((${#running[@]} < 3)) || await_one
  local log=$logs/$((++begun))
  set -m # a process group for the step
  {
    step "$@" &>"$log"
    flock "$logs" cat "$log"
  } &
  set +m
  running[$!]=$1
}

# await_one waits until one of the running steps has ended.
await_one() {
  local ended
  wait -n -p ended "${!running[@]}" || true
  unset "running[$ended]"
}

step "build" make build bin/kubectl

# go vet is part of "make lint".
export GOFLAGS="${GOFLAGS:-} -vet=off"
mapfile -t tools < <(go list ./dev/... ./internal/{specrefs,houserules,importrules,walkthrough})
mapfile -t product < <(go list ./... | grep -vxF "$(printf '%s\n' "${tools[@]}")")
# The race detector takes several times the CPU time. Here, packages whose state several goroutines share have it; "make
# check" has it for what was changed, and "make test-long" for all.
mapfile -t raced < <(go list ./app/process ./app/inspect/... ./catalog ./controllers/... ./destination ./dns/{budget,owner,publisher}/... \
  ./dns/{listlimit,provider,provider/batch,source} ./internal/... ./kube/... ./xds/... | grep -vxF "$(printf '%s\n' "${tools[@]}")")
mapfile -t unraced < <(printf '%s\n' "${product[@]}" | grep -vxF "$(printf '%s\n' "${raced[@]}")")

# Meanwhile packages are compiled for the tests with the race detector, with what CPU time the steps leave. Programs are left
# out, because go build would also link them. What doesn't compile is reported by go test.
(
  renice -n 19 -p "$BASHPID" >/dev/null
  spend_memory
  go list -f '{{if ne .Name "main"}}{{.ImportPath}}{{end}}' "${raced[@]}" | CGO_ENABLED=1 xargs go build -race >/dev/null 2>&1
) &
compiling=$!
# The longest first, with two packages at a time for each core, because many tests wait for an API server. Without symbol
# tables, linking takes a quarter less CPU; stack traces don't need them.
beside "tests of sources, providers and commands" go test -short -ldflags=-s -p "$(($(nproc) * 2))" -timeout 30m ./dns/provider/libdns/modules/... ./cmd/... "${unraced[@]}"
beside "tests of tools" go test -short -timeout 20m "${tools[@]}"
beside "tests of dev/observe" go test -C dev/observe -short -timeout 20m -parallel 6 ./...
beside "tests of dev/page" go test -C dev/page -timeout 10m ./...
beside "tests of dev/chart" go test -C dev/chart -short -timeout 20m ./...
beside "demo" make demo
beside "tests of dev/localcluster" go test -C dev/localcluster -timeout 20m ./...
beside "tests of dev/consumers" go test -C dev/consumers ./network ./tally
beside "tests of dev/image" go test -C dev/image ./...
while ((${#running[@]})); do await_one; done
wait "$compiling"
mapfile -t failed <"$logs/failed"
if ((${#failed[@]})); then
  printf 'FAILED before the tests of the product: %s\n' "${failed[@]}"
fi

# Last, so that the last lines are the verdict of the tests. -short runs a fifth or less of the random tests and fault
# schedules; "make test-long" runs all. Two packages at a time for each core. Those that wait longest begin first, so that
# others use the cores meanwhile.
# By default, each program with the race detector waits a second for late races before it exits.
CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 \
  go test -race -short -ldflags=-s -p "$(($(nproc) * 2))" -timeout 30m ./app/process ./kube ./kube/linked ./xds "${raced[@]}" || exit 1
((${#failed[@]} == 0))
