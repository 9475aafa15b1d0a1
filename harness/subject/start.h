// The start of the processes.
#pragma once

#include "subject/serve.h"

// Starts the processes that are due; returns when the next start is due.
int64_t starts_due(struct subject *s, int64_t now);
