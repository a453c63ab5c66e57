#!/usr/bin/env bash
# Checks all of plegdoctor: formatting, clippy, docs, and every test, those on a real Docker daemon included.
#
# usage: tests/run.sh [--help]
#
# Runs as root on Debian or Ubuntu with Rust. Installs what the tests need and the machine lacks (dockerd, containerd,
# runc, a static busybox, chattr, bindfs): nothing that is there already, nothing for which apt would remove a package,
# and no service is started. The tests start Docker daemons of their own, with their own sockets and
# directories below /var/tmp, and take them away again; the machine's Docker is not touched.
set -euo pipefail

case ${1-} in
  '') ;;
  -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "tests/run.sh: unknown argument $1 (see --help)" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin
# What a user's shell may say must not change what is tested.
unset DOCKER_HOST NO_COLOR

say() { printf '== %s\n' "$*"; }
die() { printf 'tests/run.sh: %s\n' "$*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || die "run me as root: the tests start Docker daemons"
command -v cargo >/dev/null || die "cargo is missing: install Rust first (https://rustup.rs)"

# A static busybox is all that is in the tests' containers.
static_busybox() { [ -x /bin/busybox ] && ! ldd /bin/busybox >/dev/null 2>&1; }

missing=()
command -v dockerd >/dev/null || missing+=(docker.io)
command -v containerd >/dev/null || command -v docker-containerd >/dev/null || missing+=(containerd)
command -v runc >/dev/null || missing+=(runc)
static_busybox || missing+=(busybox-static)
command -v chattr >/dev/null || missing+=(e2fsprogs)
command -v umount >/dev/null || missing+=(mount)
command -v tar >/dev/null || missing+=(tar)
command -v bindfs >/dev/null || missing+=(bindfs)

policy=/usr/sbin/policy-rc.d
install_missing() {
  command -v apt-get >/dev/null || die "please install: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  say "installing ${missing[*]}"
  apt-get -qq update
  local plan
  plan=$(apt-get -s install --no-install-recommends "${missing[@]}") || die "apt can't install ${missing[*]}"
  if grep '^Remv ' <<<"$plan" >&2; then
    die "apt would remove the packages above to install ${missing[*]}: please see to it yourself"
  fi
  # 101 tells the packages' scripts to start nothing.
  if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' > $policy
    chmod +x $policy
  fi
  apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
  if [ -n "$(trap -p EXIT)" ]; then
    rm -f $policy
    trap - EXIT
  fi
}
if [ ${#missing[@]} -gt 0 ]; then install_missing; fi
say "$(dockerd --version), $(containerd --version | cut -d' ' -f1,3)"

for part in fmt clippy; do
  cargo $part --version >/dev/null 2>&1 || rustup component add "${part/fmt/rustfmt}" || die "cargo $part is missing"
done

say "formatting"
cargo fmt --check
say "clippy"
cargo clippy --all-targets -- -D warnings
say "docs"
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items
say "tests"
cargo test
