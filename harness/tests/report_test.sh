#!/usr/bin/env bash
# The report, opened in a real browser, shows the figures of result.json.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
    echo "skipped: no Chromium on this machine (Debian: chromium)"
    exit 77
fi

expect_exit 1 run steady --set load.0.for=2s --set 'expect.lost=> 5' \
    --set 'faults=[{at: 500ms, do: terminate-backend}]'
folder=$place/results/steady/latest
# The browser's sandbox needs rights that a container does not give. The page is our own,
# so it does without.
browse() {
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --disable-quic \
        --disable-background-networking --disable-component-update --disable-sync \
        --user-data-dir="$place/browser" --virtual-time-budget=10000 --allow-file-access-from-files \
        --enable-logging=stderr --dump-dom "file://$1" >"$place/dom" 2>"$place/err" ||
        fail "the browser failed: $(tail -n 3 "$place/err")"
    ! grep 'CONSOLE.*Uncaught' "$place/err" >&2 || fail "a script of $1 broke off"
}
# charts: how many charts the page has drawn.
charts() {
    grep -o '<div class="legend" id="[a-z-]*-chart-legend"><span' "$place/dom" | wc -l
}
browse "$folder/report.html"

# shown NAME: the figure as the page shows it.
shown() {
    grep -o "data-name=\"$1\"><b>[^<]*" "$place/dom" | sed 's/.*>//'
}

for name in lost duplicated delivered expected; do
    [ "$(shown $name)" = "$(number $name "$folder/result.json")" ] ||
        fail "the page shows $name $(shown $name)"
done
[ "$(shown 'p50, ms')" = "$(printf %.1f "$(number p50 "$folder/result.json")")" ] ||
    fail "the page shows p50 $(shown 'p50, ms')"
grep -q 'id="verdict" role="status" class="violated">violated<' "$place/dom" || fail "no verdict"
grep -q '<ul id="failed"[^>]*><li>[0-9a-z]' "$place/dom" || fail "the page does not begin with what failed"
grep -q '<td class="violated short">does not hold</td>' "$place/dom" || fail "no broken expectation"
[ "$(shown 'faults that took effect')" = '1 of 1' ] || fail "no fault"
# Five charts of the run and eight of the server were drawn, and none failed. Each has its
# table.
[ "$(charts)" = 13 ] || fail "not 13 charts"
[ "$(grep -o '<details class="figures"><summary>Table: ' "$place/dom" | wc -l)" = 13 ] || fail "not 13 tables"

# cell TABLE ROW N: prints the text of the N-th cell in the row whose first cell is ROW.
cell() {
    tr -d '\n' <"$place/dom" | grep -o "<table id=\"$1\">.*" | sed 's#</table>.*##' |
        sed 's#<tr>#\n#g' | sed -n "s#<td[^>]*>$2</td>#&#p" | sed 's#</td>#\n#g' |
        sed -n "$3s/<[^>]*>//gp"
}
# same NAME SHOWN WANTED: checks that the numbers are equal, except for the page's rounding.
same() {
    awk -v a="$2" -v b="$3" 'BEGIN { exit !(a != "" && a - b < 0.051 && b - a < 0.051) }' ||
        fail "the page shows $1 $2, not $3"
}
# The time for which a fault may excuse the collector is the bound that the scenario has for it.
same "the bound" "$(cell excuse-table terminate-backend 3)" 1000
# The number of lines for each reason why batches were sent.
for reason in 'full limit' 'timeout timeout' 'after.a.fault fault' 'otherwise otherwise'; do
    want=$(sed -n "s/^ *\"fired_[a-z_]*${reason#* }\": \([0-9]*\),$/\1/p" "$folder/result.json")
    got=$(cell reason-table "${reason% *}" 2)
    [ "${got:-0}" = "$want" ] || fail "the page shows ${got:-no} lines sent ${reason% *}, not $want"
done
# The stages and the recovery.
want=$(sed -n '/"wait_in_batch"/,/}/s/^ *"p99": \([0-9.]*\),$/\1/p' "$folder/result.json")
same 'wait in batch, p99' "$(cell stage-table 'wait in batch' 4)" "$want"
want=$(sed -n 's/^ *"recovery_ms": \([0-9.]*\),\{0,1\}$/\1/p' "$folder/result.json")
same recovery "$(cell recovery-table 'terminate-backend, collector' 6)" "$want"
same 'one flush' "$(cell environment-table 'one flush, µs' 2)" "$(number fsync_us "$folder/result.json")"
grep -q '<p id="durability" class="pass">Durability proved: ' "$place/dom" || fail "no proof of durability"
grep -qF "<pre id=\"repeat\">mailproof run $(realpath "$folder" | sed 's#.*/results#'"$place/results#")</pre>" "$place/dom" ||
    fail "no command to repeat it"
