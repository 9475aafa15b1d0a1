# Another login excuses no loss. The account gets another login while its token waits. The token is
# as eligible as before, and never goes out.
token 0 at 50
line at 151: 0
token 1 at 200
change 1 login at 210
=> lost 1
