#!/usr/bin/env bash
# The results of 1, 2, 3 and 16 shards, named in any order, are merged into the same tables and
# pages, byte for byte, once times and folders are left out. Any missing shard is inconclusive, and is
# named. With arguments it tests these commands only.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# deal RECORD N FOLDER: deals the lines of a whole record out to N shards, as their commands would
# have written them, and adds the folders to `dealt`, the last one first. `leave FOLDER` puts there
# what else a shard leaves.
deal() {
    local record=$1 n=$2 below=$3 i folder
    for ((i = n; i >= 1; i--)); do
        folder=$below/machine-$i/shard-$i-of-$n/work
        mkdir -p "$folder"
        awk -v of="$n" -v shard="$i" '
            NR == 1 {sub(/"shard":[0-9]+,"of":[0-9]+/, "\"shard\":" shard ",\"of\":" of); print; next}
            /"finished"/ {print}
            {item = match($0, /"n":[0-9]+/) ? substr($0, RSTART + 4, RLENGTH - 4) : 0}
            !/"finished"/ && (/"was":/ ? NR : item) % of == shard - 1' \
            "$record" >"$folder/record.jsonl"
        leave "$folder"
        dealt+=("$below/machine-$i")
    done
}

# blank FILE…: prints them without what depends on the time and the place.
blank() {
    sed -E "s/[0-9]{8}T[0-9]{6}Z/TIME/g; s|$place/[a-z0-9-]*|PLACE|g; s/ in [0-9]+ s: / in T s: /; s/after [0-9]+ s/after T s/g; s/ +[0-9]+\.[0-9] s / T s /" "$@"
}

# Three orders of the folders: the last first, the first first, and the odd ones behind the even ones.
orders=('{print NR "\t" $0}' '{print -NR "\t" $0}' '{print NR % 2 * 1000 + NR "\t" $0}')

# in_order ORDER FOLDER…: puts the folders into `ordered`.
in_order() {
    mapfile -t ordered < <(printf '%s\n' "${@:2}" | awk "$1" | sort -n | cut -f 2)
}

# same_for_any_number RECORD FILE…: merges the record from 1, 2, 3 and 16 shards in three orders, and
# compares the output and the files below the folder of results. Then it leaves out each shard.
same_for_any_number() {
    local record=$1 n order file dealt ordered
    shift
    for n in 1 2 3 16; do
        dealt=()
        deal "$record" "$n" "$place/dealt-$n"
        for order in "${orders[@]}"; do
            in_order "$order" "${dealt[@]}"
            rm -rf "$place/merged"
            expect_exit "$want" "$mailproof" merge --out "$place/merged" "${ordered[@]}"
            [ ! -s "$place/err" ] || fail "$(cat "$place/err")"
            cp "$place/out" "$place/whole"
            : >"$place/pages"
            for file in "$place/out" "${@/#/$place/merged/}"; do
                # shellcheck disable=SC2086 # the name may be a pattern
                blank $file >>"$place/pages" || fail "no $file"
            done
            [ -e "$place/pages-of-one" ] || cp "$place/pages" "$place/pages-of-one"
            cmp "$place/pages-of-one" "$place/pages" || fail "$n shards gave something else: ${ordered[*]##*/}"
        done
        [ "$n" = 1 ] || each_is_missed "$n"
    done
    # The caller looks further at three shards without the second.
    rm -rf "$place/part"
    mv "$place/dealt-3" "$place/part"
    rm -r "$place/part/machine-2"
    misses 2 3 "$place/part"
    rm -rf "$place"/dealt-* "$place"/merged* "$place"/pages*
}

# each_is_missed N: leaves out each of the N dealt shards.
each_is_missed() {
    local i
    for ((i = 1; i <= $1; i++)); do
        in_order "\$0 !~ /machine-$i\$/ ${orders[0]}" "${dealt[@]}"
        misses "$i" "$1" "${ordered[@]}"
    done
}

