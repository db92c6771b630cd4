#!/bin/sh
# The demo: a shop in two versions behind a local Envoy, real traffic, and the report; then once more with a secondary
# and rules, to see what is left. `make demo` builds what this needs.
set -eu

here=$(dirname "$0")
plugin=${KUBECTL_MIRROR:-$here/../../target/release/kubectl-mirror}
work=$(mktemp -d)
servers=
trap 'kill $servers 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Starts one version of the shop and leaves its port in the variable $port.
start() {
    python3 "$here/shop.py" --version "$1" --port 0 >"$work/port-$2" &
    servers="$servers $!"
    tries=0
    while [ ! -s "$work/port-$2" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 100 ]; then echo "error: the shop (version $1) did not start" >&2; exit 1; fi
        sleep 0.1
    done
    port=$(cat "$work/port-$2")
}

start 1 primary && primary=$port
start 2 candidate && candidate=$port

echo "== 1. Version 2 beside version 1: everything that differs =="
"$plugin" local --name demo/shop --primary "http://127.0.0.1:$primary" --candidate "http://127.0.0.1:$candidate" \
    -- python3 "$here/traffic.py"

echo
echo "== 2. With a secondary (version 1 once more) and rules: what is left =="
start 1 secondary && secondary=$port
"$plugin" local --name demo/shop --primary "http://127.0.0.1:$primary" --candidate "http://127.0.0.1:$candidate" \
    --secondary "http://127.0.0.1:$secondary" --rules "$here/rules.yaml" -- python3 "$here/traffic.py"
