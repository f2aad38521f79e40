#!/usr/bin/env bash
# Builds the operators of the examples and of the tests: guests.sh WEIR OUT
set -euo pipefail
cd "$(dirname "$0")/.."
weir=$(realpath "$1")
out=$(realpath -m "$2")
target=$(realpath -m "$2-build")
for operator in order inventory payment shipping; do
    "$weir" build "examples/order-fulfilment/$operator" --out "$out" --target-dir "$target"
done
tests/guests/build.sh "$weir" "$out" "$target"
