// Finds secrets in a collector's log: 32 bytes as hex digits, or as base64 with either alphabet,
// alone or as a part of longer data in the same form.
//
// The log is read first. Only a hash of each text that might be a secret is kept: of any 64 hex
// digits in a row, and of any 40 letters of base64 in a row. Then the hash of each secret is looked
// up, so the secrets of ten million tokens need not be kept in memory. A log without such rows
// costs little more than its reading.
#pragma once

#include "base/base.h"

#define SECRET_SCAN_SECRET_LEN 32
#define SECRET_SCAN_BYTES_MAX                                                                      \
    (UINT64_C(64) << 20) // how much is read at the beginning of a log, and again at its end
#define SECRET_SCAN_HASHES_MAX (UINT32_C(1) << 20)

struct secret_scan {
    uint64_t *hashes; // owned; sorted after secret_scan_read
    size_t count;
};

// Reads a log and adds its hashes, up to SECRET_SCAN_HASHES_MAX in all; further ones are left out.
// ERR_SYSTEM: the file cannot be read.
MUST_USE bool secret_scan_read(struct secret_scan *t, const char *path, struct err *e);
void secret_scan_fini(struct secret_scan *t); // accepts a zeroed struct

// True when one of the logs that were read holds the secret.
bool secret_scan_secret(
    const struct secret_scan *t, const unsigned char secret[SECRET_SCAN_SECRET_LEN]);
