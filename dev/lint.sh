#!/usr/bin/env bash
# Checks the format of all Go files, runs go vet and staticcheck in every module, looks for dead code, and
# checks the workflows in .github. Prints problems only.
#
# The search for dead code takes most of the time, most of it on one core. So it runs beside the other checks.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source dev/memory.sh
tools=$PWD/bin/tools
failed=0

dead=$(mktemp)
trap 'rm -f "$dead"' EXIT
dev/deadcode.sh product >"$dead" 2>&1 &
search=$!

unformatted=$(git ls-files -z "*.go" | xargs -0 "$tools/gofumpt" -l) || failed=1
if [[ -n $unformatted ]]; then
  echo "not formatted (make fmt does it):"
  sed 's/^/  /' <<<"$unformatted"
  failed=1
fi

# All modules with Go files. The local cluster has no staticcheck: that reads every
# dependency from source, which there is all of Kubernetes.
for module in . dev/*/; do
  module=${module%/}
  [[ -e $module/go.mod && -n $(git ls-files "$module/*.go") ]] || continue
  (spend_memory && go vet -C "$module" ./...) || failed=1
  if [[ $module != dev/localcluster ]]; then
    (cd "$module" && "$tools/staticcheck" ./...) || failed=1
  fi
done

"$tools/actionlint" || failed=1
wait "$search" || failed=1
cat "$dead"
exit "$failed"
