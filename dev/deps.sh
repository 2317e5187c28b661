#!/usr/bin/env bash
# Makes sure that the programs are there which building and testing need. Installs
# the Debian packages of missing ones where it can; says what is missing where it
# cannot. Silent when all is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Servers are not on every user's path.
PATH=$PATH:/usr/sbin

# Program and the Debian packages to install for it. gcc is for go test -race; the name
# servers are for the tests of dns, the demo and the bench, which start their own; so is the
# KDC, krb5-kdc, which krb5-admin-server depends on.
needed=(
  gcc:gcc
  git:git
  tar:tar
  diff:diffutils
  named:bind9
  dig:bind9-dnsutils
  kadmin.local:krb5-admin-server
  pdns_server:pdns-server,pdns-backend-lmdb
)

missing() {
  local entry
  for entry in "${needed[@]}"; do
    command -v "${entry%%:*}" >/dev/null || tr , ' ' <<<"${entry##*:}"
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
  # RUNLEVEL=1 keeps what is installed from being started as a service.
  export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
  # shellcheck disable=SC2086
  { apt-get -qq update && apt-get -qq -y install --no-install-recommends $packages; } >/dev/null </dev/null || true
fi
packages=$(missing | xargs)
if [[ -n $packages ]]; then
  echo "missing: $packages (names of Debian packages); install them and try again" >&2
  exit 1
fi
