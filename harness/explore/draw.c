#include "explore/draw.h"

#include "scenario/grammar.h"
#include "scenario/units.h"

// The streams of random numbers of one draw, one for each part. So the other parts stay the same
// when one part comes to need more numbers.
enum stream {
    STREAM_COLLECTOR,
    STREAM_LOAD,
    STREAM_FAULTS,
    STREAM_PROFILE,
    STREAM_PROXY,
    STREAM_DEQUEUE,
    STREAM_POSTGRES,
    STREAM_LIMITS
};
#define STREAMS 16 // each draw has this many stream numbers to itself

struct drawing {
    const struct draw_limits *limits;
    uint64_t seed, number;
    const struct profile *profile; // NULL when limits->base is set
    enum dequeue dequeue;
    int instances;
    int64_t load_ns;   // length of the load drawn so far
    bool stops_server; // a drawn fault takes the server away
    struct buf *out;
};

static void start_stream(struct rng *rng, uint64_t seed, uint64_t number, enum stream stream)
{
    rng_init(rng, seed, number * STREAMS + (uint64_t)stream);
}

static bool draw_chance(struct rng *rng, double share)
{
    return rng_uniform(rng) < share;
}

// Draws the value for a key. False when the key is to be left out.
static bool draw_value(struct rng *rng, const char *path, char *value, size_t size)
{
    const struct draw_row *row = draw_row(path);

    // A row without options only says why its key is not drawn here.
    if (!row || !row->options || !draw_chance(rng, row->chance))
        return false;
    draw_option(rng, row->options, value, size);
    return true;
}

static int64_t duration_ns(const char *text)
{
    int64_t ns = 0;
    struct err ignored;

    return units_duration(text, &ns, &ignored) ? ns : 0;
}

// --- collector ----------------------------------------------------------------------------

// Writes a line "key: value" for each key directly below collector that is drawn.
static void write_collector_keys(struct drawing *d, struct rng *rng)
{
    static const char prefix[] = "collector.";
    size_t len = sizeof prefix - 1;
    char value[160];

    for (size_t i = 0; i < draw_row_count; i++) {
        const char *path = draw_rows[i].path;
        if (strncmp(path, prefix, len) != 0 || strchr(path + len, '.'))
            continue;
        if (!draw_value(rng, path, value, sizeof value))
            continue;
        bool is_instances = strcmp(path, "collector.instances") == 0;
        // In cursor mode several collectors need the promise to stand by. Without that promise
        // (`alone`) the draw would be invalid, so it gets one collector.
        if (is_instances && d->limits->alone && d->dequeue == DEQUEUE_CURSOR)
            continue;
        buf_printf(d->out, "  %s: %s\n", path + len, value);
        if (is_instances)
            d->instances = atoi(value);
    }
}

// Writes the environment variables that are drawn and whose paths in draw_rows begin with `prefix`.
// *separator is written before the next variable: "" at first, and a comma once one was written.
static void write_variables(
    struct drawing *d, struct rng *rng, const char *prefix, const char **separator)
{
    size_t len = strlen(prefix);
    char value[160];

    for (size_t i = 0; i < draw_row_count; i++) {
        const char *path = draw_rows[i].path;
        if (strncmp(path, prefix, len) != 0 || !draw_value(rng, path, value, sizeof value))
            continue;
        buf_printf(d->out, "%s%s: \"%s\"", *separator, path + len, value);
        *separator = ", ";
    }
}

// Writes the environment variables that are drawn for this mode and this collector.
static void write_env(struct drawing *d, struct rng *rng)
{
    const char *separator = "";

    buf_append_str(d->out, "  env: {");
    write_variables(d, rng, "collector.env.", &separator);
    if (d->dequeue == DEQUEUE_LEASED)
        write_variables(d, rng, "leased.env.", &separator);
    // Collectors other than the reference know these variables in leased mode only.
    if (d->dequeue == DEQUEUE_LEASED || d->limits->ours)
        write_variables(d, rng, "ours.env.", &separator);
    buf_append_str(d->out, "}\n");
}

