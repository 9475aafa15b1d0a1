# Answered in time, though the pipe was long empty. As in the story beside it, but nothing had come
# since the reader last found the pipe empty, half a second before it was paused. Until then it would
# have read the line at once, so the collector wrote it in the pause and gave it up too early.
like answered-in-time-and-tried-again.story
without line at 1051: 0 sent 1121
line at 1051 empty 35: 0 sent 1121
=> late 1, resurrected 1, misrecorded 1
