// The states back off, connect and set up: from no session to one that is set up.
#pragma once

#include "base/err.h"
#include "loop/state.h"

struct collector;

bool connect_back_off(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool connect_connect(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool connect_set_up(struct collector *c, enum state *next, struct err *e) MUST_USE;
