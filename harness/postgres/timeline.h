// Finds the commits that a failover left behind. A new leader's timeline begins at a point of the
// old one's WAL, and its history file says where. No member has the commits of the old leader
// behind that point any more; only the old leader's own files show them.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define TIMELINE_LSN 24

struct timeline_left {
    int timeline;           // the timeline that was left
    char lsn[TIMELINE_LSN]; // the point of it where it was left
    unsigned commits;       // how many commits lie behind it
    int64_t first_wall_ns;  // when the first commit was made, by the server's clock; 0: none
};

// Parses the last line of a timeline's history file, which says where it left the one before. Pure.
MUST_USE bool timeline_parse_history(const char *text, struct timeline_left *left, struct err *e);

// Counts the commits that pg_waldump printed, with TZ=UTC. Pure.
void timeline_count_commits(const char *text, struct timeline_left *left);

// Reads the old leader's WAL from the point on. Its server may run or be dead.
MUST_USE bool timeline_read_wal(const char *bindir, const char *data_dir, uid_t uid, gid_t gid,
    struct timeline_left *left, struct err *e);
