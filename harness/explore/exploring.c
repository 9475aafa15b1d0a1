// Sets up a search from its options: its limits, the scenarios to start from, its folder and its
// journal.
//
// One text (describe_search) holds all that decides which scenario a number stands for. The
// folder's name contains a hash of this text, and the journal the whole text. So a call with other
// such options, or with a scenario that was changed, begins another search.
//
// Each number stands for one scenario that is drawn at random (a draw). Draws are limited to what
// the collector promises, because a run that needs more would be skipped; --only can ask for it. A
// scenario that the user names keeps its collector and settings, but its faults are drawn, its
// expectations are left out, and its load is shortened to the length of a draw.
#include "explore/exploring.h"

#include "options/locate.h"
#include "options/command_record.h"
#include "os/paths.h"
#include "scenario/grammar.h"
#include "scenario/needs.h"
#include "scenario/overrides.h"
#include "scenario/parse.h"
#include "scenario/suggest.h"
#include "base/utf8.h"

#define TEXT_MAX (4u << 20)

static const int64_t base_load_max_ns = 4 * NS_PER_S;

// --- options ----------------------------------------------------------------------------

// Allows the mode that the word names. False: the word names no mode.
static bool allow_mode(struct exploring *x, const char *word)
{
    const struct word *w = word_find(dequeue_words, word);

    if (w)
        x->limits[0].dequeues |= 1u << w->value;
    return w;
}

// Allows the fault verb that the word names. False: the word names no verb.
static bool allow_verb(struct exploring *x, const char *word, struct err *e)
{
    const struct verb *verb = verb_find(word);
    struct suggestion s;

    suggest_init(&s, word);
    // Modes and verbs share one option, so suggest both for a misspelt word.
    for (const struct word *w = dequeue_words; !verb && w->name; w++)
        suggest_offer(&s, w->name);
    for (size_t i = 0; !verb && i < VERB_COUNT; i++)
        suggest_offer(&s, verbs[i].name);
    if (!verb)
        return err_set(e, ERR_USAGE,
            "--only takes fault verbs, cursor, shared, leased and numbers of draws, separated by "
            "commas, not '%.60s'%s",
            word, s.text);
    x->limits[0].only[verb - verbs] = true;
    x->limits[0].any_only = true;
    return true;
}

// Sets *promises to what the collector promises: as --set says, otherwise the default for this
// collector. Sets *ours to whether it is the reference collector: no option names another one.
static bool read_collector(const struct exploring *x, int *promises, bool *ours, struct err *e)
{
    // Only the collector matters, so the smallest scenario will do.
    static const char smallest[] = "name: draw\nsummary: A draw.\nload: [{for: 1s, rate: 1/s}]\n";
    static const char promises_key[] = "collector.promises", command_key[] = "collector.command";
    static const struct origin nowhere = {.file = "draw", .line = 1, .column = 1};
    struct node *root = NULL;
    struct scenario s FREED_BY(scenario_fini) = {0};
    bool promised = false;

    bool ok = parse_yaml(&root, smallest, strlen(smallest), &nowhere, e);
    for (size_t i = 0; ok && i < x->sets.count; i++) {
        const char *set = x->sets.items[i];
        bool is_promises = strncmp(set, promises_key, strlen(promises_key)) == 0;
        if (!is_promises && strncmp(set, command_key, strlen(command_key)) != 0)
            continue;
        promised = promised || is_promises;
        ok = override_apply(root, set, &(struct origin){"--set", set, 1, 1}, e);
    }
    ok = ok && scenario_make(&s, root, e);
    if (ok) {
        needs_resolve(&s, x->options->collector, promised);
        *promises = s.collector.promises;
        *ours = !x->options->collector && !s.collector.command;
    }
    node_free(root);
    return ok;
}

