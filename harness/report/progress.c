#include "report/progress.h"

#include <math.h>

#include "report/suite.h"
#include "report/terminal.h"

static const int64_t plain_every_ns = 5 * NS_PER_S;

// Updates the rate at most once a second, so that a person can read it.
static void update_rate(struct progress *p)
{
    const int64_t since_ns = p->at_ns - p->rated_ns;

    if (since_ns < NS_PER_S)
        return;
    p->rate = (double)(p->delivered - p->rated) * 1e9 / (double)since_ns;
    p->rated = p->delivered;
    p->rated_ns = p->at_ns;
}

// The parts of the line, in their order.
enum { NAME, BAR, TIME, COMMITTED, DELIVERED, LATENCY, FAULTS, PARTS };

struct progress_parts {
    char text[PARTS][120];
};

static void make_parts(struct progress_parts *parts, const struct progress *p)
{
    const size_t size = sizeof parts->text[0];
    // Without a planned time the bar is full.
    double share = p->whole_ns > 0 ? (double)p->at_ns / (double)p->whole_ns : 1;

    *parts = (struct progress_parts){0};
    snprintf(parts->text[NAME], size, "%s", p->scenario);
    terminal_bar(parts->text[BAR], size, share, 20);
    snprintf(parts->text[TIME], size, " %5.1f s %-5s", p->at_ns > 0 ? (double)p->at_ns / 1e9 : 0.0,
        p->what);
    snprintf(parts->text[COMMITTED], size, " committed %llu/%llu", (unsigned long long)p->committed,
        (unsigned long long)p->planned);
    snprintf(parts->text[DELIVERED], size, "  delivered %llu, %.0f/s",
        (unsigned long long)p->delivered, p->rate);
    if (isfinite(p->latency_ms))
        snprintf(parts->text[LATENCY], size, ", %.1f ms", p->latency_ms);
    if (p->faults_planned)
        snprintf(parts->text[FAULTS], size, "  faults %zu/%zu", p->faults, p->faults_planned);
}

// Appends the parts that fit into `room` columns. If not all do, the bar is left out, because the
// other parts tell more. No part is cut: a number that is cut off would read as another number.
static void append_parts(const struct progress_parts *parts, size_t room, struct buf *out)
{
    size_t whole = 0, used = 0;

    for (int i = 0; i < PARTS; i++)
        whole += strlen(parts->text[i]);
    for (int i = 0; i < PARTS; i++) {
        if (i == BAR && whole > room)
            continue;
        used += strlen(parts->text[i]);
        if (used > room)
            return;
        buf_append_str(out, parts->text[i]);
    }
}

void progress_show(struct progress *p)
{
    bool terminal = terminal_is(STDERR_FILENO);
    struct progress_parts parts;
    struct buf text FREED_BY(buf_fini) = BUF_INIT(1 << 12);
    size_t columns, lines;

    update_rate(p);
    if (p->suite && p->suite->live) {
        suite_show(p->suite, p);
        return;
    }
    // On a terminal the line is rewritten: \r goes to its start, ESC [K clears what is left of it.
    // A log would fill up, so it gets a line only every five seconds.
    if (!terminal && p->at_ns - p->shown_ns < plain_every_ns)
        return;
    p->shown_ns = p->at_ns;
    make_parts(&parts, p);
    terminal_size(STDERR_FILENO, &columns, &lines);
    // In a line that the window has wrapped, the cursor would move back only within its last row.
    append_parts(&parts, terminal ? columns - 1 : SIZE_MAX, &text);
    fprintf(stderr, terminal ? "\r%s\x1b[K" : "%s\n", buf_str(&text) ? text.data : "");
    fflush(stderr);
}

void progress_end(const struct progress *p)
{
    if (p->suite && p->suite->live)
        suite_hide(p->suite);
    else if (terminal_is(STDERR_FILENO))
        fputs("\r\x1b[K", stderr);
}
