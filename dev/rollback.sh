#!/usr/bin/env bash
# Lets an earlier program and this one replace each other at one zone, and judges that nothing is lost: an update and
# its rollback. OLDER is the earlier commit: by default the last one before the stored formats changed, the
# ownership records (instances) and the budget store (plans with old targets).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
older=${OLDER:-24363561}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

mkdir "$dir/source" "$dir/bin"
git archive "$older" | tar -x -C "$dir/source"
echo "building signpost of $(git log -1 --format='%h, %ad' --date=short "$older")"
go build -C "$dir/source" -o "$dir/bin/signpost" ./cmd/signpost
go test -tags rollback ./dev/recipes -run '^TestRollback$' -count=1 -args -rollback.older="$dir/bin"
