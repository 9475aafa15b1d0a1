#!/usr/bin/env bash
# A judgement that takes minutes ends at a signal, at once: it has nothing to undo.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# Each of the faults is compared with all others.
cat >"$place/long.story" <<'END'
# Faults follow each other for the whole load.
repeat 40000 every 0.09: fault {do: terminate-backend} struck 100 undone 100.05
repeat 3000 every 1.2: token 0 at 10
repeat 3000 every 1.2: line at 211: 0
END
printf 'token 0 at 50\nline at 150: 0\n' >"$place/short.story"

ends_at() { # signal, exit code
    local code=0 pid deadline=$((SECONDS + 60))
    : >"$place/out" # the child may be slow to empty it, and the verdict of the last call is in it
    "$mailproof" check "$place/short.story" "$place/long.story" >"$place/out" 2>"$place/err" &
    pid=$!
    # The verdict on the first story shows that the second is being read or judged.
    until grep -q '^story: pass' "$place/out"; do
        if [ "$SECONDS" -ge "$deadline" ] || ! kill -0 "$pid"; then
            kill -KILL "$pid"
            fail "nothing is judged: $(cat "$place/err")"
        fi
        sleep 0.1
    done
    kill -"$1" "$pid"
    wait "$pid" || code=$?
    [ "$code" = "$2" ] || fail "exit code $code at $1 instead of $2"
    [ "$(wc -l <"$place/out")" = 1 ] || fail "the long story was judged to the end: $(cat "$place/out")"
}

ends_at TERM 143
ends_at INT 130
expect_nothing_left
