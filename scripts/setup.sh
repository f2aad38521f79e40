#!/usr/bin/env bash
# Finds out what is missing to build Weir and its example operators, and installs
# it where that can be done without asking (Debian or Ubuntu, as root or with
# passwordless sudo); elsewhere it says what to install and stops.
#
#   scripts/setup.sh          for `make demo`
#   scripts/setup.sh --tests  for `make test` too: Chromium, cargo-nextest, cargo-deny
set -euo pipefail

tests=false
[ "${1:-}" = "--tests" ] && tests=true

missing=()
packages=()

has() { command -v "$1" >/dev/null 2>&1; }

has cargo || missing+=("Rust 1.95 or newer, by rustup")
has node || missing+=("Node.js 20 or newer")
has npm || missing+=("npm")
has cc || packages+=(build-essential)
has make || packages+=(make)
has curl || packages+=(curl)
has python3 || packages+=(python3)

# A WebAssembly target for the guests: rustup's where it is installed, else
# Debian's compiler with the sources of its standard library.
if has cargo && ! [ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown/lib" ]; then
    if ! { [ -x /usr/bin/rustc ] && dpkg -s rust-web-src >/dev/null 2>&1; }; then
        if [ -e /etc/debian_version ] && ! grep -q '^ID=ubuntu' /etc/os-release; then
            packages+=(rustc-web rust-web-src cargo-web)
        else
            missing+=("the WebAssembly target: rustup target add wasm32-unknown-unknown")
        fi
    fi
fi

if $tests && ! has chromium; then packages+=(chromium); fi

if [ ${#packages[@]} -gt 0 ]; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo -n"
    if has apt-get && { [ -z "$sudo" ] || $sudo true 2>/dev/null; }; then
        echo "setup: installing ${packages[*]}"
        export DEBIAN_FRONTEND=noninteractive
        $sudo apt-get update -qq
        $sudo apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
    else
        missing+=("the packages ${packages[*]}")
    fi
fi

if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: please install, then run this again:" >&2
    printf '  - %s\n' "${missing[@]}" >&2
    exit 1
fi

if $tests; then
    has cargo-nextest || cargo install --locked --quiet cargo-nextest
    has cargo-deny || cargo install --locked --quiet cargo-deny
fi