// Writes the mode, unless it is cursor, the default. For leased mode it also draws a sender, such
// as one that errs, hangs or answers oddly.
static void write_dequeue(struct drawing *d, struct rng *rng)
{
    static const char senders[] = "{delay: 1ms..10ms}|{error: 20%, delay: 5ms..40ms}|"
                                  "{error: 50%, delay: 1ms..10ms}|"
                                  "{error: 5%, permanent: 2%, delay: 1ms..5ms}|"
                                  "{hang: 2%, delay: 1ms..10ms}|{twice: 5%, wrong: 5%}|"
                                  "{dies: 0.5%, delay: 1ms..10ms}";
    char sender[160];

    if (d->dequeue == DEQUEUE_SHARED)
        buf_append_str(d->out, "  dequeue: shared\n");
    if (d->dequeue != DEQUEUE_LEASED)
        return;
    draw_option(rng, senders, sender, sizeof sender);
    buf_printf(d->out, "  dequeue: leased\n  sender: %s\n", sender);
}

// Writes the section collector: that of the profile, or a drawn one.
static void write_collector(struct drawing *d)
{
    struct rng rng;

    start_stream(&rng, d->seed, d->number, STREAM_COLLECTOR);
    d->instances = d->profile->instances;
    buf_append_str(d->out, "collector:\n");
    if (d->profile->collector)
        buf_append_str(d->out, d->profile->collector);
    else
        write_collector_keys(d, &rng);
    // The profile's `collector` has the mode and the variables already.
    if (d->profile->complete)
        return;
    write_dequeue(d, &rng);
    write_env(d, &rng);
}

// --- load ---------------------------------------------------------------------------------

// Draws one phase, its keys in the order of the rows, and adds its length to load_ns, from which
// the times of faults are drawn.
static void write_phase(struct drawing *d, struct rng *rng, int number)
{
    static const char prefix[] = "load.N.";
    char value[160];

    buf_printf(d->out, "  - name: phase-%d\n", number);
    for (size_t i = 0; i < draw_row_count; i++) {
        const char *path = draw_rows[i].path;
        const char *key = path + sizeof prefix - 1;
        if (strncmp(path, prefix, sizeof prefix - 1) != 0 ||
            !draw_value(rng, path, value, sizeof value))
            continue;
        // Only the first phase may have these keys.
        if (number > 1 && (strcmp(key, "backlog") == 0 || strcmp(key, "ids_from") == 0))
            continue;
        buf_printf(d->out, "    %s: %s\n", key, value);
        if (strcmp(key, "for") == 0)
            d->load_ns += duration_ns(value);
    }
}

// Draws one or two phases, and further ones until the load lasts a second. A shorter load would
// leave too little time for faults and for the recovery from them.
static void write_random_phases(struct drawing *d, struct rng *rng)
{
    int phases = draw_chance(rng, 0.4) ? 2 : 1;

    for (int i = 1; i <= phases || d->load_ns < NS_PER_S; i++) {
        // Between two phases there may be a rest without load.
        if (i == 2 && draw_chance(rng, 0.3)) {
            buf_append_str(d->out, "  - {name: rest, for: 500ms, rate: 0/s}\n");
            d->load_ns += 500 * NS_PER_MS;
        }
        write_phase(d, rng, i);
    }
}

static void write_drawn_load(struct drawing *d)
{
    struct rng rng;

    start_stream(&rng, d->seed, d->number, STREAM_LOAD);
    buf_append_str(d->out, "load:\n");
    d->load_ns = d->profile->load_ns;
    if (d->profile->load)
        buf_append_str(d->out, d->profile->load);
    else
        write_random_phases(d, &rng);
}

// --- faults -------------------------------------------------------------------------------

