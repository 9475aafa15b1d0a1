# A queue tries a dead one's job late. One of two workers is killed for good with a job in hand. The
# queue tries the job again after eight seconds, within the drain. A queue promises no time.
set collector.subject=queue
set collector.layout=foreign
set collector.promises=[no_loss, once, reconnect, sharing]
set collector.instances=2
set recovery_limit=5s
session at -990
process 0
process 1 instance 1 until 500 killed
token 0 at 50
line by 0 at 60: 0
token 1 at 490
fault {do: kill-collector, instance: 1, for: rest} struck 500 undone 501
repeat 6 every 300: token 2 at 600
repeat 6 every 300: line by 0 at 610: 2
line by 0 at 8500: 1
=> verdict pass