# The page fetches nothing.
! grep -qE '<(script|link|img)[^>]+(src|href)=' "$folder/report.html" || fail "not self-contained"

# A run that passes, and that no fault hit, has fewer tables and as many charts.
expect_exit 0 run steady --set load.0.for=2s --out "$place/passed"
browse "$place/passed/steady/latest/report.html"
[ "$(charts)" = 13 ] || fail "not 13 charts of a run without faults"
grep -q '<pre id="repeat">mailproof run ' "$place/dom" || fail "a run without faults is not told to the end"

# A collector that writes nothing: the page begins with that, has no heading without a figure, and
# shows no zero that was not counted.
printf '#!/bin/sh\necho lost its settings >&2\nexit 1\n' >"$place/silent"
chmod 755 "$place/silent"
expect_exit 1 run steady --set load.0.for=2s --collector "$place/silent" --out "$place/silence"
browse "$place/silence/steady/latest/report.html"
grep -q '<ul id="failed"[^>]*><li>the collector wrote no line at all; it ended by itself' "$place/dom" ||
    fail "the page does not begin with the silence"
grep -q '<h2>What broke</h2>' "$place/dom" || fail "not told what broke"
! grep -q '<h2>Latency over time</h2>' "$place/dom" || fail "a heading stands over nothing"
[ "$(charts)" = 0 ] || fail "charts without figures"
[ "$(shown lost)" = – ] || fail "$(shown lost) lost, though nothing was judged"

# The index counts its rows, and says which verdicts there are.
browse "$place/results/index.html"
grep -q '<p id="summary" role="status">1 scenario: 1 violated</p>' "$place/dom" || fail "the index does not count"
grep -q '<option value="violated">' "$place/dom" || fail "the index cannot be filtered"

# Sorted by a figure, up and then down, the run that has none comes last.
for lost in 1 null 10 2; do
    mkdir -p "$place/sorted/$lost/1"
    printf '{"scenario": "%s", "verdict": "pass", "metrics": {"lost": %s}}' "$lost" "$lost" \
        >"$place/sorted/$lost/1/result.json"
done
expect_exit 0 "$mailproof" report "$place/sorted"
cat >"$place/sorted.html" <<'HTML'
<script>
const sort = (page) => {
  const table = page.contentDocument.getElementById('runs');
  for (const way of ['up', 'down']) {
    table.tHead.rows[0].cells[7].firstElementChild.click();
    document.body.append(`${way}: ${[...table.tBodies[0].rows].map((row) => row.cells[7].textContent).join(' ')}.`);
  }
};
</script>
<iframe onload="sort(this)" src="sorted/index.html"></iframe>
HTML
browse "$place/sorted.html"
grep -q 'up: 1 2 10 –\.down: 10 2 1 –\.' "$place/dom" || fail "sorted $(grep -o 'up: .*' "$place/dom")"

expect_exit 2 "$mailproof" compare "$folder" "$folder" --html "$place/compare.html"
expect_exit 0 "$mailproof" check "$folder" --token 1 --html "$place/token.html"

# On a telephone no page scrolls sideways, even with figures of many digits, and each cell and picture
# lies on it or in a box that scrolls. One start of the browser serves all pages.
pages=("$folder/report.html" "$place/results/index.html" "$place/compare.html" "$place/token.html")
{
    cat <<'HTML'
<script>
const look = (page) => setTimeout(() => {
  const root = page.contentDocument.documentElement;
  for (const cell of root.querySelectorAll('td.n')) cell.textContent = '1234567.8';
  const away = [...root.querySelectorAll('td, svg, pre, p')].filter((e) =>
    e.getBoundingClientRect().right > 390 && !e.closest('.wide'));
  page.nextElementSibling.textContent =
    page.src + (root.scrollWidth > 390 || away.length ? ' does not fit' : ' fits');
}, 1000);
</script>
HTML
    printf '<iframe onload="look(this)" width="390" height="800" src="file://%s"></iframe><p></p>\n' "${pages[@]}"
} >"$place/telephone.html"
browse "$place/telephone.html"
for page in "${pages[@]}"; do
    grep -qF "<p>file://$page fits</p>" "$place/dom" || fail "$page does not fit a telephone"
done