// True when the verb makes sense in this draw's mode, and the limits allow it.
static bool may_be_drawn(const struct drawing *d, size_t verb)
{
    bool fits_mode = verbs[verb].hits != HITS_SENDER || d->dequeue == DEQUEUE_LEASED;

    return fits_mode && draw_allows(d->limits, verb);
}

// Draws a verb; NULL: the limits and the mode leave none.
static const struct verb *draw_verb(const struct drawing *d, struct rng *rng)
{
    uint64_t sum = 0;

    // Verbs are drawn by weight, because most failures follow the end of a session, and the verbs
    // that end one are few. A verb of weight 8 owns 8 of the numbers below `sum`.
    for (size_t i = 0; i < VERB_COUNT; i++)
        sum += may_be_drawn(d, i) ? draw_weight(&verbs[i]) : 0;
    uint64_t point = sum > 0 ? rng_below(rng, sum) : 0;
    for (size_t i = 0; i < VERB_COUNT; i++) {
        unsigned weight = may_be_drawn(d, i) ? draw_weight(&verbs[i]) : 0;
        if (point < weight)
            return &verbs[i];
        point -= weight;
    }
    return NULL;
}

// Writes the parameters of a fault, except those that write_for and write_every write.
static void write_params(struct drawing *d, struct rng *rng, const struct verb *verb)
{
    char path[80], value[160];

    for (size_t i = 0; i < fault_table.count; i++) {
        const struct field *f = &fault_table.fields[i];
        if (!f->param || f->param == PARAM_FOR || f->any_verb)
            continue;
        snprintf(path, sizeof path, "faults.N.%s", f->key);
        // Draw the value even if the verb has no such parameter, so that the random numbers after
        // it stay the same.
        bool drawn = draw_value(rng, path, value, sizeof value);
        if (!(verb->params & f->param) || !drawn)
            continue;
        // Leave out the number of a collector that the draw does not have.
        if (f->param != PARAM_INSTANCE || atoi(value) < d->instances)
            buf_printf(d->out, ", %s: %s", f->key, value);
    }
}

// Writes how long the fault lasts (`for`), if it is to have that key. Returns this time; 0: the
// key was not written.
static int64_t write_for(struct drawing *d, struct rng *rng, const struct verb *verb)
{
    char value[160] = "";
    bool drawn = draw_value(rng, "faults.N.for", value, sizeof value);

    // A fault at a message takes an instant: its `for` only limits the wait for that message.
    if (!(verb->params & PARAM_FOR) || (verb->params & PARAM_MESSAGE))
        return 0;
    if (!drawn && !(verb->params & PARAM_NEEDS_FOR))
        return 0;
    if (!drawn)
        draw_option(rng, draw_row("faults.N.for")->options, value, sizeof value);
    // Some faults have no effect unless they last a while, such as one that must first fill the
    // disk.
    int64_t for_ns = clock_max(duration_ns(value), verb->explore_least_ns);
    buf_printf(d->out, ", for: %lldms", (long long)(for_ns / NS_PER_MS));
    return for_ns;
}

// Writes `every` and `jitter`, if they are drawn. A fault that lasts for_ns is repeated only if
// `every` leaves a pause between two occurrences.
static void write_every(struct drawing *d, struct rng *rng, const struct verb *verb, int64_t for_ns)
{
    char every[160], jitter[160];
    bool repeats = draw_value(rng, "faults.N.every", every, sizeof every);
    bool has_jitter = draw_value(rng, "faults.N.jitter", jitter, sizeof jitter);
    // There is only one standby, so it can be promoted only once.
    bool only_once = verb->needs_standby;

    repeats = repeats && !only_once && duration_ns(every) > for_ns + 100 * NS_PER_MS;
    if (repeats)
        buf_printf(d->out, ", every: %s", every);
    // Some verbs have jitter as a parameter of their own. With any other verb it shifts
    // repetitions, by less than the time between two, so that their order stays.
    bool shifts = repeats && has_jitter && duration_ns(jitter) < duration_ns(every);
    if (has_jitter && (verb->params & PARAM_JITTER || shifts))
        buf_printf(d->out, ", jitter: %s", jitter);
}

