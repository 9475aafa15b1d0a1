// Secrets in logs: as hex and base64, alone and within longer data.
#include "base/unit.h"
#include "subject/secret_scan.h"

#include <openssl/evp.h>

static unsigned char secret[SECRET_SCAN_SECRET_LEN];

static int make_secret(void **state)
{
    for (size_t i = 0; i < sizeof secret; i++)
        secret[i] = (unsigned char)(200 + 37 * i);
    return 0;
}

// True when the secret is found in a log with this text, before which stand `before` zero bytes.
static bool tells_after(off_t before, const char *text)
{
    char path[] = "/tmp/mailproof-tells.XXXXXX";
    struct secret_scan t = {0};
    struct err e = {0};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, text, strlen(text), before), strlen(text));
    close(fd);
    assert_true(secret_scan_read(&t, path, &e));
    unlink(path);
    bool told = secret_scan_secret(&t, secret);
    secret_scan_fini(&t);
    return told;
}

static bool tells(const char *text)
{
    return tells_after(0, text);
}

static const char *hex(bool capitals)
{
    static char text[2 * sizeof secret + 1];

    for (size_t i = 0; i < sizeof secret; i++)
        snprintf(text + 2 * i, 3, capitals ? "%02X" : "%02x", secret[i]);
    return text;
}

// Returns the base64 of `before` other bytes, the secret and 32 more bytes; url: in the alphabet of
// URLs, without padding.
static const char *base64(size_t before, bool url)
{
    static char text[200];
    unsigned char bytes[96] = {0};

    memcpy(bytes + before, secret, sizeof secret);
    EVP_EncodeBlock((unsigned char *)text, bytes, (int)(before + sizeof secret + 32));
    for (char *p = text; url && *p; p++)
        *p = *p == '+' ? '-' : *p == '/' ? '_' : *p == '=' ? '\0' : *p;
    return text;
}

static void finds_a_secret(void **state)
{
    char line[400];

    snprintf(line, sizeof line, "2024/04/20 [PG] token \\x%s sent\n", hex(false));
    assert_true(tells(line));
    assert_true(tells(hex(true)));
    for (size_t before = 0; before < 5; before++) {
        snprintf(line, sizeof line, "1,a@b,a,%s,00000\n", base64(before, true));
        assert_true(tells(line));
        assert_true(tells(base64(before, false)));
    }
}

static void finds_it_among_other_text(void **state)
{
    char *log = malloc(1 << 20);
    size_t len = 0;

    assert_non_null(log);
    while (len < (1 << 19))
        len += (size_t)sprintf(log + len,
            "%08zx a line of a log, /usr/lib/a-path/that_looks/like-base64/%zu\n", len, len);
    assert_false(tells(log));
    sprintf(log + len, "abcdef%s\n", hex(false));
    assert_true(tells(log));
    free(log);
}

static void finds_it_across_the_end_of_the_first_part(void **state)
{
    assert_true(tells_after((off_t)SECRET_SCAN_BYTES_MAX - 20, hex(false)));
}

static void a_part_is_no_secret(void **state)
{
    char line[100];

    assert_false(tells(""));
    snprintf(line, sizeof line, "%.60s\n", hex(false));
    assert_false(tells(line));
    snprintf(line, sizeof line, "%.32s\n%s\n", hex(false), hex(false) + 32);
    assert_false(tells(line));
    snprintf(line, sizeof line, "%.39s\n", base64(0, true));
    assert_false(tells(line));
}

// A folder can be opened like a file, but not read.
static void a_log_that_cannot_be_read_is_not_empty(void **state)
{
    struct secret_scan t = {0};
    struct err e = {0};

    assert_false(secret_scan_read(&t, "/tmp", &e));
    assert_int_equal(e.kind, ERR_SYSTEM);
    assert_int_equal(e.sys_errno, EISDIR);
    secret_scan_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_secret),
        cmocka_unit_test(finds_it_among_other_text),
        cmocka_unit_test(finds_it_across_the_end_of_the_first_part),
        cmocka_unit_test(a_part_is_no_secret),
        cmocka_unit_test(a_log_that_cannot_be_read_is_not_empty),
    };

    return cmocka_run_group_tests(tests, make_secret, NULL);
}
