#!/usr/bin/env bash
# Invariants ask the timeline: none includes a header of faults, servers, sessions or samplers, or
# names a verb. No headers of the folder include each other in a circle.
set -euo pipefail
cd "$SOURCE_DIR/harness/check"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

others=$(grep -nE '^#include "' invariants/*.[ch] | grep -vE '"(check|base|plan|scenario|ledger)/' || true)
[ -z "$others" ] || fail "an invariant looks past the ledger and the timeline: $others"
named=$(grep -nE '\bVERB_[A-Z]' invariants/*.[ch] | grep -v VERB_COUNT || true)
[ -z "$named" ] || fail "an invariant names a verb; ask for a property of its row: $named"

# The edges from each header to those that it includes.
edges=$(grep -oE '^#include "check/[^"]*' ./*.h invariants/*.h sources/*.h |
    sed -E 's#^(\./)?([^:]*):\#include "check/(.*)#\2 \3#')
[ -n "$edges" ] || fail "found no header"
tsort <<<"$edges" >/dev/null || fail "headers include each other in a circle"