// Draws when a fault begins. In half of the cases this is the moment when the previous fault
// begins, or a little later, so that the two overlap. previous_ns: when the previous fault begins;
// -1: there is none.
static int64_t draw_time_ns(const struct drawing *d, struct rng *rng, int64_t previous_ns)
{
    static const int64_t later_ms[] = {0, 1, 5, 20, 60, 150};
    bool close = draw_chance(rng, 0.5);
    int64_t later_ns = later_ms[rng_below(rng, 6)] * NS_PER_MS;
    // Draw this time in any case, so that the random numbers after it stay the same. The last part
    // of the load is left for the recovery.
    int64_t anywhere_ns = (int64_t)(rng_uniform(rng) * 0.85 * (double)d->load_ns);

    anywhere_ns = anywhere_ns / NS_PER_MS * NS_PER_MS;
    if (previous_ns < 0 || !close)
        return anywhere_ns + NS_PER_MS; // not at 0, when the load itself begins
    return clock_min(previous_ns + later_ns, d->load_ns);
}

// Draws and writes up to four faults.
static void write_drawn_faults(struct drawing *d)
{
    static const double counts[] = {0.08, 0.33, 0.68, 0.9, 1}; // cumulative probabilities of none,
                                                               // one, two, three and four faults
    struct rng rng;
    int64_t at_ns = -1;
    int count = 0;

    start_stream(&rng, d->seed, d->number, STREAM_FAULTS);
    double share = rng_uniform(&rng);
    while (count < 4 && share >= counts[count])
        count++;
    bool quiet = d->profile && d->profile->quiet;
    // A quiet profile has no faults, because its invariant is judged only without them.
    buf_append_str(d->out, count == 0 || quiet ? "faults: []\n" : "faults:\n");
    for (int i = 0; i < count && !quiet; i++) {
        const struct verb *verb = draw_verb(d, &rng);
        // The limits leave no verb that makes sense in this mode. The empty `faults:` makes the
        // draw invalid, so the search leaves it out.
        if (!verb)
            return;
        at_ns = draw_time_ns(d, &rng, at_ns);
        buf_printf(d->out, "  - {at: %lldms, do: %s", (long long)(at_ns / NS_PER_MS), verb->name);
        int64_t for_ns = write_for(d, &rng, verb);
        write_every(d, &rng, verb, for_ns);
        write_params(d, &rng, verb);
        buf_append_str(d->out, "}\n");
        d->stops_server = d->stops_server || verb_stops_server(verb);
    }
}

// Writes how producers announce tokens, if that is drawn. Only the reference collector knows
// announcements by bell, and not in leased mode. False: it wrote nothing.
static bool write_announce(struct drawing *d)
{
    char value[160];
    struct rng rng;

    start_stream(&rng, d->seed, d->number, STREAM_POSTGRES);
    if (!d->limits->ours || d->dequeue == DEQUEUE_LEASED ||
        !draw_value(&rng, "postgres.announce", value, sizeof value))
        return false;
    buf_printf(d->out, "postgres:\n  announce: %s\n", value);
    return true;
}

// Writes the section postgres, if it is needed: how tokens are announced, and the standby or
// crashable disk that some of the drawn faults need.
static void write_postgres(struct drawing *d)
{
    bool has_section = write_announce(d);
    const char *text = buf_str(d->out);
    char fault[80];

    for (size_t i = 0; text && i < VERB_COUNT; i++) {
        const char *needs = draw_needs(&verbs[i]);
        snprintf(fault, sizeof fault, "do: %s", verbs[i].name);
        // Several verbs may need the same line, which is written once.
        if (!needs || !strstr(text, fault) || strstr(text, needs))
            continue;
        buf_printf(d->out, "%s  %s\n", has_section ? "" : "postgres:\n", needs);
        has_section = true;
        text = buf_str(d->out);
    }
}

