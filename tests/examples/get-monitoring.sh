#!/bin/sh
# Gets what the monitoring tests run, into FOLDER: Prometheus with promtool out of Debian's package, the Prometheus Operator's
# CRDs out of its Go module, a reader of dashboards built from Grafana's own types, and two Python packages.
#
#   tests/examples/get-monitoring.sh FOLDER
set -eu

here=$(cd "$(dirname "$0")" && pwd)
operator=github.com/prometheus-operator/prometheus-operator@v0.85.0
folder=$1
mkdir -p "$folder"

needs() {
    command -v "$1" >/dev/null || { echo "error: $1 is needed to get $2" >&2; exit 1; }
}

if [ ! -x "$folder/promtool" ]; then
    needs apt-get "Prometheus (or put prometheus and promtool into $folder)"
    needs dpkg-deb Prometheus
    work=$(mktemp -d "$folder/get.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    echo "getting prometheus" >&2
    (cd "$work" && apt-get download -qq prometheus 2>/dev/null)
    dpkg-deb --extract "$work"/*.deb "$work/files"
    mv "$work/files/usr/bin/prometheus" "$work/files/usr/bin/promtool" "$folder"
fi
if [ ! -x "$folder/reader" ]; then
    needs go "Grafana's types"
    (cd "$here/reader" && GOWORK=off go build -o "$folder/reader" .)
fi
if [ ! -d "$folder/crds" ]; then
    needs go "the Prometheus Operator's CRDs"
    echo "getting $operator" >&2
    module=$(cd "$folder" && GOWORK=off go mod download -json "$operator" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    mkdir -p "$folder/crds.part"
    cp "$module/example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml" \
        "$module/example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml" "$folder/crds.part"
    chmod -R u+w "$folder/crds.part"
    mv "$folder/crds.part" "$folder/crds"
fi
if [ ! -x "$folder/python/bin/python" ]; then
    python3 -m venv "$folder/python.part"
    "$folder/python.part/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    # Scripts in it would name the old folder; the interpreter does not care.
    mv "$folder/python.part" "$folder/python"
fi
