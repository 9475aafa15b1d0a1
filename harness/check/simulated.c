#include "check/simulated.h"

enum {
    STEP_MS = 5,
    LIMIT = 3,          // batch limit
    CAPACITY = 100,     // collector.capacity, in tokens a second; not stated in a burst
    BURST_LINE_MS = 30, // how long a line takes in a burst
    END_MS = 9900,      // the last step, shortly before the drain ends
    FAULTS_MAX = 5,
};

const struct sim_setting sim_settings[] = {
    [SIM_NONE] = {1, 3, .faults = true},
    [SIM_SLEEPS] = {2, 2, .burst = true, .breaks = METRIC_IDLE_INSTANCE},
    [SIM_SLOW] = {1, 3, 30, .breaks = METRIC_FALLS_BEHIND, .may = {METRIC_LATE, METRIC_LOST}},
    [SIM_LEAVES] = {1, 1, 30, .verb = "pause-collector", .breaks = METRIC_FALLS_BEHIND,
        .may = {METRIC_LATE, METRIC_LOST, METRIC_UNRECOVERED}},
    [SIM_TWICE] = {1, 3, .faults = true, .breaks = METRIC_DUPLICATED, .exactly = true},
    [SIM_STEALS] = {2, 3, .breaks = METRIC_DUPLICATED, .exactly = true},
    [SIM_LOSES] = {1, 3, .faults = true, .verb = "kill-collector", .breaks = METRIC_LOST,
        .exactly = true},
    [SIM_LATE] = {1, 3, .breaks = METRIC_LATE},
    [SIM_EARLY] = {1, 1, 5, .breaks = METRIC_EARLY},
    [SIM_RESTS] = {1, 1, .verb = "terminate-backend", .breaks = METRIC_LATE,
        .may = {METRIC_UNRECOVERED, METRIC_FALLS_BEHIND}},
    [SIM_NO_LIMIT] = {1, 3, .burst = true, .breaks = METRIC_OVER_LIMIT, .exactly = true},
};

int64_t sim_at_ns(const struct sim *m, int64_t ms)
{
    return m->origin_ns + ms * NS_PER_MS;
}

int64_t sim_between(struct sim *m, int64_t from, int64_t to)
{
    return from + (int64_t)rng_below(&m->rng, (uint64_t)(to - from));
}

// --- the collectors ---------------------------------------------------------------

// Records that the instance writes its batch as a line.
static void simulate_line(struct sim *m, struct sim_instance *k)
{
    sim_history_line(&m->h, k->process, sim_read_ms(m, k), k->batch, k->count);
    for (int i = 0; i < k->count; i++)
        m->delivered[k->batch[i]] = true;
}

// True when the arrays of the history have room for one more step of all instances.
static bool simulated_has_room(const struct sim *m)
{
    return m->h.log.line_count + 20 < SIM_HISTORY_MAX &&
           m->h.log.delivery_count + 30 < SIM_HISTORY_MAX;
}

// Returns how many tokens are free to be taken, and sets *oldest to the one that has waited
// longest.
static int simulated_waiting(const struct sim *m, uint32_t *oldest)
{
    int count = 0;

    for (uint32_t t = m->first; t < m->tokens; t++) {
        if (m->free_ms[t] > m->now_ms)
            continue;
        if (count++ == 0 || m->since_ms[t] < m->since_ms[*oldest])
            *oldest = t;
    }
    return count;
}

// Returns how long a short batch waits, which two of the defects change.
static int64_t window_ms(const struct sim *m)
{
    return m->defect == SIM_LATE    ? 3 * SIM_TIMEOUT_MS
           : m->defect == SIM_EARLY ? SIM_TIMEOUT_MS / 3
                                    : SIM_TIMEOUT_MS;
}

// Takes up to `most` free tokens, which can be written when the service time has passed.
static void take_batch(struct sim *m, struct sim_instance *k, int most)
{
    for (uint32_t t = m->first; t < m->tokens && k->count < most; t++) {
        if (m->free_ms[t] <= m->now_ms) {
            k->batch[k->count++] = t;
            m->free_ms[t] = SIM_NEVER_MS;
        }
    }
    k->ready_ms = m->now_ms + m->service_ms;
}

