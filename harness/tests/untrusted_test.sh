#!/usr/bin/env bash
# A scenario of somebody else runs nothing of theirs: run --untrusted refuses a command, a library
# and an archive_command, and so does run RESULT for a result that came from elsewhere. A result of
# one's own is repeated without an option.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

export XDG_STATE_HOME=$place/state

# theirs LINE…: writes a scenario that has these lines, too.
theirs() {
    printf 'name: theirs\nsummary: A test.\nload: [{for: 500ms, rate: 20/s}]\n' >"$place/theirs.yaml"
    printf '%s\n' "$@" >>"$place/theirs.yaml"
}

# refused TEXT OPTION… FILE: says the text, and runs nothing.
refused() {
    local text=$1
    shift
    expect_exit 64 "$mailproof" run --quiet --out "$place/results" "$@"
    grep -qF -- "$text" "$place/err" || fail "'$text' is not in: $(cat "$place/err")"
    [ ! -e "$place/ran" ] || fail "it ran"
}

theirs "collector: {command: [touch, $place/ran]}"
refused 'theirs.yaml:4:22: collector.command: it runs' --untrusted "$place/theirs.yaml"
refused 'do not go together' --untrusted --trust "$place/theirs.yaml"
expect_exit 0 "$mailproof" plan "$place/theirs.yaml"
theirs 'collector: {env: {LD_PRELOAD: /tmp/theirs.so}}'
refused 'theirs.yaml:4:31: collector.env.LD_PRELOAD' --untrusted --collector reference "$place/theirs.yaml"
theirs 'postgres:' "  settings: {archive_mode: 'off', archive_command: touch $place/ran}"
refused 'theirs.yaml:5:28: postgres.settings.archive_mode' --untrusted "$place/theirs.yaml"

# The reference collector by its path is a command, and a run of one's own leaves a marked result.
theirs "collector: {command: [$BUILD_DIR/bin/mailroom-collector], layout: reference}"
expect_exit 0 run "$place/theirs.yaml"
result=$(readlink -f "$place/results/theirs/latest")
expect_exit 0 run "$result"

# The same folder on a machine that has another key, and one that somebody has changed.
refused 'scenario.yaml:' --untrusted "$result"
mv "$place/state" "$place/elsewhere"
refused 'no run of yours on this machine wrote this file' "$result"
refused 'no run of yours on this machine wrote this file' "$result/scenario.yaml"
expect_exit 64 "$mailproof" shrink "$result" --quiet
expect_exit 0 run --trust "$result"
rm -rf "$place/state"
mv "$place/elsewhere" "$place/state"
sed -i "s|$BUILD_DIR/bin/mailroom-collector|$place/other|" "$result/scenario.yaml"
refused "it runs '$place/other'" "$result"
