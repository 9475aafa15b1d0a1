# Nothing committed.
token 0 at 50 rollback
=> verdict inconclusive