# misses I N FOLDER…: merges the folders, in which shard I of N is not.
misses() {
    expect_exit "$missing" "$mailproof" merge --out "$place/merged-part" "${@:3}"
    grep -q "shard $1 of $2 is missing, so this is inconclusive" "$place/err" || fail "$(cat "$place/err")"
}

# --- explore --------------------------------------------------------------------------------

explore_merges() {
    # The record of a search that found two failures. The record tells all; nothing is run.
    whole=$place/whole.jsonl
    {
        echo '{"record":1,"command":"explore","about":"seed 5, the reference collector cursor shared leased","asked":["--seed=5","--draws=60"],"program":"mailproof","shard":1,"of":1}'
        for ((n = 59; n >= 0; n--)); do
            broken='' verb=reset verdict=pass
            ((n % 3)) || verb=kill-collector
            ((n % 7)) || { broken='"lost"' && verdict=violated; }
            echo "{\"n\":$n,\"verdict\":\"$verdict\",\"mode\":\"cursor\",\"took_s\":2.0,\"broken\":[$broken],\"verbs\":[\"$verb\"],\"faults\":[[\"$verb\",1.0,1.0,\"idle\"]],\"why\":\"\"}"
        done
        for n in 0 7 14; do
            verb=reset
            ((n % 3)) || verb=kill-collector
            echo "{\"n\":$n,\"failure\":\"lost-$verb\",\"broken\":[\"lost\"],\"verbs\":[\"$verb\"],\"mode\":\"cursor\",\"confirmed\":2,\"asked\":2,\"found_s\":9.0,\"example\":\"one\"}"
        done
        echo '{"call":1,"took_s":120.0}'
        echo '{"finished":true}'
    } >"$whole"
    # Each shard that looked into a failure has its scenario.
    leave() {
        mkdir "$1/found"
        echo 'name: x' | tee "$1/found/lost-reset.yaml" >"$1/found/lost-kill-collector.yaml"
    }
    # A record asks for no file to be written.
    sed 's|"--draws=60"|"--out=/var/tmp/mp-nowhere"|' "$whole" >"$place/asks.jsonl"
    mkdir -p "$place/asks/shard" && mv "$place/asks.jsonl" "$place/asks/shard/record.jsonl"
    expect_exit 64 "$mailproof" merge "$place/asks" --out "$place/merged"
    grep -q "cannot ask for '--out=" "$place/err" || fail "$(cat "$place/err")"

    want=1 missing=1
    same_for_any_number "$whole" 'explore/*/explore.html' 'explore/*/found/*'
    grep -q 'found  *lost-reset: lost' "$place/out" || fail "$(cat "$place/out")"
}

# --- run ------------------------------------------------------------------------------------

run_merges() {
    # Two scenarios, three times each. The first run misses what it expects.
    runs() {
        run steady promise-limit --set load.0.for=500ms --set load.0.rate=40/s --repeat 3 "$@"
    }
    expect_exit 0 runs --shard 1/1
    whole=$(echo "$place"/results/shard-1-of-1/run-*/record.jsonl)
    [ "$(grep -c '"verdict":"pass"' "$whole")" = 6 ] || fail "$(cat "$whole")"
    sed -i '/^{"n":0,/s/"verdict":"pass","exit_code":0/"verdict":"missed","exit_code":3/' "$whole"
    cp -r "$place/results/shard-1-of-1" "$place/stored"
    # The folders of the runs are wherever their shard has left them.
    leave() { ln -s "$place/stored/steady" "$place/stored/promise-limit" "$1/../"; }
    want=3 missing=2
    same_for_any_number "$place"/stored/run-*/record.jsonl summary.md
    grep -qE '^steady +missed .* 1 of 2 \(95%: 1% to 99%\)' "$place/out" || fail "$(cat "$place/out")"
    grep -q '^3 of 4 runs passed, 1 missed, 0 skipped; incomplete: shard 2 of 3 is missing' "$place/out" ||
        fail "$(cat "$place/out")"

    # A shard that was interrupted goes on; one that has finished begins anew. Other options are other
    # work.
    sed -i -e 3d -e '/finished/d' "$whole"
    expect_exit 3 runs --shard 1/1
    [ "$(grep -c '"verdict":"pass"' "$whole")" = 5 ] || fail "it did not go on: $(cat "$whole")"
    expect_exit 0 runs --shard 1/1
    [ "$(grep -c '"verdict":"pass"' "$whole")" = 6 ] || fail "it did not begin anew"

    # A shard may have nothing to do.
    expect_exit 0 "$mailproof" run steady --shard 2/2 --out "$place/empty"
    expect_exit 0 "$mailproof" merge "$place/results" --out "$place/merged" --junit "$place/junit.xml"
    [ "$(grep -c '<testsuite ' "$place/junit.xml")" = 6 ] || fail "junit.xml has not all runs"

    # What was skipped everywhere is skipped.
    expect_exit 77 run lanes-cursor --promises no_loss --shard 1/1 --out "$place/skipped"
    expect_exit 77 "$mailproof" merge "$place/skipped" --out "$place/merged"
    expect_nothing_left
}