// Looks for waiting tokens, and takes a batch. A full batch goes out at once, a short one when its
// oldest token has waited for the window, or waited already when the session was opened.
static void simulate_look(struct sim *m, struct sim_instance *k)
{
    uint32_t oldest = 0;
    int count = simulated_waiting(m, &oldest);
    bool due = count > 0 && (m->since_ms[oldest] + window_ms(m) <= m->now_ms ||
                                m->since_ms[oldest] <= k->session_ms);

    if (count < LIMIT && !due)
        return;
    // With this defect, it takes only one batch every half second from a backlog.
    if (m->defect == SIM_LEAVES && count > 2 * LIMIT && m->now_ms % 500 != 0)
        return;
    // A smaller backlog is no occasion: it may be gone before anybody can tell.
    m->occasions += m->defect == SIM_LEAVES && count > 8 * LIMIT;
    bool all = m->defect == SIM_NO_LIMIT && count > LIMIT;
    m->occasions += all || ((m->defect == SIM_LATE || m->defect == SIM_EARLY) && count < LIMIT);
    take_batch(m, k, all ? count : LIMIT);
}

// Makes k write the tokens that another instance has taken and not written yet. k keeps its own
// batch and writes it later.
static void steal(struct sim *m, struct sim_instance *k)
{
    for (int i = 0; i < m->instances; i++) {
        struct sim_instance *other = &m->all[i];
        if (other == k || other->count == 0 || other->written || !simulated_has_room(m))
            continue;
        m->occasions += (uint64_t)other->count;
        struct sim_instance stolen = *k;
        memcpy(stolen.batch, other->batch, sizeof stolen.batch);
        stolen.count = other->count;
        simulate_line(m, &stolen);
        return;
    }
}

static void write_batch(struct sim *m, struct sim_instance *k)
{
    simulate_line(m, k);
    if (m->defect == SIM_TWICE && simulated_has_room(m) && rng_below(&m->rng, 5) == 0) {
        m->occasions += (uint64_t)k->count;
        simulate_line(m, k);
    }
    k->written = true;
    k->ready_ms = m->now_ms + sim_between(m, 2, 10);
}

// After its return the instance confirms what it had written. Tokens that others took meanwhile are
// not free any more, so this changes nothing for them.
static void confirm_unsure(struct sim *m, struct sim_instance *k)
{
    for (int i = 0; i < k->unsure_count; i++)
        m->free_ms[k->unsure[i]] = SIM_NEVER_MS;
    k->unsure_count = 0;
}

// Lets an instance do what it does at this moment: start, connect, write, confirm or take a batch.
static void simulate_step(struct sim *m, int instance)
{
    struct sim_instance *k = &m->all[instance];

    if (!k->alive && m->now_ms >= k->starts_ms) {
        sim_start_process(m, instance, m->now_ms);
        sim_connect_at(m, k, m->now_ms + sim_between(m, 10, 40));
    }
    if (!k->alive || m->now_ms < k->paused_ms || m->now_ms < k->session_ms ||
        (m->defect == SIM_SLEEPS && instance == 0))
        return;
    sim_open_session(m, k);
    if (m->now_ms < k->rests_ms || !sim_has_turn(m, instance))
        return;
    confirm_unsure(m, k);
    if (k->count > 0 && m->now_ms < k->ready_ms)
        return;
    if (k->count > 0 && !k->written) {
        write_batch(m, k);
        return;
    }
    k->count = 0; // the batch is confirmed
    k->written = false;
    if (m->defect == SIM_STEALS && rng_below(&m->rng, 16) == 0)
        steal(m, k);
    simulate_look(m, k);
}

// --- a history --------------------------------------------------------------------

// Commits `rows` tokens, which are visible 1 ms later.
static void insert(struct sim *m, int rows)
{
    for (int i = 0; i < rows; i++)
        m->free_ms[m->tokens + (uint32_t)i] = m->since_ms[m->tokens + (uint32_t)i] = m->now_ms + 1;
    sim_history_txn(&m->h, m->now_ms, rows);
    m->tokens += (uint32_t)rows;
}

// Inserts what comes in at this moment: one burst, or a transaction of one or two tokens at random.
// rate: transactions a second.
static void arrive(struct sim *m, double rate)
{
    if (m->burst && m->now_ms == 500) {
        while (m->tokens + 10 <= SIM_TOKENS_MAX)
            insert(m, 10);
    }
    if (!m->burst && m->now_ms < SIM_LOAD_MS && m->tokens + 2 <= SIM_TOKENS_MAX &&
        rng_uniform(&m->rng) < rate * STEP_MS / 1000)
        insert(m, 1 + (int)rng_below(&m->rng, 2));
}

