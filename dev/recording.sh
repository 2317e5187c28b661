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
# Recorded demo

`make recording` runs `make demo` and writes its output here. Directories and ports differ in each run. Four steps are worth a look:

- `kubectl get endpointslices` before and after Signpost starts: the Service gets its endpoints.
- `signpost get --watch` during a rollout: each line is an endpoint that a proxy on node-0 gains (`+`) or loses (`-`).
- `Calling xds:///greeter.shop:50051`: a gRPC client without a mesh, whose calls all succeed while all pods are replaced.
- `BIND answers`: the time from the address of a load balancer to the DNS record.

`make demo STAY=1` keeps everything running afterwards, and opens the [page](page.md).

PAGE
  echo '```'
  sed -E -e 's/[[:space:]]+$//' -e 's#/tmp/signpost-demo-[0-9]+#/tmp/signpost-demo#g' -e 's#this process, [^,]+,#this process, host_ID,#' "$printed"
  echo '```'
} >docs/demo.md
echo "wrote docs/demo.md; the demo took $((SECONDS - begin)) s"
