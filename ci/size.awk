# Counts the lines of C that are neither blank nor comments: of all files, of the product, and of
# each folder. The product is what a user runs, without tests, benches, the zoo and the fuzz
# targets.
FNR == 1 {
    files++
    within = 0
    product = FILENAME !~ /_(test|bench)\.[ch]$|\/(tests|zoo|fuzz)\/|\/simulated[^\/]*$/
    folder = FILENAME
    sub(/\/[^\/]*$/, "", folder)
    sub(/^collector\/.*/, "collector", folder)
    if (match(folder, /^harness\/[^\/]*/))
        folder = substr(folder, 1, RLENGTH)
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
}
