// Our place among the collectors of a queue: claims or joins the queue, keeps our lease, and frees
// what collectors that died or hang have in hand.
#pragma once

#include <libpq-fe.h>

#include "timing/owners.h"

struct peers {
    struct owners others;
    int64_t look_at_ns;   // when to look at the others again
    int64_t look_sent_ns; // when we sent the last look; others.looked_ns: when one was answered
    int64_t renewed_ns;   // when we asked for the last renewal of our lease, or last needed none
    int64_t asked_ns;     // when the request under way to renew it was sent; 0: there is none
    int64_t retry_at_ns;  // when to send a request again that failed
    struct owner freeing; // the owner whose lines the request under way frees; number 0: none
    bool recorded;        // the row of this process in `runs` is written
    bool makes_cursor;    // the request to join makes a new cursor
};

struct collector;

// Forgets the others. Call it when we have claimed or joined the queue.
void peers_restart(struct collector *c);
// Asks to claim the queue or, where several collect, to join it. new_cursor: makes one first.
bool peers_join(struct collector *c, bool new_cursor, struct err *e) MUST_USE;
// Deals with the answer to peers_join: we have or share the queue, stand by, or join once more to
// make a new cursor.
bool peers_on_join(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
// Renews our lease, looks at the others, and frees what one of them had, as far as that is due.
bool peers_step(struct collector *c, struct err *e) MUST_USE;
// Deals with the answer to a request of peers_step.
bool peers_on_peers(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
