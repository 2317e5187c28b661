#!/usr/bin/env bash
# Checks the format of all Go files, runs go vet and staticcheck in every module, looks for dead code, and
# checks the workflows in .github. Prints what is wrong; says nothing when nothing is.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$PWD/bin/tools
failed=0

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
  [[ -e $module/go.mod ]] || continue
  [[ -n $(go list -C "$module" ./... 2>/dev/null) ]] || continue
  go vet -C "$module" ./... || failed=1
  if [[ $module != dev/localcluster ]]; then
    (cd "$module" && "$tools/staticcheck" ./...) || failed=1
  fi
done

dev/deadcode.sh product || failed=1
"$tools/actionlint" || failed=1
exit "$failed"
