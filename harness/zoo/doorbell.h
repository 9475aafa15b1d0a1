// The bell (migration 000017): an advisory lock. Producers announce a token only while a collector
// holds it. This collector holds it for as long as it sleeps.
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "defect.h"
#include "session.h"

struct doorbell {
    enum defect defect;
    char number[24];       // number of the lock; "": tokens are always announced
    bool ours;             // we hold the bell
    bool quiet;            // no transaction is open that did not announce because we had no bell
    char silent_below[24]; // transactions with ids below this may have been silent
};

// Call it when a session begins.
bool doorbell_find(struct doorbell *d, struct session *s, struct err *e) MUST_USE;

// Call it before sleeping. It sets *again if the bell was taken just now; then look at the queue
// before sleeping.
bool doorbell_take(struct doorbell *d, struct session *s, bool *again, struct err *e) MUST_USE;

bool doorbell_let_go(struct doorbell *d, struct session *s, struct err *e) MUST_USE;