// Draws the scenario and the time that a line takes. Returns the transactions per second.
static double set_up_simulation(struct sim *m, uint64_t seed)
{
    const struct sim_setting *how = &sim_settings[m->defect];
    struct scenario_collector *c = &m->h.scenario.collector;
    const int64_t connect_ms = SIM_START_MS + 10;

    rng_init(&m->rng, seed, 0);
    sim_history_init(&m->h);
    m->burst = how->burst || (m->defect == SIM_NONE && rng_below(&m->rng, 4) == 0);
    m->instances = (int)sim_between(m, how->least, how->most + 1);
    m->origin_ns = m->h.processes[0].started_ns - SIM_START_MS * NS_PER_MS;
    m->now_ms = m->cut_ms = connect_ms;
    m->tokens = m->first = 0;
    memset(m->delivered, 0, sizeof m->delivered);
    memset(m->unread_ms, 0, sizeof m->unread_ms);
    // These two defects act all the time, so one occasion is enough.
    m->occasions = m->defect == SIM_SLEEPS || m->defect == SIM_SLOW;
    m->service_ms = m->burst ? BURST_LINE_MS : sim_between(m, 1, 15);
    double rate = m->burst ? 0 : how->rate > 0 ? how->rate : 10 + 20 * rng_uniform(&m->rng);
    c->instances = m->instances;
    m->turns = m->defect == SIM_NONE && m->instances > 1 && rng_below(&m->rng, 2) == 0;
    m->holder = 0;
    m->turn_free_ms = SIM_NEVER_MS;
    c->dequeue = m->instances > 1 && !m->turns ? DEQUEUE_SHARED : DEQUEUE_CURSOR;
    c->capacity = m->burst ? 0 : CAPACITY;
    // A transaction has 1.5 tokens on average.
    m->h.phase.rate_from = m->h.phase.rate_to = 1.5 * rate;
    // All instances together then write half of what comes in.
    if (m->defect == SIM_SLOW)
        m->service_ms = (int64_t)(2 * m->instances * LIMIT * 1000 / (1.5 * rate));
    m->h.log.process_count = 0;
    for (int i = 0; i < m->instances; i++) {
        sim_start_process(m, i, SIM_START_MS);
        sim_connect_at(m, &m->all[i], connect_ms);
        sim_open_session(m, &m->all[i]);
    }
    return rate;
}

// True when every token is written or taken, and no instance has a batch. Moves m->first on.
static bool is_done(struct sim *m)
{
    while (m->first < m->tokens && m->free_ms[m->first] == SIM_NEVER_MS)
        m->first++;
    bool done = m->first == m->tokens;

    for (int i = 0; i < m->instances; i++)
        done = done && m->all[i].count == 0;
    return done;
}

// Draws when a fault begins, in ms: a multiple of STEP_MS. Half of the faults begin soon after the
// one before, which began at before_ms (0: there is none). With a verb, on which a defect depends,
// the last two seconds of the load are left for the defect to show.
static int64_t fault_at(struct sim *m, int64_t before_ms, const char *verb)
{
    int64_t last_ms = SIM_LOAD_MS - (verb ? 2000 : 400);
    int64_t soon_ms = before_ms + sim_between(m, 1, 2000 / STEP_MS) * STEP_MS;

    if (before_ms > 0 && soon_ms < last_ms && rng_below(&m->rng, 2) == 0)
        return soon_ms;
    return sim_between(m, 40, last_ms / STEP_MS) * STEP_MS;
}

void simulate(struct sim *m, enum sim_defect defect, uint64_t seed)
{
    const struct sim_setting *how = &sim_settings[defect];
    int64_t faults[FAULTS_MAX] = {0};

    m->defect = defect;
    double rate = set_up_simulation(m, seed);
    size_t count = how->faults ? rng_below(&m->rng, FAULTS_MAX + 1) : 0;
    count = how->verb && count == 0 ? 1 : count;
    bool stalls = defect == SIM_NONE && rng_below(&m->rng, 3) == 0;
    m->stall_ms = stalls ? sim_between(m, 4, SIM_LOAD_MS / STEP_MS) * STEP_MS : SIM_NEVER_MS;
    for (size_t i = 0; i < count; i++)
        faults[i] = fault_at(m, i > 0 ? faults[i - 1] : 0, how->verb);
    for (m->now_ms = 0; m->now_ms < END_MS; m->now_ms += STEP_MS) {
        arrive(m, rate);
        for (size_t i = 0; i < count; i++) {
            if (faults[i] == m->now_ms)
                sim_hit(m, how->verb);
        }
        if (m->now_ms == m->stall_ms)
            sim_stall(m, sim_between(m, 60, 700));
        for (int i = 0; i < m->instances && simulated_has_room(m); i++)
            simulate_step(m, i);
        if (is_done(m) && m->now_ms > SIM_LOAD_MS)
            break;
    }
    sim_sort_lines(m);
}
