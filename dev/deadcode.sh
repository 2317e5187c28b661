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

product=$(go list -deps ./cmd/... | grep "^$module/" | paste -sd '|')
only_tests=$("$deadcode" -filter "^($product)\$" -f "$format" ./...)
report "functions of the product that no program reaches (delete them, or move them to a _test.go file)" < <(
  comm -13 <(sort <<<"$unreached") <(sort <<<"$only_tests") | grep .
)
exit "$failed"
