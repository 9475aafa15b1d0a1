// A scraper may send anything. Only GET /metrics over HTTP/1.0 or 1.1 is served. A status that was
// given once stays, however many bytes follow.
#include "base/scrape.h"
#include "fuzz/fuzz.h"

static bool is_status(int status)
{
    return status == 200 || status == 400 || status == 404 || status == 405 || status == 505;
}

// Judges a copy of the data, so that a sanitizer sees a read beyond its end.
static int judge(const uint8_t *data, size_t len)
{
    char *exact = malloc(len ? len : 1);

    FUZZ_MUST(exact);
    memcpy(exact, data, len);
    int status = scrape_judge(exact, len);
    free(exact);
    return status;
}

static void check_served(const char *request, size_t len)
{
    size_t line = (size_t)((const char *)memchr(request, '\r', len) - request);

    fuzz_accept();
    FUZZ_MUST(line >= strlen("GET /metrics HTTP/1.1"));
    FUZZ_MUST(
        memcmp(request, "GET /metrics", 12) == 0 && (request[12] == ' ' || request[12] == '?'));
    FUZZ_MUST(memcmp(request + line - 9, " HTTP/1.", 8) == 0);
    FUZZ_MUST(request[line - 1] == '0' || request[line - 1] == '1');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t whole = size < SCRAPE_REQUEST_MAX ? size : SCRAPE_REQUEST_MAX;
    int given = 0;

    for (size_t len = 0; len <= whole; len++) {
        int status = judge(data, len);
        FUZZ_MUST(given == 0 || status == given);
        FUZZ_MUST(status == 0 || is_status(status));
        if (given == 0 && status == 200)
            check_served((const char *)data, len);
        given = status;
    }
    // A request of the largest length must have a status.
    FUZZ_MUST(whole < SCRAPE_REQUEST_MAX || given != 0);
    return 0;
}
