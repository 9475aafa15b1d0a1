// mailroom-collector --switch-mode: changes the mode of a used queue to the one that
// MAILROOM_DEQUEUE names. No collector may run meanwhile.
#pragma once

#include "settings/config.h"

// Waits for the database's answer for as long as it takes. Fails with ERR_CONNECTION if it cannot
// connect, with ERR_SQL if the database refuses, for example because a collector runs, and with
// ERR_SCHEMA or ERR_USAGE when trying again would not help.
bool switch_mode(const struct config *config, struct err *e) MUST_USE;
