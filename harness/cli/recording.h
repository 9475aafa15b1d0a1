// The record of a command that can be dealt out to shards (shards/record.h).
#pragma once

#include "cli/options.h"
#include "shards/record.h"

// Fills in the head of the command's record. `about` is all that decides which item a number stands
// for. The head borrows from the options and from `about`.
void recording_head(
    struct record_head *head, const struct options *o, const char *command, const char *about);
