// Finds when the sessions of a role opened, from the server's own log.
#pragma once

#include "base/base.h"

struct sessions {
    int64_t *opened_ns; // owned; times on the run's clock, in order; NULL: there is no log
    size_t count;
};

// Reads the log from byte `from` on. The lines of the log begin with their time (%m, in UTC), which
// is the wall clock's. wall_offset_ns: how far the wall clock is ahead of the run's clock. Without
// a log, opened_ns is NULL.
void sessions_read(
    struct sessions *s, const char *log, long from, const char *role, int64_t wall_offset_ns);

// Returns the time at the beginning of a log line, in ns since 1970; 0 when the line does not begin
// with a time.
int64_t sessions_line_ns(const char *line);

void sessions_fini(struct sessions *s); // accepts a zeroed struct
