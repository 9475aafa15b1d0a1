// Finds out whether a pooler between us and the server lends our session to others.
//
// When libpq connects it is told a pid: that of the server process, unless a pooler answered in its
// place. If the server's own pid is another one, a second session asks for its server's pid while
// the first session is idle. In transaction mode the pooler serves both with the same server
// process, and neither locks nor LISTEN are ours. In session mode a pool that is used up does not
// answer at all; then our session counts as not lent.
#pragma once

#include "session/session.h"

struct pooler {
    struct session probe; // the second session
    int64_t deadline_ns;  // when to stop waiting for its answer
    bool begun;           // we have begun to connect it
    bool asked;           // it was asked for its pid
    bool shared; // a pooler lends our session to others; valid once pooler_step returned true
};

// Goes as far as it can without waiting. Returns true once `shared` is known; until then the owner
// polls the probe's session. `url` and `skip` are those that our session was opened with, told_pid
// is what libpq was told there, and backend_pid the server's own answer.
bool pooler_step(struct pooler *p, const char *url, int skip, int told_pid, const char *backend_pid,
    int64_t now_ns) MUST_USE;

// Ends the second session and forgets the answer. Accepts a zeroed struct.
void pooler_close(struct pooler *p);
