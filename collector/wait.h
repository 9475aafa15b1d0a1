// State wait: asleep until something is due.
#pragma once

#include "base/err.h"
#include "state.h"

struct collector;

bool wait_wait(struct collector *c, enum state *next, struct err *e) MUST_USE;
