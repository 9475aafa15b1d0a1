#!/usr/bin/env bash
# Every flush: with the default settings, with and without checksums, a power cut at any
# flush leaves a good state. Torn pages are found where nothing protects them, and the
# losses of asynchronous commits are counted. A collector that moves its cursor first is
# convicted. With `collector`, only this last test runs.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

needs_crashing_disk

# every_flush CODE OPTION…: runs --every-flush and checks its exit code, like expect_exit.
every_flush() {
    local code=$1
    shift
    expect_exit "$code" run power-cut --every-flush --set postgres.durability=waive "$@"
}

# A run that is not quiet says what it takes, after its first state.
says_how_long() {
    : >"$place/err"
    "$mailproof" run power-cut --every-flush --set postgres.durability=waive --out "$place/results" \
        >"$place/out" 2>"$place/err" &
    local pid=$! deadline=$((SECONDS + 120))
    until grep -q ' free)' "$place/err"; do
        kill -0 "$pid" && [ "$SECONDS" -lt "$deadline" ] || fail "no forecast: $(cat "$place/err")"
        sleep 0.05
    done
    kill -TERM "$pid"
    wait "$pid" || true
    grep -qE '^[0-9]+ states: about [0-9]+ (s|min), [0-9.]+ .B of results$' "$place/err" &&
        grep -qE '^all need up to [0-9]+ MB in /.* free\)' "$place/err" ||
        fail "no right forecast: $(cat "$place/err")"
}

# sum NAME: prints how often a failure occurred, over all states.
sum() {
    awk -v name="$1" '$1 == name {print $3}' "$place/out"
}

convicts_collector() {
    every_flush 1 "${says[@]}" --collector "$zoo --defect cursor-first"
    [ "$(sum lost)" -gt 0 ] || fail "the cursor moved first, and nothing was lost"
    [ "$(sum vanished)" = 0 ] || fail "a collector made tokens vanish"
}

if [ "${1-}" = collector ]; then
    convicts_collector
    expect_nothing_left
    exit 0
fi
says_how_long
every_flush 0
states=$(sed -n 's/^  \([0-9]*\) states .*/\1/p' "$place/out")
[ "$states" -gt 40 ] || fail "only $states states of 40 commits"
grep -qE ' in [1-9][0-9]* states a part$' "$place/out" || fail "no state was torn"
[ "$(tail -n +2 "$place/results/power-cut/latest/flushes.csv" | wc -l)" = "$states" ] ||
    fail "flushes.csv does not have $states states"
again=$(sed -nE 's/^  ([0-9]+) of them cut again .*, of which [1-9][0-9]* kept a part;.*/\1/p' "$place/out")
[ "${again:-0}" -gt 10 ] || { cat "$place/out" >&2; fail "recovery was cut in ${again:-no} states, or never torn"; }
every_flush 0 --set postgres.checksums=true
# With ext4-writeback a file's data may reach the disk after its length. What PostgreSQL has flushed
# is there all the same.
every_flush 0 --set postgres.filesystem=ext4-writeback
[ -z "$(command -v mkfs.xfs)" ] || ! grep -qw xfs /proc/filesystems || every_flush 0 --set postgres.filesystem=xfs

# Tries several seeds. With only one seed, perhaps no state has a torn page that does harm.
torn() {
    for seed in 1 2 3 4; do
        run power-cut --every-flush --set postgres.durability=waive --seed "$seed" \
            --set postgres.settings.full_page_writes=off "$@" >"$place/out" 2>&1 || break
    done
    [ "$(($(sum unstartable) + $(sum damaged) + $(sum vanished)))" -gt 0 ] ||
        { cat "$place/out" >&2; fail "no torn page was found"; }
}
torn
torn --set postgres.checksums=true
grep -q 'invalid page' "$place/out" "$place"/results/power-cut/latest/logs/* || fail "no checksum failed"

every_flush 1 --set postgres.settings.synchronous_commit=off --junit "$place/junit.xml"
[ "$(sum vanished)" -gt 0 ] || fail "nothing vanished"
[ "$(sum damaged)" = 0 ] || fail "an asynchronous commit damaged something"
grep -q 'were acknowledged up to [0-9]* ms before the cut' "$place/out" || fail "no window"
grep -q '<testcase classname="power-cut.flush" name="vanished">' "$place/junit.xml" || fail "no case"

# A run passes when `allow` tolerates all that its states show.
every_flush 0 --set postgres.settings.synchronous_commit=off --set 'allow={vanished: any}'
[ "$(sum vanished)" -gt 0 ] || fail "nothing vanished that could be tolerated"

# Several collectors die with the host. They work one after another, or share the work, or
# wait for answers.
for promise in takeover sharing outcome; do
    expect_exit 0 run "promise-$promise" --every-flush --set postgres.storage=crashable \
        --set postgres.settings.recovery_init_sync_method=syncfs
done

convicts_collector
expect_nothing_left
