#!/usr/bin/env bash
# Wrong input gives one clear line that says where the mistake is, and exit code 64.
# Nothing is started.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$place/mine.yaml" <<'YAML'
name: mine
summary: A scenario of somebody's own.
load:
  - for: 1s
    rate: 20/s
YAML

# refused TEXT ARGUMENT…: checks that the command fails with one line that holds the text.
refused() {
    local text=$1
    shift
    expect_exit 64 "$mailproof" "$@"
    [ "$(wc -l <"$place/err")" = 1 ] || fail "not one line: $(cat "$place/err")"
    grep -qF -- "$text" "$place/err" || fail "'$text' is not in: $(cat "$place/err")"
}

# edited SED: edits a copy of mine.yaml, and prints its path.
edited() {
    mkdir -p "$place/edited"
    sed "$1" "$place/mine.yaml" >"$place/edited/mine.yaml"
    echo "$place/edited/mine.yaml"
}

expect_exit 64 "$mailproof" rum
grep -qF "unknown command 'rum'; did you mean 'run'?" "$place/err" || fail "no suggestion of a command"

expect_exit 64 "$mailproof" --verison
grep -qF "unknown option '--verison'; did you mean '--version'?" "$place/err" ||
    fail "no suggestion of an option"

# The options that every GNU program has. What cannot be written is an error.
for program in mailproof mailroom-collector mailroom-sender; do
    for option in -V --version; do
        expect_exit 0 "$BUILD_DIR/bin/$program" "$option"
        grep -qx "$program [0-9.]*" "$place/out" || fail "$program $option: $(cat "$place/out")"
    done
    for option in -h --help; do
        expect_exit 0 "$BUILD_DIR/bin/$program" "$option"
        grep -q 'Exit codes: 0 ' "$place/out" || fail "$program $option: $(cat "$place/out")"
        ! "$BUILD_DIR/bin/$program" "$option" >/dev/full 2>&1 || fail "$program $option wrote to a full disk"
    done
    for wrong in --nonsense -x nonsense; do
        expect_exit 64 "$BUILD_DIR/bin/$program" "$wrong"
        grep -q "$program --help" "$place/err" || fail "$program $wrong: $(cat "$place/err")"
    done
done

refused 'mine.yaml:3:1: ' run "$(edited 's/^load/lod/')"
refused 'mine.yaml:4:10: ' run "$(edited 's/1s/1/')"
refused 'mine.yaml:5:11: ' run "$(edited 's,20/s,fast,')"
refused "'--colector'" run --colector x steady
refused "'--seed'" run steady --seed
refused "option '--out' needs a value" run steady --out ''
refused '--seed' run steady --seed -3
refused '--set load.0.for=3' run steady --set load.0.for=3
refused "'stedy': neither a file, a folder, nor one that 'mailproof list' shows; did you mean 'steady'?" run stedy
refused "'stedy.yaml': neither a file, a folder, nor one that 'mailproof list' shows; did you mean 'steady'?" \
    run stedy.yaml
refused "'--colector'; did you mean '--collector'?" run --colector x steady
refused "option '--quiet' takes no value" run steady --quiet=5
refused "option '--every' is ambiguous: --every-cut, --every-kill, --every-flush" run steady --every
# Whoever shows no progress with --quiet does so with -q as well.
for command in $("$mailproof" --help | sed -n 's/^  \([a-z]\{1,\}\)  *.*/\1/p'); do
    if "$mailproof" "$command" --help | grep -q -- '--quiet'; then
        refused "'--nonsense'" "$command" -q --nonsense
    else
        refused "'-q'" "$command" -q --nonsense
    fi
