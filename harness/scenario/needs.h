// What a scenario needs: promises of its subject, and parts of the schema.
#pragma once

#include "scenario/scenario.h"

// Fills in what the file leaves open and what depends on the program that will run: a layout of
// `auto`, and the promises. `collector` is the value of --collector; NULL: the scenario's own
// command. `promised`: the file or an option states the promises, so they stay. Also adds to
// `needs` what other keys imply.
void needs_resolve(struct scenario *s, const char *collector, bool promised);

// Checks that the subject promises what the scenario needs, and that the migrations up to
// postgres.schema support it. ERR_SKIP says what is missing.
MUST_USE bool needs_met(const struct scenario *s, struct err *e);

// Removes the expectations about metrics that are not for the scenario's kind of subject, and those
// that rest on a promise which the subject does not make.
void needs_drop_expectations(struct scenario *s);
