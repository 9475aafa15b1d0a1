// Our place among the collectors of a queue: claiming or joining it, our lease, and those that die
// or hang.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "base/err.h"
#include "timing/owners.h"

struct peers {
    struct owners others;
    int64_t look_at_ns;
    int64_t looked_ns; // when we looked last
    int64_t renewed_ns;
    struct owner freeing; // the one that the request under way frees; number 0: none
    bool recorded;        // the row in `runs` is written
    bool settling;        // the request to join makes a new cursor
};

struct collector;

void peers_restart(struct collector *c);
bool peers_join(struct collector *c, bool settle, struct err *e) MUST_USE;
bool peers_on_join(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
bool peers_step(struct collector *c, struct err *e) MUST_USE;
bool peers_on_peers(struct collector *c, const PGresult *r, struct err *e) MUST_USE;
