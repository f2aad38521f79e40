#!/usr/bin/env bash
# Builds every guest of this folder: build.sh [WEIR] [OUT] [TARGET_DIR]
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
weir=$(realpath "${1:-$root/target/release/weir}")
out=$(realpath -m "${2:-$root/target/guests}")
target=$(realpath -m "${3:-$root/target/guests-build}")
for guest in bidcount counter echo forward garbage garbage-handler; do
    "$weir" build "$guest" --out "$out" --target-dir "$target"
done
