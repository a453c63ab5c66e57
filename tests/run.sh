#!/usr/bin/env bash
# Checks all of plegdoctor: formatting, clippy, docs, and every test, those on a real Docker daemon included.
#
# usage: tests/run.sh [--help]
#
# Runs as root on Debian or Ubuntu with Rust. Installs what the tests need and the machine lacks (dockerd,
# containerd, runc, a static busybox, chattr, bindfs, strace, journalctl): nothing that is there already, nothing for
# which apt would remove a package, and no service is started. The tests start Docker daemons of their own, with their own sockets
# and directories below /var/tmp, and take them away again (what a killed run left goes with the next run); a last
# step fails where a mount or a cgroup of theirs is left, and kills late processes. The machine's Docker is not touched.
set -euo pipefail

case ${1-} in
  '') ;;
  -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
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
is_static() { [ -x "$1" ] && ! ldd "$1" >/dev/null 2>&1; }

# Gets one beside what is installed: the packages busybox and busybox-static exclude each other.
fetch_busybox() {
  local dir=$PWD/target/static-busybox
  export STATIC_BUSYBOX_DIR=$dir/bin
  is_static "$dir/bin/busybox" && return
  command -v apt-get >/dev/null || die "please install a static /bin/busybox"
  say "fetching busybox-static"
  rm -rf "$dir"
  mkdir -p "$dir/bin"
  # apt's own user may not write here.
  (cd "$dir" && { apt-get -qq -o APT::Sandbox::User=root download busybox-static 2>/dev/null ||
    { apt-get -qq update && apt-get -qq -o APT::Sandbox::User=root download busybox-static; }; }) ||
    die "apt can't download busybox-static"
  dpkg-deb -x "$dir"/busybox-static_*.deb "$dir/package"
  cp "$(find "$dir/package" -type f -path "*/bin/busybox" | head -n 1)" "$dir/bin/busybox"
  is_static "$dir/bin/busybox" || die "the package busybox-static holds no static busybox"
}

# Whether a folder of tests is nobody's any more: its test program is gone.
is_left() {
  local owner
  owner=$(cat "$1/owner" 2>/dev/null) || return 0
  [ ! -e "/proc/$owner" ]
}

# Prints the processes that name a folder of tests in their command line or environment: number and folder.
processes_of_tests() {
  # Who reads the command line of a process that is stuck may hang.
  timeout 30 grep -soaE '/var/tmp/pd\.[A-Za-z0-9]+' /proc/[0-9]*/{cmdline,environ} |
    sed 's#^/proc/\([0-9]*\)/[a-z]*:#\1 #' | sort -u || true
}

# Prints what test programs that are gone left, a line each: process, mount or cgroup, its number or path, its folder.
left() {
  {
    processes_of_tests | sed 's/^/process /'
    awk '$5 ~ "^/var/tmp/pd\\." { split($5, part, "/"); print "mount", $5, "/var/tmp/" part[4] }' /proc/self/mountinfo
    find /sys/fs/cgroup -depth -type d -path '*/pd.*' 2>/dev/null | sed 's#.*/\(pd\.[A-Za-z0-9]*\).*#cgroup & /var/tmp/\1#'
  } | while read -r kind what root; do
    is_left "$root" || continue
    [ "$kind" != process ] || root+=" ($(cat "/proc/$what/comm" 2>/dev/null || true))"
    printf '%s %s %s\n' "$kind" "$what" "$root"
  done
}

# Takes away what is left, and the folders.
sweep() {
  local kind what root
  left | while read -r kind what root; do
    say "taking away what a test program left: $kind $what"
    [ "$kind" != process ] || kill -KILL "$what" 2>/dev/null || true
    [ "$kind" != cgroup ] || xargs -r kill -KILL <"$what/cgroup.procs" 2>/dev/null || true
  done
  sleep 0.5
  left | sort -r | while read -r kind what root; do
    [ "$kind" != mount ] || umount -l "$what" || true
    [ "$kind" != cgroup ] || rmdir "$what" 2>/dev/null || true
  done
  for root in /var/tmp/pd.*; do
    [ -d "$root" ] && is_left "$root" || continue
    chattr -R -f -i "$root" 2>/dev/null || true
    rm -rf "$root" || true
  done
}

missing=()
command -v dockerd >/dev/null || missing+=(docker.io)
command -v containerd >/dev/null || command -v docker-containerd >/dev/null || missing+=(containerd)
command -v runc >/dev/null || missing+=(runc)
command -v chattr >/dev/null || missing+=(e2fsprogs)
command -v umount >/dev/null || missing+=(mount)
command -v tar >/dev/null || missing+=(tar)
command -v bindfs >/dev/null || missing+=(bindfs)
command -v strace >/dev/null || missing+=(strace)
command -v journalctl >/dev/null || missing+=(systemd)

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
  # 101 tells the packages' scripts to start nothing; the machine's own answer is put back afterwards.
  trap restore_policy EXIT
  [ ! -e $policy ] || mv $policy $policy.before-tests
  printf '#!/bin/sh\nexit 101\n' > $policy
  chmod +x $policy
  apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
  restore_policy
  trap - EXIT
}
restore_policy() {
  rm -f $policy
  [ ! -e $policy.before-tests ] || mv $policy.before-tests $policy
}
if [ ${#missing[@]} -gt 0 ]; then install_missing; fi
is_static /bin/busybox || fetch_busybox
sweep
say "$(dockerd --version), $(containerd --version | cut -d' ' -f1,3)"

for part in fmt clippy; do
  cargo $part --version >/dev/null 2>&1 || rustup component add "${part/fmt/rustfmt}" || die "cargo $part is missing"
done

say "formatting"
cargo fmt --check
say "clippy"
cargo clippy --locked --all-targets -- -D warnings
say "docs"
RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --document-private-items
say "tests"
# All that they make is below folders of that name.
tmp=$(mktemp -d /var/tmp/pd.XXXXXX)
chmod 1777 "$tmp"
echo $$ >"$tmp/owner"
passed=yes
TMPDIR=$tmp cargo test --locked || passed=no
say "what the tests left"
rm "$tmp/owner"
found=$(left)
# What is just ending is not left.
[ -z "$found" ] || { sleep 3; found=$(left); }
sweep
# Mounts and cgroups outlive the tests and harm the machine. A process that is late was named and killed by `sweep`.
lasting=$(grep -v '^process ' <<<"$found" || true)
[ -z "$lasting" ] || die "the tests left:"$'\n'"$lasting"
[ $passed = yes ] || die "tests fail"
