#!/bin/sh
# Gets the browser that the tests run: a Chromium without a window, out of an npm package that carries the program, pinned by
# its hash. Its libraries come along for machines that do not have them.
#
#   tests/browser/get.sh FOLDER
#
# Does nothing where FOLDER has it already.
set -eu

package=@sparticuz/chromium@153.0.0
sha512=8e2196a92bcf31dbb8f8ff538a562a011ef21063c41c8371fa50af13f36a34efc41d8cc5ff1d615222394fa8a8548b7b744cbb9fcf1bcb24f4be4f9d9ec810c0
folder=$1

if [ -x "$folder/chromium" ]; then exit 0; fi
for needed in npm node tar sha512sum; do
    command -v "$needed" >/dev/null || { echo "error: $needed is needed to get a browser" >&2; exit 1; }
done
if [ "$(uname -m)" != x86_64 ]; then
    echo "error: the browser is for x86_64 alone; pass another with BROWSER=PROGRAM" >&2
    exit 1
fi
echo "getting $package" >&2
mkdir -p "$folder"
work=$(mktemp -d "$folder/get.XXXXXX")
trap 'rm -rf "$work"' EXIT
npm pack --silent --pack-destination "$work" "$package" >/dev/null
echo "$sha512  $(echo "$work"/*.tgz)" | sha512sum --check --quiet
tar -xzf "$work"/*.tgz -C "$work"
for file in chromium al2023.tar; do
    node -e 'const [from, to] = process.argv.slice(1), fs = require("fs");
        fs.writeFileSync(to, require("zlib").brotliDecompressSync(fs.readFileSync(from)))' \
        "$work/package/bin/$file.br" "$work/$file"
done
tar -xf "$work/al2023.tar" -C "$folder" lib
chmod 755 "$work/chromium"
mv "$work/chromium" "$folder/chromium"
