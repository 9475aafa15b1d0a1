// Decodes and verifies the wire format independently of any collector:
// `action,email,login,secret,code` repeated, one line per batch (WRITE-YOUR-OWN.md). Pure.
#pragma once

#include "base/base.h"

#define DECODE_SECRET_LEN 32
#define DECODE_FIELDS 5

// One token of a line. The pointers point into the line.
struct decoded {
    int action; // 1: activation; 2: password recovery; any other value is wrong
    const char *email, *login, *code;
    size_t email_len, login_len, code_len;
    unsigned char secret[DECODE_SECRET_LEN];
    bool signature_ok;
    // For a token that cannot be decoded: where its wrong field begins in the line, the name of
    // this field, and what it should be.
    const char *wrong_at, *wrong_name, *should_be;
};

struct decoder; // the key and a reusable MAC context; one thread uses it

// Makes a decoder; `key` is 32 bytes long. NULL when libcrypto refuses.
struct decoder *decoder_new(const unsigned char *key);
void decoder_free(struct decoder *d);

// Counts the fields of a line (without its newline) and sets *tokens to a fifth of their number.
// True when the line is not empty and has five fields for each token.
bool decode_shape(const char *line, size_t len, size_t *tokens);

// Decodes the token that begins at *pos and moves *pos past it. False when a field cannot be right
// (the action, the secret's length or alphabet, the code); out->wrong_at and the fields beside it
// then say which. A wrong signature is no such error; see signature_ok.
bool decode_subject_token(
    struct decoder *d, const char *line, size_t len, size_t *pos, struct decoded *out);

// All fields of a token, as a delivery carries them or as the database holds them. The texts are
// borrowed.
struct contents {
    int action;
    struct contents_field {
        const void *data;
        size_t len;
    } fields[4]; // email, login, secret and code
};

// Returns the contents of a decoded token; they borrow its texts.
struct contents decode_contents(const struct decoded *t);

// Returns four bits of a hash for each field. When the fingerprints of two deliveries differ, their
// marks mostly show which field differs.
uint16_t decode_marks(const struct contents *c);

// Writes the names of the fields whose marks differ, such as "email and login"; "a field" when no
// mark differs.
void decode_differs(uint16_t a, uint16_t b, char *out, size_t size);

// Returns a fingerprint of everything that a delivery carries, to be compared with that of the
// token in the database. FNV-1a, 64 bits.
uint64_t decode_fingerprint(const struct contents *c);
