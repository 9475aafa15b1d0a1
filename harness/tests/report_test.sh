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
# Its sandbox needs rights that a container does not give; the page is our own.
timeout 60 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --disable-quic \
    --disable-background-networking --disable-component-update --disable-sync \
    --user-data-dir="$place/browser" --virtual-time-budget=10000 \
    --dump-dom "file://$folder/report.html" >"$place/dom" 2>"$place/err" ||
    fail "the browser failed: $(tail -n 3 "$place/err")"

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
grep -q '<td class="violated">does not hold</td>' "$place/dom" || fail "no broken expectation"
[ "$(shown 'faults that took effect')" = '1 of 1' ] || fail "no fault"
# Four charts were drawn, none was given up on.
[ "$(grep -o '<div class="legend" id="[a-z]*-chart-legend"><span' "$place/dom" | wc -l)" = 4 ] || fail "not four charts"
# Nothing is fetched from anywhere.
! grep -qE '<(script|link|img)[^>]+(src|href)=' "$folder/report.html" || fail "not self-contained"
