// Is there a pooler between us and the server that lends our session to others?
//
// The pid that libpq was told when it connected is the server process's own,
// unless a pooler answered in its place. Then a second connection is made while
// the first one is idle: in transaction mode the pooler serves both with the
// same server process, and neither locks nor LISTEN are ours. This is the one
// question that blocks, for seconds at most, and only behind a pooler.
#pragma once

#include "base/err.h"

// ERR_USAGE that says so; backend_pid is the server's answer in our session.
bool pooler_check(const char *url, int told_pid, const char *backend_pid, struct err *e) MUST_USE;
