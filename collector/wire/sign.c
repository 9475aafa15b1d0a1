#include "wire/sign.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

bool sign_init(struct sign *s, const uint8_t key[SIGN_KEY_LEN], struct err *e)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };

    *s = (struct sign){.mac = EVP_MAC_fetch(NULL, "HMAC", NULL)};
    s->context = s->mac ? EVP_MAC_CTX_new(s->mac) : NULL;
    if (!s->context || EVP_MAC_init(s->context, key, SIGN_KEY_LEN, params) != 1) {
        sign_fini(s);
        return err_set(e, ERR_INTERNAL, "OpenSSL has no HMAC-SHA256");
    }
    return true;
}

void sign_fini(struct sign *s)
{
    // OpenSSL cleanses the key before it frees it.
    EVP_MAC_CTX_free(s->context);
    EVP_MAC_free(s->mac);
    *s = (struct sign){0};
}

// Writes base64url without padding and without a NUL; `out` has room for all of it.
static void encode_base64url(const uint8_t *in, size_t len, char *out)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0;
    unsigned held = 0;

    for (size_t i = 0; i < len; i++) {
        bits = bits << 8 | in[i];
        for (held += 8; held >= 6;) {
            held -= 6;
            *out++ = alphabet[bits >> held & 63];
        }
    }
    if (held > 0)
        *out = alphabet[bits << (6 - held) & 63];
}

bool sign_token(struct sign *s, enum token_action action, const uint8_t secret[SIGN_SECRET_LEN],
    const char *code, char out[SIGN_TEXT_LEN], struct err *e)
{
    const char *path = action == TOKEN_ACTIVATION ? "/activate" : "/recover";
    uint8_t both[SIGN_SECRET_LEN + 32]; // the secret, and the signature
    size_t len = 0;

    memcpy(both, secret, SIGN_SECRET_LEN);
    // Given no key, EVP_MAC_init uses the key that the context holds.
    bool ok = EVP_MAC_init(s->context, NULL, 0, NULL) == 1 &&
              EVP_MAC_update(s->context, (const uint8_t *)path, strlen(path)) == 1 &&
              EVP_MAC_update(s->context, secret, SIGN_SECRET_LEN) == 1;
    if (ok && action == TOKEN_PASSWORD_RECOVERY)
        ok = EVP_MAC_update(s->context, (const uint8_t *)code, SIGN_CODE_LEN) == 1;
    if (!ok || EVP_MAC_final(s->context, both + SIGN_SECRET_LEN, &len, 32) != 1 || len != 32)
        return err_set(e, ERR_INTERNAL, "OpenSSL failed to sign");
    encode_base64url(both, sizeof both, out);
    return true;
}
