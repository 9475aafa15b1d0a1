// Explains from a collector's log why it wrote no line, or stopped writing. A verdict says only
// that its tokens are lost, and the cause is nearly always the way in which the collector was set
// up.
#pragma once

#include "check/check.h"

enum {
    SILENCE_ENDS = 3, // lines from the end of the log that are kept
    SILENCE_TEXT = 200,
};

struct silence {
    char what[SILENCE_TEXT];   // what was seen, such as "the collector wrote no line at all"; empty
                               // when it was not silent
    char cause[SILENCE_TEXT];  // the likely cause, sometimes with a mend; empty: not known
    char common[SILENCE_TEXT]; // the commonest line of the log; empty: the log is empty
    size_t times;              // how often `common` stands in the log, when numbers are ignored
    char ends[SILENCE_ENDS][SILENCE_TEXT]; // the last different lines, oldest first
    size_t end_count;
};

// Fills in *s. It stays empty for a run that passed. `logs` is the folder of the collector's logs;
// a log that cannot be read counts as empty.
void silence_find(
    struct silence *s, const struct ledger *l, const struct result *r, const char *logs);

// Fills in all of *s but `what` from the text of a log, which it changes. `foreign`: the collector
// has tables of its own. Pure; tests call it.
void silence_read(struct silence *s, char *log, bool foreign);
