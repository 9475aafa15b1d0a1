#!/usr/bin/env bash
# The installed programs find their scenarios and migrations.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

cmake --install "$BUILD_DIR" --prefix "$place/usr" >"$place/out"
mailproof=$place/usr/bin/mailproof
[ -x "$place/usr/bin/mailroom-collector" ] || fail "the collector is not installed"
expect_exit 0 "$mailproof" list
grep -q '^  steady ' "$place/out" || fail "the installed mailproof has no scenarios"
cd /
expect_exit 0 run steady --set load.0.for=1s
expect_nothing_left