done
# An option of another command is not taken for the beginning of one, or for a misspelt one.
refused "field has no option '--html'; it is now: field --site DIR" field --html x.html
refused "load has no option '--listen'; it is now: ssh HOST mailproof load -" load --listen :7000
refused "'ssh://host' is no command; it is now: ssh HOST mailproof load -" run smoke --workers ssh://host
refused "report has no option '--token'; check and story have it" report --token 84
refused "report has no option '--token'; check and story have it" report --token=84
refused "run has no option '--markdown'; compare, tune, merge and field have it" run steady --markdown x
# A file that cannot be written is refused before the work begins, because the work would
# leave nothing. A missing folder is made, but only together with the file.
echo kept >"$place/kept"
refused '--junit: cannot write' run steady --junit "$place/kept/junit.xml"
refused '--csv: cannot write' tune steady --csv "$place"
refused '--markdown: cannot write' field textbook --markdown "$place/kept/field.md"
refused '--answers: cannot write' field textbook --answers "$place/kept/below/answers"
# shellcheck disable=SC2046
refused 'the names of the subjects are too long' field $(seq -f 'subject%.0f' 500)
refused '--markdown: cannot write' compare a b --markdown "$place/kept/below/compare.md"
refused '--output: cannot write' shrink a --output "$place/kept/small.yaml"
refused "'stedy': neither" run stedy --out "$place/new" --junit "$place/new/junit.xml"
[ ! -e "$place/new" ] || fail 'a folder was left'
steady=$SOURCE_DIR/results/recorded/baselines/steady
(cd "$place" && "$mailproof" compare "$steady" "$steady" --csv new/below/whole.csv >/dev/null) || true
[ -s "$place/new/below/whole.csv" ] || fail 'a missing folder was not made'
refused 'cannot read' compare a b --csv "$place/kept" --json "$place/fresh"
[ "$(cat "$place/kept")" = kept ] || fail 'a file was emptied before there was anything to write'
[ ! -e "$place/fresh" ] || fail 'an empty file was left'
# A link to a file that is not there yet stays, and nothing is made at its end before the work.
ln -s unmade "$place/link"
refused 'cannot read' compare a b --csv "$place/link"
[ -L "$place/link" ] || fail 'a link was removed'
[ ! -e "$place/link" ] || fail 'an empty file was left behind a link'
# What a variable holds may be a password, so a message shows the variable's name alone.
export SECRET=trapped-password
refused "not the value of 'env:SECRET'" run steady --postgres env:SECRET
# A limit of 0 bytes is a full disk.
said=$(
    trap '' XFSZ
    ulimit -f 0
    "$mailproof" compare "$steady" "$steady" --csv "$place/whole.csv" 2>&1 >/dev/null
) || true
[[ $said == *'--csv: cannot write'* ]] || fail 'a full disk went unnoticed'
[ ! -e "$place/whole.csv" ] || fail 'a part of a file was left'
refused '--out: cannot make the folder' run steady --quiet --out "$place/kept/results"
refused '--out: cannot make the folder' explore --within 1s --out "$place/kept/results"
refused 'have to be UTF-8' explore --within 1s --out "$place/results" --collector $'\xe4'

refused '--workers: cannot start here' \
    run steady --quiet --out "$place/results" --workers here
refused "a run starts its workers by --workers" load here
refused "--cut-at: 'Bnd' is not a message" \
    proxy --listen 0 --to 'host=127.0.0.1 port=1' --cut-at 'client Bnd'
refused "--timeout: '5' has no unit" tune steady --timeout 5
refused "--limit: 'many' is not a whole number" tune steady --limit 1,many
refused "--for 'latncy.p99=< 1s': expect: 'latncy.p99' is not a metric; did you mean 'latency.p99'?" \
    tune steady --for 'latncy.p99 < 1s'
refused '--price needs a --budget in money' tune steady --price 0.10/1000 --budget 3/s
refused "--breaks: 'lots' is not an invariant; did you mean 'lost'?" explore --breaks lots
for command in check shrink slopes; do
    refused "$place/kept is not a result folder" "$command" "$place/kept"
