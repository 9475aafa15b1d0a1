// A session that is opened again whenever it is lost, and the reason of the last loss. All modes
// use it.
#pragma once

#include "metrics/meters.h"
#include "session/pooler.h"
#include "session/session.h"
#include "timing/backoff.h"

struct link {
    struct session session;
    struct pooler pooler;
    struct backoff backoff;
    int64_t retry_at_ns; // when the next attempt to connect is due; link_plan_retry sets it
    int silent_hosts; // how many hosts at the start of the list are tried last: those tried before,
                      // up to a silent one
    bool pooler_checked; // we have found that no pooler lends the session to others
    bool warned;         // the log says that nobody has proved who the server is
    enum loss {
        LOSS_REFUSED,   // the server did not let us in, or refused a statement
        LOSS_ENDED,     // a session that worked was ended or lost
        LOSS_SILENT,    // nothing was heard from the server
        LOSS_COMPLAINT, // somebody has to fix something
    } loss;
};

// Begins to connect.
bool link_open(struct link *l, const char *url, int64_t now_ns, struct err *e) MUST_USE;

// Finds out whether a pooler lends the session to others, which is an error that ends the
// collector. Once it has found that none does, it sets pooler_checked, and warns once if the server
// is reached over a network on which another machine could pose as the server. Call it with the
// `url` of link_open and the pid that the server itself tells, until pooler_checked is true: that
// takes until pooler.deadline_ns at the latest.
bool link_check_pooler(struct link *l, const char *url, const char *backend_pid, int64_t now_ns,
    struct err *e) MUST_USE;

// Closes the session, and counts and logs the reason of the loss.
void link_lose(struct link *l, struct meters *meters, int64_t now_ns, const struct err *e);

// Sets the time of the next attempt, after a pause that depends on the reason of the last loss.
void link_plan_retry(struct link *l, int64_t now_ns);

void link_close(struct link *l);
