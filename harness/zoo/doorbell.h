// The bell (migration 000017): producers announce a token only while somebody holds the bell, an
// advisory lock. Here it is held for as long as the collector sleeps.
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "defect.h"
#include "session.h"

struct doorbell {
    enum defect defect;
    char number[24]; // of the lock; "": tokens are announced without it
    bool ours;       // we hold it
    bool quiet;      // all transactions that did not announce, because we had no bell, are over
    char silent_below[24]; // transactions below this may have been silent
};

// Call it when a session begins.
bool doorbell_find(struct doorbell *d, struct session *s, struct err *e) MUST_USE;

// Call it before sleeping. *again: the bell was taken just now, so look at the queue first.
bool doorbell_take(struct doorbell *d, struct session *s, bool *again, struct err *e) MUST_USE;

bool doorbell_let_go(struct doorbell *d, struct session *s, struct err *e) MUST_USE;
