// From every line that the reference collector would send, the harness's own decoder must read the
// same fields.
//
// The input is a batch: for each token a byte of flags, then email, login, secret and code, each
// with a length of one byte.
#include "fuzz/fuzz.h"
#include "subject/decoder.h"
#include "wire/line.h"

enum { RECOVERY = 1, NO_CODE = 2, NO_EMAIL = 4, NO_LOGIN = 8, GOOD_SECRET = 16, GOOD_CODE = 32 };

#define TOKENS_MAX 64

struct batch_line {
    struct token tokens[TOKENS_MAX]; // the tokens that are on the line
    size_t count;
    struct buf text;
};

static struct field field_of(struct fuzz_bytes *in, bool null)
{
    struct fuzz_bytes piece = fuzz_piece(in);

    return null ? (struct field){0} : (struct field){(const char *)piece.at, piece.left};
}

// Takes a token from the input. The flags make some of its fields null, or valid ones.
static struct token take_token(struct fuzz_bytes *in)
{
    static const char secret[] = "0123456789abcdef0123456789ABCDEF";
    unsigned flags = fuzz_byte(in);
    struct token t = {.action = flags & RECOVERY ? TOKEN_PASSWORD_RECOVERY : TOKEN_ACTIVATION};

    t.email = field_of(in, flags & NO_EMAIL);
    t.login = field_of(in, flags & NO_LOGIN);
    t.secret = flags & GOOD_SECRET ? (struct field){secret, 32} : field_of(in, false);
    t.code = flags & NO_CODE     ? (struct field){0}
             : flags & GOOD_CODE ? (struct field){"01234", 5}
                                 : field_of(in, false);
    return t;
}

static void check_field(struct field want, const char *got, size_t len)
{
    FUZZ_MUST(len == want.len && (len == 0 || memcmp(got, want.data, len) == 0));
}

static void check_line(const struct batch_line *line)
{
    struct decoder *d = decoder_new(fuzz_key);
    size_t len = line->text.len - 1, pos = 0, shape;
    const char *text = line->text.data;
    struct decoded got;

    FUZZ_MUST(d && text[len] == '\n' && !memchr(text, '\n', len));
    FUZZ_MUST(decode_shape(text, len, &shape) && shape == line->count);
    for (size_t i = 0; i < line->count; i++) {
        const struct token *t = &line->tokens[i];
        FUZZ_MUST(decode_subject_token(d, text, len, &pos, &got));
        FUZZ_MUST(got.action == (int)t->action && got.signature_ok);
        check_field(t->email, got.email, got.email_len);
        check_field(t->login, got.login, got.login_len);
        check_field(t->code, got.code, got.code_len);
        check_field(t->secret, (const char *)got.secret, sizeof got.secret);
    }
    FUZZ_MUST(pos == len);
    decoder_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct batch_line line;
    struct fuzz_bytes in = {data, size};
    struct sign sign = {0};
    struct err e = {0};

    line.count = 0;
    buf_init(&line.text, (size_t)1 << 20);
    FUZZ_MUST(sign_init(&sign, fuzz_key, &e));
    while (in.left > 0 && line.count < TOKENS_MAX) {
        struct token t = take_token(&in);
        if (line_unsendable(&t))
            continue;
        FUZZ_MUST(line_add(&line.text, &sign, &t, &e));
        line.tokens[line.count++] = t;
    }
    if (line.count > 0) {
        fuzz_accept();
        FUZZ_MUST(line_end(&line.text, &e));
        check_line(&line);
    }
    sign_fini(&sign);
    buf_fini(&line.text);
    return 0;
}
