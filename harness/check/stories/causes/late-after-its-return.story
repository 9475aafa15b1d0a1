# Late after its return. The fault excuses the time until the session is back, and no more.
like slowly-back.story
without line at 910: 1
line at 1110: 1
=> late 1
