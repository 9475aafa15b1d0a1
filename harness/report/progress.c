#include "report/progress.h"

#include <math.h>

#include "report/suite.h"
#include "report/terminal.h"

static const int64_t plain_every_ns = 5 * NS_PER_S;

// Writes a bar such as "[#####....]" of the load's planned time. Without such a time it is full.
static void progress_bar(char *out, size_t size, const struct progress *p)
{
    enum { WIDTH = 20 };
    int64_t at = p->at_ns < 0 ? 0 : clock_min(p->at_ns, p->whole_ns);
    int done = p->whole_ns > 0 ? (int)(at * WIDTH / p->whole_ns) : WIDTH;

    snprintf(out, size, "[%.*s%.*s]", done, "####################", WIDTH - done,
        "....................");
}

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

void progress_show(struct progress *p)
{
    bool terminal = terminal_is(STDERR_FILENO);
    char bar[64];

    update_rate(p);
    if (p->suite && p->suite->live) {
        suite_show(p->suite, p);
        return;
    }
    // On a terminal the line is rewritten. A log would fill up, so it gets a line only every five
    // seconds.
    if (!terminal && p->at_ns - p->shown_ns < plain_every_ns)
        return;
    p->shown_ns = p->at_ns;
    progress_bar(bar, sizeof bar, p);
    fprintf(stderr, "%s%s %s %5.1f s %-5s committed %llu/%llu  delivered %llu, %.0f/s",
        terminal ? "\r" : "", p->scenario, bar, p->at_ns > 0 ? (double)p->at_ns / 1e9 : 0.0,
        p->what, (unsigned long long)p->committed, (unsigned long long)p->planned,
        (unsigned long long)p->delivered, p->rate);
    if (isfinite(p->latency_ms))
        fprintf(stderr, ", %.1f ms", p->latency_ms);
    if (p->faults_planned)
        fprintf(stderr, "  faults %zu/%zu", p->faults, p->faults_planned);
    fputs(terminal ? "\x1b[K" : "\n", stderr);
    fflush(stderr);
}

void progress_end(const struct progress *p)
{
    if (p->suite && p->suite->live)
        suite_hide(p->suite);
    else if (terminal_is(STDERR_FILENO))
        fputs("\r\x1b[K", stderr);
}
