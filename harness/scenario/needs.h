// What a scenario needs: promises of its subject, and parts of the schema.
#pragma once

#include "scenario/scenario.h"

// Says what the file leaves open. A layout of `auto` and absent promises depend on the program that
// will run: `collector` is the value of --collector, NULL for the scenario's own command. Adds to
// `needs` what other keys imply. `promised`: the file or an option states the promises.
void needs_resolve(struct scenario *s, const char *collector, bool promised);

// False, with ERR_SKIP and the reason, when the subject does not promise what the scenario needs,
// or the migration at which the schema stops does not have it.
MUST_USE bool needs_met(const struct scenario *s, struct err *e);

// Removes the expectations that are not for the subject, or rest on a promise that it does not
// make.
void needs_drop_expectations(struct scenario *s);

// Appends the words of the promises, comma-separated.
void needs_words(int promises, struct buf *out);
