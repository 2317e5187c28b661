#!/usr/bin/env bash
# Makes sure that the programs are there which building and testing need. Installs
# the Debian packages of missing ones where it can; says what is missing where it
# cannot. Silent when all is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Program and the Debian package it is in. gcc is for go test -race.
needed=(
  gcc:gcc
  git:git
  tar:tar
  diff:diffutils
)

missing() {
  local entry
  for entry in "${needed[@]}"; do
    command -v "${entry%%:*}" >/dev/null || echo "${entry##*:}"
  done
}

want=$(sed -n 's/^go //p' go.mod)
if ! command -v go >/dev/null; then
  echo "missing: Go $want or later; see https://go.dev/doc/install" >&2
  exit 1
fi

packages=$(missing | xargs)
[[ -n $packages ]] || exit 0
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
  echo "installing $packages"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086
  { apt-get -qq update && apt-get -qq -y install --no-install-recommends $packages; } >/dev/null </dev/null || true
fi
packages=$(missing | xargs)
if [[ -n $packages ]]; then
  echo "missing: $packages (names of Debian packages); install them and try again" >&2
  exit 1
fi
