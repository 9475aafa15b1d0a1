// The defects of the zoo's collector, which has one of them at a time.
//
// A defect is a row of the table in defect.c, and an `if` at the place where the collector must do
// the wrong thing. The table also says which invariants the harness must find broken, and in which
// scenario (a file in scenarios/).
#pragma once

#include "base/base.h"

enum defect {
    DEFECT_NONE,
    DEFECT_CURSOR_FIRST,
    DEFECT_ID_ONLY,
    DEFECT_XMIN_ONLY,
    DEFECT_GIVES_UP,
    DEFECT_COUNTS_WAKEUPS,
    DEFECT_DROPS_SOME,
    DEFECT_SENDS_TWICE,
    DEFECT_CURSOR_BACK,
    DEFECT_LIMIT_PLUS_ONE,
    DEFECT_NO_LIMIT,
    DEFECT_NO_TIMEOUT,
    DEFECT_EARLY,
    DEFECT_LATE,
    DEFECT_BURNS,
    DEFECT_YOUNGEST_FIRST,
    DEFECT_SWAPS_FIELDS,
    DEFECT_WRONG_KEY,
    DEFECT_SIGNS_NO_CODE,
    DEFECT_OLD_CODE,
    DEFECT_PRINTS_NAMES,
    DEFECT_BREAKS_LINE,
    DEFECT_TRAILING_COMMA,
    DEFECT_BREAKS_OFF,
    DEFECT_NULL_CODE,
    DEFECT_SENDS_EXPIRED,
    DEFECT_SENDS_SUSPENDED,
    DEFECT_SENDS_CONSUMED,
    DEFECT_INVENTS,
    DEFECT_UNCOMMITTED,
    DEFECT_DELETES,
    DEFECT_DROPS_UNSENDABLE,
    DEFECT_BURIES,
    DEFECT_BURIES_TWICE,
    DEFECT_LAZY_CURSOR,
    DEFECT_LAZY_MARKS,
    DEFECT_FORGETS_UNCONFIRMED,
    DEFECT_BARGES_IN,
    DEFECT_DROPS_UNANSWERED,
    DEFECT_MARKS_FIRST,
    DEFECT_STEALS,
    DEFECT_NEVER_FREES,
    DEFECT_DEAF,
    DEFECT_SLOW_RECONNECT,
    DEFECT_EXITS,
    DEFECT_IGNORES_TERM,
    DEFECT_SPINS,
    DEFECT_LEAKS,
    DEFECT_FULL_PIPE,
    DEFECT_SENDS_SOME_TWICE,
    DEFECT_CURSOR_AT_WRITE,
    DEFECT_NEVER_TAKES_OVER,
    DEFECT_SLEEPS_BESIDE,
    DEFECT_HOARDS,
    DEFECT_LEAVES_BACKLOG,
    DEFECT_REWAITS,
    DEFECT_SLOW_10,
    DEFECT_SLOW_20,
    DEFECT_SLOW_40,
    DEFECT_SHORT_LEASE,
    DEFECT_FORGETS_ANSWERS,
    DEFECT_RETRIES_AT_ONCE,
    DEFECT_PUTS_OFF,
    DEFECT_NEVER_GIVES_UP,
    DEFECT_OVERSPENDS,
    DEFECT_ALL_IS_WELL,
    DEFECT_EXCUSES_ERRORS,
    DEFECT_MISCOUNTS,
    DEFECT_LOSES_ANSWERS,
    DEFECT_BELL_UNSEEN,
    DEFECT_BELL_LATE,
    DEFECT_BELL_LEAKED,
    DEFECT_NEVER_AGES,
    DEFECT_LAST_FIRST,
    DEFECT_STALE_AT_START,
    DEFECT_REOPENS,
    DEFECT_FAILS_AT_TERM,
    DEFECT_REPEATS_LATER,
    DEFECT_CONSUMES,
    DEFECT_LITTERS,
    DEFECT_TELLS_KEY,
    DEFECT_TELLS_SECRETS,
    DEFECT_HOLDS,
    DEFECT_ASKS_IDLE,
    DEFECT_LEAKS_FILES,
    DEFECT_SPINS_WAITING,
    DEFECT_ONCE_PER_ADDRESS,
    DEFECT_ANY_STATUS,
    DEFECT_KEEPS_ADDRESSES,
    DEFECT_LOWER_CASES,
    DEFECT_WALL_CLOCK,
    DEFECT_SENDS_SINGLY,
    DEFECT_DOUBTS,
    DEFECT_STALE_TIMER,
    DEFECT_LOOKS_LATE,
    DEFECT_IMPATIENT,
    DEFECT_REPEATS_SLOW,
    DEFECT_WAITS_FOR_SNAPSHOTS,
    DEFECT_SPARES_SERVER,
    DEFECT_OVERLAPS,
    DEFECT_JOURNALS,
    DEFECT_FLAPS,
    DEFECT_WAITS_LONGER,
    DEFECT_RESTS,
    DEFECT_RECORDS_LATE,
    DEFECT_FORGETS_OLD,
    DEFECT_BLOCKS_AT_TERM,
    DEFECT_SUSPENDS,
    DEFECT_EXTENDS,
    DEFECT_LISTENS_OPEN,
    DEFECT_LEAKS_SESSIONS,
    DEFECT_LEAVES_ZOMBIES,
    DEFECT_WRITES_OPEN,
    DEFECT_FLOODS_LOG,
    DEFECT_FLAPS_EARLY,
    DEFECT_REWINDS,
    DEFECT_WAITS_FULL,
    DEFECT_SENDS_AT_ONCE,
};

struct defect_row {
    enum defect defect;
    const char *name;
    const char *breaks;   // what the collector does wrong, in a few words
    const char *convicts; // the invariants that must be found broken, separated by commas
    const char *shows_in; // the scenario in which these invariants are found broken
};

// Returns the row of the defect with this name; NULL when there is none.
const struct defect_row *defect_find(const char *name);

// Defect leaks: allocates 4 KiB and adds them to a chain of blocks that nothing uses.
void defect_leak(void **chain);

// Defect burns: starts more processes than there are processors, and waits until all have ended.
void defect_burn(void);

// Prints one line per defect: name, scenario, invariants, what it does; tab-separated.
void defect_list(FILE *out);
