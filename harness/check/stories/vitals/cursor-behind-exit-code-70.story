# Cursor behind, exit code 70. The collector failed, and no fault explains that. The line was read
# long before TERM, so it had time to confirm it.
process 0 exit 70
token 0 at 50
line at 150: 0
row 0 waiting
=> unplanned_exit 1, end_state 1
