// Leased mode (MAILROOM_DEQUEUE=leased). Lines of leased tokens go out, answers come back on
// standard input, and the database records each answer.
//
// The database decides what is leased, to whom and until when (mailroom_take,
// mailroom_settle_lines). The collector only decides when to ask, so its defects are there. When
// its connection is lost, it connects again, records again what it may not have recorded, and gives
// back what it has not written. It frees what others have that are gone.
#pragma once

#include "defect.h"
#include "settings.h"

// Runs until TERM or INT, or until its reader is gone. Returns the exit code.
int leasing_run(const struct settings *settings, enum defect defect);
