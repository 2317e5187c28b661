#!/usr/bin/env bash
# Runs the tests with all repetitions of random tests and fault schedules, of which "make test" runs a part (-short).
# Modules without such tests are left to "make test". The tests of the product come last.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
status=0
for module in dev/chart dev/observe; do
  go test -C "$module" -vet=off -timeout 30m ./... || status=1
done
CGO_ENABLED=1 go test -race -timeout 90m ./... || status=1
exit "$status"
