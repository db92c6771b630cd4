#!/bin/sh
# The demo: a shop in two versions behind a local Envoy, real traffic, and the report; then once more with a secondary
# and rules, to see what is left. `make demo` builds what this needs.
#
#   examples/demo/run.sh [OPTION …]    options for `kubectl mirror local`, for example `-o json`
set -eu

here=$(dirname "$0")
plugin=${KUBECTL_MIRROR:-$here/../../target/release/kubectl-mirror}
work=$(mktemp -d)
servers=
trap 'kill $servers 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Reports go to stdout, all else to stderr.
say() {
    echo "$*" >&2
}

# Starts one version of the shop and leaves its address in the variable $address.
start() {
    python3 "$here/shop.py" --version "$1" --port 0 >"$work/port-$2" &
    servers="$servers $!"
    tries=0
    while [ ! -s "$work/port-$2" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 100 ]; then say "error: the shop (version $1) did not start"; exit 1; fi
        sleep 0.1
    done
    address=http://127.0.0.1:$(cat "$work/port-$2")
}

start 1 primary && primary=$address
start 2 candidate && candidate=$address

say "== 1. Version 2 beside version 1: everything that differs =="
"$plugin" local --name demo/shop --primary "$primary" --candidate "$candidate" "$@" -- python3 "$here/traffic.py"

say
say "== 2. With a secondary (version 1 once more) and rules: what is left =="
start 1 secondary && secondary=$address
"$plugin" local --name demo/shop --primary "$primary" --candidate "$candidate" --secondary "$secondary" \
    --rules "$here/rules.yaml" "$@" -- python3 "$here/traffic.py"

say
posts() {
    python3 -c 'import json, sys, urllib.request; print(json.load(urllib.request.urlopen(sys.argv[1]))["posts"])' "$1/posts-seen"
}
say "POST requests that version 1 has seen: $(posts "$primary"); that version 2 has seen: $(posts "$candidate")."
