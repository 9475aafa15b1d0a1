#include "wire/sign.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#define SIGNED_LEN (SIGN_SECRET_LEN + 32) // the secret, and the signature

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

// Writes base64url without padding and without a NUL.
static void encode_base64url(const uint8_t in[SIGNED_LEN], char out[SIGN_TEXT_LEN])
{
    unsigned char text[SIGN_TEXT_LEN + 3]; // with two characters of padding, and a NUL

    EVP_EncodeBlock(text, in, SIGNED_LEN);
    for (int i = 0; i < SIGN_TEXT_LEN; i++)
        out[i] = (char)(text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i]);
}

bool sign_token(struct sign *s, enum token_action action, const uint8_t secret[SIGN_SECRET_LEN],
    const char *code, char out[SIGN_TEXT_LEN], struct err *e)
{
    const char *path = action == TOKEN_ACTIVATION ? "/activate" : "/recover";
    uint8_t both[SIGNED_LEN];
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
    encode_base64url(both, out);
    return true;
}
