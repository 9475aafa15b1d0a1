#include "batch.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/base.h"
#include "settings.h"

#define LINE_MAX_BYTES (128u << 20)
#define SECRET_LEN 32
#define SIGNED_LEN 64
#define SIGNED_TEXT_LEN 86 // length of SIGNED_LEN bytes as unpadded base64

// The columns of sql/read.sql.
enum { BEHIND, LAST_XID, LAST_SEQ, XID, ID, ACTION, EMAIL, LOGIN, SECRET, CODE, TROUBLE };

static bool has(const struct batch *b, enum defect defect)
{
    return b->defect == defect;
}

static bool sign(const char *action, const char *secret_hex, const char *code, const uint8_t *key,
    char *text) MUST_USE;

void batch_init(struct batch *b, enum defect defect)
{
    *b = (struct batch){.defect = defect};
    buf_init(&b->token, LINE_MAX_BYTES);
    buf_init(&b->line, LINE_MAX_BYTES);
    buf_init(&b->ids, LINE_MAX_BYTES);
    buf_init(&b->dead, LINE_MAX_BYTES);
    buf_init(&b->dead_reasons, LINE_MAX_BYTES);
}

void batch_fini(struct batch *b)
{
    buf_fini(&b->line);
    buf_fini(&b->ids);
    buf_fini(&b->dead);
    buf_fini(&b->dead_reasons);
    buf_fini(&b->token);
    addresses_fini(&b->seen);
}

void batch_clear(struct batch *b)
{
    batch_moved(b);
    buf_clear(&b->line);
    b->tokens = 0;
}

void batch_moved(struct batch *b)
{
    buf_clear(&b->ids);
    buf_clear(&b->dead);
    buf_clear(&b->dead_reasons);
    b->walked = 0;
    b->passed = 0;
}

// Makes a row a dead letter.
static void bury_row(struct batch *b, const char *id, const char *reason)
{
    for (int n = has(b, DEFECT_BURIES_TWICE) ? 2 : 1; n > 0; n--) {
        const char *comma = b->dead.len > 0 ? "," : "";
        buf_printf(&b->dead, "%s%s", comma, id);
        buf_printf(&b->dead_reasons, "%s%s", comma, reason);
    }
}

// Defect stale-at-start: true when the token has become ineligible, but is still sent.
static bool is_stale(const struct batch *b, const char *trouble)
{
    return b->stale && (strcmp(trouble, "consumed") == 0 || strcmp(trouble, "suspended") == 0);
}

// Returns why a row's token does not go out, in the words of sql/read.sql; "" when it goes out.
// Several defects are here.
static const char *trouble_of(struct batch *b, const char *const *field)
{
    const char *trouble = field[TROUBLE];
    static const struct {
        enum defect defect;
        const char *trouble;
    } blind[] = {
        {DEFECT_SENDS_CONSUMED, "consumed"},
        {DEFECT_SENDS_EXPIRED, "expired"},
        {DEFECT_SENDS_SUSPENDED, "suspended"},
        {DEFECT_ANY_STATUS, "status"},
        {DEFECT_PRINTS_NAMES, "email"},
        {DEFECT_PRINTS_NAMES, "login"},
    };

    // Each of these defects does not see one kind of trouble.
    for (size_t i = 0; i < sizeof blind / sizeof *blind; i++)
        if (has(b, blind[i].defect) && strcmp(trouble, blind[i].trouble) == 0)
            return "";
    if (is_stale(b, trouble))
        return "";
    // The following defects pass over tokens that should go out, as if they had expired. For
    // once-per-address, the table keeps the id of each address's first token.
    if (has(b, DEFECT_ONCE_PER_ADDRESS) && !*trouble &&
        strcmp(addresses_first(&b->seen, field[EMAIL], field[ID]), field[ID]) != 0)
        return "expired";
    if (b->away && !*trouble)
        return "expired";
    if (has(b, DEFECT_DROPS_SOME) && !*trouble && b->added++ % 1000 == 999)
        return "expired";
    return trouble;
}

// True when a row with this trouble is passed over; otherwise it becomes a dead letter.
static bool is_ineligible(const struct batch *b, const char *trouble)
{
    if (has(b, DEFECT_BURIES))
        return false;
    return strcmp(trouble, "consumed") == 0 || strcmp(trouble, "expired") == 0 ||
           strcmp(trouble, "status") == 0 || strcmp(trouble, "suspended") == 0 ||
           has(b, DEFECT_DROPS_UNSENDABLE);
}

