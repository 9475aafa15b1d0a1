# Makes a manual page of what `PROGRAM --help` prints:
#
#   mailroom-collector --help | awk -v version=0.1.0 -f ci/help-to-man.awk
#
# The first line is "program: what it does.". Then come the ways to call it, each with two spaces
# before it and behind it, paragraphs, settings, and "Exit codes: 0 …". A setting is
# "  NAME=default", and a line below it that is indented further explains it.

function roff(text) {
    gsub(/…/, "...", text) # a terminal without Unicode shows it, too
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text ~ /^[.']/ ? "\\&" text : text
}

NR == 1 {
    name = $1
    sub(/:$/, "", name)
    sub(/^[^:]*: */, "")
    sub(/\.$/, "")
    printf ".TH %s 1 \"\" \"mailproof %s\" \"User Commands\"\n", toupper(roff(name)), version
    printf ".SH NAME\n%s \\- %s\n", roff(name), roff($0)
    next
}
/^Exit codes: / {
    print ".SH EXIT STATUS"
    codes = 1
    sub(/^Exit codes: /, "  ")
}
codes && /^  [0-9]/ {
    code = $1
    sub(/^ *[0-9]+ */, "")
    printf ".TP\n.B %s\n%s\n", code, roff($0)
    next
}
/^$/ {
    if (described && !settings)
        print ".PP"
    next
}
/^  [A-Z][A-Z_]*(=|$)/ {
    if (!settings++)
        print ".SH ENVIRONMENT"
    sub(/^ */, "")
    printf ".TP\n.B %s\n", roff($0)
    next
}
/^  [^ ]/ {
    if (!ways++)
        print ".SH SYNOPSIS"
    sub(/^ */, "")
    text = match($0, /   *[^ ]/) ? substr($0, RSTART + RLENGTH - 1) : ""
    printf ".TP\n.B %s\n%s\n", roff(text ? substr($0, 1, RSTART - 1) : $0), roff(text)
    next
}
!described++ {
    print ".SH DESCRIPTION"
}
{
    sub(/^ */, "")
    print roff($0)
}
