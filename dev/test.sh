#!/usr/bin/env bash
# Everything that CI checks, in order of what other steps need. A step that fails
# does not keep the later ones from running; the tests of the product come last.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
failed=()

# step NAME COMMAND... runs the command and says how it went and how long it took.
step() {
  local name=$1 begin=$SECONDS verdict=ok
  shift
  "$@" || { verdict=FAILED; failed+=("$name"); }
  echo "$verdict: $name ($((SECONDS - begin)) s)"
}

step "build" make build
step "lint" make lint
step "verify" make verify
for module in dev/localcluster; do
  if [[ -e $module/go.mod ]] && [[ -n $(go list -C "$module" ./... 2>/dev/null) ]]; then
    step "tests of $module" go test -C "$module" -timeout 20m ./...
  fi
done
if ((${#failed[@]})); then
  printf 'FAILED before the tests of the product: %s\n' "${failed[@]}"
fi

# Last, so that the last lines are the verdict of the tests.
CGO_ENABLED=1 go test -race -timeout 30m ./... || exit 1
((${#failed[@]} == 0))
