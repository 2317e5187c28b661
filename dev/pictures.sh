#!/usr/bin/env bash
# Writes the pictures of the page to docs/images, as the test of its looks takes them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
taken=$(mktemp -d)
trap 'rm -rf "$taken"' EXIT
PAGE_SHOTS=$taken go test -C dev/page -count=1 -run 'TestLooks/(light|dark)_1600' .
cp "$taken/now-light-1600.png" docs/images/page-light.png
cp "$taken/explain-dark-1600.png" docs/images/page-dark.png
