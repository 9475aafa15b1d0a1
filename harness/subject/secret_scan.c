#include "subject/secret_scan.h"

#include <ctype.h>
#include <openssl/evp.h>

enum {
    HEX_LEN = 2 * SECRET_SCAN_SECRET_LEN,
    // Wherever the secret begins in longer data, at least 30 of its 32 bytes fill whole groups of
    // four letters.
    BASE64_BYTES = 30,
    BASE64_LEN = BASE64_BYTES / 3 * 4,
};

static const uint64_t hash_base = UINT64_C(0x9e3779b97f4a7c15); // odd, so that no power of it
                                                                // becomes 0 and each letter counts

// A rolling hash of the last letters of a row, which is a run of digits or letters in the log.
struct row {
    size_t len;            // number of letters in the row so far
    uint64_t hash, factor; // factor: hash_base to the power of the window's length, the factor of
                           // the letter that leaves the window; 0: not computed yet
    unsigned char window[HEX_LEN]; // the last letters, as a ring
};

static uint64_t power_of_base(size_t exponent)
{
    uint64_t result = 1;

    while (exponent-- > 0)
        result *= hash_base;
    return result;
}

// Adds a letter, which is not 0, to the row. Returns the hash of the row's last `length` letters; 0
// while the row has fewer. All calls for a row must give the same length, for which the factor is
// kept.
static uint64_t roll_hash(struct row *r, size_t length, unsigned char letter)
{
    size_t place = r->len++ % length;
    unsigned char leaving = r->len > length ? r->window[place] : 0;

    r->factor = r->factor ? r->factor : power_of_base(length);
    r->window[place] = letter;
    r->hash = r->hash * hash_base + letter - leaving * r->factor;
    return r->len >= length ? r->hash : 0;
}

static uint64_t hash_of(const char *text, size_t len)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < len; i++)
        hash = hash * hash_base + (unsigned char)text[i];
    return hash;
}

// Returns a hex digit in lower case; 0: c is no hex digit.
static unsigned char hex_letter(int c)
{
    return isxdigit(c) ? (unsigned char)tolower(c) : 0;
}

// Returns a letter of either base64 alphabet as base64url writes it; 0: c is no such letter.
static unsigned char base64_letter(int c)
{
    if (c == '+' || c == '-')
        return '-';
    if (c == '/' || c == '_')
        return '_';
    return isalnum(c) ? (unsigned char)c : 0;
}

// --- reading a log ----------------------------------------------------------------------

// Keeps a hash; 0 stands for no hash.
static void keep_hash(struct secret_scan *t, uint64_t hash)
{
    // Beyond the limit, hashes are dropped, because a log full of long rows must not fill the
    // memory.
    if (hash == 0 || t->count >= SECRET_SCAN_HASHES_MAX)
        return;
    memory_grow(&t->hashes, t->count, 1, sizeof *t->hashes);
    t->hashes[t->count++] = hash;
}

// Adds a letter to the row, or ends the row.
static void take_letter(struct secret_scan *t, struct row *r, size_t window, unsigned char letter)
{
    if (letter == 0) {
        // 0 stands for a character that no secret in this form contains; it ends the row.
        r->len = 0;
        r->hash = 0;
        return;
    }
    keep_hash(t, roll_hash(r, window, letter));
}

// Reads up to SECRET_SCAN_BYTES_MAX bytes and keeps the hashes of both forms, hex and base64. False
// when a read fails.
static bool read_part(struct secret_scan *t, FILE *file)
{
    struct row hex = {0}, base64 = {0};

    for (uint64_t i = 0; i < SECRET_SCAN_BYTES_MAX; i++) {
        int c = getc_unlocked(file);
        if (c == EOF)
            break;
        take_letter(t, &hex, HEX_LEN, hex_letter(c));
        take_letter(t, &base64, BASE64_LEN, base64_letter(c));
    }
    return !ferror(file);
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

bool secret_scan_read(struct secret_scan *t, const char *path, struct err *e)
{
    const long part_max = (long)SECRET_SCAN_BYTES_MAX;
    FILE *file = fopen(path, "re");

    if (!file)
        return err_sys(e, ERR_SYSTEM, "cannot read %s", path);
    bool ok = read_part(t, file);
    // A log longer than SECRET_SCAN_BYTES_MAX is read at its end, too. If it is about twice as long
    // or longer, its middle is skipped. Otherwise the second part begins inside the first, so that
    // a secret across the boundary is found.
    if (ok && fseek(file, 0, SEEK_END) == 0 && ftell(file) > part_max) {
        long rest = ftell(file) - part_max + HEX_LEN; // HEX_LEN: the longest form of a secret
        ok = fseek(file, rest < part_max ? -rest : -part_max, SEEK_END) == 0 && read_part(t, file);
    }
    if (!ok)
        err_sys(e, ERR_SYSTEM, "cannot read %s", path);
    fclose(file);
    if (t->count > 0)
        qsort(t->hashes, t->count, sizeof *t->hashes, compare_hashes);
    return ok;
}

void secret_scan_fini(struct secret_scan *t)
{
    free(t->hashes);
    *t = (struct secret_scan){0};
}

// --- looking a secret up ----------------------------------------------------------------

static bool has_hash(const struct secret_scan *t, uint64_t hash)
{
    return t->count > 0 && bsearch(&hash, t->hashes, t->count, sizeof hash, compare_hashes);
}

// True when the log has these BASE64_BYTES bytes as base64.
static bool has_base64(const struct secret_scan *t, const unsigned char *bytes)
{
    unsigned char text[BASE64_LEN + 1];

    EVP_EncodeBlock(text, bytes, BASE64_BYTES);
    for (int i = 0; i < BASE64_LEN; i++)
        text[i] = base64_letter(text[i]);
    return has_hash(t, hash_of((const char *)text, BASE64_LEN));
}

bool secret_scan_secret(
    const struct secret_scan *t, const unsigned char secret[SECRET_SCAN_SECRET_LEN])
{
    char hex[HEX_LEN + 1];

    if (t->count == 0)
        return false;
    for (size_t i = 0; i < SECRET_SCAN_SECRET_LEN; i++)
        snprintf(hex + 2 * i, 3, "%02x", secret[i]);
    // In base64, letters come in groups of four for three bytes. Within longer data, none, one or
    // two of the secret's first bytes belong to a group that begins before the secret, so try all
    // three.
    return has_hash(t, hash_of(hex, HEX_LEN)) || has_base64(t, secret) ||
           has_base64(t, secret + 1) || has_base64(t, secret + 2);
}
