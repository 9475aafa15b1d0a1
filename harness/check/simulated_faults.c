// The processes and sessions of simulated collectors, and the faults that hit them.
#include "check/simulated.h"

enum {
    PROCESSES_MAX = 8,
    RESTART_MS = 100, // until a killed process is started again
    INSTANT_MS = 1,   // how long a fault lasts that is over at once
};

// Frees the tokens of the instance's batch at free_ms; their wait begins anew then.
static void simulate_give_back(struct sim *m, struct sim_instance *k, int64_t free_ms)
{
    for (int i = 0; i < k->count; i++)
        m->free_ms[k->batch[i]] = m->since_ms[k->batch[i]] = free_ms;
    for (int i = 0; i < k->count; i++)
        m->first = k->batch[i] < m->first ? k->batch[i] : m->first;
    k->count = 0;
    k->written = false;
}

void sim_connect_at(struct sim *m, struct sim_instance *k, int64_t ms)
{
    k->session_ms = ms > m->cut_ms ? ms : m->cut_ms + ms - m->now_ms;
    k->connected = false;
    // The first session, which opens before the load, follows no loss.
    if (m->defect == SIM_RESTS && m->now_ms > 0) {
        k->rests_ms = ms + 2000;
        // A rest that begins near the end of the load may keep no token waiting.
        m->occasions += ms < SIM_LOAD_MS - 1000;
    }
}

void sim_start_process(struct sim *m, int instance, int64_t at_ms)
{
    struct process_record *p = &m->h.processes[m->h.log.process_count];

    // sim_history_init has made the first process.
    if (m->h.log.process_count > 0) {
        *p = m->h.processes[0];
        p->ended_ns = sim_at_ns(m, SIM_EXIT_MS);
        p->status = 0;
        p->pid = 100 + (int)m->h.log.process_count;
        p->lines = 0;
        p->instance = instance;
        p->started_ns = sim_at_ns(m, at_ms);
    }
    m->all[instance] = (struct sim_instance){
        .process = (uint32_t)m->h.log.process_count++, .alive = true, .session_ms = SIM_NEVER_MS};
}

// A holder that has lost its session keeps its turn until the grace has passed.
static void lose_turn(struct sim *m, const struct sim_instance *k)
{
    if (k == &m->all[m->holder] && m->turn_free_ms == SIM_NEVER_MS)
        m->turn_free_ms = m->now_ms + SIM_GRACE_MS;
}

// Kills the process, which starts again later. Others may take its tokens after the grace, if they
// share the work.
static void kill_one(struct sim *m, struct sim_instance *k)
{
    struct process_record *p = &m->h.processes[k->process];

    sim_read_the_rest(m, k);
    p->ended_ns = sim_at_ns(m, m->now_ms + INSTANT_MS);
    p->status = SIGKILL;
    k->alive = false;
    lose_turn(m, k);
    k->starts_ms = m->now_ms + RESTART_MS;
    bool loses = m->defect == SIM_LOSES && !k->written;
    for (int i = 0; loses && i < k->count; i++)
        m->occasions += !m->delivered[k->batch[i]];
    if (!loses)
        simulate_give_back(
            m, k, m->instances > 1 && !m->turns ? m->now_ms + SIM_GRACE_MS : m->now_ms);
}

bool sim_has_turn(struct sim *m, int instance)
{
    struct sim_instance *before = &m->all[m->holder];

    if (!m->turns)
        return true;
    if (m->holder != instance && m->now_ms < m->turn_free_ms)
        return false;
    if (m->holder != instance && !before->written)
        simulate_give_back(m, before, m->now_ms);
    m->holder = instance;
    m->turn_free_ms = SIM_NEVER_MS;
    return true;
}

void sim_open_session(struct sim *m, struct sim_instance *k)
{
    if (k->connected)
        return;
    k->connected = true;
    k->session_ms = m->now_ms;
    sim_history_session(&m->h, m->now_ms);
    if (!k->written)
        simulate_give_back(m, k, m->now_ms);
}

