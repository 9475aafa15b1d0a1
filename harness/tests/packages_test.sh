#!/usr/bin/env bash
# The Debian packages are built and clean, and what is in them runs.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

if ! command -v lintian >/dev/null || ! command -v dpkg-shlibdeps >/dev/null; then
    echo "skipped: lintian and dpkg-dev are not installed here"
    exit 77
fi
if [ -n "${SANITIZE-}" ]; then
    echo "skipped: packages are built without sanitizers"
    exit 77
fi
"$SOURCE_DIR/ci/package" >"$place/out" 2>&1 || { cat "$place/out" >&2 && fail "no packages"; }
for package in "$SOURCE_DIR"/build-packages/out/*.deb; do dpkg -x "$package" "$place/root"; done
mailproof=$place/root/usr/bin/mailproof
cd /
expect_exit 0 run steady --set load.0.for=1s
expect_nothing_left
