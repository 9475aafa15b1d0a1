#!/usr/bin/env bash
# A collector prints what might act in a terminal, a page or Markdown: in a line, in its last words,
# and in its name. The verdict is shown, and none of it acts.
# shellcheck source=harness/tests/lib.sh
. "$(dirname "$0")/lib.sh"

# Characters that move a terminal's cursor, or change the order of what is shown.
acting='[\x{00}-\x{08}\x{0b}-\x{1f}\x{7f}-\x{9f}\x{061c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}]'

# Prints one hostile line, and dies once with hostile last words.
write_collector() {
    cat >"$place/hostile" <<END
#!/bin/sh
if [ ! -e "$place/died" ]; then
    : >"$place/died"
    printf '<!--<script>\302\2331;31m\342\200\256</details>![a](b)|\`c\`\n'
    printf 'bye \302\2332J\342\200\256 <!--<script></details>![x](y)|\`z\`\033[2J\n' >&2
    exit 3
fi
exec $BUILD_DIR/bin/mailroom-collector
END
    chmod 755 "$place/hostile"
}

shows_nothing_that_acts() { # file…
    local file
    for file; do
        ! LC_ALL=C.UTF-8 grep -nP "$acting" "$file" || fail "$file has characters that act"
        LC_ALL=C.UTF-8 iconv -f UTF-8 -t UTF-8 "$file" >/dev/null || fail "$file is not UTF-8"
    done
}

# After "<!--<script", a browser reads no "</script>" as the end of the element.
page_keeps_its_scripts() { # report.html
    local data
    data=$(sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' "$1")
    [ -n "$data" ] || fail "no data in $1"
    ! grep -q '<' <<<"$data" || fail "a '<' in the page's data: $(grep -o '.\{20\}<.\{20\}' <<<"$data" | head -n 2)"
    grep -q 'u003c!--' <<<"$data" || fail "the page does not show the line"
}

# In Markdown, each of these characters has a backslash before it or is inside of a code span.
markdown_shows_it() { # summary.md
    grep -q '</\|<!' "$1" || fail "$1 does not show the line"
    local bare
    bare=$(grep '!--' "$1" | sed 's/\\[][<>|`*~&!\\]//g' | grep '[][<>|`]' || true)
    [ -z "$bare" ] || fail "Markdown that acts: $bare"
}

# flood STREAM LINE REASON: a collector writes the line for ever. It gets a verdict, and neither the
# memory nor the disk is full.
flood() {
    local got=0 folder=$place/results/steady/latest
    printf '#!/bin/sh\nexec yes "%s" %s\n' "$2" "$1" >"$place/flood"
    chmod 755 "$place/flood"
    (
        ulimit -v 3000000
        run steady --set load.0.for=60s --set load.0.rate=20/s --collector "$place/flood"
    ) >"$place/out" 2>"$place/err" || got=$?
    cat "$place/err"
    grep -q "$3" "$place/out" || fail "exit code $got without the reason '$3': $(tail -n 30 "$place/out")"
    [ "$got" = 1 ] || [ "$got" = 2 ] || fail "exit code $got: $(cat "$place/out")"
    [ "$(stat -c %s "$folder/logs/collector-0.log")" -lt 2000000000 ] || fail "the log is endless"
    rm -rf "$place/results"
}

main() {
    write_collector
    expect_exit 1 run steady --set load.0.for=1s --set load.0.rate=20/s --set drain=10s --collector "$place/hostile"
    local folder=$place/results/steady/latest
    grep -q 'torn' "$place/out" || fail "the line is not told: $(cat "$place/out")"
    shows_nothing_that_acts "$place/out" "$place/err" "$folder"/{summary.md,junit.xml,result.json,report.html,observed.json}
    page_keeps_its_scripts "$folder/report.html"
    markdown_shows_it "$folder/summary.md"
    rm -rf "$place/results"
    # A line that has the right form and a wrong signature. A sanitizer needs more memory than that.
    [ -n "${SANITIZE-}" ] || flood '' "1,t0000001@example.org,t0000001,$(printf 'A%.0s' {1..86})," "lines and tokens"
    [ -n "${SANITIZE-}" ] || flood '>&2' "nothing to say" "to its standard error"
    expect_nothing_left
}

main
