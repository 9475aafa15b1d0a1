# Again, though soon back. One of two collectors is paused from 300 to 700 ms, and its session ends
# at 400 ms.
set collector.instances=2
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector} struck 300 undone 700
fault {do: terminate-backend} struck 400 undone 401
line by 1 at 1000: 0
=> duplicated 1
