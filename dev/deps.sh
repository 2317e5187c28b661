#!/usr/bin/env bash
# Installs the programs that building and testing need: the Debian packages of those
# that are missing. Where it can't install, it says what is missing. It prints nothing
# when nothing is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Servers are not on every user's path.
PATH=$PATH:/usr/sbin

# A program or the pattern of a file, and the Debian packages to install for it. gcc is for go test -race. The tests of
# dns, the demo and the benchmark start name servers, and the tests a KDC: that is in
# krb5-kdc, which krb5-admin-server depends on. Those of dev/page open a browser. dev/consumers makes network namespaces with rules of nftables.
needed=(
  gcc:gcc
  git:git
  tar:tar
  diff:diffutils
  named:bind9
  dig:bind9-dnsutils
  kadmin.local:krb5-admin-server
  pdns_server:pdns-server,pdns-backend-lmdb
  /usr/lib/*/pdns/libgsqlite3backend.so:pdns-backend-sqlite3
  sqlite3:sqlite3
  knotd:knot
  chromium:chromium
  ip:iproute2
  nft:nftables
)

missing() {
  local entry
  for entry in "${needed[@]}"; do
    { command -v "${entry%%:*}" || compgen -G "${entry%%:*}"; } >/dev/null || tr , ' ' <<<"${entry##*:}"
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
