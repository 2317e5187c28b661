#!/usr/bin/env bash
# Fails when a generated file differs from what its source gives now. It generates in
# a copy, and leaves the tree as it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export TOOLS=$PWD/bin/tools
mkdir "$work/present"
tar -c --exclude=./bin --exclude=./.git . | tar -x -C "$work/present"
cp -r "$work/present" "$work/generated"
(cd "$work/generated" && dev/generate.sh)
cd "$work"
if ! diff -ruN present generated; then
  echo "generated files are stale: run make generate and commit the result"
  exit 1
fi
