// The page's view of --every-cut and --every-kill: the messages of the trial without any cut in
// their order, each with the trials before and after it, the table of kinds, and the pairs.
#pragma once

#include <jansson.h>

#include "run/cutreport.h"

// Returns the data that html/cuts.js draws; NULL without memory.
json_t *cutstrip_json(const struct cutreport *c);