// Limits the draws to what the collector promises.
static bool limit_draws(struct exploring *x, struct err *e)
{
    struct draw_limits *limits = &x->limits[0];
    int promises = 0;

    if (!read_collector(x, &promises, &limits->ours, e))
        return false;
    limits->alone = !(promises & PROMISE_STANDBY);
    // Modes that --only names are drawn even without the promise; the search then says why they
    // cannot be run.
    if (limits->dequeues != 0)
        return true;
    // It is not known whether a foreign collector has leased mode, so only the reference collector
    // gets it.
    limits->dequeues = DRAW_DEQUEUES | (limits->ours ? 1u << DEQUEUE_LEASED : 0);
    if (!(promises & PROMISE_SHARING))
        limits->dequeues &= ~(1u << DEQUEUE_SHARED);
    return true;
}

// Reads --only: draw numbers, modes and verbs, separated by commas.
static bool read_selection(struct exploring *x, struct err *e)
{
    char *words FREED_BY(memory_free) = memory_copy(x->options->explore.only), *rest = NULL;
    bool ok = true;

    for (char *word = words ? strtok_r(words, ",", &rest) : NULL; ok && word;
         word = strtok_r(NULL, ",", &rest)) {
        if (word[strspn(word, "0123456789")] == '\0') {
            memory_grow(&x->numbers, x->number_count, 1, sizeof *x->numbers);
            x->numbers[x->number_count++] = strtoull(word, NULL, 10);
        } else {
            ok = allow_mode(x, word) || allow_verb(x, word, e);
        }
    }
    if (ok && x->numbers && x->options->explore.draws)
        ok = err_set(e, ERR_USAGE, "--draws does not go with numbers of draws in --only");
    return ok;
}

// Reads --breaks, the invariants that are wanted; without --breaks, all are.
static bool read_breaks(struct exploring *x, struct err *e)
{
    const char *list = x->options->breaks;
    char *words FREED_BY(memory_free) = memory_copy(list), *rest = NULL;
    bool ok = true;

    for (enum metric_id id = 0; id < METRIC_COUNT; id++)
        x->wanted[id] = !list;
    for (char *word = words ? strtok_r(words, ",", &rest) : NULL; ok && word;
         word = strtok_r(NULL, ",", &rest)) {
        const bool only_invariants = true;
        const struct metric *m = metric_named(word, only_invariants, e);
        if (m)
            x->wanted[m->id] = true;
        ok = m || err_prefix(e, "--breaks");
    }
    return ok;
}

// Returns how many runs go on at once by default: one for each processor, but at most four.
static int default_jobs(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count < 1 ? 1 : count > 4 ? 4 : (int)count;
}

// Reads --jobs, --seed and --within.
static bool read_numbers(struct exploring *x, struct err *e)
{
    const struct options *o = x->options;
    int64_t within_ns = 0;

    x->jobs = o->explore.jobs ? o->explore.jobs : default_jobs();
    x->seed = o->seed[0] ? strtoull(o->seed + strlen("seed="), NULL, 10) : 1;
    if (!values_within(o, "10m", &within_ns, e))
        return false;
    // With --draws and without --within, only the number of draws ends the search.
    x->deadline_ns = o->explore.draws && !o->within ? INT64_MAX : x->began_ns + within_ns;
    return true;
}

// --- scenarios to start from --------------------------------------------------------------

// True when the line begins a key that is not copied into a draw: the draw writes it itself or goes
// without it.
static bool is_drawn_key(const char *line)
{
    static const char *const keys[] = {
        "name:", "summary:", "seed:", "tags:", "faults:", "expect:", "judged:"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strncmp(line, keys[i], strlen(keys[i])) == 0)
            return true;
    }
    return false;
}

// Copies the lines of all keys that a draw keeps. Lines that are indented or begin with '-' belong
// to the key before them. Cuts `text` into lines.
static void copy_kept_keys(char *text, struct buf *out)
{
    bool skipping = false;
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (*line != ' ' && *line != '-')
            skipping = is_drawn_key(line);
        if (!skipping)
            buf_printf(out, "%s\n", line);
    }
}

