#!/bin/sh
# Copies the definitions of Istio's and Knative's kinds out of their Go modules, which it gets where they are missing. Those of
# the Kubernetes Gateway API are in a folder of their own, since not every cluster has them.
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
gateways=$(module istio sigs.k8s.io/gateway-api)
rm -rf "$target.part"
mkdir -p "$target.part/gateway-api"
cp "$istio/manifests/charts/base/files/crd-all.gen.yaml" "$target.part/istio.yaml"
for file in "$serving"/config/core/300-resources/*.yaml; do
    cp "$file" "$target.part/knative-$(basename "$file")"
done
for kind in gatewayclasses gateways; do
    cp "$gateways/config/crd/standard/gateway.networking.k8s.io_$kind.yaml" "$target.part/gateway-api/$kind.yaml"
done
cp "$here/ingresses.yaml" "$target.part/knative-ingresses.yaml"
chmod -R u+w "$target.part"
rm -rf "$target"
mv "$target.part" "$target"
