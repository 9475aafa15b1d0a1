#!/bin/bash
# A batch costs no more after many others, while an old snapshot keeps every row that these
# deleted and every version that they wrote. Pages are counted, not time.
set -euo pipefail

collector=$BUILD_DIR/bin/mailroom-collector
bare_loop=$BUILD_DIR/bin/mailroom-bare-loop
# shellcheck source=ci/private-server.sh
. "$SOURCE_DIR/ci/private-server.sh"
# shellcheck source=collector/tests/test_lib.sh
. "$SOURCE_DIR/collector/tests/test_lib.sh"
# shellcheck source=ci/bench-drain.sh
. "$SOURCE_DIR/ci/bench-drain.sh"

# A batch of 10 has to look at some 60 to 150 pages, and at some hundreds if it walks over the row
# versions that 20,000 moves leave behind.
stays_flat() { # mode
    local before after
    prepare_drain "$1" 2000
    read -r _ before <<<"$(batch_cost "$1" 2000)"
    hold_snapshot
    simulate_moves "$1" 20000
    read -r _ after <<<"$(batch_cost "$1" 2000)"
    exec 8>&-
    echo "$1: $before pages a batch, $after under an old snapshot"
    [ "$(divide "$after" "$before" 3 | awk '{ print $1 < 1.5 }')" = 1 ] ||
        failed "$1: a batch looks at $after pages under an old snapshot, $before without"
}

start_server -c synchronous_commit=on -c autovacuum=off
for mode in cursor shared leased; do stays_flat "$mode"; done
echo "no batch costs more under an old snapshot"
