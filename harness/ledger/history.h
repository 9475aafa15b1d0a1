// Stores a finished ledger in a file, <result folder>/history.bin.gz. A later version, or another
// machine, can then judge the run again without PostgreSQL.
//
// A token takes about 20 bytes before compression. Times are stored in ns, each as its difference
// to the one before. The file keeps whether the content of a delivery was valid, but not the
// content itself.
#pragma once

#include "ledger/ledger.h"

#define HISTORY_NAME "history.bin.gz"
// history_read also reads older versions, which lack what came later: 2 has no starved_us, 3
// nothing of pack_version_4, 4 no changes, 5 no answers, 6 no commits that failovers left behind, 7
// no workers, 8 no attempts, 9 no others_share, 10 no samples of os/starved.h, 11 no times when a
// fault was sought and when a line was written, 12 no rows of tokens, 13 nothing of what processes
// left behind, 14 nothing of the logs, 15 no looks at the collector's sessions, 16 no counts of
// descriptors and processes, and 17 no names that changed.
#define HISTORY_VERSION 18

// The facts that the check needs beside the ledger.
struct history_notes {
    uint64_t reconnects; // sessions that the collectors opened beyond the first of each process;
                         // UINT64_MAX: unknown
    bool interrupted;    // a signal ended load and faults early
    char gave_up[256];   // why the subject ended the run; "": it did not
    char cpu_users[256]; // the programs that used the machine; "": this was not sampled
    struct stalls reader_stalls;
    int64_t reader_ns;   // time that the reader spent on reading, decoding and checking
    double others_share; // share of the processors that other programs used; stored in millionths
};

// A history in memory. It owns everything that history_read has allocated. history_fini accepts a
// zeroed struct.
struct history {
    uint64_t version;
    struct plan plan;
    struct subject_log log;
    struct load_result load;
    struct ledger ledger;
    struct fault_record *faults;
    struct probe_sample *probes, *flushes;
    struct starved_sample *starved;
    struct presence_look *looks;
    struct presence_hold *holds;
    int64_t *sessions;
    struct history_notes notes;
};

MUST_USE bool history_write(const char *path, const struct ledger *l,
    const struct load_result *load, const struct history_notes *notes, struct err *e);

// Reads a history. The scenario comes from the same result folder and must outlive the history.
// Fails with ERR_SYSTEM when the file is missing, truncated, damaged, or of an unknown version.
MUST_USE bool history_read(
    struct history *h, const char *path, const struct scenario *s, struct err *e);

// Connects the parts of a history that the caller has filled: lets h->ledger, which ledger_init has
// made, borrow the other parts, and counts the valid deliveries. Returns false without memory.
MUST_USE bool history_join(struct history *h, struct err *e);

void history_fini(struct history *h);
