#include "measure/hlog.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "measure/payload.h"

// The C reader keeps a header line in 128 bytes, newline and NUL included.
#define HEADER_LINE_MAX 126

static bool fail_full(struct err *e)
{
    return err_set(e, ERR_SYSTEM, "no room left for the histogram log");
}

static void comment_line(struct buf *out, const char *comment)
{
    size_t room = HEADER_LINE_MAX - strlen("#[]");

    buf_append_str(out, "#[");
    for (size_t i = 0; i < room && comment[i] != '\0'; i++)
        buf_append_char(out, iscntrl((unsigned char)comment[i]) ? '?' : comment[i]);
    buf_append_str(out, "]\n");
}

bool hlog_write_header(struct buf *out, const char *comment, int64_t start_wall_ns, struct err *e)
{
    time_t seconds = (time_t)(start_wall_ns / NS_PER_S);
    struct tm utc = {0};
    char date[40];

    gmtime_r(&seconds, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    comment_line(out, comment);
    buf_append_str(out, "#[Histogram log format version 1.3]\n");
    buf_printf(
        out, "#[StartTime: %.3f (seconds since epoch), %s]\n", (double)start_wall_ns / 1e9, date);
    buf_append_str(out, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
                        "\"Interval_Compressed_Histogram\"\n");
    return !out->failed || fail_full(e);
}

static bool check_tag(const char *tag, struct err *e)
{
    bool good = *tag != '\0';

    for (const char *c = tag; *c != '\0'; c++)
        good = good && *c != ',' && isgraph((unsigned char)*c);
    if (!good)
        return err_set(e, ERR_USAGE, "\"%s\" cannot be a histogram log's tag", tag);
    return true;
}

bool hlog_write_interval(struct buf *out, const struct hlog_interval *interval, struct err *e)
{
    size_t before = out->len;

    if (interval->tag && !check_tag(interval->tag, e))
        return false;
    if (interval->tag)
        buf_printf(out, "Tag=%s,", interval->tag);
    buf_printf(out, "%.3f,%.3f,%.3f,", (double)interval->from_ns / 1e9,
        (double)interval->length_ns / 1e9, (double)interval->histogram->max / 1e6);
    bool done = payload_encode(out, interval->histogram, e);
    buf_append_char(out, '\n');
    if (done && out->failed)
        done = fail_full(e);
    if (!done)
        // A half line would make the file unreadable.
        out->len = before;
    return done;
}
