#!/usr/bin/env bash
# Writes all generated files of the tree that is the current directory. TOOLS is the
# directory of the tools.
set -euo pipefail
TOOLS=${TOOLS:-$PWD/bin/tools}

# controller-gen follows each error with pages of its usage: those are cut off.
controller_gen() {
  "$TOOLS/controller-gen" "$@" 2> >(sed '/^Usage:/,$d' >&2)
}

controller_gen object paths=./api/...
# A retry ratio is a float in objects that exist; nothing here can change that.
controller_gen crd:allowDangerousTypes=true paths=./api/... output:crd:dir=deploy/crds
go generate ./...
# Alerts and dashboards, and their copies in the Helm chart.
go test -C dev/observe . -run Generated -update