// Shortens a load that is longer than that of a draw, each phase by the same share.
static void shorten_load(struct scenario *s)
{
    int64_t load_ns = scenario_load_ns(s);

    for (size_t i = 0; load_ns > base_load_max_ns && i < s->load_count; i++) {
        int64_t ns =
            (int64_t)((double)s->load[i].for_ns * (double)base_load_max_ns / (double)load_ns) /
            NS_PER_MS * NS_PER_MS;
        s->load[i].for_ns = clock_max(ns, NS_PER_MS);
    }
}

// Refuses recorded arrivals: a draw lies in another folder than their file, so it would not load.
static bool refuse_traces(const struct scenario *s, const char *path, struct err *e)
{
    for (size_t i = 0; i < s->load_count; i++) {
        if (s->load[i].arrivals == ARRIVALS_TRACE)
            return err_set(e, ERR_USAGE,
                "%.500s: explore does not take recorded arrivals (load.%zu.file)", path, i);
    }
    return true;
}

// Adds a scenario to start from (a base): the YAML that is copied into its draws, and its limits.
static bool add_base(struct exploring *x, const char *path, struct err *e)
{
    struct draw_limits *limits = &x->limits[x->base_count];
    struct scenario s FREED_BY(scenario_fini) = {0};
    struct buf whole FREED_BY(buf_fini) = BUF_INIT(TEXT_MAX);
    struct buf kept FREED_BY(buf_fini) = BUF_INIT(TEXT_MAX);

    if (x->base_count == EXPLORING_BASES_MAX)
        return err_set(e, ERR_USAGE, "at most %d scenarios at a time", EXPLORING_BASES_MAX);
    if (!scenario_load(&s, path, &x->sets, e) || !refuse_traces(&s, path, e))
        return false;
    shorten_load(&s);
    if (!scenario_write(&s, &whole, e))
        return false;
    copy_kept_keys(whole.data, &kept);
    if (!buf_str(&kept))
        return err_memory(e);
    x->bases[x->base_count] = memory_copy(kept.data);
    // The page must not claim that the reference collector was tested.
    x->limits[0].ours = x->limits[0].ours && !s.collector.command;
    // The limits that --only sets hold for each base. They are in limits[0], which the first base
    // completes.
    *limits = x->limits[0];
    limits->base = x->bases[x->base_count++];
    limits->base_load_ns = scenario_load_ns(&s);
    limits->base_instances = s.collector.instances;
    limits->base_dequeue = s.collector.dequeue;
    return true;
}

static bool read_bases(struct exploring *x, struct err *e)
{
    struct paths paths FREED_BY(locate_fini) = {0};
    bool ok = true;

    for (size_t i = 0; ok && x->options->args[i]; i++)
        ok = locate_scenarios(&paths, x->options->args[i], e);
    for (size_t i = 0; ok && i < paths.count; i++)
        ok = add_base(x, paths.items[i], e);
    return ok;
}

// --- the folder -------------------------------------------------------------------------

// Appends a word to a text, after a blank. False when the text is full.
static bool append_option(char *text, size_t size, const char *word, struct err *e)
{
    size_t len = strlen(text);
    int more = snprintf(text + len, size - len, "%s%s", len ? " " : "", word);

    return (more >= 0 && (size_t)more < size - len) ||
           err_set(e, ERR_USAGE, "the options are too long");
}

// Appends a hash of the scenarios to start from, because their files may change between two calls.
static bool append_bases(struct exploring *x, struct err *e)
{
    uint32_t hash = COMMAND_RECORD_HASH_INIT;
    char word[20];

    for (size_t i = 0; i < x->base_count; i++)
        hash = command_record_hash(hash, x->bases[i]);
    snprintf(word, sizeof word, "(%08x)", hash);
    return x->base_count == 0 || append_option(x->about, sizeof x->about, word, e);
}

