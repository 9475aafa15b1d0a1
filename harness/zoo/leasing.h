// Leased mode (MAILROOM_DEQUEUE=leased): lines of leased tokens go out, answers come
// back on standard input, and the database records each of them.
//
// What is leased, to whom and until when is the database's matter (mailroom_lease,
// mailroom_answer); when to ask it for what is the collector's, and what it can get
// wrong. It gives up with its connection: no scenario of it breaks anything.
#pragma once

#include "defect.h"
#include "settings.h"

// Runs until TERM or INT, or until its connection is lost. Returns the exit code.
int leasing_run(const struct settings *settings, enum defect defect);
