#!/usr/bin/env bash
# HdrHistogram's own reader must find in our log exactly what we put there. It adds the
# intervals up, and its distribution must equal ours, number by number.
set -euo pipefail

jar=/usr/share/java/hdrhistogram.jar

skip() {
    echo "skipped: $1"
    exit 77
}

command -v java >/dev/null || skip "there is no java here"
[ -r "$jar" ] || skip "there is no $jar here (Debian: libhdrhistogram-java)"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Prints the rows of a distribution without its header and footer, and with single blanks. The
# footers may differ: our mean is exact, and Java's is that of the buckets.
rows() {
    awk '$1 ~ /^[0-9]/ {$1 = $1; print}' "$1"
}

read_with_java() {
    java -cp "$jar" org.HdrHistogram.HistogramLogProcessor -i "$dir/log" -o "$dir/java" "$@"
    rows "$dir/java.hgrm"
}

"$BUILD_DIR/tests/hlog_sample" "$dir/log" "$dir/distribution"
rows "$dir/distribution" >"$dir/ours"
read_with_java >"$dir/untagged"
read_with_java -tag e2e >"$dir/tagged"

# Compares our rows with those in file $1. Java rounds the shortest decimal of a double, and C the
# double itself. So the percentile (field 2) may differ by one in its twelfth digit, which is less
# than the square root of 2e-24. Nothing else may differ.
compare() {
    paste -d ' ' "$dir/ours" "$1" | awk '
        function differ() { print "row " NR " differs: " $0; bad = 1 }
        {
            half = NF / 2
            for (i = 1; i <= half; i++)
                if (i == 2 ? ($2 - $(half + 2)) ^ 2 > 2e-24 : $i != $(half + i))
                    differ()
        }
        END { exit bad }'
}

count=$(wc -l <"$dir/ours")
[ "$count" -gt 50 ] || { echo "only $count rows to compare"; exit 1; }
for theirs in "$dir/untagged" "$dir/tagged"; do
    [ "$(wc -l <"$theirs")" -eq "$count" ] || { echo "another number of rows"; exit 1; }
    compare "$theirs"
done
echo "$count rows of the distribution are equal"