// Ends the session, if one is open. The next one opens after until_ms and after a pause of the
// instance, with a random delay below delay_ms. Back again, the instance confirms the tokens that
// it had written. If it was away for longer than the grace, others may write them first.
static void disconnect(struct sim *m, struct sim_instance *k, int64_t until_ms, int64_t delay_ms)
{
    int64_t back_ms = k->paused_ms > until_ms ? k->paused_ms : until_ms;

    if (!k->alive)
        return;
    bool was_connected = k->connected;
    sim_connect_at(m, k, back_ms + sim_between(m, 10, delay_ms));
    bool gone = m->instances > 1 && k->session_ms > m->now_ms + SIM_GRACE_MS;
    if (!was_connected)
        return;
    lose_turn(m, k);
    k->unsure_count = gone && k->written ? k->count : 0;
    memcpy(k->unsure, k->batch, sizeof k->unsure);
    if (gone)
        simulate_give_back(m, k, m->now_ms + SIM_GRACE_MS);
}

static void pause_one(struct sim *m, struct sim_instance *k, int64_t for_ms)
{
    if (k->paused_ms < m->now_ms + for_ms)
        k->paused_ms = m->now_ms + for_ms;
}

// Cuts all connections for a while, and returns for how many ms. A client may wait after the cut
// before it tries again, but one of several must be back within the grace unless the cut itself was
// longer. So a cut is either brief, with short waits, or longer than the grace.
static int64_t cut_all(struct sim *m)
{
    bool brief = m->instances > 1 && rng_below(&m->rng, 2) == 0;
    int64_t for_ms = brief ? sim_between(m, 100, 400) : sim_between(m, SIM_GRACE_MS + 60, 1500);

    m->cut_ms = m->now_ms + for_ms > m->cut_ms ? m->now_ms + for_ms : m->cut_ms;
    for (int i = 0; i < m->instances; i++)
        disconnect(m, &m->all[i], m->cut_ms, brief ? 60 : 900);
    return for_ms;
}

static void end_sessions(struct sim *m)
{
    for (int i = 0; i < m->instances; i++) {
        if (m->all[i].connected)
            disconnect(m, &m->all[i], m->now_ms, 60);
    }
}

void sim_hit(struct sim *m, const char *verb)
{
    static const char *const drawn[] = {"kill-collector", "pause-collector", "terminate-backend",
        "pause-server", "half-open", "pause-reader"};
    int instance = (int)rng_below(&m->rng, (uint64_t)m->instances);
    struct sim_instance *k = &m->all[instance];
    const struct verb *what =
        verb_find(verb ? verb : drawn[rng_below(&m->rng, sizeof drawn / sizeof *drawn)]);
    bool kills = what->id == VERB_KILL_COLLECTOR, pauses = what->id == VERB_PAUSE_COLLECTOR;
    bool unread = what->id == VERB_PAUSE_READER, all = rng_below(&m->rng, 3) == 0;
    int64_t for_ms = unread ? sim_between(m, 50, 1500) : INSTANT_MS;

    if ((kills || pauses) && (!k->alive || k->paused_ms > m->now_ms))
        return;
    if (kills && m->h.log.process_count == PROCESSES_MAX)
        return;
    if (unread && !sim_pause_reader(m, all ? -1 : instance, for_ms))
        return;
    if (kills)
        kill_one(m, k);
    if (pauses) {
        // A pause for SIM_LEAVES must leave a backlog.
        for_ms = verb ? 1200 : sim_between(m, 200, 2500);
        pause_one(m, k, for_ms);
    }
    if (what->id == VERB_PAUSE_SERVER) {
        for_ms = sim_between(m, 50, 800);
        for (int i = 0; i < m->instances; i++)
            pause_one(m, &m->all[i], for_ms);
    }
    if (what->id == VERB_HALF_OPEN)
        for_ms = cut_all(m);
    if (what->id == VERB_TERMINATE_BACKEND)
        end_sessions(m);
    sim_history_fault(&m->h, what->name, m->now_ms, m->now_ms + for_ms);
    bool one = kills || pauses || (unread && !all);
    m->h.specs[m->h.ledger.fault_count - 1].instance = one ? instance : -1;
}
