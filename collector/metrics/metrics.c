#include "metrics/metrics.h"

#include <fcntl.h>

#include "base/log.h"
#include "base/program.h"

#define FILE_EVERY_NS (15 * NS_PER_S)
#define TEXT_MAX ((size_t)256 << 10)

static double wall_s(void)
{
    return (double)clock_wall_ns() / 1e9;
}

// Writes all figures to m->text. False: they do not fit there, or there is no memory.
static bool render_metrics(struct metrics *m)
{
    buf_clear(&m->text);
    return meters_render(&m->meters, m->config->queue_name, m->config->policy, &m->text);
}

// --- the file ---------------------------------------------------------------------------

// True for a path with the ending of files that the node exporter reads. Any other path is a
// socket.
static bool is_file(const char *address)
{
    static const char ending[] = ".prom";
    size_t len = strlen(address);

    return *address == '/' && len >= sizeof ending &&
           strcmp(address + len - sizeof ending + 1, ending) == 0;
}

// Writes a new file and renames it, so that readers see the old text or the new one, never half of
// it.
static bool write_metrics_file(struct metrics *m, struct err *e)
{
    const char *path = m->config->metrics;
    char fresh[PATH_MAX];

    snprintf(fresh, sizeof fresh, "%s.new", path);
    if (!render_metrics(m))
        return err_memory(e);
    // O_NOFOLLOW: in a folder that others may write to, a link could lead to any file of ours.
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return err_sys(e, ERR_USAGE, "'%s' cannot be written", fresh);
    bool ok = program_write(fd, m->text.data, m->text.len);
    ok = close(fd) == 0 && ok && rename(fresh, path) == 0;
    if (!ok) {
        err_sys(e, ERR_USAGE, "'%s' cannot be written", path);
        unlink(fresh);
    }
    return ok;
}

// Replaces the file. Logs a failure once, until a write succeeds again.
static void refresh_file(struct metrics *m, int64_t now_ns)
{
    struct err e;
    bool ok = write_metrics_file(m, &e);

    if (!ok && !m->complained)
        log_line("METRICS", "%s", e.text);
    m->complained = !ok;
    m->file_at_ns = now_ns + FILE_EVERY_NS;
}

// --- the loop's side --------------------------------------------------------------------

// Opens the file or the socket that the setting names, if it is set.
static bool begin_metrics(struct metrics *m, struct err *e)
{
    const char *address = m->config->metrics;
    char place[SCRAPE_PLACE_MAX];

    if (!address)
        return true;
    if (is_file(address)) {
        // The file is written at once, so that a path that cannot be written to is refused at the
        // start.
        if (!write_metrics_file(m, e))
            return false;
        m->kind = METRICS_FILE;
        log_line("METRICS", "written to %s", address);
        return true;
    }
    if (!scrape_open(&m->scrape, address, e))
        return false;
    m->kind = METRICS_SERVED;
    log_line("METRICS", "served at %s", scrape_place(&m->scrape, place));
    return true;
}

bool metrics_open(struct metrics *m, const struct config *config, struct err *e)
{
    *m = (struct metrics){.config = config, .scrape = SCRAPE_INIT};
    meters_init(&m->meters);
    m->meters.of[METER_STARTED] = wall_s();
    // Unlike the other gauges, these two are known from the start.
    m->meters.of[METER_CONNECTED] = m->meters.of[METER_COLLECTING] = 0;
    look_init(&m->look);
    buf_init(&m->text, TEXT_MAX);
    if (begin_metrics(m, e))
        return true;
    buf_fini(&m->text);
    return err_prefix(e, "MAILROOM_METRICS");
}

void metrics_close(struct metrics *m)
{
    if (m->kind == METRICS_OFF)
        return;
    if (m->kind == METRICS_FILE)
        unlink(m->config->metrics); // an old file must not pass for the present state
    scrape_close(&m->scrape);
    look_close(&m->look);
    buf_fini(&m->text);
    m->kind = METRICS_OFF;
}

bool metrics_keeps_files(const struct metrics *m)
{
    return m->kind == METRICS_FILE || (m->kind == METRICS_SERVED && m->scrape.path[0]);
}

int64_t metrics_serve(struct metrics *m, bool up, int64_t now_ns)
{
    bool file = m->kind == METRICS_FILE;

    if (m->kind == METRICS_OFF)
        return CLOCK_NEVER;
    m->meters.of[METER_CONNECTED] = up;
    if (file && m->file_at_ns == 0)
        m->file_at_ns = now_ns + NS_PER_S; // by then the look's session is likely to be connected
    bool wanted = file ? now_ns >= m->file_at_ns : scrape_serve(&m->scrape, now_ns);
    bool coming = look_step(&m->look, m->config, up, wanted, now_ns, &m->meters);
    // While figures from the database are coming, the text waits for them.
    if (wanted && !coming && file) {
        refresh_file(m, now_ns);
    } else if (wanted && !coming) {
        const char *text = render_metrics(m) ? m->text.data : NULL;
        scrape_answer(&m->scrape, text, m->text.len);
    }
    int64_t at_ns = look_wake_ns(&m->look, now_ns);
    if (!file)
        return clock_min(at_ns, scrape_deadline_ns(&m->scrape));
    // A file that waits for figures is overdue: with its time the loop would not sleep.
    return coming ? at_ns : clock_min(at_ns, m->file_at_ns);
}

void metrics_poll(const struct metrics *m, struct pollfd fds[METRICS_FDS])
{
    const struct session *s = &m->look.session;

    for (int i = 0; i < METRICS_FDS; i++)
        fds[i].fd = -1;
    if (m->kind == METRICS_OFF)
        return;
    scrape_poll(&m->scrape, fds);
    fds[SCRAPE_FDS] = (struct pollfd){.fd = session_fd(s), .events = session_events(s)};
}

void metrics_line(struct metrics *m, enum meter_id reason, int tokens)
{
    meters_add(&m->meters, reason, 1);
    meters_add(&m->meters, METER_TOKENS_WRITTEN, tokens);
    m->meters.of[METER_LAST_LINE] = wall_s();
}

void metrics_waited(struct metrics *m, int64_t since_ns, int64_t now_ns)
{
    if (since_ns != CLOCK_NEVER)
        meters_waited(&m->meters, (double)clock_max(0, now_ns - since_ns) / 1e9);
}
