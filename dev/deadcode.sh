#!/usr/bin/env bash
# Fails when the root module has a function that nothing reaches, not even a test, or
# when a package that the product links has a function that only tests reach. Prints
# those functions; says nothing when there are none.
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
unreached=$("$deadcode" -test -f "$format" ./...)
report "functions that nothing reaches (delete them)" <<<"$unreached"

product=$(go list -deps ./cmd/... | grep "^$module/" | paste -sd '|')
only_tests=$("$deadcode" -filter "^($product)\$" -f "$format" ./...)
report "functions that only tests reach (delete them, or move them to a _test.go file)" < <(
  grep -Fvxf <(sort <<<"$unreached") <<<"$only_tests" | grep .
)
exit "$failed"
