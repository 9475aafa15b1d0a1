# Cursor behind, exit code 70. Only code 75 says that the last line is unconfirmed. An end with
# another code, or by TERM, does not.
process 0 exit 70
token 0 at 50
line at 150: 0
row 0 waiting
=> unplanned_exit 1, end_state 1
