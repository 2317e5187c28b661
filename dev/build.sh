#!/usr/bin/env bash
# Builds programs in bin/: those of localcluster, signpost and demo that are named.
#
#   dev/build.sh localcluster signpost demo
#
# The first build compiles Kubernetes and takes minutes. It says how far it is: each second on a
# terminal, and each 15 s elsewhere. VERSION says which version signpost says it is.
#
# The programs share packages, and two builds at a time would compile these twice. So a build begins
# when the one before it has nothing left but its link, which keeps one core busy and the others idle.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath -gcflags=all=-dwarf=false" # as in the Makefile: else all is compiled again
source dev/memory.sh
log=$(mktemp) # a line per compiled package, and errors
shown= # a line of progress stands on the terminal, without its end
trap 'rm -f "$log"' EXIT

# directory, package and linker flags of a program. The local cluster is linked without what only
# debuggers read, a third of it; its panics name lines all the same.
directory() { if [[ $1 == localcluster ]]; then echo dev/localcluster; else echo .; fi; }
package() { case $1 in localcluster) echo . ;; signpost) echo ./cmd/signpost ;; demo) echo ./dev/demo ;; esac }
linkerflags() {
  case $1 in
    localcluster) echo "-s -w" ;;
    signpost) echo "-X github.com/signpostd/signpost/internal/version.Version=${VERSION:-dev}" ;;
  esac
}

# compile PROGRAM builds it. If it stays the same, so does the time of its file: go test repeats a test when
# a file that it looked at has another time.
compile() {
  local program=$PWD/bin/$1 before stamp
  before=$(go tool buildid "$program" 2>/dev/null) || before=
  stamp=$(mktemp)
  [[ -z $before ]] || touch -r "$program" "$stamp"
  go build -C "$(directory "$1")" -v -ldflags "$(linkerflags "$1")" -o "$program" "$(package "$1")" 2>>"$log" || return
  [[ -z $before || $(go tool buildid "$program") != "$before" ]] || touch -r "$stamp" "$program"
  rm -f "$stamp"
}

# linking PROGRAM PID says whether a build is at its link: its own package is compiled, which is the last one, or
# the linker runs below the build's process. With a warm cache no package is compiled.
linking() { grep -qxE "github.com/signpostd/signpost/(cmd|dev)/$1" "$log" || linker_below "${2:-}"; }

# linker_below PID says whether a process or one below it is the linker.
linker_below() {
  [[ -n $1 && -r /proc/$1/task/$1/children ]] || return 1
  local child
  for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
    [[ $(cat "/proc/$child/comm" 2>/dev/null) != link ]] || return 0
    ! linker_below "$child" || return 0
  done
  return 1
}

# progress prints how far the builds of $@ are, when it is time to.
due=5 total=
progress() {
  ((SECONDS >= due)) || return 0
  [[ -n $total ]] || total=$(for p in "$@"; do go list -C "$(directory "$p")" -deps "$(package "$p")"; done | sort -u | wc -l)
  local compiled line linked= i p
  compiled=$(awk '!/[[:space:]]/ {n++} END {print n + 0}' "$log")
  for ((i = 0; i < ${#builds[@]}; i++)); do
    p=${programs[i]}
    kill -0 "${builds[i]}" 2>/dev/null && linking "$p" "${builds[i]}" && linked+=" $p"
  done
  line="building $*: $compiled packages compiled, of $total at most,${linked:+ linking$linked,} after $SECONDS s"
  if [[ -t 1 ]]; then
    due=$((SECONDS + 1)) shown=1
    printf '\r%s ' "$line"
  else
    due=$((SECONDS + 15))
    echo "$line"
  fi
}

# failed prints the errors of the build: what isn't the name of a package.
failed() {
  kill "${builds[@]}" 2>/dev/null || true
  [[ -z $shown ]] || echo
  grep -E '[[:space:]]' "$log" >&2 || cat "$log" >&2
  exit 1
}

for program in "$@"; do
  [[ -n $(package "$program") ]] || { echo "dev/build.sh: no program is called $program; name localcluster, signpost or demo" >&2; exit 2; }
done
spend_memory
builds=()
programs=("$@")
for program in "$@"; do
  compile "$program" &
  builds+=($!)
  until linking "$program" $! || ! kill -0 $! 2>/dev/null; do
    progress "$@"
    sleep 0.1
  done
done
for build in "${builds[@]}"; do
  while kill -0 "$build" 2>/dev/null; do
    progress "$@"
    sleep 0.1
  done
  wait "$build" || failed
done
[[ -z $shown ]] || echo
