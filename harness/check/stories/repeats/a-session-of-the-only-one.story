# A session of the only one. The collector is paused from 300 to 1300 ms, and its session ends at
# 400 ms. Nobody else can take its turn, and it knows what it wrote.
token 0 at 50
line at 150: 0
fault {do: pause-collector} struck 300 undone 1300
fault {do: terminate-backend} struck 400 undone 401
line at 1310: 0
=> duplicated 1