// Defect lower-cases: puts the second and the third field, address and login, in lower case.
static void lower_names(struct buf *token)
{
    int commas = 0;

    for (size_t i = 0; i < token->len; i++) {
        char *c = &token->data[i];
        commas += *c == ',';
        if ((commas == 1 || commas == 2) && *c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    }
}

// Appends the token whose fields are in b->token to the line.
static void append_token(struct batch *b)
{
    const char *comma = b->tokens++ > 0 ? "," : "";

    // Defect youngest-first: puts the line so far after the token, and begins the line anew with
    // both.
    if (has(b, DEFECT_YOUNGEST_FIRST)) {
        buf_printf(&b->token, "%s%.*s", comma, (int)b->line.len, buf_str(&b->line));
        buf_clear(&b->line);
        comma = "";
    }
    buf_printf(&b->line, "%s%.*s", comma, (int)b->token.len, b->token.data);
}

// Makes the fields of a token and appends them to the line. `field` has the columns of
// sql/read.sql. False when the token cannot be signed.
static bool add_token(
    struct batch *b, const char *const *field, bool has_code, const uint8_t *key, struct err *e)
{
    char text[SIGNED_TEXT_LEN + 1];
    uint8_t other_key[SETTINGS_KEY_LEN];
    const char *email = field[has(b, DEFECT_SWAPS_FIELDS) ? LOGIN : EMAIL];
    const char *login = field[has(b, DEFECT_SWAPS_FIELDS) ? EMAIL : LOGIN];
    const char *code = field[CODE];

    memcpy(other_key, key, sizeof other_key);
    other_key[0] ^= has(b, DEFECT_WRONG_KEY);
    if (!sign(field[ACTION], field[SECRET], has(b, DEFECT_SIGNS_NO_CODE) ? NULL : code, other_key,
            text))
        return err_set(e, ERR_INTERNAL, "cannot sign");
    // The signature of an activation does not cover the code, so only the field is wrong.
    if (has(b, DEFECT_OLD_CODE) && strcmp(field[ACTION], "1") == 0)
        code = strcmp(code, "00000") == 0 ? "11111" : "00000";
    buf_clear(&b->token);
    buf_printf(&b->token, "%s,%s,%s%s%s%s%s", field[ACTION], email, login,
        has(b, DEFECT_BREAKS_LINE) && b->tokens == 0 ? "\n" : ",", text,
        has(b, DEFECT_NULL_CODE) && !has_code ? "" : ",", code);
    if (has(b, DEFECT_LOWER_CASES))
        lower_names(&b->token);
    append_token(b);
    return true;
}

bool batch_invent(struct batch *b, const uint8_t *key, struct err *e)
{
    static const char *const field[] = {[ACTION] = "1",
        [EMAIL] = "nobody@mailproof.invalid",
        [LOGIN] = "nobody",
        [SECRET] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        [CODE] = "12345"};

    return add_token(b, field, true, key, e);
}

bool batch_add(struct batch *b, const PGresult *rows, int row, const uint8_t *key, struct err *e)
{
    const char *field[TROUBLE + 1];

    for (int i = 0; i <= TROUBLE; i++)
        field[i] = PQgetvalue(rows, row, i); // "" for null
    // In each row the server also says where the cursor is.
    if (b->walked++ == 0) {
        snprintf(b->from.xid, sizeof b->from.xid, "%s", field[LAST_XID]);
        snprintf(b->from.id, sizeof b->from.id, "%s", field[LAST_SEQ]);
    }
    buf_printf(&b->ids, "%s%s", b->ids.len > 0 ? "," : "", field[ID]);
    snprintf(b->to.xid, sizeof b->to.xid, "%s", field[XID]);
    snprintf(b->to.id, sizeof b->to.id, "%s", field[ID]);
    const char *trouble = trouble_of(b, field);
    if (has(b, DEFECT_KEEPS_ADDRESSES))
        field[EMAIL] = addresses_find(&b->seen, field[LOGIN], field[EMAIL]);
    if (*trouble && is_ineligible(b, trouble))
        b->passed++;
    else if (*trouble)
        bury_row(b, field[ID], trouble);
    else if (!add_token(b, field, !PQgetisnull(rows, row, CODE), key, e))
        return false;
    if (b->line.failed || b->token.failed || b->ids.failed || b->dead.failed ||
        b->dead_reasons.failed)
        return err_memory(e);
    return true;
}

// Writes the secret and its signature to `text` as base64url, NUL-terminated. False when the secret
// is no hex or the signature cannot be made. With code NULL, a recovery is signed without its code,
// which no good collector does.
static bool sign(
    const char *action, const char *secret_hex, const char *code, const uint8_t *key, char *text)
{
    bool activation = strcmp(action, "1") == 0;
    uint8_t signed_secret[SIGNED_LEN];
    uint8_t message[9 + SECRET_LEN + 5]; // "/activate" or "/recover", the secret, the code
    uint8_t base64[SIGNED_TEXT_LEN + 3]; // with the padding "==" and a NUL
    size_t prefix = activation ? 9 : 8;
    size_t len = prefix + SECRET_LEN;

    memcpy(message, activation ? "/activate" : "/recover", prefix);
    for (size_t i = 0; i < SECRET_LEN; i++) {
        unsigned byte;
        if (sscanf(secret_hex + 2 * i, "%2x", &byte) != 1)
            return false;
        message[prefix + i] = signed_secret[i] = (uint8_t)byte;
    }
    if (!activation && code) {
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
