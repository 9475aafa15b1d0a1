# Two late lines. A holder that hung may write one line whose tokens another has taken over, and no
# second.
like one-late-line.story
line by 0 at 3520: 2
=> duplicated 1
