# Ends by itself to be excused. The collector ends by itself, which is allowed here. Its next
# process is late with its first token, though nothing kept it.
set allow.unplanned_exit=any
process 0 until 1000 exit 1
process 1 from 1100
token 0 at 50
line by 0 at 150: 0
token 1 at 1150
line by 1 at 1900: 1
=> late 1
