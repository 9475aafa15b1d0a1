// Signs tokens: HMAC-SHA256 with one key, in a context that is made once and reused.
#pragma once

#include <openssl/types.h>

#include "base/base.h"

#define SIGN_KEY_LEN 32
#define SIGN_SECRET_LEN 32
#define SIGN_CODE_LEN 5
#define SIGN_TEXT_LEN 86 // unpadded base64url of secret and signature

enum token_action { TOKEN_ACTIVATION = 1, TOKEN_PASSWORD_RECOVERY = 2 };

struct sign {
    EVP_MAC *mac;
    EVP_MAC_CTX *context;
};

// Makes the context with a copy of the key.
bool sign_init(struct sign *s, const uint8_t key[SIGN_KEY_LEN], struct err *e) MUST_USE;
void sign_fini(struct sign *s); // wipes the key; accepts a zeroed struct

// Writes the text that a mail carries: SIGN_TEXT_LEN characters, without a NUL. The code, which has
// SIGN_CODE_LEN digits, is signed for a password recovery only.
bool sign_token(struct sign *s, enum token_action action, const uint8_t secret[SIGN_SECRET_LEN],
    const char *code, char out[SIGN_TEXT_LEN], struct err *e) MUST_USE;
