# The collectors and scenarios that ci/trust runs, with a copy of all programs in $place/frozen.
# shellcheck shell=bash
# shellcheck disable=SC2154 # ci/trust sets place, kept and the others
# shellcheck source=harness/zoo/says.sh
. harness/zoo/says.sh

# Copies all programs that are run, so that a build meanwhile changes nothing.
freeze() {
    cmake --install build --prefix "$place/frozen" >/dev/null
    cp build/tests/mailroom-zoo "$place/frozen/bin/"
    cp harness/subject/examples/collector.py harness/subject/examples/outbox.sql "$place/frozen/bin/"
    cp -r scenarios "$place/frozen/scenarios"
    cp -r harness/zoo/scenarios "$place/frozen/zoo"
}

# Runs a collector and spoils a share of its output: lines are written twice, or left out. The
# filter ends when the collector has ended, whatever signal comes.
spoiler() { # name, perl program
    cat >"$place/frozen/bin/$1" <<SPOILER
#!/bin/sh
trap : TERM
$place/frozen/bin/mailroom-collector | (trap '' TERM; exec perl -ne 'BEGIN {\$| = 1} $2')
SPOILER
    chmod 755 "$place/frozen/bin/$1"
}

# A runtime that loads for 0.3 s before the program begins, as a JVM or a large Node.js program does.
slow_starter() {
    cat >"$place/frozen/bin/slow-start" <<STARTER
#!/bin/sh
sleep 0.3
exec $place/frozen/bin/mailroom-collector
STARTER
    chmod 755 "$place/frozen/bin/slow-start"
}

make_spoilers() {
    slow_starter
    spoiler piped 'print'
    spoiler doubled-5% 'print; print if rand() < 0.05'
    spoiler doubled-1% 'print; print if rand() < 0.01'
    spoiler lost-0.1% 'print if rand() >= 0.001'
}

command_of() { # collector
    local bin=$place/frozen/bin
    case $1 in
    reference) echo "$bin/mailroom-collector" ;;
    zoo | capacity-100%) echo "$bin/mailroom-zoo" ;;
    python) echo "$bin/collector.py" ;;
    late-*) echo "env MAILROOM_BATCH_TIMEOUT=$((100 + $(tr -dc 0-9 <<<"$1"))) $bin/mailroom-collector" ;;
    capacity-*) echo "$bin/mailroom-zoo --defect slow-$((100 - $(tr -dc 0-9 <<<"$1")))" ;;
    *) echo "$bin/$1" ;;
    esac
}

# Prints condition, collector, scenario and slack, tab-separated.
good_cases() { # condition, slack
    local file
    for file in scenarios/*.yaml; do
        # Without --every-cut this scenario is meant to be violated.
        case $file in */every-cut.yaml) continue ;; esac
        printf '%s\treference\t%s\t%s\n' "$1" "$file" "$2"
    done
    for file in harness/zoo/scenarios/*.yaml; do
        case $file in */foreign.yaml) continue ;; esac
        # Scenarios that set a slack of their own keep it.
        [ "$2" = auto ] || ! grep -q '^slack:' "$file" || continue
        printf '%s\tzoo\tzoo/%s\t%s\n' "$1" "${file##*/}" "$2"
    done
    printf '%s\tpiped\tscenarios/steady.yaml\t%s\n' "$1" "$2"
    for file in steady collector-killed host-dies promise-once-per-death promise-stop promise-takeover-death; do
        printf '%s\tslow-start\tscenarios/%s.yaml\t%s\n' "$1" "$file" "$2"
    done
    /usr/bin/python3 -c 'import psycopg2' 2>/dev/null || return 0
    for file in steady backend-kill-storm connection-resets promise-no-loss; do
        printf '%s\tpython\tscenarios/%s.yaml\t%s\n' "$1" "$file" "$2"
    done
}

graded_cases() {
    local grade
    for grade in late-20ms late-50ms late-100ms late-200ms doubled-1% doubled-5% lost-0.1%; do
        printf 'graded\t%s\tscenarios/steady.yaml\tauto\n' "$grade"
    done
    for grade in capacity-100% capacity-90% capacity-80% capacity-60%; do
        printf 'graded\t%s\tzoo/paced.yaml\tauto\n' "$grade"
    done
}

# Under strain most runs that measure their slack are inconclusive, because the generator falls
# behind. So each scenario also runs with the largest slack that a scenario may have.
all_cases() {
    local condition
    for condition in quiet busy bursts; do good_cases "$condition" auto; done
    for condition in busy bursts; do good_cases "$condition" 500ms; done
    graded_cases
}

# Sets the array options.
set_options() { # collector, slack, scenario
    options=()
    [ "$2" = auto ] || options=(--set "slack=$2")
    case $1 in
    reference | python) ;;
    *) zoo_says "$3" && options+=("${says[@]}") ;;
    esac
    case $1 in
    # Full batches come before the timeout, and would hide a longer timeout.
    late-*) options+=(--set collector.batch_limit=100 --set load.0.rate=50/s --set 'judged={late: 50%}') ;;
    esac
}