// Writes to x->about all that decides which scenario a draw number stands for.
static bool describe_search(struct exploring *x, struct err *e)
{
    const struct options *o = x->options;
    char *text = x->about;
    size_t size = sizeof x->about;
    // Keep the collector's command, and refuse one that is too long.
    bool ok = append_option(x->collector, sizeof x->collector, o->collector ? o->collector : "", e);

    snprintf(text, size, "seed %llu, %s", (unsigned long long)x->seed,
        *x->collector       ? x->collector
        : x->limits[0].ours ? "the reference collector"
                            : "the collector that the scenario names");
    for (size_t i = 0; ok && i < x->sets.count; i++)
        ok = append_option(text, size, x->sets.items[i], e);
    for (const struct word *w = dequeue_words; ok && w->name; w++)
        ok = !(x->limits[0].dequeues >> w->value & 1) || append_option(text, size, w->name, e);
    for (size_t i = 0; ok && i < VERB_COUNT; i++)
        ok = !x->limits[0].only[i] || append_option(text, size, verbs[i].name, e);
    for (size_t i = 0; ok && o->args[i]; i++)
        ok = append_option(text, size, o->args[i], e);
    ok = ok && append_bases(x, e);
    if (ok && !utf8_valid(text))
        ok = err_set(e, ERR_USAGE,
            "--collector, --set and the scenarios have to be UTF-8, because the record is");
    return ok;
}

bool exploring_path(
    const struct exploring *x, char out[1000], const char *folder, const char *name, struct err *e)
{
    int len = snprintf(out, 1000, "%s/%s%s%s", x->dir, folder, *name ? "/" : "", name);

    return len < 1000 || err_set(e, ERR_USAGE, "--out: the path is too long");
}

// Makes the folder of this search, named after its seed and its options, and the folders in it.
static bool make_folders(struct exploring *x, struct err *e)
{
    static const char *const folders[] = {"draws", "runs", "found", "logs"};
    uint32_t hash = command_record_hash(COMMAND_RECORD_HASH_INIT, x->about);
    int len = snprintf(x->dir, sizeof x->dir, "%s/explore/seed-%llu-%08x", x->options->out,
        (unsigned long long)x->seed, hash);
    bool ok = len < (int)sizeof x->dir || err_set(e, ERR_USAGE, "--out: the path is too long");

    for (size_t i = 0; ok && i < sizeof folders / sizeof *folders; i++) {
        char path[1000];
        ok = exploring_path(x, path, folders[i], "", e) &&
             (path_make(path, e) || err_prefix(e, "--out"));
    }
    return ok;
}

bool exploring_init(struct exploring *x, const struct options *o, struct err *e)
{
    struct record_head head;

    x->options = o;
    x->began_ns = clock_now_ns();
    x->sets = options_overrides(o);
    // --seed, which is the last override, is the seed of the search. The drawn scenarios have seeds
    // of their own, so leave it out.
    x->sets.count -= o->seed[0] != '\0';
    x->suspects = memory_zeroed(EXPLORING_SUSPECTS_MAX, sizeof *x->suspects);
    if (!read_numbers(x, e) || !read_selection(x, e) || !limit_draws(x, e) || !read_breaks(x, e) ||
        !read_bases(x, e) || !describe_search(x, e) || !make_folders(x, e))
        return false;
    command_record_head(&head, o, "explore", x->about);
    return journal_open(&x->journal, x->dir, &head, e);
}

void exploring_fini(struct exploring *x)
{
    for (size_t i = 0; i < x->pool_count; i++) {
        unlink(x->pool[i].path); // a draw that was not run
        candidate_fini(&x->pool[i]);
    }
    for (size_t i = 0; i < x->base_count; i++)
        free(x->bases[i]);
    journal_close(&x->journal);
    free(x->suspects);
    free(x->numbers);
}

double exploring_seconds(const struct exploring *x)
{
    return x->journal.spent_s + (double)(clock_now_ns() - x->began_ns) / NS_PER_S;
}
