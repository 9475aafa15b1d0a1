// A worker: carries out its part of the plan that a run gives it, on its own clock.
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load/parcel.h"
#include "load/post.h"
#include "load/remote.h"
#include "load/ssh.h"
#include "os/interrupt.h"
#include "os/paths.h"

#define SCENARIO_MAX (16u << 20)
#define CONNINFO_MAX 8192

static const useconds_t word_every_us = 100000;
static const int accept_every_ms = 200; // longest time until it notices a signal, and the pause
                                        // after an accept that failed

struct job {
    struct post post;
    struct scenario scenario;
    struct plan plan;
    struct remote_part part;
    char conninfo[CONNINFO_MAX];
    struct load_config config;
    struct load_progress progress;
    struct load_result result;
    struct err err;
    bool ok;
    atomic_bool over;
};

// --- what is to be done -----------------------------------------------------------------

static bool write_text(const char *path, const char *text, size_t len, struct err *e)
{
    FILE *file = fopen(path, "we");
    bool ok = file && fwrite(text, 1, len, file) == len;

    if (file)
        ok = fclose(file) == 0 && ok;
    return ok || err_sys(e, ERR_SYSTEM, "cannot write %s", path);
}

// Writes the text to a file and loads that, because a scenario is read from a file.
static bool load_text(struct scenario *s, const char *text, size_t len, struct err *e)
{
    char dir[] = "/tmp/mailproof-load.XXXXXX", path[PATH_MAX];
    const struct overrides none = {0};

    if (!mkdtemp(dir))
        return err_sys(e, ERR_SYSTEM, "cannot make a folder for the scenario");
    snprintf(path, sizeof path, "%s/scenario.yaml", dir);
    bool ok = write_text(path, text, len, e) && scenario_load(s, path, &none, e);
    unlink(path);
    rmdir(dir);
    return ok;
}

static bool read_scenario(struct job *j, size_t len, struct err *e)
{
    char *text = len <= SCENARIO_MAX ? malloc(len + 1) : NULL;

    if (!text)
        return err_set(e, ERR_CONNECTION, "the scenario is too long");
    bool ok = post_read(&j->post, text, len, e) && load_text(&j->scenario, text, len, e);
    free(text);
    return ok;
}

static bool is_expected(const struct job *j, uint64_t print, const struct plan *plan,
    const struct remote_part *only, struct err *e)
{
    if (remote_fingerprint(&j->plan) != print)
        return err_set(e, ERR_USAGE, "this mailproof makes another plan of that scenario");
    if (plan && remote_fingerprint(plan) != print)
        return err_set(e, ERR_USAGE, "it was started for another plan");
    if (only && (only->part != j->part.part || only->of != j->part.of))
        return err_set(e, ERR_USAGE, "it was started for part %u/%u, not %u/%u", only->part + 1,
            only->of, j->part.part + 1, j->part.of);
    return true;
}

static bool take_plan(
    struct job *j, const struct plan *plan, const struct remote_part *only, struct err *e)
{
    char line[POST_LINE_MAX];
    uint64_t print;
    size_t len;

    if (!post_say(&j->post, e, PARCEL_GREETING) || !post_line(&j->post, line, e))
        return false;
    if (sscanf(line, "plan %u/%u %" SCNx64 " %zu", &j->part.part, &j->part.of, &print, &len) != 4 ||
        j->part.part >= j->part.of)
        return err_set(e, ERR_CONNECTION, "the run sent '%.60s' instead of its plan", line);
    return read_scenario(j, len, e) && plan_make(&j->plan, &j->scenario, e) &&
           is_expected(j, print, plan, only, e);
}

// Answers "time" lines with the present time, and skips "heard" lines, until another line comes.
// That line is left in `line`. It may take long to come, because the run is being prepared.
static bool tell_time(struct job *j, char line[POST_LINE_MAX], struct err *e)
{
    for (;;) {
        while (!interrupt_signal() && !post_waits(&j->post, 100)) {
        }
        if (!post_line(&j->post, line, e))
            return false;
        if (strcmp(line, "time") == 0) {
            if (!post_say(&j->post, e, "now %" PRId64, clock_now_ns()))
                return false;
        } else if (strcmp(line, "heard") != 0) {
            return true;
        }
    }
}

static bool take_start(struct job *j, struct err *e)
{
    char line[POST_LINE_MAX];
    size_t len;

    if (!post_say(&j->post, e, "ready") || !tell_time(j, line, e))
        return false;
    struct load_config *c = &j->config;
    if (sscanf(line, "run %" SCNd64 " %" SCNd64 " %zu %zu %zu", &c->start_ns, &c->deadline_ns,
            &c->first, &c->end, &len) != 5 ||
        c->first > c->end || c->end > j->plan.txn_count || len >= CONNINFO_MAX)
        return err_set(e, ERR_CONNECTION, "the run sent '%.60s' instead of its start", line);
    c->plan = &j->plan;
    c->scenario = &j->scenario;
    c->conninfo = j->conninfo;
    c->part = j->part.part;
    c->parts = j->part.of;
    return post_read(&j->post, j->conninfo, len, e);
}

