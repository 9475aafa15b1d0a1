// The decoder is the harness's own. It shares no code with any collector, so that an error in a
// collector's code is not repeated here and overlooked.
#include "subject/decoder.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#define MAC_LEN 32
#define SIGNED_LEN (DECODE_SECRET_LEN + MAC_LEN)
#define ENCODED_LEN 86 // unpadded base64url of 64 bytes

struct decoder {
    EVP_MAC *mac;
    EVP_MAC_CTX *ctx;
};

struct decoder *decoder_new(const unsigned char *key)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    struct decoder *d = memory_zeroed(1, sizeof *d);

    // Done once for all tokens, because looking up the algorithm and setting the key cost more than
    // a signature.
    d->mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    d->ctx = d->mac ? EVP_MAC_CTX_new(d->mac) : NULL;
    if (!d->ctx || !EVP_MAC_init(d->ctx, key, 32, params)) {
        decoder_free(d);
        return NULL;
    }
    return d;
}

void decoder_free(struct decoder *d)
{
    if (!d)
        return;
    EVP_MAC_CTX_free(d->ctx);
    EVP_MAC_free(d->mac);
    free(d);
}

bool decode_shape(const char *line, size_t len, size_t *tokens)
{
    // The fields are counted before one is decoded. So a line with a missing field becomes one torn
    // line instead of many wrong tokens.
    size_t fields = 1;

    for (const char *p = line; (p = memchr(p, ',', len - (size_t)(p - line))) != NULL; p++)
        fields++;
    *tokens = fields / DECODE_FIELDS;
    return len > 0 && fields % DECODE_FIELDS == 0;
}

// Returns the six bits that a letter of base64url stands for; -1: it is no such letter.
static int base64_sextet(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '-')
        return 62;
    return c == '_' ? 63 : -1;
}

// Decodes 86 characters, which carry 516 bits: 64 bytes, and four bits that must be zero, so that
// every secret has exactly one spelling. False when a character or these four bits are wrong.
static bool decode_base64url(const char *text, unsigned char out[SIGNED_LEN])
{
    uint32_t bits = 0;
    int held = 0;
    size_t used = 0;

    for (size_t i = 0; i < ENCODED_LEN; i++) {
        int value = base64_sextet(text[i]);
        if (value < 0)
            return false;
        // The last `held` bits are not written yet. Older ones may fall out at the top.
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[used++] = (unsigned char)(bits >> held);
        }
    }
    return (bits & 0xf) == 0;
}

// True when the signature covers the path of the action (1 activation, 2 recovery), the secret and,
// for a recovery, the code.
static bool signature_holds(struct decoder *d, const struct decoded *t, const unsigned char *mac)
{
    static const char *const paths[] = {NULL, "/activate", "/recover"};
    const char *path = paths[t->action];
    unsigned char want[MAC_LEN];
    size_t len = 0;

    // With NULL instead of a key, EVP_MAC_init starts anew with the key that decoder_new has set.
    bool ok = EVP_MAC_init(d->ctx, NULL, 0, NULL) &&
              EVP_MAC_update(d->ctx, (const unsigned char *)path, strlen(path)) &&
              EVP_MAC_update(d->ctx, t->secret, DECODE_SECRET_LEN);
    if (ok && t->action == 2)
        ok = EVP_MAC_update(d->ctx, (const unsigned char *)t->code, t->code_len);
    return ok && EVP_MAC_final(d->ctx, want, &len, sizeof want) && len == MAC_LEN &&
           CRYPTO_memcmp(want, mac, MAC_LEN) == 0;
}

// Returns the field that begins at *pos, and moves *pos past the field and its comma.
static const char *next_field(const char *line, size_t len, size_t *pos, size_t *field_len)
{
    const char *start = line + *pos;
    const char *comma = memchr(start, ',', len - *pos);

    *field_len = comma ? (size_t)(comma - start) : len - *pos;
    *pos += *field_len + (comma != NULL);
    return start;
}

