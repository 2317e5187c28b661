#!/usr/bin/env bash
# Makes what is released of Signpost, in dist/: "image" makes the container image as an archive in
# the OCI layout, "all" also archives for each system, with completions and man pages, lists of what
# each program is made of (SBOM, CycloneDX), the chart, the manifests, the release notes, and checksums. The same commit gives the same files.
#
#   dev/release.sh image|all
#
# VERSION says which version it is; IMAGE how the image is called.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

what=${1:?what to make is missing: image or all}
version=${VERSION:-$(git describe --tags --always --dirty)}
image=${IMAGE:-ghcr.io/signpostd/signpost}
images=(linux/amd64 linux/arm64)
others=(darwin/amd64 darwin/arm64)
export CGO_ENABLED=0 GOFLAGS=-trimpath
host=$(go env GOHOSTOS)_$(go env GOHOSTARCH)

# program OS/ARCHITECTURE is where the program for a platform is.
program() { echo "dist/${1/\//_}/signpost"; }

# build OS/ARCHITECTURE builds the program for a platform. The tag leaves a debug page of gRPC out: nobody can
# open it, and its templates would keep all methods in the program (docs/performance/build.md).
build() {
  echo "building signpost for $1"
  GOOS=${1%/*} GOARCH=${1#*/} go build -tags grpcnotrace -ldflags "-s -w -X github.com/signpostd/signpost/internal/version.Version=$version" \
    -o "$(program "$1")" ./cmd/signpost
}

# sbom OS/ARCHITECTURE lists the modules that a program is made of.
sbom() {
  dist/tools/cyclonedx-gomod bin -json -noserial -notimestamp -std -version "$version" \
    -output "dist/signpost-$version-${1/\//-}.cdx.json" "$(program "$1")" 2>/dev/null
}

# archive OS/ARCHITECTURE packs a program with its completions, man pages and license.
archive() {
  local dir=dist/${1/\//_}
  cp -r LICENSE CHANGELOG.md dist/completions dist/man "$dir/"
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$dir" -cf - . | gzip -n >"dist/signpost-$version-${1/\//-}.tar.gz"
}

# texts writes completions and man pages.
texts() {
  local shell
  mkdir -p dist/completions dist/man
  for shell in bash zsh fish powershell; do
    "dist/$host/signpost" completion "$shell" >"dist/completions/signpost.$shell"
  done
  go test ./cmd/signpost -run '^TestManPages$' -count=1 -args -man.dir "$PWD/dist/man" >/dev/null
}

# check_program OS/ARCHITECTURE checks the size of a program, in bytes: it has about 60 MB, and 86 MB if
# something keeps all methods in it again.
check_program() {
  local size
  size=$(wc -c <"$(program "$1")")
  ((size <= 70000000)) || failed "$(program "$1") has $size bytes, more than 70 MB: docs/performance/build.md says how to find out why"
}

# check_archive OS/ARCHITECTURE checks that an archive has what it should have.
check_archive() {
  local file=dist/signpost-$version-${1/\//-}.tar.gz list entry
  list=$(tar -tzf "$file")
  for entry in signpost LICENSE CHANGELOG.md completions/signpost.{bash,zsh,fish,powershell} man/signpost{,-dns,-run}.1; do
    grep -qxF "./$entry" <<<"$list" || failed "$file lacks $entry"
  done
}

# chart packs the chart, as "helm package" does, and manifests packs what is installed without it.
chart() {
  local number
  number=$(sed -n 's/^version: //p' deploy/helm/signpost/Chart.yaml)
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C deploy/helm -cf - signpost | gzip -n >"dist/signpost-chart-$number.tgz"
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C deploy -cf - signpost.yaml crds rbac observe | gzip -n >"dist/signpost-$version-manifests.tar.gz"
}

# notes writes the release notes: the part of CHANGELOG.md for the version or, before it has one, for what is unreleased.
notes() {
  local heading=${version#v}
  grep -qF "## [$heading]" CHANGELOG.md || heading=Unreleased
  awk -v heading="## [$heading]" 'index($0, heading) == 1 {inside = 1; next} /^## \[/ {inside = 0} inside' CHANGELOG.md >"dist/signpost-$version-notes.md"
  printf '\nUpgrade and rollback: docs/upgrading.md. Supported versions: docs/versions.md.\n' >>"dist/signpost-$version-notes.md"
  [[ $(wc -l <"dist/signpost-$version-notes.md") -gt 5 ]] || failed "CHANGELOG.md has nothing about $heading"
}

# check_version refuses a tagged version that isn't that of the chart and of the pages.
check_version() {
  local pages
  pages=$(sed -n 's/^appVersion: //p' deploy/helm/signpost/Chart.yaml)
  [[ ! $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ || $version == "$pages" ]] || failed "the version is $version, and the chart and the pages say $pages: change appVersion in Chart.yaml, then run go test ./internal/houserules -run TestOneVersion -update"
}

failed() {
  echo "dev/release.sh: $1" >&2
  exit 1
}

check_version
rm -rf dist
platforms=("${images[@]}")
[[ $what != all ]] || platforms+=("${others[@]}")
for p in "${platforms[@]}"; do
  build "$p"
  check_program "$p"
done
GOBIN=$PWD/dist/tools go install -C dev/image tool
args=()
for p in "${images[@]}"; do args+=("$p=$PWD/$(program "$p")"); done
go run -C dev/image . --out "$PWD/dist/signpost-$version.oci.tar" --name "$image" --version "$version" "${args[@]}"
for p in "${platforms[@]}"; do sbom "$p"; done
if [[ $what == all ]]; then
  [[ -x dist/$host/signpost ]] || build "${host/_//}"
  texts
  for p in "${platforms[@]}"; do
    archive "$p"
    check_archive "$p"
  done
  chart
  notes
  [[ $("dist/$host/signpost" --version) == "$version" ]] || failed "dist/$host/signpost isn't version $version"
fi
rm -rf dist/tools
(cd dist && LC_ALL=C && sha256sum signpost-* >SHA256SUMS && sha256sum --check --quiet SHA256SUMS)
ls -l dist