// --- doing it -----------------------------------------------------------------------------

static void *run_load(void *arg)
{
    struct job *j = arg;

    j->ok = load_run(&j->config, &j->progress, &j->result, &j->err);
    atomic_store(&j->over, true);
    return NULL;
}

static bool say_progress(struct job *j, struct err *e)
{
    const struct load_progress *p = &j->progress;

    return post_say(&j->post, e, "so-far %zu %zu %zu %zu", atomic_load(&p->sent),
        atomic_load(&p->committed), atomic_load(&p->failed), atomic_load(&p->tokens));
}

// Reads the run's answers. Fails when none came for 5 s, because machines in between may keep a
// connection open although the run is gone.
static bool hears(struct job *j, int64_t *heard_ns, struct err *e)
{
    char line[POST_LINE_MAX];

    while (post_waits(&j->post, 0)) {
        if (!post_line(&j->post, line, e))
            return false;
        *heard_ns = clock_now_ns();
    }
    return clock_now_ns() - *heard_ns < POST_UNHEARD_NS ||
           err_set(e, ERR_CONNECTION, "nothing was heard from the run for 5 s");
}

// Tells the run how far the load is, and stops the load when the run is gone.
static bool keep_telling(struct job *j, struct err *e)
{
    int64_t heard_ns = clock_now_ns();

    while (!atomic_load(&j->over)) {
        if (interrupt_signal())
            return err_set(e, ERR_INTERRUPTED, "interrupted");
        if (!say_progress(j, e) || !hears(j, &heard_ns, e))
            return false;
        usleep(word_every_us);
    }
    return true;
}

// Says that the load is over, and waits until its records are asked for.
static bool await_send(struct job *j, struct err *e)
{
    char line[POST_LINE_MAX];

    return post_say(&j->post, e, "over") && tell_time(j, line, e) &&
           (strcmp(line, "send") == 0 ||
               err_set(e, ERR_CONNECTION, "the run sent '%.60s' instead of 'send'", line));
}

static bool carry_out(struct job *j, struct err *e)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run_load, j) != 0)
        return err_set(e, ERR_SYSTEM, "cannot start a thread");
    bool heard = keep_telling(j, e);
    if (!heard)
        atomic_store(&j->progress.stop, 1);
    pthread_join(thread, NULL);
    if (heard && !j->ok)
        *e = j->err;
    return heard && j->ok && await_send(j, e) &&
           parcel_send(&j->post, &j->config, &j->part, &j->result, e);
}

static void serve(int fd, const struct plan *plan, const struct remote_part *only)
{
    struct job *j = calloc(1, sizeof *j);
    struct err e = {0}, ignored;

    if (!j) {
        close(fd);
        return;
    }
    post_init(&j->post, fd);
    bool ok = take_plan(j, plan, only, &e);
    // The run shows this reason in its own error.
    if (!ok && !post_say(&j->post, &ignored, "%.300s", e.text))
        post_close(&j->post);
    ok = ok && take_start(j, &e) && carry_out(j, &e);
    if (ok)
        printf("part %u/%u of %s is done\n", j->part.part + 1, j->part.of, j->scenario.name);
    else
        printf("part %u/%u: %s\n", j->part.part + 1, j->part.of, e.text);
    fflush(stdout);
    post_close(&j->post);
    load_result_fini(&j->result);
    plan_fini(&j->plan);
    scenario_fini(&j->scenario);
    free(j);
}

static bool serve_streams(const struct plan *plan, const struct remote_part *only, struct err *e)
{
    struct ssh_bridge bridge;
    int fd = ssh_accept(&bridge, e);

    if (fd < 0)
        return false;
    serve(fd, plan, only);
    ssh_finish(&bridge);
    return true;
}

bool remote_serve(
    const char *address, const struct plan *plan, const struct remote_part *only, struct err *e)
{
    if (strcmp(address, "-") == 0)
        return serve_streams(plan, only, e);

    int port, fd = post_listen(address, &port, e);

    if (fd < 0)
        return err_prefix(e, "--listen");
    printf("listening on port %d\n", port);
    fflush(stdout);
    while (!interrupt_signal()) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, accept_every_ms) <= 0)
            continue;
        int run = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (run >= 0)
            serve(run, plan, only);
        else // The run waits in the kernel's queue, and poll would report it again at once.
            interrupt_sleep_until(clock_now_ns() + accept_every_ms * NS_PER_MS);
    }
    close(fd);
    return err_set(e, ERR_INTERRUPTED, "interrupted");
}
