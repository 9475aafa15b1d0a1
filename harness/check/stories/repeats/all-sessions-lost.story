# All sessions lost. Only the last line can be unconfirmed, because the second line confirmed the
# first.
set collector.instances=2
token 0-2 at 50
line by 0 at 50: 0-2
token 3-5 at 80
line by 0 at 80: 3-5
fault {do: crash-server} struck 100 undone 700
line by 1 at 1001: 3-5
=> verdict pass
