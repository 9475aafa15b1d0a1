// Pays for the line in hand out of the send budget, before it is begun: state pay. Only a collector
// with MAILROOM_BUDGET comes to it.
#pragma once

#include <stdbool.h>

#include <libpq-fe.h>

#include "base/err.h"
#include "state.h"

struct collector;

bool pay_pay(struct collector *c, enum state *next, struct err *e) MUST_USE;
bool pay_on_spend(struct collector *c, const PGresult *result, struct err *e) MUST_USE;
