# Each mail alone, behind a late acknowledgement. Six tokens wait at the same time, and each leaves
# alone. That another token was read before its COMMIT was answered excuses none of this.
like each-mail-alone.story
token 12 at 1000 ack 1201
line at 1101: 12
=> underfull some
