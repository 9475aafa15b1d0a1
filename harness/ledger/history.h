// A finished ledger as a file, so that a run can be judged again without
// PostgreSQL, elsewhere, and by a later version: <result folder>/history.bin.gz.
//
// About 20 bytes per token before compression. Times are kept to the ns, as
// differences; of what a delivery carried only the verdict on it is kept.
#pragma once

#include "ledger/ledger.h"

#define HISTORY_NAME "history.bin.gz"
// 2, without starved_us, 3, without pack_more, 4, without changes, 5, without answers, 6, without
// what failovers left behind, and 7, without workers, are read as well.
#define HISTORY_VERSION 8

// What the check needs besides the ledger.
struct history_notes {
    uint64_t reconnects;
    char gave_up[256];   // "" when the subject did not end the run
    char cpu_users[256]; // ""
    struct stalls reader_stalls;
    int64_t reader_ns;
};

// Everything that history_read has made; zeroed, or read.
struct history {
    uint64_t version;
    struct plan plan;
    struct subject_log log;
    struct load_result load;
    struct ledger ledger;
    struct fault_record *faults;
    struct probe_sample *probes, *flushes;
    int64_t *sessions;
    struct history_notes notes;
};

MUST_USE bool history_write(const char *path, const struct ledger *l,
    const struct load_result *load, const struct history_notes *notes, struct err *e);

// The scenario (of the same result folder) must outlive the history. Fails with
// ERR_SYSTEM when the file is not there, cut off, damaged, or of another version.
MUST_USE bool history_read(
    struct history *h, const char *path, const struct scenario *s, struct err *e);
void history_fini(struct history *h);
