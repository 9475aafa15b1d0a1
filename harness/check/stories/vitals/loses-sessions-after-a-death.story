# Loses sessions, after its first process was killed at once: the second lives as long as is needed.
set load.0.for=8s
fault {do: kill-collector} struck 400 undone 700
process 0 from -1000 until 400 killed
process 1 from 700
token 0 at 50
line at 150: 0
repeat 15 every 500: sample by 1 at 1000 rss 5000 fds 10 processes 1
presence at 1000 sessions 2
presence at 2000 sessions 3
presence at 3000 sessions 4
presence at 4000 sessions 5
presence at 5000 sessions 6
presence at 6000 sessions 7
presence at 7000 sessions 8
=> leak 1, says "sessions"
