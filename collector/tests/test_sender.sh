#!/bin/sh
# A sender for tests. The word before the number in a login says what it answers for that token:
#
#   ok     sent; so does every other word
#   soft   error transient
#   hard   error permanent
#   once   error transient the first time, then sent
#   twice  sent, two times
#   junk   a line that is not an answer, then sent
#   mute   nothing
#   die    the sender exits
#
# It appends every login that it sees to the file that is its argument.
set -f
got=$1
n=0
seen=' '
while IFS= read -r line; do
    n=$((n + 1))
    place=0
    IFS=,
    # shellcheck disable=SC2086 # a token is five fields, of which the third is the login
    set -- $line,
    unset IFS
    while [ $# -gt 0 ]; do
        place=$((place + 1))
        login=$3
        shift 5
        echo "$login" >>"$got"
        kind=${login%%[0-9]*}
        [ "$kind" != once ] || case $seen in *" $login "*) kind=ok ;; *) kind=soft ;; esac
        seen="$seen$login "
        case $kind in
        die) exit 1 ;;
        soft) printf '%s error transient 452 "full", 5\\6 \303\244\n' "$n.$place" ;;
        hard) echo "$n.$place error permanent 550 no such user" ;;
        junk) printf 'what a day\n%s sent\n' "$n.$place" ;;
        twice) printf '%s sent\n%s sent\n' "$n.$place" "$n.$place" ;;
        mute) ;;
        *) echo "$n.$place sent" ;;
        esac
    done
done
