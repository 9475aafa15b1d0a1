// The worker's side: makes the run's plan, carries out its part of it, and sends back the result.
// All its times are by the clock of its machine.
#include <pthread.h>

#include <libpq-fe.h>

#include "load/worker_result.h"
#include "load/channel.h"
#include "load/remote.h"
#include "os/interrupt.h"
#include "os/paths.h"
#include "os/workdir.h"

#define CONNINFO_MAX 8192

static const useconds_t report_every_us = 100000;

// One run's load, as far as this worker carries it out.
struct job {
    struct channel channel;
    struct scenario scenario;
    struct plan plan;
    char conninfo[CONNINFO_MAX];
    char dir[40]; // folder of the files from which the plan is made, while it is made
    struct load_config config;
    struct load_progress progress;
    struct load_result result;
    struct err err;
    bool ok;          // true: the load went well; set before `over`, as `err` is
    atomic_bool over; // the load has ended
};

// --- the plan from the run ---------------------------------------------------------------

// True for a name that does not lead out of the worker's own folder.
static bool is_plain_name(const char *name)
{
    return *name && *name != '.' && strlen(name) < NAME_MAX && !strchr(name, '/');
}

// Copies the next `len` bytes that the run sends to a file.
static bool copy_sent_file(struct channel *p, FILE *file, size_t len, struct err *e)
{
    char bytes[16384];

    while (len > 0) {
        size_t n = len < sizeof bytes ? len : sizeof bytes;
        if (!channel_read(p, bytes, n, e))
            return false;
        if (fwrite(bytes, 1, n, file) != n)
            return err_sys(e, ERR_SYSTEM, "cannot write the plan");
        len -= n;
    }
    return true;
}

// Stores the file that a line of the run ("file LENGTH NAME") announces in j->dir.
static bool store_file(struct job *j, const char *line, struct err *e)
{
    char path[PATH_MAX];
    size_t len = 0;
    int at = 0;

    if (sscanf(line, "file %zu %n", &len, &at) != 1 || !at || len > WORKER_FILE_MAX ||
        !is_plain_name(line + at))
        return err_set(e, ERR_CONNECTION, "the run sent '%.60s' instead of its plan", line);
    if (!path_join(path, j->dir, line + at, e))
        return false;
    // With "x" fopen refuses a second file of the same name.
    FILE *file = fopen(path, "wxe");
    if (!file)
        return err_sys(e, ERR_SYSTEM, "cannot write %s", path);
    bool ok = copy_sent_file(&j->channel, file, len, e);
    return (fclose(file) == 0 || err_sys(e, ERR_SYSTEM, "cannot write %s", path)) && ok;
}

// Makes the plan of the stored scenario. False when it has another fingerprint than the run's.
static bool make_plan(struct job *j, uint64_t fingerprint, struct err *e)
{
    // The scenario comes from another machine, so it may name no file but those in its folder.
    const struct overrides foreign = {.trust = TRUST_BESIDE};
    char path[PATH_MAX];

    if (!path_join(path, j->dir, WORKER_SCENARIO, e) ||
        !scenario_load(&j->scenario, path, &foreign, e) || !plan_make(&j->plan, &j->scenario, e))
        return false;
    return remote_fingerprint(&j->plan) == fingerprint ||
           err_set(e, ERR_USAGE, "this mailproof makes another plan of that scenario");
}

// Stores the files from which the plan is made in j->dir, and makes the plan.
static bool read_plan(struct job *j, struct err *e)
{
    char line[CHANNEL_LINE_MAX];
    uint64_t fingerprint;

    if (!channel_say(&j->channel, e, WORKER_GREETING))
        return false;
    for (;;) {
        if (!channel_line(&j->channel, line, e))
            return false;
        if (strncmp(line, "file ", 5) != 0)
            break;
        if (!store_file(j, line, e))
            return false;
    }
    struct load_part *part = &j->config.part;
    if (sscanf(line, "plan %u/%u %" SCNx64, &part->part, &part->of, &fingerprint) != 3 ||
        part->part >= part->of)
        return err_set(e, ERR_CONNECTION, "the run sent '%.60s' instead of its plan", line);
    return make_plan(j, fingerprint, e);
}

