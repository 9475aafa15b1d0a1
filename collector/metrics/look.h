// Asks the database how much waits, for MAILROOM_METRICS.
//
// It has a session of its own. On the collector's session, counting would delay the next batch, and
// while a backlog is drained that session is never idle. The session of the look is opened when
// somebody wants the figures and the collector itself is connected, so that it never takes the
// collector's place among the connections. It is closed when the collector's session is lost, or
// nobody has wanted the figures for a minute. The database is asked at most every LOOK_EVERY_NS,
// and cancels a question that takes longer than a second.
#pragma once

#include "metrics/meters.h"
#include "session/session.h"
#include "settings/config.h"

#define LOOK_EVERY_NS (5 * NS_PER_S)

struct look {
    struct session session;
    enum look_step { LOOK_CLOSED, LOOK_CONNECTING, LOOK_IDLE, LOOK_ASKED } step;
    int64_t begun_ns;   // when the question that is under way was begun
    int64_t seen_ns;    // when the last questions were answered or refused; CLOCK_NEVER: never
    int64_t counted_ns; // when the backlog was counted last; CLOCK_NEVER: never
    int64_t wanted_ns;  // when somebody last wanted the figures
    int64_t retry_ns;   // the database is not asked again before this time
    bool complained;    // the log says already that figures are missing
};

void look_init(struct look *l);
void look_close(struct look *l); // ends its session

// Does what can be done without waiting. `up`: the collector is connected. `wanted`: somebody waits
// for the figures. Returns true while the database was asked for the figures and may still answer
// in time.
bool look_step(struct look *l, const struct config *config, bool up, bool wanted, int64_t now_ns,
    struct meters *m);

// Returns when to call look_step even if nothing happens.
int64_t look_wake_ns(const struct look *l, int64_t now_ns);