done
refused 'unrecognized configuration parameter "sinchronous_commit"' \
    run --out "$place/results" --quiet --set 'postgres.settings={sinchronous_commit: "on"}' steady
refused 'name a scenario' run
refused 'run scenarios --tag' run --tag quick
refused "no scenario carries the tag 'quik'; did you mean 'quick'?" run scenarios --tag quik
refused "no scenario carries the tag 'quik'; did you mean 'quick'?" list --tag quik
refused "no scenario carries the tag 'nothing'; the tags are quick, " list --tag nothing
refused "--cut-at: 'Bnd' is not a message that a client sends; did you mean 'Bind'?" \
    run every-cut --every-cut --cut-at 'client Bnd'
refused "leave 'COMMIT' out" run every-cut --every-cut --cut-at 'server CommandComplete COMMIT'
refused 'goes with --every-cut' run every-cut --cut-at 'client Bind'
refused '--keep does not go with --every-cut' run every-cut --every-cut --keep
refused '--workers does not go with --every-kill' run every-cut --every-kill --workers 'mailproof load -'
refused 'failover-sync: postgres.standby does not go with --every-cut' run failover-sync --every-cut
refused 'does not go with --every-cut' run every-cut --every-cut --set collector.instances=2
refused 'a queue of another kind does not go with --every-cut' run every-cut --every-cut --subject textbook
refused 'does not go with --every-kill' run every-cut --every-kill --set collector.instances=2
refused '--every-cut and --every-kill do not go together' run every-cut --every-kill --every-cut
refused '--pairs goes with --every-cut or --every-kill' run every-cut --pairs 3
refused 'name one scenario' plan
refused "nor one that 'mailproof list' shows; did you mean 'pgq'?" run steady --subject pgg
refused "--completion takes bash, zsh or fish, not 'bsh'" --completion bsh
refused 'cannot start /no/such: No such file or directory; name' \
    run steady --out "$place/results" --collector '/no/such --option'
printf '#!/no/such/interpreter -w\n' >"$place/script" && chmod +x "$place/script"
refused "cannot start $place/script: its interpreter /no/such/interpreter is not there" \
    run steady --quiet --out "$place/results" --collector "$place/script"
refused 'cannot start /no/such: ' run every-cut --every-cut --quiet --out "$place/results" \
    --collector /no/such
refused "'MAILROOM_BRUST' is not a setting of mailroom-collector; did you mean 'MAILROOM_BURST'?" \
    run steady --quiet --out "$place/results" --set 'collector.env={MAILROOM_BRUST: "5"}'
# All scenarios are validated before the first one runs.
refused 'mine.yaml:3:1: ' run steady "$(edited 's/^load/lod/')"
refused 'mine.yaml: postgres.schema: there is no migration 99' run steady \
    "$(edited 's/^load/postgres: {schema: 99}\nload/')"
expect_exit 64 "$mailproof" runn
expect_exit 64 "$mailproof"

expect_exit 0 "$mailproof" --help
expect_exit 0 "$mailproof" run --help
grep -q -- '--collector CMD' "$place/out" || fail "run --help does not show --collector"
expect_exit 0 "$mailproof" list
for word in backend-kill-storm terminate-backend latency.p99; do
    grep -q "^  $word " "$place/out" || fail "list does not show $word"
done
grep -q '^  collector.batch_timeout .* default: 5s; 0s to 3600s$' "$place/out" || fail "list does not show the keys"
grep -q '^  load.N.hold_open.for ' "$place/out" || fail "list does not show keys inside of keys"

# A folder stands for its scenarios, whatever its name is.
mkdir "$place/mine [1]"
cp "$place/mine.yaml" "$place/mine [1]"
"$mailproof" plan "$place/mine [1]" >/dev/null || fail "a folder with brackets in its name has no scenario"

