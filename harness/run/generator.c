#include "run/run.h"

static const int64_t backlog_limit_ns = 60 * NS_PER_S; // time allowed to commit the backlog; 1 ms
                                                       // for each transaction is added

// Checks that the whole backlog was committed. With a part of it, the run would not be the one that
// the scenario describes.
static bool all_committed(const struct load_result *load, size_t txns, struct err *e)
{
    for (size_t i = 0; i < txns; i++) {
        if (load->records[i].outcome != TXN_COMMITTED)
            return err_set(e, ERR_SYSTEM, "the backlog was not committed: %s",
                load->refused ? load->refusal : "the server was too slow, or went away");
    }
    return true;
}

bool generator_backlog(struct generator *g, const struct scenario *s, const struct plan *plan,
    const char *enqueue, struct err *e)
{
    const size_t txns = plan_backlog_txns(plan);
    const int64_t now_ns = clock_now_ns();
    const struct load_config config = {
        .conninfo = g->conninfo.data,
        .plan = plan,
        .scenario = s,
        .enqueue = enqueue,
        .start_ns = now_ns,
        .deadline_ns = now_ns + backlog_limit_ns + (int64_t)txns * NS_PER_MS,
        .end = txns,
    };

    return txns == 0 ||
           (load_run(&config, &g->progress, &g->result, e) && all_committed(&g->result, txns, e));
}

bool generator_open_workers(struct generator *g, const char *list, const struct scenario *s,
    const struct plan *plan, struct err *e)
{
    const char *commands[REMOTE_MAX];
    unsigned count = 0;
    bool ok = true;

    if (!list)
        return true;
    char *text = memory_copy(list), *rest = text;
    // strsep returns an empty command, which is refused; strtok would skip it silently.
    for (char *one; ok && (one = strsep(&rest, ",")) != NULL;) {
        ok = (*one && count < REMOTE_MAX) ||
             err_set(e, ERR_USAGE,
                 "--workers takes up to %d commands with commas between, such as 'ssh HOST "
                 "mailproof load -'",
                 REMOTE_MAX);
        if (ok)
            commands[count++] = one;
    }
    g->workers = ok ? remote_open(commands, count, s, plan, e) : NULL;
    free(text);
    return g->workers;
}

static void *run_generator_load(void *arg)
{
    struct generator *g = arg;

    // Both functions fill in g->result in the same way, so no later step needs to know which was
    // called.
    g->ok = g->workers ? remote_run(g->workers, &g->config, &g->progress, &g->result, &g->err)
                       : load_run(&g->config, &g->progress, &g->result, &g->err);
    atomic_store(&g->done, true);
    return NULL;
}

bool generator_start(struct generator *g, const struct load_config *config, struct err *e)
{
    g->config = *config;
    g->started = pthread_create(&g->thread, NULL, run_generator_load, g) == 0;
    return g->started || err_set(e, ERR_SYSTEM, "cannot start a thread");
}

bool generator_join(struct generator *g, struct err *e)
{
    pthread_join(g->thread, NULL);
    g->started = false;
    if (!g->ok)
        *e = g->err;
    return g->ok;
}

void generator_stop(struct generator *g)
{
    atomic_store(&g->progress.stop, 1);
    if (g->started)
        pthread_join(g->thread, NULL);
    g->started = false;
}

void generator_fini(struct generator *g)
{
    remote_free(g->workers);
    load_result_fini(&g->result);
    buf_fini(&g->conninfo);
}
