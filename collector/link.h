// Opens sessions, and remembers why the last one was lost: states back off, connect and set up.
#pragma once

#include "backoff.h"
#include "pooler.h"
#include "session.h"
#include "state.h"

struct link {
    struct session session;
    struct pooler pooler;
    struct backoff backoff;
    int64_t retry_at_ns; // when the state BACK_OFF ends
    int silent_hosts;    // how many hosts at the beginning of the list are tried last
    bool greeted;        // we have found that no pooler lends the session to others
    enum loss {
        LOSS_REFUSED,   // the server did not let us in, or refused a statement
        LOSS_ENDED,     // somebody ended a session that worked
        LOSS_SILENT,    // nothing was heard from the server
        LOSS_COMPLAINT, // somebody has to fix something
    } loss;
};

struct collector;

bool link_back_off(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool link_connect(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool link_set_up(struct collector *c, enum state *next, struct err *e) MUST_USE;

void link_lose(struct collector *c, const struct err *e); // closes the session, and remembers why
void link_rest(struct collector *c);                      // sets the time of the next attempt
