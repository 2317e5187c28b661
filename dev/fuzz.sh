#!/usr/bin/env bash
# Runs each fuzz target of the root module for FUZZTIME, one after the other.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
FUZZTIME=${FUZZTIME:-30s}

# Only packages of this module: go list leaves the modules under dev/ out.
go list -f '{{.Dir}}' ./... | while read -r dir; do
  for target in $(grep -hos '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | cut -c6-); do
    echo "${dir#"$PWD/"} $target, $FUZZTIME"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" "$dir" </dev/null
  done
done
