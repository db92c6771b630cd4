#!/bin/sh
# Copies the definitions of Istio's and Knative's kinds out of their Go modules, which it gets where they are missing.
#
#   GO=go tests/rig/crds.sh TARGET_FOLDER
set -eu

target=$1
here=$(dirname "$0")

# The folder of MODULE, which the module in FOLDER requires.
module() { # FOLDER MODULE
    (cd "$here/$1" && "$GO" mod download "$2" && "$GO" list -m -f '{{.Dir}}' "$2")
}

istio=$(module istio istio.io/istio)
serving=$(module knative knative.dev/serving)
rm -rf "$target.part"
mkdir -p "$target.part"
cp "$istio/manifests/charts/base/files/crd-all.gen.yaml" "$target.part/istio.yaml"
for file in "$serving"/config/core/300-resources/*.yaml; do
    cp "$file" "$target.part/knative-$(basename "$file")"
done
cp "$here/ingresses.yaml" "$target.part/knative-ingresses.yaml"
chmod -R u+w "$target.part"
rm -rf "$target"
mv "$target.part" "$target"