# --- field ----------------------------------------------------------------------------------

field_merges() {
    # The rows of three subjects, one of them not installed. Their answers are made up: the commands of
    # all cells are those that the table shows while there is none.
    leave() { :; }
    mkdir -p "$place/field/shard-1-of-1/work"
    whole=$place/field/shard-1-of-1/work/record.jsonl
    {
        echo '{"record":1,"command":"field","about":"--verdicts --quick textbook pgq mailroom (811c9dc5) textbook pgq mailroom","asked":["--verdicts","--quick","textbook","pgq","mailroom"],"program":"mailproof","shard":1,"of":1}'
        echo '{"n":0,"row":"textbook","absent":"","runtime":"Python 3","machine":"one machine","when":"2026-01-01"}'
        echo '{"n":1,"row":"pgq","absent":"pgq is not installed","runtime":"","machine":"one machine","when":"2026-01-01"}'
        echo '{"n":2,"row":"mailroom","absent":"","runtime":"","machine":"another","when":"2026-01-02"}'
    } >"$whole"
    expect_exit 2 "$mailproof" merge "$place/field" --commands
    awk '/^[a-z]/ {subject = $0; n = $1 == "textbook" ? 0 : 2}
        /^ *mailproof run/ {
            sub(/^ */, "")
            for (seed = 1; seed <= 3; seed++)
                printf "{\"n\":%d,\"run\":\"%s: %s%s\",\"folder\":\"steady/x\",\"lost\":%d,\"left\":0,\"again\":0," \
                    "\"exits\":0,\"recovery_ms\":%d,\"p99_ms\":40,\"faults\":1,\"faults_struck\":1,\"judged\":1}\n",
                    n, subject, $0, seed == 1 ? "" : " --set \047seed=" seed "\047", n == 0 && NR == 3, NR * 100
        }' "$place/out" >>"$whole"
    echo '{"finished":true}' >>"$whole"
    field_plans_what_is_left "$whole"
    want=0 missing=2
    same_for_any_number "$whole"
    grep -q '^  backend ended 3 times  *broken 3 of 3' "$place/whole" || fail "$(cat "$place/whole")"
    grep -q 'pgq is not installed' "$place/whole" || fail "$(cat "$place/whole")"
    # What the made-up answers and our own collector say nothing about is another thing.
    ! grep 'not asked:' "$place/whole" | grep -vE 'no target|its reader is no handler|while its handler runs' ||
        fail "an answer was not found"
    expect_exit 2 "$mailproof" merge "$place/part" --markdown "$place/field.md"
    grep -q '^Incomplete: shard 2 of 3 is missing' "$place/field.md" || fail "$(cat "$place/field.md")"
    grep -q 'several kinds of machines' "$place/field.md" || fail "$(cat "$place/field.md")"
}

