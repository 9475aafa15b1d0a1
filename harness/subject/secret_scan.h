// Finds secrets in a collector's log: 32 bytes as hex digits, or as base64 with either alphabet,
// alone or within longer data.
//
// The log is read first, and only hashes of what might be a secret are kept: of each 64 hex digits,
// and of each 40 letters of base64, in a row. Each secret is then looked up, so that the secrets of
// ten million tokens need no memory. A log without such rows costs little more than its reading.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SECRET_SCAN_SECRET_LEN 32
#define SECRET_SCAN_BYTES_MAX                                                                      \
    (UINT64_C(64) << 20) // read at the beginning, and again at the end, of a log
#define SECRET_SCAN_HASHES_MAX (UINT32_C(1) << 20)

struct secret_scan {
    uint64_t *hashes; // owned; sorted after tells_read
    size_t count;
};

// Adds a log. More than TELLS_HASHES_MAX rows in all are passed over. ERR_SYSTEM: the file cannot
// be read.
MUST_USE bool secret_scan_read(struct secret_scan *t, const char *path, struct err *e);
void secret_scan_fini(struct secret_scan *t); // accepts a zeroed struct

// True when a log holds the secret.
bool secret_scan_secret(
    const struct secret_scan *t, const unsigned char secret[SECRET_SCAN_SECRET_LEN]);
