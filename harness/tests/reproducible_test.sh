#!/usr/bin/env bash
# Two builds of the same sources in different folders, at different times, give packages of equal
# bytes, and the list of what they consist of is complete.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

for program in lintian dpkg-shlibdeps; do
    command -v "$program" >/dev/null || { echo "skipped: lintian and dpkg-dev are not installed here"; exit 77; }
done
[ -z "${SANITIZE-}" ] || { echo "skipped: packages are built without sanitizers"; exit 77; }

export SOURCE_DATE_EPOCH=1700000000
for copy in one the-other; do
    mkdir "$place/$copy"
    (cd "$SOURCE_DIR" && git ls-files -z | tar --null -T - -c) | tar -C "$place/$copy" -x
    "$place/$copy/ci/package" >"$place/out" 2>&1 || { cat "$place/out" >&2 && fail "no packages of $copy"; }
done
one=$place/one/build-packages/out other=$place/the-other/build-packages/out
for file in "$one"/*; do
    cmp "$file" "$other/${file##*/}" || fail "${file##*/} differs"
done

python3 - "$one/mailproof.spdx.json" "$one"/*.deb <<'PYTHON'
import hashlib, json, subprocess, sys
spdx = json.load(open(sys.argv[1]))
packages = {p["name"]: p for p in spdx["packages"]}
ids = {p["SPDXID"] for p in spdx["packages"]} | {"SPDXRef-DOCUMENT"}
assert spdx["spdxVersion"] == "SPDX-2.3" and spdx["creationInfo"]["created"] == "2023-11-14T22:13:20Z", spdx["creationInfo"]
assert all({r["spdxElementId"], r["relatedSpdxElement"]} <= ids for r in spdx["relationships"])
for deb in sys.argv[2:]:
    field = lambda name: subprocess.run(["dpkg-deb", "-f", deb, name], capture_output=True, text=True, check=True).stdout.strip()
    mine = packages[field("Package")]
    assert mine["checksums"][0]["checksumValue"] == hashlib.sha256(open(deb, "rb").read()).hexdigest(), deb
    for needed in field("Depends").split(","):
        assert needed.split()[0] in packages, needed
assert packages["libpq5"]["versionInfo"][0].isdigit() and "libseccomp2" in packages and "libjs-dygraphs" in packages, list(packages)
PYTHON
echo "the bytes are the same"
