// Finds the timeline that a server writes, and the commits that a failover left behind. A new
// leader's timeline begins at a point of the old leader's WAL, and the timeline's history file says
// where. Commits of the old leader after that point are on no other member; only the old leader's
// own files show them.
#pragma once

#include <sys/types.h>

#include <libpq-fe.h>

#include "base/base.h"

#define TIMELINE_LSN 24

struct timeline_left {
    int timeline;           // the old leader's timeline, which the new leader has left
    char lsn[TIMELINE_LSN]; // the point in that timeline where it was left
    unsigned commits;       // number of commits after that point
    int64_t first_wall_ns;  // time of the first of them, by the server's clock; 0: no commits
};

// Returns the timeline that the server writes; 0: the server takes no writes, or does not answer.
// Closes the connection, which may be NULL.
int timeline_written(PGconn *conn);

// Parses the last line of a timeline's history file, which says where this timeline left the one
// before it, into `timeline` and `lsn`. Pure.
MUST_USE bool timeline_parse_history(const char *text, struct timeline_left *left, struct err *e);

// Counts the commits in the output of pg_waldump, which must have run with TZ=UTC. Pure.
void timeline_count_commits(const char *text, struct timeline_left *left);

// Reads the old leader's WAL from left->lsn on, and counts its commits into `left`. The old
// leader's server may run or be dead.
MUST_USE bool timeline_read_wal(const char *bindir, const char *data_dir, uid_t uid, gid_t gid,
    struct timeline_left *left, struct err *e);
