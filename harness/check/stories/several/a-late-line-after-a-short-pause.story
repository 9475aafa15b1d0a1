# A late line after a short pause. The pause is too short for a takeover, so the line is duplicated.
set collector.instances=2
token 0 at 50
fault {do: pause-collector, instance: 0} struck 100 undone 200
line by 0 at 150: 0
line by 1 at 210: 0
=> duplicated 1