# Only the runs whose answers are not stored are foretold, and made.
field_plans_what_is_left() { # record
    sed -n '/^{"n":2,"run":/{/seed=/!p}' "$1" >"$place/answers"
    expect_exit 0 "$mailproof" field mailroom --verdicts --quick --answers "$place/answers" --out "$place/field-left"
    ! grep -q 'runs*: about' "$place/err" || fail "no run is left: $(cat "$place/err")"
    pages=$(sed -n 's/^pages  *//p' "$place/out")
    [ -n "$pages" ] && grep -q 'No promise was broken' "$pages" || fail "no page at '$pages'"
    sed -i '$d' "$place/answers"
    expect_exit 0 "$mailproof" field mailroom --verdicts --quick --answers "$place/answers" --out "$place/field-left"
    grep -q '^1 run: about ' "$place/err" || fail "one run is left: $(cat "$place/err")"
    # A queue that sustains not even the lowest load is asked nothing else.
    for rate in 100 50 25 12; do
        sed -n "/seed=/d; s/rate=100/rate=$rate/; s/\"p99_ms\":40/\"p99_ms\":9999/; /^{\"n\":2,.* run steady /p" "$1"
    done >"$place/answers"
    expect_exit 0 "$mailproof" field mailroom --verdicts --quick --answers "$place/answers" --out "$place/field-left"
    grep -q 'does not sustain 12/s' "$place/out" || fail "it sustains a load: $(cat "$place/out")"
    ! grep -q 'runs*: about' "$place/err" || fail "runs are foretold that nobody makes: $(cat "$place/err")"
    # A record that is complete stays, and --resume makes other pages of it without a run.
    local record=${pages%/*}/record.jsonl
    { head -n 2 "$record" && sed -n '/^{"n":2,"run":/{/seed=/!s/"n":2/"n":0/p}' "$1"; } >"$place/complete"
    mv "$place/complete" "$record"
    expect_exit 0 "$mailproof" field mailroom --verdicts --quick --resume --site "$place/site" --out "$place/field-left"
    ! grep -q 'runs*: about' "$place/err" || fail "--resume with --site begins anew: $(cat "$place/err")"
    grep -qx "pages  *$place/site/index.html" "$place/out" && [ -f "$place/site/index.html" ] || fail "no pages at --site"
}

# --- tune -----------------------------------------------------------------------------------

tune_merges() {
    # Two pairs, two rounds, and the runs that count round trips.
    tune() {
        "$mailproof" tune steady --quiet --limit 1,10 --timeout 50ms --repeat 2 --set load.0.for=500ms \
            --set load.0.rate=40/s --set 'expect={}' --set slack=30s --set drain=30s "${leak[@]}" "$@"
    }
    expect_exit 0 tune --shard 1/1 --out "$place/tuned"
    leave() { ln -s "$place/tuned/shard-1-of-1/tune" "$1/../"; }
    want=0 missing=2
    same_for_any_number "$place"/tuned/shard-1-of-1/tune-*/record.jsonl 'tune/*/tune.md' 'tune/*/tune.csv' \
        'tune/*/tune.json' 'tune/*/tune.html'
    [ "$(grep -cE '^ +(1|10) +50ms' "$place/whole")" -ge 2 ] || fail "$(cat "$place/whole")"

    # Each shard makes its rounds: of two rounds, the second of three has one, the third the other one.
    # The first counts round trips.
    expect_exit 0 tune --shard 2/3 --out "$place/thirds"
    expect_exit 0 tune --shard 3/3 --out "$place/thirds"
    [ "$(cat "$place"/thirds/*/tune-*/record.jsonl | grep -c '"folder"')" = 4 ] || fail "not two rounds"
    expect_exit 2 "$mailproof" merge "$place/thirds" --out "$place/merged" --markdown "$place/tune.md"
    grep -q 'Incomplete: shard 1 of 3 is missing' "$place/tune.md" || fail "$(cat "$place/tune.md")"
    expect_exit 64 tune --model --shard 1/2
    expect_nothing_left
}

# --- every cut ----------------------------------------------------------------------------------

# The trials of one kind of message. They are dealt out by themselves, because all are of one run.
cuts_merges() {
    cuts() {
        run steady --every-cut --cut-at 'client Execute' "$@"
    }
    expect_exit 0 cuts --shard 1/1 --out "$place/cut"
    whole=$(echo "$place"/cut/shard-1-of-1/run-*/record.jsonl)
    local trials
    trials=$(grep -c '"was":' "$whole")
    [ "$trials" -gt 10 ] || fail "only $trials trials"
    [ "$(wc -l <"$(echo "$place"/cut/shard-1-of-1/steady/latest/cuts.csv)")" = $((trials + 1)) ] || fail "cuts.csv"
    leave() { :; }
    want=0 missing=2
    same_for_any_number "$whole" 'steady/latest/cuts.csv'
    grep -qE "client Execute +$trials +$trials " "$place/whole" || fail "$(cat "$place/whole")"
    grep -q 'reason  *shard 2 of 3 is missing' "$place/out" || fail "$(cat "$place/out")"

    # Each trial belongs to one of two shards.
    expect_exit 0 cuts --shard 1/2 --out "$place/halves"
    expect_exit 0 cuts --shard 2/2 --out "$place/halves"
    expect_exit 0 "$mailproof" merge "$place/halves" --out "$place/both"
    cut -d, -f1-8 "$place"/both/steady/latest/cuts.csv >"$place/both.csv"
    cut -d, -f1-8 "$place"/cut/shard-1-of-1/steady/latest/cuts.csv | cmp - "$place/both.csv" ||
        fail "two shards tried other cuts"
    expect_nothing_left
}

# --- ci/trust -----------------------------------------------------------------------------------

# Deals out lines of 30 runs; in one, a good collector was convicted.
trust_merges() {
    local n i verdict order ordered
    for n in 1 2 3 16; do
        for ((i = 1; i <= n; i++)); do
            mkdir -p "$place/trust-$n/machine-$i/shard-$i-of-$n"
            : >"$place/trust-$n/machine-$i/shard-$i-of-$n/runs.tsv"
        done
        for ((i = 0; i < 30; i++)); do
            verdict=pass
            [ "$i" != 14 ] || verdict=violated
            printf '2026-01-01T00:00:%02dZ\tabc\tquiet\treference\tscenarios/steady.yaml\t%d\t%s\t\t\t%d\t%d%%\tauto\n' \
                "$i" "$i" "$verdict" "$((60 + i % 7))" "$((i % 5))" \
                >>"$place/trust-$n/machine-$((i % n + 1))/shard-$((i % n + 1))-of-$n/runs.tsv"
        done
        for order in "${orders[@]}"; do
            in_order "$order" "$place/trust-$n"/*
            expect_exit 1 "$SOURCE_DIR/ci/trust" --merge "${ordered[@]}"
            [ -e "$place/trust-1.out" ] || cp "$place/out" "$place/trust-1.out"
            cmp "$place/trust-1.out" "$place/out" || fail "$n shards gave something else"
        done
        # Without a conviction, what is missing decides.
        for ((i = 1; i <= n && n > 1; i++)); do
            in_order "\$0 !~ /machine-$i\$/ ${orders[1]}" "$place/trust-$n"/*
            expect_exit "$((14 % n + 1 == i ? 2 : 1))" "$SOURCE_DIR/ci/trust" --merge "${ordered[@]}"
            grep -q "shard $i of $n is missing" "$place/err" || fail "$(cat "$place/err")"
        done
    done
    grep -q '^| quiet | 30 | 1 | 30 | 1 |' "$place/trust-1.out" || fail "$(cat "$place/trust-1.out")"
}

[ $# -gt 0 ] || set -- explore run field tune trust cuts
for each in "$@"; do
    "${each}_merges"
done