# The same seed gives the same plan, byte for byte; another seed gives another plan.
"$mailproof" plan --json steady >"$place/a"
"$mailproof" plan --json steady >"$place/b"
"$mailproof" plan --json --seed 2 steady >"$place/c"
cmp "$place/a" "$place/b" || fail "the same seed gave two plans"
! cmp -s "$place/a" "$place/c" || fail "two seeds gave one plan"

# The bounds of excuses are known beforehand: of 20 s, a storm of 9 s and three faults behind it may
# each take a second more.
"$mailproof" plan backend-kill-storm >"$place/a"
grep -q '^# time is judged in 7.0 s of 20.0 s of load at least' "$place/a" || fail "the plan does not say what is judged"
"$mailproof" plan --set collector.returns_within=100ms backend-kill-storm >"$place/a"
grep -q '^# time is judged in 16.6 s of 20.0 s' "$place/a" || fail "the bound is not that of the scenario"
# A fault that is left out, because another is at work, excuses nothing.
cat >"$place/two.yaml" <<'END'
name: two
summary: two faults that collide
load: [{for: 20s, rate: 50/s}]
faults:
  - {at: 5s, do: stop-server, for: 1s}
  - {at: 5500ms, do: stop-server, for: 6s}
END
"$mailproof" plan "$place/two.yaml" >"$place/a"
grep -q '^# time is judged in 17.0 s of 20.0 s' "$place/a" || fail "a fault that is left out excuses time"
# Where nobody starts the killed one again, the takeover is awaited: a grace of 3 s and one second.
cat >"$place/gone.yaml" <<'END'
name: gone
summary: one of two is killed
collector: {instances: 2, restart: false, env: {MAILROOM_GRACE: "3000"}}
load: [{for: 20s, rate: 50/s}]
faults:
  - {at: 5s, do: kill-collector, instance: 0}
END
"$mailproof" plan "$place/gone.yaml" >"$place/a"
grep -q '^# time is judged in 16.0 s of 20.0 s' "$place/a" || fail "the plan awaits one that nobody starts again"

# A reader that goes away has read enough. An output that is lost is an error.
"$mailproof" plan steady 2>"$place/err" | head -n 1 >/dev/null || fail "a reader went away: $(cat "$place/err")"
[ ! -s "$place/err" ] || fail "a reader went away: $(cat "$place/err")"
got=0
"$mailproof" list >/dev/full 2>"$place/err" || got=$?
[ $got = 70 ] || fail "a full disk: exit code $got"

# The page of the collector's settings has the table that its program prints.
settings=$SOURCE_DIR/collector/SETTINGS.md
sed -n '/^| variable/,/^$/p' "$settings" | grep '^|' |
    diff - <("$BUILD_DIR/bin/mailroom-collector" --settings) >&2 ||
    fail "$settings is not what mailroom-collector --settings prints"

# The manual page has each variable that the harness reads, and COMMANDS.md has each
# variable of the manual page. Only MAILPROOF_MUTANT is not there: it is for builds with
# the preset mutants.
"$mailproof" --man | sed -n '/^\.SH ENVIRONMENT/,/^\.SH EXIT/s/^\.B //p' | sort >"$place/manual"
grep -rhoE --include='*.c' 'getenv\("(MAILPROOF|PG)_[A-Z_]*' "$SOURCE_DIR/harness" |
    sed 's/.*"//' | grep -v MAILPROOF_MUTANT | sort -u >"$place/read"
missing=$(comm -13 "$place/manual" "$place/read")
[ -s "$place/read" ] && [ -z "$missing" ] || fail "not in the manual page: $missing"
sed -n '/^## Environment/,/^## /s/^| `\([A-Z_]*\)`.*/\1/p' "$SOURCE_DIR/harness/cli/COMMANDS.md" | sort |
    diff "$place/manual" - >&2 || fail "COMMANDS.md and the manual page name other variables"

expect_exit 0 run "$place/mine.yaml"
expect_nothing_left
