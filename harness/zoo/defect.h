// What the collectors of the zoo get wrong, one thing each.
//
// A defect is a row of the table in defect.c and one `if (has(keeper, DEFECT_…))`
// in the collector. The table also says which invariants the harness must find
// broken, and names the scenario in which it shows.
#pragma once

#include <stdio.h>

enum defect {
    DEFECT_NONE,
    DEFECT_CURSOR_FIRST,
    DEFECT_ID_ONLY,
};

struct defect_row {
    enum defect defect;
    const char *name;
    const char *breaks;   // what it does, in a few words
    const char *convicts; // the invariants that must be found broken, comma-joined
    const char *shows_in; // a scenario in which they are
};

// The row with that name; NULL when there is none.
const struct defect_row *defect_find(const char *name);

// One line per defect: name, scenario, invariants, what it does; tab-separated.
void defect_list(FILE *out);