static bool read_plan_in_folder(struct job *j, struct err *e)
{
    snprintf(j->dir, sizeof j->dir, "/tmp/mailproof-load.XXXXXX");
    if (!mkdtemp(j->dir))
        return err_sys(e, ERR_SYSTEM, "cannot make a folder for the plan");
    bool ok = read_plan(j, e);
    workdir_remove_tree(j->dir);
    return ok;
}

// Answers the run's questions for the time ("time"), and skips its answers to reports ("heard"),
// until another line comes, which is left in `line`. That may take long, because the run prepares
// its server meanwhile.
static bool answer_time_questions(struct job *j, char line[CHANNEL_LINE_MAX], struct err *e)
{
    for (;;) {
        // After a signal the wait is limited: channel_line fails after CHANNEL_SILENCE_NS.
        while (!interrupt_signal() && !channel_has_input(&j->channel, 100)) {
        }
        if (!channel_line(&j->channel, line, e))
            return false;
        if (strcmp(line, "time") == 0) {
            if (!channel_say(&j->channel, e, "now %" PRId64, clock_now_ns()))
                return false;
        } else if (strcmp(line, "heard") != 0) {
            return true;
        }
    }
}

// Tells the run that the plan is made, and waits for its "run" line: the start and the deadline,
// the range of transactions, and the length of the conninfo, which follows.
static bool await_run_line(struct job *j, struct err *e)
{
    char line[CHANNEL_LINE_MAX];
    size_t len;

    if (!channel_say(&j->channel, e, "ready") || !answer_time_questions(j, line, e))
        return false;
    struct load_config *c = &j->config;
    // The run has moved both times to this worker's clock.
    if (sscanf(line, "run %" SCNd64 " %" SCNd64 " %zu %zu %zu", &c->start_ns, &c->deadline_ns,
            &c->first, &c->end, &len) != 5 ||
        c->first > c->end || c->end > j->plan.txn_count || len >= CONNINFO_MAX)
        return err_set(e, ERR_CONNECTION, "the run sent '%.60s' instead of its start", line);
    c->plan = &j->plan;
    c->scenario = &j->scenario;
    c->conninfo = j->conninfo;
    return channel_read(&j->channel, j->conninfo, len, e);
}

// --- the load -----------------------------------------------------------------------------

static void *run_job_load(void *arg)
{
    struct job *j = arg;

    j->ok = load_run(&j->config, &j->progress, &j->result, &j->err);
    atomic_store(&j->over, true);
    return NULL;
}

static bool send_progress(struct job *j, struct err *e)
{
    const struct load_progress *p = &j->progress;

    return channel_say(&j->channel, e, "so-far %zu %zu %zu %zu", atomic_load(&p->sent),
        atomic_load(&p->committed), atomic_load(&p->failed), atomic_load(&p->tokens));
}

// Reads the run's answers to the reports ("heard"). *heard_ns: when the last one was read. Fails
// when none came for CHANNEL_UNHEARD_NS, because machines in between may keep a connection open
// although the run is gone.
static bool read_run_answers(struct job *j, int64_t *heard_ns, struct err *e)
{
    char line[CHANNEL_LINE_MAX];

    while (channel_has_input(&j->channel, 0)) {
        if (!channel_line(&j->channel, line, e))
            return false;
        *heard_ns = clock_now_ns();
    }
    return clock_now_ns() - *heard_ns < CHANNEL_UNHEARD_NS ||
           err_set(e, ERR_CONNECTION, "nothing was heard from the run for 5 s");
}

