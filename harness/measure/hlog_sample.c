// Writes a histogram log to the file in argv[1], and the distribution of all its untagged intervals
// together to argv[2], so that a test can check whether HdrHistogram's own reader finds this
// distribution in the log.
#include "measure/hlog.h"

#define INTERVALS 20

static void fail_sample(const char *text)
{
    fprintf(stderr, "hlog_sample: %s\n", text);
    exit(1);
}

// Returns latencies like real ones: mostly a few milliseconds, now and then a minute.
static int64_t latency_ns(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t r = *state >> 33;

    return (int64_t)(r % 1000 == 0 ? r * 30 : r % 7 == 0 ? r / 50 : r / 1000);
}

// Appends the interval of a second to the log, once without and once with a tag, and adds its
// values to `all`.
static void add_interval(struct buf *log, struct histogram *all, int second, uint64_t *random)
{
    struct histogram h FREED_BY(histogram_fini) = {0};
    struct err e;

    histogram_init(&h, 0);
    for (int i = 0; i < second * 500; i++) // the first interval is empty
        histogram_record(&h, latency_ns(random));
    histogram_merge(all, &h);
    const struct hlog_interval plain = {NULL, second * NS_PER_S, NS_PER_S, &h};
    const struct hlog_interval tagged = {"e2e", second * NS_PER_S, NS_PER_S, &h};
    if (!hlog_write_interval(log, &plain, &e) || !hlog_write_interval(log, &tagged, &e))
        fail_sample(e.text);
}

static void save_sample(const struct buf *content, const char *path)
{
    FILE *f = fopen(path, "w");

    if (!f || fwrite(content->data, 1, content->len, f) != content->len || fclose(f) != 0)
        fail_sample(path);
}

int main(int argc, char **argv)
{
    uint64_t random = 42;
    struct histogram all FREED_BY(histogram_fini) = {0};
    struct buf log FREED_BY(buf_fini) = BUF_INIT(16 << 20);
    struct buf distribution FREED_BY(buf_fini) = BUF_INIT(1 << 20);
    struct err e;

    if (argc != 3)
        fail_sample("usage: hlog_sample LOG DISTRIBUTION");
    histogram_init(&all, 0);
    if (!hlog_write_header(&log, "hlog_sample", INT64_C(1770000000) * NS_PER_S, &e))
        fail_sample(e.text);
    for (int second = 0; second < INTERVALS; second++)
        add_interval(&log, &all, second, &random);
    if (!hgrm_write(&distribution, &all, 1e6))
        fail_sample("the distribution is too long");
    save_sample(&log, argv[1]);
    save_sample(&distribution, argv[2]);
    return 0;
}
