// Leased mode (MAILROOM_DEQUEUE=leased). Lines of leased tokens go out, answers come back on
// standard input, and the database records each answer.
//
// The database decides what is leased, to whom and until when (mailroom_take,
// mailroom_settle_lines). The collector only decides when to ask, so its defects are there. It ends
// when its connection is lost, because its scenarios have no faults.
#pragma once

#include "defect.h"
#include "settings.h"

// Runs until TERM or INT, or until its connection is lost. Returns the exit code.
int leasing_run(const struct settings *settings, enum defect defect);
