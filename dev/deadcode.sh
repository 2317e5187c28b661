#!/usr/bin/env bash
# Prints functions that nobody calls, and fails if there are any.
#
#   dev/deadcode.sh          functions of the root module that neither a program nor a test reaches,
#                            and functions of the product that only tests reach
#   dev/deadcode.sh product  functions of the product that no program reaches (half the time, part of "make lint")
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
deadcode=$PWD/bin/tools/deadcode
failed=0

# The analysis holds 4 GiB of long-lived objects, and marking them again and again is a third of its work. So it takes
# 9 GiB where 12 GiB are free.
if [[ -z ${GOGC:-}${GOMEMLIMIT:-} && -r /proc/meminfo ]]; then
  free=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [[ $limit != max ]] && ((limit / 1048576 < free)); then free=$((limit / 1048576)); fi
  if ((free >= 12288)); then export GOGC=off GOMEMLIMIT=9GiB; fi
fi

# report TITLE fails when there are lines, and prints them under the title.
report() {
  local lines
  lines=$(cat)
  [[ -n $lines ]] || return 0
  echo "$1:"
  sed 's/^/  /' <<<"$lines"
  failed=1
}

module=$(go list -m)
format='{{range .Funcs}}{{$.Path}}.{{.Name}} {{.Position}}{{"\n"}}{{end}}'
unreached=
if [[ ${1:-} != product ]]; then
  unreached=$("$deadcode" -test -f "$format" ./...)
  report "functions that nothing reaches (delete them)" <<<"$unreached"
fi

# Only programs are loaded, without the packages that only tests import.
product=$(go list -deps ./cmd/... | grep "^$module/" | paste -sd '|')
mapfile -t programs < <(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' ./...)
only_tests=$("$deadcode" -filter "^($product)\$" -f "$format" "${programs[@]}")
report "functions of the product that no program reaches (delete them, or move them to a _test.go file)" < <(
  comm -13 <(sort <<<"$unreached") <(sort <<<"$only_tests") | grep .
)
exit "$failed"
