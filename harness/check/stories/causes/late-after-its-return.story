# Late after its return. The fault excuses the time that a return may take behind a server that was
# away, and no more.
set collector.returns_within=300ms
like slowly-back.story
without line at 910: 1
line at 1110: 1
=> late 1