// True for a code of five digits, or for an empty one if the action is 1 (activation).
static bool code_fits(const struct decoded *t)
{
    if (t->code_len == 0)
        return t->action == 1;
    for (size_t i = 0; i < t->code_len; i++) {
        if (t->code[i] < '0' || t->code[i] > '9')
            return false;
    }
    return t->code_len == 5;
}

// Notes that the field `name`, whose text begins at `field`, is wrong. Always returns false.
static bool note_wrong_field(
    struct decoded *out, const char *field, const char *name, const char *should_be)
{
    out->wrong_at = field;
    out->wrong_name = name;
    out->should_be = should_be;
    return false;
}

bool decode_subject_token(
    struct decoder *d, const char *line, size_t len, size_t *pos, struct decoded *out)
{
    size_t action_len, secret_len;
    unsigned char signed_secret[SIGNED_LEN]; // the secret, then its signature

    // All fields are read before one is judged, so that *pos moves past the token even if a field
    // is wrong.
    const char *action = next_field(line, len, pos, &action_len);
    out->email = next_field(line, len, pos, &out->email_len);
    out->login = next_field(line, len, pos, &out->login_len);
    const char *secret = next_field(line, len, pos, &secret_len);
    out->code = next_field(line, len, pos, &out->code_len);

    out->action = action_len == 1 ? *action - '0' : 0;
    if (out->action != 1 && out->action != 2)
        return note_wrong_field(out, action, "action", "1 or 2");
    if (secret_len != ENCODED_LEN || !decode_base64url(secret, signed_secret))
        return note_wrong_field(out, secret, "secret", "86 characters of base64url");
    if (!code_fits(out))
        return note_wrong_field(out, out->code, "code",
            out->action == 1 ? "empty or 5 digits" : "5 digits, of a recovery");
    memcpy(out->secret, signed_secret, DECODE_SECRET_LEN);
    out->signature_ok = signature_holds(d, out, signed_secret + DECODE_SECRET_LEN);
    return true;
}

// Adds a field to an FNV-1a hash.
static uint64_t mix_field(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    // The end of a field is hashed as a value that no byte has, to keep the fields "ab","c" and
    // "a","bc" apart.
    return (hash ^ 0x1ff) * UINT64_C(0x100000001b3);
}

struct contents decode_contents(const struct decoded *t)
{
    return (struct contents){.action = t->action,
        .fields = {{t->email, t->email_len}, {t->login, t->login_len},
            {t->secret, DECODE_SECRET_LEN}, {t->code, t->code_len}}};
}

#define FIELDS (sizeof((struct contents *)0)->fields / sizeof(struct contents_field))

static const uint64_t fnv_basis = UINT64_C(0xcbf29ce484222325);

uint64_t decode_fingerprint(const struct contents *c)
{
    uint64_t hash = fnv_basis ^ (uint64_t)c->action;

    for (size_t i = 0; i < FIELDS; i++)
        hash = mix_field(hash, c->fields[i].data, c->fields[i].len);
    return hash;
}

enum { MARK_BITS = 4, MARK_MASK = (1 << MARK_BITS) - 1 };

uint16_t decode_marks(const struct contents *c)
{
    unsigned marks = 0;

    for (size_t i = 0; i < FIELDS; i++) {
        uint64_t hash = mix_field(fnv_basis, c->fields[i].data, c->fields[i].len);
        marks |= (unsigned)((hash ^ hash >> 32) & MARK_MASK) << (i * MARK_BITS);
    }
    return (uint16_t)marks;
}

void decode_differs(uint16_t a, uint16_t b, char *out, size_t size)
{
    static const char *const names[] = {"email", "login", "secret", "code"};
    unsigned differs = a ^ b;
    size_t len = 0;

    snprintf(out, size, "a field"); // stays if no mark differs
    for (unsigned i = 0; i < sizeof names / sizeof *names && len < size; i++) {
        if (differs >> (i * MARK_BITS) & MARK_MASK)
            len += (size_t)snprintf(out + len, size - len, "%s%s", len ? " and " : "", names[i]);
    }
}
