// The collector in leased mode (MAILROOM_DEQUEUE=leased): writes lines of leased tokens, reads
// answers from standard input, and records each answer in the database.
//
// The database decides what is leased, to whom and until when (mailroom_take,
// mailroom_settle_lines). The collector only decides when to call these functions and with what, so
// its defects lie there. After a lost connection it connects again, records again what may not have
// been recorded, and gives back the lines that it has not written. It also frees the leases of
// other collectors that are gone.
#pragma once

#include "defect.h"
#include "settings.h"

// Runs until TERM or INT, or until nobody reads its lines or answers them any more. Returns the
// exit code.
int leasing_run(const struct settings *settings, enum defect defect);
