#include "batch.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "settings.h"

#define LINE_MAX_BYTES (128u << 20)
#define SECRET_LEN 32
#define SIGNED_LEN 64
#define SIGNED_TEXT_LEN 86 // unpadded base64 of SIGNED_LEN

// The columns of sql/read.sql.
enum { BEHIND, LAST_XID, LAST_SEQ, XID, ID, ACTION, EMAIL, LOGIN, SECRET, CODE, TROUBLE };

static bool sign(const char *action, const char *secret_hex, const char *code, const uint8_t *key,
    char *text) MUST_USE;

void batch_init(struct batch *b)
{
    *b = (struct batch){0};
    buf_init(&b->line, LINE_MAX_BYTES);
    buf_init(&b->dead, LINE_MAX_BYTES);
    buf_init(&b->dead_reasons, LINE_MAX_BYTES);
}

void batch_fini(struct batch *b)
{
    buf_fini(&b->line);
    buf_fini(&b->dead);
    buf_fini(&b->dead_reasons);
}

void batch_clear(struct batch *b)
{
    batch_moved(b);
    buf_clear(&b->line);
    b->tokens = 0;
}

void batch_moved(struct batch *b)
{
    buf_clear(&b->dead);
    buf_clear(&b->dead_reasons);
    b->walked = 0;
    b->passed = 0;
}

static void bury(struct batch *b, const char *id, const char *reason)
{
    const char *comma = b->dead.len > 0 ? "," : "";

    buf_printf(&b->dead, "%s%s", comma, id);
    buf_printf(&b->dead_reasons, "%s%s", comma, reason);
}

bool batch_add(struct batch *b, const PGresult *rows, int row, const uint8_t *key, struct err *e)
{
    const char *field[TROUBLE + 1];
    char text[SIGNED_TEXT_LEN + 1];

    for (int i = 0; i <= TROUBLE; i++)
        field[i] = PQgetvalue(rows, row, i); // "" for null
    if (b->walked++ == 0) {
        snprintf(b->from.xid, sizeof b->from.xid, "%s", field[LAST_XID]);
        snprintf(b->from.id, sizeof b->from.id, "%s", field[LAST_SEQ]);
    }
    snprintf(b->to.xid, sizeof b->to.xid, "%s", field[XID]);
    snprintf(b->to.id, sizeof b->to.id, "%s", field[ID]);
    if (strcmp(field[TROUBLE], "passed") == 0) {
        b->passed++;
    } else if (*field[TROUBLE]) {
        bury(b, field[ID], field[TROUBLE]);
    } else {
        if (!sign(field[ACTION], field[SECRET], field[CODE], key, text))
            return err_set(e, ERR_INTERNAL, "cannot sign");
        buf_printf(&b->line, "%s%s,%s,%s,%s,%s", b->tokens > 0 ? "," : "", field[ACTION],
            field[EMAIL], field[LOGIN], text, field[CODE]);
        b->tokens++;
    }
    if (b->line.failed || b->dead.failed || b->dead_reasons.failed)
        return err_set(e, ERR_INTERNAL, "no memory for a batch");
    return true;
}

// text becomes base64url of the secret and its signature, NUL-terminated.
static bool sign(
    const char *action, const char *secret_hex, const char *code, const uint8_t *key, char *text)
{
    bool activation = strcmp(action, "1") == 0;
    uint8_t signed_secret[SIGNED_LEN];
    uint8_t message[9 + SECRET_LEN + 5];
    uint8_t base64[SIGNED_TEXT_LEN + 3];
    size_t prefix = activation ? 9 : 8;
    size_t len = prefix + SECRET_LEN;

    memcpy(message, activation ? "/activate" : "/recover", prefix);
    for (size_t i = 0; i < SECRET_LEN; i++) {
        unsigned byte;
        if (sscanf(secret_hex + 2 * i, "%2x", &byte) != 1)
            return false;
        message[prefix + i] = signed_secret[i] = (uint8_t)byte;
    }
    if (!activation) {
        memcpy(message + len, code, 5);
        len += 5;
    }
    if (!HMAC(EVP_sha256(), key, SETTINGS_KEY_LEN, message, len, signed_secret + SECRET_LEN, NULL))
        return false;
    EVP_EncodeBlock(base64, signed_secret, SIGNED_LEN);
    for (size_t i = 0; i < SIGNED_TEXT_LEN; i++)
        text[i] = (char)(base64[i] == '+' ? '-' : base64[i] == '/' ? '_' : base64[i]);
    text[SIGNED_TEXT_LEN] = '\0';
    return true;
}