// --- all of it ----------------------------------------------------------------------------

// Draws a mode that the limits allow and in which the profile makes sense. Cursor mode is drawn
// most often.
static enum dequeue draw_dequeue(const struct drawing *d)
{
    unsigned weights[] = {[DEQUEUE_CURSOR] = 5, [DEQUEUE_SHARED] = 3, [DEQUEUE_LEASED] = 2};
    unsigned allowed = d->limits->dequeues ? d->limits->dequeues : DRAW_DEQUEUES;
    unsigned sum = 0, at = 0;
    struct rng rng;

    start_stream(&rng, d->seed, d->number, STREAM_DEQUEUE);
    // Some profiles are made for an invariant that only some modes can break. profile_draw has
    // chosen a profile that has a mode in common with `allowed`.
    allowed &= d->profile->dequeues;
    for (unsigned i = 0; i < sizeof weights / sizeof *weights; i++) {
        weights[i] *= allowed >> i & 1;
        sum += weights[i];
    }
    uint64_t point = rng_below(&rng, sum);
    // Each mode owns as many of the numbers below `sum` as its weight says. Find the owner of
    // point.
    while (at < DEQUEUE_LEASED && point >= weights[at])
        point -= weights[at++];
    return (enum dequeue)at;
}

// Writes the end of the scenario: the rest after the load, the limits and the expectations. A good
// collector recovers long before the recovery limit, even when the server was stopped.
static void write_limits(struct drawing *d)
{
    const char *recovery = d->stops_server ? "5s" : "2500ms";
    char rest[20];
    struct rng rng;

    start_stream(&rng, d->seed, d->number, STREAM_LIMITS);
    if (draw_value(&rng, "rest", rest, sizeof rest))
        buf_printf(d->out, "rest: %s\n", rest);
    buf_printf(d->out, "recovery_limit: %s\ndrain: 8s\n%s%s", recovery,
        d->profile->expect ? d->profile->expect : "",
        // In leased mode, a retry that is due also opens the batch window, so tokens may seem early
        // or late.
        d->dequeue == DEQUEUE_LEASED ? "allow: {late: any, early: any}\n" : "");
}

void draw_scenario(
    const struct draw_limits *limits, uint64_t seed, uint64_t number, struct buf *out)
{
    struct drawing d = {.limits = limits, .seed = seed, .number = number, .out = out};
    struct rng rng;

    buf_printf(out, "name: draw-%llu\nsummary: Draw %llu of seed %llu.\n",
        (unsigned long long)number, (unsigned long long)number, (unsigned long long)seed);
    // Each draw of a search gets a seed of its own, above 0. In their first million draws, searches
    // with neighbouring seeds have no such seed in common.
    buf_printf(
        out, "seed: %llu\n", (unsigned long long)(1 + (seed * 1000003 + number) % 1000000007));
    // A user's scenario is copied as it is, and only its faults are drawn.
    if (limits->base) {
        d.load_ns = limits->base_load_ns;
        d.instances = limits->base_instances;
        d.dequeue = limits->base_dequeue;
        buf_append_str(out, limits->base);
    } else {
        start_stream(&rng, seed, number, STREAM_PROFILE);
        d.profile = profile_draw(limits, &rng);
        d.dequeue = draw_dequeue(&d);
        write_collector(&d);
        write_drawn_load(&d);
    }
    write_drawn_faults(&d);
    if (!limits->base) {
        write_postgres(&d);
        write_limits(&d);
    }
}

bool draw_proxied(uint64_t seed, uint64_t number)
{
    struct rng rng;

    start_stream(&rng, seed, number, STREAM_PROXY);
    return draw_chance(&rng, 0.7);
}
