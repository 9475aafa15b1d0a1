#!/usr/bin/env bash
# Stored runs are rendered again, to the same bytes; the index lists them; and the command that a
# failure names repeats it.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$place"

# The run has faults, a death, dead letters and losses, so that no file is empty. It also
# has an argument that a shell must not split.
broken="$zoo --defect cursor-first"
expect_exit 1 "$mailproof" run --quiet collector-killed "${says[@]}" --collector "$broken" "${leak[@]}" \
    --set load.0.for=3s --set load.0.unsendable=0.01 --set faults.0.until=2500ms \
    --set recovery_limit=30s --set drain=2s --junit junit.xml
folder=$(sed -n 's/^  result  *//p' out)
cp -r "$folder" before
cp results/index.html index.html

expect_exit 0 "$mailproof" report results/collector-killed/latest
grep -q "^collector-killed: violated  $folder/report.html$" out || fail "not told: $(cat out)"
diff -r before "$folder" >&2 || fail "rendering again changed something"

# Lost files are made again from a folder that has moved; only its path differs.
mkdir -p moved/collector-killed
mv "$folder" moved/collector-killed/
folder=moved/collector-killed/$(basename "$folder")
rm "$folder"/{report.html,result.json,junit.xml,summary.md,intervals.csv,latency.*}
expect_exit 0 "$mailproof" report "$folder/"
for file in before/*; do
    [ -d "$file" ] || sed 's#"\?results\(\\\?/\)collector-killed#moved\1collector-killed#' "$file" |
        cmp - <(sed 's#"\?moved\(\\\?/\)collector-killed#moved\1collector-killed#' "$folder/${file##*/}") >&2 ||
        fail "${file##*/} differs"
done

# Every file for people and programs names the command that repeats the run.
command="mailproof run $folder --collector '$broken'"
grep -qF "Repeat: \`$command\`" "$folder/summary.md" || fail "summary.md does not say how to repeat"
grep -qF "repeat: $command" "$folder/junit.xml" || fail "junit.xml does not say how to repeat"
# What the verdict does not rest on stands in both: what each kill may excuse, and what was not judged.
grep -q '^- kill-collector ([1-9][0-9]*): each may excuse up to ' "$folder/summary.md" || fail "no excuses"
grep -q '^- not judged: .*leak' "$folder/summary.md" || fail "not told what is not judged"
grep -q '"excused":\["kill-collector (' "$folder/report.html" || fail "the page does not tell excuses"
[ "$(wc -c <"$folder/summary.md")" -lt 20000 ] || fail "summary.md is too long for a job's page"
expect_exit 1 bash -c "PATH=$(dirname "$mailproof"):\$PATH; $command --quiet ${leak[*]@Q}"
grep -q '^collector-killed: violated' out || fail "it was not repeated"

# One test case per invariant and expectation: as many as result.json has.
cases() { grep -c "<testcase classname=\"collector-killed.$1\"" "$folder/junit.xml"; }
[ "$(cases expectation)" = "$(grep -c '"want"' "$folder/result.json")" ] || fail "expectations"
[ "$(cases invariant)" = "$(grep -c '^| [a-z_]* | [0-9]* | ' "$folder/summary.md")" ] || fail "invariants"
[ "$(grep -c '<failure ' "$folder/junit.xml")" -gt 0 ] || fail "no failure"

# The index has a row for each run, with its verdict and a link that leads there.
[ "$(grep -c '<tr><td><a href' index.html)" = 1 ] || fail "not one row"
expect_exit 0 "$mailproof" report moved results
[ "$(grep -c '<td class="violated">violated</td>' results/index.html)" = 1 ] || fail "no verdict"
link=$(sed -n 's/.*<a href="\([^"]*\)".*/\1/p' moved/index.html)
[ -s "moved/$link" ] || fail "the index leads nowhere: $link"

# This version reads the results that earlier ones recorded.
recorded=$SOURCE_DIR/results/recorded/baselines
# with five runs, some differences stay unknown
expect_exit 2 "$mailproof" compare "$recorded" "$recorded"

# A missing or damaged file is named, and nothing is overwritten.
expect_exit 64 "$mailproof" report nowhere
grep -q 'nowhere' err || fail "not named: $(cat err)"
expect_exit 64 "$mailproof" report
sed -i 's/"samples":\[/"samples":[{/' "$folder/observed.json"
cp -r "$folder" before2
expect_exit 64 "$mailproof" report moved
grep -q "$folder/observed.json: line" err || fail "not named: $(cat err)"
diff -r before2 "$folder" >&2 || fail "a damaged folder was written to"
expect_nothing_left
