#!/usr/bin/env bash
# Takes a mend out of the collector; the test that guards it must fail. For ci/mutants, which sets
# MAILPROOF_MUTANT=collector:NAME and runs this with the NAME as argument. Without the variable the
# same test must pass. --list prints the names.
set -euo pipefail

# Each row: what the mutant changes, which program it builds, and the test that must notice.
mutant() { # name
    case $1 in
    bell-number) # B2: lets the bell go by the number that the last check told
        edits=(collector/queue/queue.c 's/SESSION_PARAMS(q->bell_taken)/SESSION_PARAMS(q->bell)/'
            collector/sql/bell_let_go.sql "s/nullif(\$1, '')/\$1/")
        target=mailroom-collector
        test=(sh collector/tests/bell_test.sh)
        ;;
    own-pause) # D2: counts its own pause as time in which another did not renew its lease
        edits=(collector/timing/owners.c 's/now_ns - o->looked_ns > OWNERS_WATCH_NS/false/')
        target=collector_owners_test
        test=("$tree/build/tests/collector_owners_test")
        ;;
    torn-pipe) # L5: goes on behind what a killed collector left in a pipe
        edits=(collector/wire/output.c 's/o->torn = torn(o, &st)/o->torn = S_ISREG(st.st_mode) \&\& torn(o, \&st)/')
        target=collector_output_test
        test=("$tree/build/tests/collector_output_test")
        ;;
    all-due) # L4: never looks at all that is due, neither every 30 s nor when it hears of it
        edits=(collector/loop/take.c 's/c->now_ns >= t->all_due_at_ns ||/false ||/'
            collector/loop/peers.c "s/ || \*PQgetvalue(r, 0, WAITS) != 0//")
        target=mailroom-collector
        test=(sh collector/tests/clock_test.sh)
        ;;
    left-behind) # what a full line leaves has waited as long as what went with it
        edits=(collector/loop/take.c 's/(!t->backlog \&\& window_timeout_ns(/(window_timeout_ns(/')
        target=mailroom-collector
        test=(sh collector/tests/timeout_test.sh)
        ;;
    stuck-line) # a line that the reader has not taken whole is given up like one without answers
        edits=(collector/loop/answers.c '/^bool answers_time_out/,/^}/s/!c->queue.policy->answers/false/')
        target=mailroom-collector
        test=(sh collector/tests/shared_test.sh)
        ;;
    forgotten-rows) # rows are not given back again after an error
        edits=(collector/loop/settle.c 's/if (c->settle.giving_back)/if (false)/')
        target=mailroom-collector
        test=(sh collector/tests/shared_test.sh)
        ;;
    kept-lock) # a lock that a failed request did not let go is forgotten
        edits=(collector/loop/settle.c '/^static void note_unlock_answer/,/^}/s/s->lock_count++;/(void)s;/')
        target=mailroom-collector
        test=(sh collector/tests/shared_test.sh)
        ;;
    ride-again) # lines are settled with the next take although the last one failed
        edits=(collector/loop/settle.c 's/(!c->settle.alone \&\& !take_step/(!take_step/')
        target=mailroom-collector
        test=(sh collector/tests/errors_test.sh)
        ;;
    given-doubt) # rows with tokens in doubt are given to others
        edits=(collector/loop/settle.c 's/if (c->doubt.n > 0)/if (false)/')
        target=mailroom-collector
        test=(sh collector/tests/errors_test.sh)
        ;;
    stale-doubt) # tokens stay in doubt though no line will come for them
        edits=(collector/loop/take_answer.c 's/    if (saw_all \&\& /    if (false \&\& saw_all \&\& /')
        target=mailroom-collector
        test=(sh collector/tests/errors_test.sh)
        ;;
    lost-rest) # what a line left of its row is forgotten
        edits=(collector/loop/settle.c 's/return reread_rests(c, e);/return true;/'
            collector/loop/settle.c 's/^static bool reread_rests/__attribute__((unused)) &/')
        target=mailroom-collector
        test=(sh collector/tests/lease_test.sh)
        ;;
    silent) # the mend of B3 must not forget a silent producer
        edits=(collector/sql/bell_silent.sql 's/^SELECT EXISTS (/SELECT false AND EXISTS (/')
        target=mailroom-collector
        test=(sh collector/tests/bell_test.sh)
        ;;
    any-transaction) # B3: looks again and again while any transaction runs
        edits=(collector/sql/bell_silent.sql 's/^SELECT EXISTS (/SELECT true OR EXISTS (/')
        target=mailroom-collector
        test=(sh collector/tests/idle_test.sh)
        ;;
    *) echo "there is no mutant '$1'" >&2 && exit 64 ;;
    esac
}
if [ "${1-}" = --list ]; then
    sed -n 's/^    \([a-z-]*\)) # .*/collector:\1/p' "$0"
    exit
fi

cd "$SOURCE_DIR"
tree=$BUILD_DIR/mutant-tree
mkdir -p "$tree"
# All files keep their times, but for those of the last mutant.
git ls-files -z | tar --null --ignore-failed-read -cf - -T - | tar -C "$tree" -xf -
[ ! -e "$tree/mutated" ] || (cd "$tree" && xargs touch <mutated && rm mutated)
mutant "$1"
[ -e "$tree/build/build.ninja" ] || (cd "$tree" && cmake -G Ninja --preset dev >/dev/null)
if [ "${MAILPROOF_MUTANT-}" = "collector:$1" ]; then
    for ((i = 0; i < ${#edits[@]}; i += 2)); do
        echo "${edits[i]}" >>"$tree/mutated"
        sed -i "${edits[i + 1]}" "$tree/${edits[i]}"
        ! cmp -s "${edits[i]}" "$tree/${edits[i]}" ||
            { echo "FAILED: the substitution changes nothing in ${edits[i]}" && exit 1; }
    done
fi
cmake --build "$tree/build" --target "$target" >/dev/null
# The test is that of this tree, so only what it tests is changed.
BUILD_DIR=$tree/build "${test[@]}"
