#!/bin/sh
# Gets what checks the CI and GitOps examples, into FOLDER: actionlint and Argo CD's definitions out of their Go modules, a
# reader of Flux's objects built from Flux's own types, gitlab-ci-local out of its npm package, and a Python that reads YAML.
#
#   tests/examples/get-gates.sh FOLDER
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$1
mkdir -p "$folder"

needs() {
    command -v "$1" >/dev/null || { echo "error: $1 is needed to get $2" >&2; exit 1; }
}

if [ ! -x "$folder/actionlint" ]; then
    needs go actionlint
    echo "getting actionlint" >&2
    GOWORK=off GOBIN="$folder" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
fi
if [ ! -x "$folder/reader" ]; then
    needs go "Flux's types"
    (cd "$here/reader" && GOWORK=off go build -o "$folder/reader" .)
fi
if [ ! -f "$folder/application-crd.yaml" ]; then
    needs go "Argo CD's definitions"
    echo "getting Argo CD's definitions" >&2
    module=$(cd "$here/reader" && GOWORK=off GOFLAGS=-mod=mod go mod download -json github.com/argoproj/argo-cd/v2@v2.14.15 |
        sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    install -m 644 "$module/manifests/crds/application-crd.yaml" "$folder/application-crd.yaml"
fi
if [ ! -d "$folder/node_modules/gitlab-ci-local" ]; then
    needs npm gitlab-ci-local
    echo "getting gitlab-ci-local" >&2
    npm install --silent --no-audit --no-fund --no-save --prefix "$folder" gitlab-ci-local@4.75.1
fi
if [ ! -x "$folder/python/bin/python" ]; then
    python3 -m venv "$folder/python.part"
    "$folder/python.part/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    # Scripts in it would name the old folder; the interpreter does not care.
    mv "$folder/python.part" "$folder/python"
fi
