# A queue promises nothing of mail. It writes six jobs at once and one after two seconds, keeps a
# transaction open, changes rows, logs a secret and ends with 70. Only a collector of mail promises
# otherwise.
set collector.subject=queue
set collector.layout=foreign
set collector.promises=[no_loss, once, reconnect]
run until 10000 logs-read
process 0 exit 70
token 0 at 50
line at 52: 0
token 1-6 at 1000
line at 1001: 1-6
token 7 at 2000
line at 4000: 7
hold from 1000 until 3000
row 0 changed tokens.consumed_at,accounts.status told
=> verdict pass
