// The collector itself, in cursor and shared mode: one queue, one connection at a time, one line at
// a time.
//
// With DEFECT_NONE it is a good collector.
#pragma once

#include <sysexits.h>

#include "defect.h"
#include "settings.h"

#define KEEPER_UNCONFIRMED 75 // exit code: a line was written, but the cursor could not be moved

// Runs until TERM or INT, or until it cannot go on. Returns the exit code.
int keeper_run(const struct settings *settings, enum defect defect);
