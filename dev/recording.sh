#!/usr/bin/env bash
# Runs the demo and writes what it prints to docs/demo.md. It fails when the demo does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
begin=$SECONDS
go run ./dev/demo | tee "$printed"
{
  cat <<'PAGE'
# A run of the demo

`make demo` printed this; `make recording` writes this page. Directories and ports differ in each run.

PAGE
  echo '```'
  sed -E -e 's/[[:space:]]+$//' -e 's#/tmp/signpost-demo-[0-9]+#/tmp/signpost-demo#g' -e 's#this process, [^,]+,#this process, host_ID,#' "$printed"
  echo '```'
} >docs/demo.md
echo "wrote docs/demo.md; the demo took $((SECONDS - begin)) s"
