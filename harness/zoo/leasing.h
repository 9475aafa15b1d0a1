// Leased mode (MAILROOM_DEQUEUE=leased): lines of leased tokens go out, answers come
// back on standard input, and the database records each of them.
//
// The database decides what is leased, to whom and until when (mailroom_lease, mailroom_answer).
// The collector decides when to ask, and that is what it can get wrong. It ends when its connection
// is lost, because its scenarios have no faults.
#pragma once

#include "defect.h"
#include "settings.h"

// Runs until TERM or INT, or until its connection is lost. Returns the exit code.
int leasing_run(const struct settings *settings, enum defect defect);
