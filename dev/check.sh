#!/usr/bin/env bash
# Checks what was changed: format, go vet and staticcheck of the changed packages, whether everything
# still compiles, and the tests of the changed packages, with the race detector.
#
#   dev/check.sh            what isn't committed; the last commit if everything is
#   BASE=main dev/check.sh  what differs from a commit
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$PWD/bin/tools
failed=0

# changed prints the files that differ from a commit, and those that git doesn't know yet.
changed() { git diff --name-only --diff-filter=d "$1" -- && git ls-files --others --exclude-standard; }

base=${BASE:-HEAD}
files=$(changed "$base") || exit 2
if [[ -z $files && -z ${BASE:-} ]]; then
  base=HEAD~1
  files=$(changed "$base") || exit 2
fi
go=$(grep '\.go$' <<<"$files" || true)

# step NAME COMMAND... runs the command, and says what failed.
step() {
  local name=$1 begin=$SECONDS
  shift
  if "$@"; then echo "ok: $name ($((SECONDS - begin)) s)"; else echo "FAILED: $name" >&2 && failed=1; fi
}

# unformatted fails if a changed file isn't formatted, and names it.
unformatted() {
  local names
  names=$(xargs -r "$tools/gofumpt" -l <<<"$go") && [[ -z $names ]] && return
  printf 'not formatted (make fmt does it):\n%s\n' "$names"
  return 1
}

# module prints the directory of the Go module that a file belongs to.
module() {
  local dir
  dir=$(dirname "$1")
  until [[ -e $dir/go.mod ]]; do dir=$(dirname "$dir"); done
  echo "$dir"
}

# packages of a module that have changed files, as patterns relative to the module; testdata counts for the package above it.
declare -A packages
while IFS= read -r file; do
  [[ -n $file ]] || continue
  dir=$(dirname "$file")
  dir=${dir%%/testdata*}
  while [[ $dir != . ]] && ! compgen -G "$dir/*.go" >/dev/null; do dir=$(dirname "$dir"); done
  compgen -G "$dir/*.go" >/dev/null || continue
  m=$(module "$dir/x")
  p=./${dir#"$m"}
  packages[$m]+="${p/.\/\//./}"$'\n'
done <<<"$files"
if grep -q '^docs/contributing/' <<<"$files"; then packages[.]+=$'./internal/walkthrough\n'; fi

[[ -z $go ]] || step "format" unformatted
[[ -z $go ]] || step "everything compiles" go build ./...
for m in "${!packages[@]}"; do
  mapfile -t list < <(sort -u <<<"${packages[$m]}" | sed '/^$/d')
  step "go vet in $m" go vet -C "$m" "${list[@]}"
  if [[ $m != dev/localcluster ]]; then step "staticcheck in $m" env -C "$m" "$tools/staticcheck" "${list[@]}"; fi
  race=() # not in other modules, whose large dependencies would be compiled once more
  if [[ $m == . ]]; then race=(-race); fi
  step "tests in $m" env CGO_ENABLED="${#race[@]}" go test -C "$m" -vet=off "${race[@]}" "${list[@]}"
done
if [[ ${#packages[@]} == 0 ]]; then echo "no package differs from $base"; fi
exit "$failed"
