// The states of the collector: what each does, and where it leads. The table in state.c is the
// diagram. The loop asserts that each step follows it, and README.md shows it.
#pragma once

#include "base/base.h"

enum state { BACK_OFF, CONNECT, SET_UP, STAND_BY, SERVE, STATES };

const char *state_doing(enum state s); // returns what a state does, for the log: "connecting"

// True when a step may lead from one state to the other. Losing the session leads to BACK_OFF from
// everywhere.
bool state_leads(enum state from, enum state to);

void state_markdown(FILE *out); // prints the table of README.md
