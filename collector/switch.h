// mailroom-collector --switch-mode: carries a used queue over to the way of
// dequeuing that MAILROOM_DEQUEUE names. No collector may run meanwhile.
#pragma once

#include "config.h"

// Waits for the database as long as it takes. ERR_CONNECTION, ERR_SQL; ERR_SCHEMA and
// ERR_USAGE where trying again would not help.
bool switch_mode(const struct config *config, struct err *e) MUST_USE;
