#!/usr/bin/env bash
# The web UI in a real Chromium against the real binary: e2e.sh WEIR GUESTS
set -euo pipefail
cd "$(dirname "$0")/.."
weir=$(realpath "$1")
guests=$(realpath "$2")
scratch=$(mktemp -d)
"$weir" serve --listen 127.0.0.1:0 --data "$scratch/data" >"$scratch/stdout" 2>"$scratch/log" &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true; rm -rf "$scratch"' EXIT
for _ in $(seq 600); do
    url=$(sed -n 's/^weir: listening on //p' "$scratch/stdout")
    [ -n "$url" ] && curl -fsS "$url/readyz" >/dev/null 2>&1 && break
    kill -0 $server 2>/dev/null || { cat "$scratch/log" >&2; exit 1; }
    sleep 0.1
done
WEIR_URL=$url WEIR_MODULE=$guests/counter.wasm WEIR_FILE=$PWD/web-ui/e2e/pipeline.yaml \
    npm --prefix web-ui run --silent e2e