// Reports the progress to the run every 0.1 s until the load is over. Fails when the run is gone,
// or on a signal.
static bool report_until_over(struct job *j, struct err *e)
{
    int64_t heard_ns = clock_now_ns();

    while (!atomic_load(&j->over)) {
        if (interrupt_signal())
            return err_set(e, ERR_INTERRUPTED, "interrupted");
        if (!send_progress(j, e) || !read_run_answers(j, &heard_ns, e))
            return false;
        usleep(report_every_us);
    }
    return true;
}

// Says that the load is over, and waits until the run asks for its records.
static bool await_send(struct job *j, struct err *e)
{
    char line[CHANNEL_LINE_MAX];

    return channel_say(&j->channel, e, "over") && answer_time_questions(j, line, e) &&
           (strcmp(line, "send") == 0 ||
               err_set(e, ERR_CONNECTION, "the run sent '%.60s' instead of 'send'", line));
}

// Carries out the load in a thread of its own, reports to the run meanwhile, and sends the result.
static bool carry_out_load(struct job *j, struct err *e)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run_job_load, j) != 0)
        return err_set(e, ERR_SYSTEM, "cannot start a thread");
    bool reported = report_until_over(j, e);
    if (!reported)
        atomic_store(&j->progress.stop, 1);
    pthread_join(thread, NULL);
    // After failed reports *e has the cause already; the load may have failed only because it was
    // stopped.
    if (reported && !j->ok)
        *e = j->err;
    return reported && j->ok && await_send(j, e) &&
           worker_result_send(&j->channel, &j->config, &j->result, e);
}

// Appends settings to the conninfo so that libpq uses no credentials of this machine: it would
// offer a password of ~/.pgpass, a client's certificate or a ticket of Kerberos to any server that
// a run names. Fails if the conninfo itself names such a file.
static bool forbid_credentials(char *conninfo, struct err *e)
{
    static const char *const refused[] = {"service", "passfile", "sslcert", "sslkey"};
    // There is never a file with this name, because /dev/null is no folder.
    static const char none[] = " passfile=/dev/null/none sslcert=/dev/null/none gssencmode=disable";
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    bool ok = options || err_set(e, ERR_USAGE, "the run's conninfo cannot be read");

    for (PQconninfoOption *o = options; ok && o->keyword; o++) {
        for (size_t i = 0; o->val && i < sizeof refused / sizeof *refused; i++) {
            if (strcmp(o->keyword, refused[i]) == 0)
                ok = err_set(e, ERR_USAGE,
                    "the conninfo has %s=, and a worker uses nothing that lies on its machine",
                    o->keyword);
        }
    }
    PQconninfoFree(options);
    if (!ok)
        return false;
    // Append the settings, because libpq takes the last one of equal keys.
    size_t len = strlen(conninfo);
    snprintf(conninfo + len, CONNINFO_MAX - len, "%s", none);
    setenv("KRB5CCNAME", "FILE:/dev/null/none", 1);
    return len + sizeof none <= CONNINFO_MAX ||
           err_set(e, ERR_USAGE, "the run's conninfo is too long");
}

static bool serve_job(struct job *j, struct err *e)
{
    struct err ignored;

    // The worker makes the plan itself, because a plan of millions of transactions is longer than
    // the files from which it is made. The fingerprint proves that worker and run have the same
    // plan.
    bool ok = read_plan_in_folder(j, e);
    // The run waits for "ready" and shows any other line as the reason.
    if (!ok && !channel_say(&j->channel, &ignored, "%.300s", e->text))
        channel_close(&j->channel); // nobody listens any more
    return ok && await_run_line(j, e) && forbid_credentials(j->conninfo, e) && carry_out_load(j, e);
}

bool remote_serve(struct err *e)
{
    struct job *j FREED_BY(memory_free) = memory_zeroed(1, sizeof *j);

    bool ok = channel_standard(&j->channel, e) && serve_job(j, e);
    channel_close(&j->channel);
    load_result_fini(&j->result);
    plan_fini(&j->plan);
    scenario_fini(&j->scenario);
    return ok;
}
