// A record of everything that reached a disk: each write with its bytes, each
// flush with its time. From it and an image of the disk as it was at first,
// the disk can be put into the state of any later moment.
//
// The file is read by the program that wrote it, on the same machine.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum journal_kind { JOURNAL_WRITE = 1, JOURNAL_FLUSH };

struct journal_entry {
    uint32_t kind;
    uint32_t length; // of the bytes that follow a write
    uint64_t offset;
    int64_t at_ns; // of a flush: when it is answered; on the monotonic clock
};

// Appends; `data` has entry->length bytes.
MUST_USE bool journal_append(
    FILE *f, const struct journal_entry *entry, const void *data, struct err *e);

// Reads the next entry. *data, which the caller frees, grows as needed and is *size long; it may
// begin as NULL, 0. `end` is set at the end of the file; a last entry that is not whole is an
// error.
MUST_USE bool journal_next(FILE *f, struct journal_entry *entry, unsigned char **data, size_t *size,
    bool *end, struct err *e);
