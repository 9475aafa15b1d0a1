// The bell (migration 000017) is an advisory lock. Producers announce a token only while a
// collector holds the bell. This collector holds it while it sleeps.
#pragma once

#include "base/base.h"
#include "defect.h"
#include "session.h"

struct doorbell {
    enum defect defect;
    char number[24];       // number of the advisory lock; "": there is no bell, and tokens are
                           // always announced
    bool ours;             // this collector holds the bell
    bool quiet;            // no transaction is open any more that did not announce its tokens
                           // because nobody held the bell
    char silent_below[24]; // only transactions with ids below this may have been silent
};

// Finds out whether there is a bell. Call it when a session begins.
bool doorbell_find(struct doorbell *d, struct session *s, struct err *e) MUST_USE;

// Takes the bell, unless this collector holds it already. Call it before sleeping. *again: tokens
// may have come without an announcement, so look at the queue and call this again.
bool doorbell_take(struct doorbell *d, struct session *s, bool *again, struct err *e) MUST_USE;

// Gives the bell back, if this collector holds it.
bool doorbell_let_go(struct doorbell *d, struct session *s, struct err *e) MUST_USE;
