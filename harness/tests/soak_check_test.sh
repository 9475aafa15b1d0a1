#!/usr/bin/env bash
# The segments of a soak are judged again within 256 MiB, however many there are: soak_check_test.sh
# [SEGMENTS]. They are made up, 250,000 tokens each.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

segments=${1:-8}
mkdir -p "$place/soak/0"
"$BUILD_DIR/tests/scale_bench" 250000 "$place/soak/0"
for ((i = 1; i < segments; i++)); do
    cp -rl "$place/soak/0" "$place/soak/$i"
done
# A sanitizer needs far more addresses than memory.
[ -n "${SANITIZE-}" ] || ulimit -v 262144
expect_exit 0 "$mailproof" check "$place/soak"
grep -q "$segments of $segments results pass; they have $((segments * 250000)) tokens" "$place/out" ||
    fail "$(cat "$place/out")"
