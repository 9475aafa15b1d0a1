# Counts the lines of C that are neither blank nor comments: of all files, of the product, and of
# each folder. The product is what a user runs, without tests, benches, the zoo and the fuzz
# targets. Of its functions it also tells the reasons: the comments inside them, and how many of
# more than 15 lines have none, neither above nor inside.
FNR == 1 {
    files++
    within = inside = above = 0
    product = FILENAME !~ /_(test|bench)\.[ch]$|\/(tests|zoo|fuzz)\/|\/simulated[^\/]*$/
    folder = FILENAME
    sub(/\/[^\/]*$/, "", folder)
    sub(/^collector\/.*/, "collector", folder)
    if (match(folder, /^harness\/[^\/]*/))
        folder = substr(folder, 1, RLENGTH)
}
# A body begins with a brace in the first column, behind the line that ends its head.
product && FILENAME ~ /\.c$/ {
    if (inside && $0 == "}") {
        if (lines > 15) {
            long++
            bare += !above && !reasons
        }
        inside = above = 0
    } else if (inside) {
        lines++
        body += NF > 0
        reason = $0 ~ /^ *\/\/|[^ ] +\/\/ /
        reasons += reason
        all_reasons += reason
    } else if ($0 == "{" && before ~ /\)$/) {
        inside = 1
        lines = reasons = 0
    } else if ($0 ~ /^\/\//) {
        above = 1
    } else if (NF == 0 || $0 ~ /^[#}]/) {
        above = 0
    }
    before = $0
}
{
    line = $0
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line) # a text may hold what looks like a comment
    sub(/\/\/.*/, "", line)
    if (within && !sub(/^.*\*\//, "", line))
        next
    within = 0
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
    within = sub(/\/\*.*/, "", line)
    if (line !~ /[^ \t]/)
        next
    all++
    in_folder[folder]++
    of_product += product
    product_in[folder] += product
}
END {
    printf "%-18s %7s %8s\n", "folder", "lines", "product"
    for (folder in in_folder)
        printf "%-18s %7d %8d\n", folder, in_folder[folder], product_in[folder] | "sort"
    close("sort")
    printf "%-18s %7d %8d, in %d files\n", "all", all, of_product, files
    printf "comments in %.1f%% of the lines of the product's functions; of %d with more than 15 lines, %.0f%% have none\n",
        100 * all_reasons / body, long, 100 * bare / long
}
