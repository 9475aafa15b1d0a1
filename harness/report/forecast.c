#include "report/forecast.h"

#include <math.h>
#include <sys/statvfs.h>

#include "report/suite.h"

// Bytes of a result (KEPT) and of a server's data while it runs (SERVER): a fixed part, and one for
// each token of the run. They were measured with the scenario `steady` at 200 and 2000 tokens a
// second. report.html is most of a small result.
#define KEPT_RUN (400 << 10)
#define KEPT_TOKEN 16
#define KEPT_TRIAL 3000 // a trial's rows, and what collector and server log in it
#define SERVER (INT64_C(64) << 20)
#define SERVER_TOKEN 1500

#define TEXT_MAX 40

int forecast_servers(const struct scenario *s)
{
    if (strcmp(s->postgres.provider, "local") != 0)
        return 0;
    // A standby is a server, too, with a copy of the data.
    return s->postgres.standby == STANDBY_NONE ? 1 : 2;
}

void forecast_add(struct forecast *f, size_t runs, int64_t load_ns, uint64_t tokens, int servers)
{
    int64_t count = (int64_t)tokens, disk = servers * (SERVER + count * SERVER_TOKEN);

    f->runs += runs;
    f->ns += (int64_t)runs * (load_ns + SUITE_OVERHEAD_NS);
    f->kept += (int64_t)runs * (KEPT_RUN + count * KEPT_TOKEN);
    if (runs > 0 && disk > f->disk)
        f->disk = disk;
}

void forecast_add_trials(
    struct forecast *f, size_t trials, int64_t each_ns, size_t beside, int servers)
{
    f->runs += trials;
    f->ns += (int64_t)((trials + beside - 1) / beside) * each_ns;
    f->kept += KEPT_RUN + (int64_t)trials * KEPT_TRIAL;
    f->disk = servers * SERVER;
    f->together = true;
}

static const char *time_text(int64_t ns, char text[TEXT_MAX])
{
    double s = (double)ns / NS_PER_S;

    if (s < 100)
        snprintf(text, TEXT_MAX, "about %.0f s", ceil(s));
    else if (s < 5940) // 99 min
        snprintf(text, TEXT_MAX, "about %.0f min", s / 60);
    else
        snprintf(text, TEXT_MAX, "about %.1f h", s / 3600);
    return text;
}

static const char *size_text(int64_t bytes, char text[TEXT_MAX])
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    double n = (double)bytes / 1e3;
    size_t unit = 0;

    // A number is shown with at most three digits, so 999.5 would be rounded to 1000.
    for (; n >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        n /= 1e3;
    snprintf(text, TEXT_MAX, n < 9.95 ? "%.1f %s" : "%.0f %s", n, units[unit]);
    return text;
}

void forecast_tell(const struct forecast *f, const char *one, const char *many)
{
    const char *place = getenv("MAILPROOF_TMPDIR");
    char text[TEXT_MAX];
    struct statvfs disk;

    place = place && *place ? place : "/var/tmp";
    fprintf(stderr, "%zu %s: %s", f->runs, NOUN(f->runs, one, many), time_text(f->ns, text));
    if (f->kept > 0)
        fprintf(stderr, ", %s of results", size_text(f->kept, text));
    if (f->disk > 0)
        fprintf(stderr, "\n%s up to %s in %s",
            f->together ? "all need" : NOUN(f->runs, "it needs", "each needs"),
            size_text(f->disk, text), place);
    if (f->disk > 0 && statvfs(place, &disk) == 0) {
        double bytes = (double)disk.f_bavail * (double)disk.f_frsize;
        fprintf(stderr, " (%s free)", size_text((int64_t)bytes, text));
        // Too little space is only a warning: the estimate is rough, and runs remove their servers
        // as they go.
        if (bytes < (double)f->disk)
            fputs(": too little, MAILPROOF_TMPDIR names another place", stderr);
    }
    fputc('\n', stderr);
}
