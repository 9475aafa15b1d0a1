// The options of all subcommands as one table. A row says which subcommands take it, where its
// value goes, and its help. Parsing, --help, the manual page and the completions read the same
// rows.
//
// getopt_long reads the options. By itself it would accept an abbreviation where the user means an
// option of another subcommand or of an older version, so these are looked for first (foreign_name,
// gone_text). Its own messages are off, because ours name the subcommand and suggest the nearest
// option.
//
// Options that affect the results (options_affects_results) are noted as they were given, so that
// merge can call the command again.
#include "options/options.h"

#include <getopt.h>

#include "scenario/gone.h"
#include "scenario/suggest.h"

enum {
    SCOPE_SCENARIO = SCOPE_RUN | SCOPE_PLAN | SCOPE_COMPARE | SCOPE_TUNE,
    SCOPE_SERVER = SCOPE_RUN | SCOPE_COMPARE | SCOPE_TUNE | SCOPE_SHRINK | SCOPE_EXPLORE,
    SCOPE_EVERY = SCOPE_SCENARIO | SCOPE_LIST | SCOPE_CHECK | SCOPE_REPORT | SCOPE_SHRINK |
                  SCOPE_DOCTOR | SCOPE_PROXY | SCOPE_EXPLORE | SCOPE_SLOPES | SCOPE_FIELD |
                  SCOPE_STORY | SCOPE_LOAD | SCOPE_MERGE,
    SCOPE_SHARDS = SCOPE_EXPLORE | SCOPE_RUN | SCOPE_FIELD | SCOPE_TUNE,
};

// How an option's value is stored: as a text, as the name of a file that will be written, as a
// flag, as a whole number from 1 on, as a share, or as values.c reads it.
enum store { STORE_TEXT, STORE_FILE, STORE_FLAG, STORE_COUNT, STORE_PERCENT, STORE_READ };

#define TEXT(field) STORE_TEXT, offsetof(struct options, field), 0
#define OUTPUT(field) STORE_FILE, offsetof(struct options, field), 0
#define FLAG(field) STORE_FLAG, offsetof(struct options, field), 0
#define COUNT(field, most) STORE_COUNT, offsetof(struct options, field), most
#define PERCENT(field) STORE_PERCENT, offsetof(struct options, field), 0
#define READ(id) STORE_READ, READ_##id, 0

static const struct {
    const char *name;
    const char *argument; // NULL: the option takes no argument
    unsigned scope;
    enum store store;
    size_t at; // offset in struct options; with STORE_READ: an enum read_id
    int most;  // with STORE_COUNT: the largest number
    const char *help;
} table[] = {
    {"collector", "CMD", SCOPE_RUN | SCOPE_TUNE | SCOPE_SHRINK | SCOPE_EXPLORE, TEXT(collector),
        "the collector to test; 'reference' is ours (default: the scenario's)"},
    {"subject", "NAME", SCOPE_RUN, TEXT(run.subject),
        "a queue of another kind to test; 'mailproof list' shows them"},
    {"postgres", "CONNINFO", SCOPE_SERVER | SCOPE_FIELD, READ(POSTGRES),
        "local (default), container, patroni, or the conninfo of an existing server; env:NAME: in "
        "a variable"},
    {"seed", "N", SCOPE_SCENARIO, READ(SEED), "another seed, hence another plan of the same kind"},
    {"seed", "N", SCOPE_EXPLORE, READ(SEED), "draw other scenarios (default: 1)"},
    {"within", "TIME", SCOPE_EXPLORE, TEXT(within),
        "begin no further draw after this long (default: 10m)"},
    {"draws", "N", SCOPE_EXPLORE, COUNT(explore.draws, 1000000),
        "make N draws; then --within has no default"},
    {"jobs", "N", SCOPE_EXPLORE, COUNT(explore.jobs, 16),
        "how many runs side by side (default: one for each processor, at most 4)"},
    {"only", "LIST", SCOPE_EXPLORE, TEXT(explore.only),
        "only these fault verbs, these modes, or the draws of these numbers: reset,shared or 17"},
    {"set", "KEY.PATH=VALUE", SCOPE_SCENARIO | SCOPE_EXPLORE, READ(SET),
        "change the scenario; list items by number: load.0.for=1s"},
    {"pass-env", "NAME", SCOPE_SERVER | SCOPE_FIELD, READ(PASS_ENV),
        "give the subject this variable of our environment, too; may come several times"},
    {"as", "USER", SCOPE_SERVER | SCOPE_FIELD, READ(AS),
        "run the subject as this user, without rights to gain any (needs root)"},
    {"promises", "LIST", SCOPE_RUN | SCOPE_COMPARE | SCOPE_TUNE | SCOPE_EXPLORE, READ(PROMISES),
        "what the collector promises, e.g. no_loss,once: only this is judged, and a scenario that "
        "needs more is skipped"},
    {"trust", NULL, SCOPE_SERVER, FLAG(trust),
        "repeat a result that somebody else's run left, with the commands and settings it brings"},
    {"untrusted", NULL, SCOPE_SERVER, FLAG(untrusted),
        "refuse scenarios that run a command, reach an address or name a file elsewhere"},
    {"scale", "FACTOR", SCOPE_SCENARIO, READ(SCALE),
        "make load and faults shorter or longer, e.g. 0.2"},
    {"shard", "I/N", SCOPE_SHARDS, READ(SHARD),
        "do the I-th of N parts of the work, into DIR/shard-I-of-N; 'mailproof merge DIR' puts "
        "them together"},
    {"out", "DIR", SCOPE_SERVER | SCOPE_FIELD | SCOPE_MERGE, TEXT(out),
        "where result folders go (default: results)"},
    {"junit", "FILE", SCOPE_RUN | SCOPE_MERGE, OUTPUT(run.junit),
        "write the results of all runs as JUnit XML"},
    {"tag", "TAG", SCOPE_RUN | SCOPE_LIST, TEXT(tag), "only scenarios that carry this tag"},
    {"skip", "LIST", SCOPE_RUN, TEXT(run.skip), "skip the scenarios of these names"},
    {"skip-tag", "LIST", SCOPE_RUN, TEXT(run.skip_tag), "skip the scenarios that carry these tags"},
    {"resume", NULL, SCOPE_RUN | SCOPE_FIELD | SCOPE_TUNE, FLAG(resume),
        "go on where the same command was stopped"},
    {"repeat", "N", SCOPE_RUN, COUNT(repeat, 10000), "run each scenario N times"},
    {"repeat", "N", SCOPE_FIELD, COUNT(repeat, 10000),
        "run N seeds of each test with a verdict (default: 1, or 10 when a run breaks a promise), "
        "or "
        "of the finding (default: 10)"},
    {"repeat", "N", SCOPE_TUNE, COUNT(repeat, 10000),
        "run every pair at least N times, also those that the model would leave out"},
    {"within", "TIME", SCOPE_TUNE, TEXT(within),
        "begin no further run after this long (default: 5m)"},
    {"precision", "PERCENT", SCOPE_TUNE, PERCENT(tune.precision),
        "repeat a pair until the deciding figure is known this precisely (default: 10%)"},
    {"breaks", "LIST", SCOPE_EXPLORE, TEXT(breaks),
        "look only into draws that break one of these invariants: lost,late"},
    {"soak", "TIME", SCOPE_RUN, TEXT(run.soak),
        "carry out the scenario again and again for so long, on one server and with one collector"},
    {"fail-fast", NULL, SCOPE_EXPLORE, FLAG(fail_fast),
        "stop at the first failure that is seen twice, without shrinking it"},
    {"fail-fast", NULL, SCOPE_RUN, FLAG(fail_fast),
        "stop at the first scenario that does not pass"},
    {"keep", NULL, SCOPE_RUN, FLAG(run.keep),
        "leave server and data, print how to reach and remove them"},
    {"every-cut", NULL, SCOPE_RUN, FLAG(run.every_cut),
        "cut the connection at every message there is, one after another"},
    {"every-kill", NULL, SCOPE_RUN, FLAG(run.every_kill),
        "kill the collector at every message there is, one after another"},
    {"every-flush", NULL, SCOPE_RUN, FLAG(run.every_flush),
        "cut the power of the host at every flush of a small workload, one after another"},
    {"cut-at", "MESSAGE", SCOPE_RUN, TEXT(cut_at),
        "with --every-cut or --every-kill: only at these messages, e.g. 'client Bind', 'server "
        "any'"},
    {"pairs", "N", SCOPE_RUN, COUNT(run.pairs, 10000),
        "with --every-cut or --every-kill: also N trials with a second cut or kill during the "
        "recovery"},
    {"retry-inconclusive", "N", SCOPE_RUN, COUNT(run.retries, 100),
        "run a scenario up to N times more while its run is inconclusive"},
    {"workers", "LIST", SCOPE_RUN, TEXT(run.workers),
        "send the load from workers: a command for each, with commas between, such as 'ssh HOST "
        "mailproof load -'"},
    {"metrics", "ADDR", SCOPE_RUN, TEXT(run.metrics),
        "serve OpenMetrics while runs go on: HOST:PORT or the path of a Unix socket"},
    {"listen", "ADDR", SCOPE_PROXY, TEXT(listen),
        "where clients connect: HOST:PORT, or PORT of 127.0.0.1"},
    {"to", "CONNINFO", SCOPE_PROXY, TEXT(proxy.to), "the server; only its host and port are used"},
    {"cut-at", "MESSAGE", SCOPE_PROXY, TEXT(cut_at),
        "end the connection at this message, e.g. 'server CommandComplete COMMIT'"},
    {"n", "N", SCOPE_PROXY, TEXT(proxy.nth),
        "with --cut-at: at the N-th such message (default: 1)"},
    {"side", "SIDE", SCOPE_PROXY, TEXT(proxy.side),
        "with --cut-at: before (default) or after the message has passed"},
    {"script", "FILE", SCOPE_PROXY, TEXT(proxy.script),
        "carry out orders at their times: lines such as '2s partition for 500ms'"},
    {"control", "PATH", SCOPE_PROXY, TEXT(proxy.control),
        "take orders at this Unix socket, too, and answer each"},
    {"ab", NULL, SCOPE_COMPARE, FLAG(compare.ab),
        "run two collectors alternately: 'CMD_A' 'CMD_B' SCENARIO; 'reference' is ours"},
    {"runs", "N", SCOPE_COMPARE, COUNT(compare.runs, 500),
        "runs of each collector that count (default: 10)"},
    {"seeds", "N", SCOPE_COMPARE, COUNT(compare.seeds, 500),
        "with --ab: use N seeds in rotation, beginning with the scenario's (default: 1)"},
    {"min-effect", "PERCENT", SCOPE_COMPARE, PERCENT(compare.min_effect),
        "a change within this margin is no difference (default: 10%)"},
    {"calibrate", NULL, SCOPE_COMPARE, FLAG(compare.calibrate),
        "compare A with itself first, to see whether the machine is steady"},
    {"html", "FILE", SCOPE_COMPARE, OUTPUT(html), "write the table as one HTML file"},
    {"quick", NULL, SCOPE_FIELD, FLAG(field.quick),
        "run each test once, or three times when a run broke a promise; do not look for the "
        "highest rate"},
    {"site", "DIR", SCOPE_FIELD | SCOPE_MERGE, TEXT(field.site),
        "write the table, a page for each subject, findings, badges and raw results here, and not "
        "below --out"},
    {"finding", "ID", SCOPE_FIELD, TEXT(field.finding),
        "repeat a finding with ten seeds and say how many runs show it; exit code 1 when one does"},
    {"control", NULL, SCOPE_FIELD, FLAG(field.control),
        "with --finding: run the subjects that must not show it"},
    {"no-install", NULL, SCOPE_FIELD, FLAG(field.no_install),
        "with --finding: skip a version that is not installed"},
    {"verdicts", NULL, SCOPE_FIELD, FLAG(field.verdicts), "do not measure speeds"},
    {"commands", NULL, SCOPE_FIELD | SCOPE_MERGE, FLAG(field.commands),
        "print the command that repeats it under each cell"},
    {"answers", "FILE", SCOPE_FIELD, OUTPUT(field.answers),
        "keep each run's figures here, and do not repeat a run whose figures are here"},
    {"markdown", "FILE", SCOPE_COMPARE | SCOPE_TUNE | SCOPE_FIELD | SCOPE_MERGE, OUTPUT(markdown),
        "write the table as Markdown"},
    {"json", "FILE", SCOPE_COMPARE | SCOPE_TUNE | SCOPE_MERGE, OUTPUT(json_file),
        "write the figures as JSON (compare: in the form customSmallerIsBetter of "
        "github-action-benchmark)"},
    {"csv", "FILE", SCOPE_COMPARE | SCOPE_TUNE | SCOPE_MERGE, OUTPUT(csv),
        "write the figures as CSV"},
    {"limit", "LIST", SCOPE_TUNE, TEXT(tune.limits), "batch limits to try (default: 1,10,50)"},
    {"timeout", "LIST", SCOPE_TUNE, TEXT(tune.timeouts),
        "batch timeouts to try (default: 10ms,100ms,1s)"},
    {"for", "OBJECTIVE", SCOPE_TUNE, TEXT(tune.objective),
        "what must hold, e.g. 'latency.p99 < 1s'; then the fewest sends win"},
    {"budget", "RATE", SCOPE_TUNE, TEXT(tune.budget),
        "e-mails that may be sent, e.g. 0.38/s, or money: $100/month with --price"},
    {"price", "PRICE", SCOPE_TUNE, TEXT(tune.price), "what e-mails cost, e.g. 0.10/1000"},
    {"model", NULL, SCOPE_TUNE, FLAG(tune.model), "simulate the batch window instead of running"},
    {"rate", "RATE", SCOPE_TUNE, TEXT(tune.rate),
        "for --model: arrivals at this rate, e.g. 10/s (default: the scenario's load)"},
    {"arrivals", "KIND", SCOPE_TUNE, TEXT(tune.arrivals),
        "for --model: poisson (default), constant, on-off:1s/9s or trace"},
    {"trace", "FILE", SCOPE_TUNE, TEXT(tune.trace),
        "for --model: recorded arrivals, a time in seconds per line; they repeat"},
    {"period", "TIME", SCOPE_TUNE, TEXT(tune.period),
        "for --model: how long to simulate (default: the load's length)"},
    {"query-time", "TIME", SCOPE_TUNE, TEXT(tune.query_time),
        "for --model: how long a batch takes: one time, or a queries.csv (default: 2ms)"},
    {"within", "TIME", SCOPE_SHRINK, TEXT(within), "how long to look, such as 60s (default: 5m)"},
    {"breaks", "INVARIANT", SCOPE_SHRINK, TEXT(breaks),
        "what the small scenario must still break (default: the worst that the run broke)"},
    {"output", "FILE", SCOPE_SHRINK, OUTPUT(output),
        "where the small scenario goes (default: RESULT/shrunk.yaml)"},
    {"token", "ID", SCOPE_CHECK, TEXT(token), "tell the life of one token: t0000042, or 42"},
    {"token", "ID", SCOPE_STORY, TEXT(token), "the token that the story is about: t0000042, or 42"},
    {"output", "FILE", SCOPE_STORY, OUTPUT(output),
        "where the story goes (default: standard output)"},
    {"explain", NULL, SCOPE_CHECK, FLAG(check.explain),
        "of a story: show everything that it leaves to defaults"},
    {"html", "FILE", SCOPE_CHECK, OUTPUT(html), "with --token: draw its life as one HTML file"},
    {"quiet", NULL, SCOPE_SERVER | SCOPE_FIELD | SCOPE_MERGE, FLAG(quiet), "show no progress (-q)"},
    {"quiet", NULL, SCOPE_DOCTOR, FLAG(quiet), "print only what was found wrong"},
    {"trace", NULL, SCOPE_REPORT, FLAG(report.trace_spans),
        "also write the tokens' stages and the faults as traces: trace.json (Perfetto), "
        "trace.otlp.json"},
    {"tokens", NULL, SCOPE_REPORT, FLAG(report.tokens),
        "also write the history of each token: tokens.csv, tokens.jsonl (JSON Lines)"},
    {"json", NULL, SCOPE_PLAN, FLAG(json), "print JSON"},
    {"help", NULL, SCOPE_EVERY, FLAG(help), "print this (-h)"},
};

// getopt_long returns this plus the row's index. It is larger than any letter, which short options
// return.
#define FIRST_ROW 256

#define OPTIONS (sizeof table / sizeof *table)

// Sets the error for an option of the table that was given without its value. Returns false.
static bool refuse_missing_value(size_t row, struct err *e)
{
    return err_set(e, ERR_USAGE, "option '--%s' needs a value", table[row].name);
}

// Stores the value of the option in a row of the table; NULL for a flag. False when the value is
// refused.
static bool take_option(struct options *o, size_t row, const char *value, struct err *e)
{
    char *field = (char *)o + table[row].at; // not used with STORE_READ, whose `at` is no offset

    // With an empty --out, folders would be made in the root of the file system.
    if (strcmp(table[row].name, "out") == 0 && !*value)
        return refuse_missing_value(row, e);
    // A file that cannot be written is refused now, and not after hours of work.
    if (table[row].store == STORE_FILE && !file_is_writable(table[row].name, value, e))
        return false;
    if (table[row].store == STORE_READ)
        return values_read(o, (enum read_id)table[row].at, value, e);
    if (table[row].store == STORE_COUNT)
        return values_count(table[row].name, value, table[row].most, (int *)(void *)field, e);
    if (table[row].store == STORE_PERCENT)
        return values_percent(table[row].name, value, (double *)(void *)field, e);
    if (table[row].store == STORE_FLAG)
        *(bool *)field = true;
    else
        *(const char **)(void *)field = value;
    return true;
}

bool options_affects_results(const char *name)
{
    static const char *const without_effect[] = {"out", "resume", "shard", "quiet", "help", "junit",
        "markdown", "json", "csv", "html", "site", "answers", "commands", "jobs", "metrics", "keep",
        "postgres", "workers", "pass-env", "as", "trust", "within"};

    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++) {
        if (strcmp(without_effect[i], name) == 0)
            return false;
    }
    return options_scope(name) != 0; // 0: no option of that name
}

// Notes an option that affects the results, so that merge can call the command again.
static bool note_option(struct options *o, const char *name, const char *value, struct err *e)
{
    char text[4096];

    if (!options_affects_results(name))
        return true;
    // Option and value form one word, so that a value which begins with a dash is not taken for an
    // option.
    int len = value ? snprintf(text, sizeof text, "--%s=%s", name, value)
                    : snprintf(text, sizeof text, "--%s", name);
    if (len >= (int)sizeof text)
        return err_set(e, ERR_USAGE, "--%s: this is too long", name);
    memory_add_text(&o->asked, &o->asked_count, text);
    return true;
}

// Adds the arguments to what note_option has noted, and ends the list with a NULL.
static void note_arguments(struct options *o)
{
    for (char *const *arg = o->args; *arg; arg++)
        memory_add_text(&o->asked, &o->asked_count, *arg);
    memory_grow(&o->asked, o->asked_count, 1, sizeof *o->asked);
    o->asked[o->asked_count] = NULL;
}

// Gives each shard a folder of its own below --out, so that several shards may share a disk.
static bool choose_out(struct options *o, struct err *e)
{
    if (o->shard.of == 0)
        return true;
    int len = snprintf(o->out_of_shard, sizeof o->out_of_shard, "%s/shard-%d-of-%d", o->out,
        o->shard.number, o->shard.of);
    o->out = o->out_of_shard;
    return len < (int)sizeof o->out_of_shard ||
           err_set(e, ERR_USAGE, "--out: the path is too long");
}

// Returns the row of the option that has this name and belongs to one of the subcommands in
// `scope`; OPTIONS when there is none.
static size_t option_row(const char *name, unsigned scope)
{
    size_t i = 0;

    while (i < OPTIONS && !((table[i].scope & scope) && strcmp(table[i].name, name) == 0))
        i++;
    return i;
}

// Fills in getopt_long's list of the options that the subcommand takes.
static void fill_long_options(struct option *longs, unsigned scope)
{
    size_t n = 0;

    // getopt_long returns the last member.
    for (size_t i = 0; i < OPTIONS; i++) {
        if (table[i].scope & scope)
            longs[n++] = (struct option){table[i].name,
                table[i].argument ? required_argument : no_argument, NULL, (int)(FIRST_ROW + i)};
    }
    longs[n] = (struct option){0};
}

// If the word is the beginning of several options, refuses it: sets the error and returns true.
// Otherwise returns false without an error.
static bool is_ambiguous(const char *word, enum option_scope scope, struct err *e)
{
    const char *name = word + strspn(word, "-");
    size_t len = strcspn(name, "="), used = 0, count = 0;
    char all[200] = "";

    for (size_t i = 0; i < OPTIONS && used < sizeof all; i++) {
        if (!(table[i].scope & scope) || strncmp(table[i].name, name, len) != 0)
            continue;
        used += (size_t)snprintf(
            all + used, sizeof all - used, "%s--%s", count++ ? ", " : "", table[i].name);
    }
    if (len == 0 || count < 2)
        return false;
    err_set(e, ERR_USAGE, "option '%.40s' is ambiguous: %s", word, all);
    return true;
}

// Sets the error for a word that getopt_long has refused. Returns false.
static bool refuse_option(
    const char *word, const char *command, enum option_scope scope, struct err *e)
{
    struct suggestion near;
    char name[SUGGEST_WORD_MAX + 2];

    // getopt says only that something is wrong. What it left behind tells which of three mistakes
    // it was: a value for an option that takes none, an ambiguous word, or an unknown one.
    if (optopt >= FIRST_ROW)
        return err_set(
            e, ERR_USAGE, "option '--%s' takes no value", table[optopt - FIRST_ROW].name);
    if (strncmp(word, "--", 2) == 0 && is_ambiguous(word, scope, e))
        return false;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    suggest_init(&near, name);
    for (size_t i = 0; i < OPTIONS; i++) {
        char option[SUGGEST_WORD_MAX];
        snprintf(option, sizeof option, "--%.30s", table[i].name);
        if (table[i].scope & scope)
            suggest_offer(&near, option);
    }
    return err_set(
        e, ERR_USAGE, "unknown option '%s'%s; see mailproof %s --help", word, near.text, command);
}

// Returns the word of the command line with the option that getopt_long has just read: the last
// word, or the one before it when the last word is the option's value.
static const char *word_read(char **argv)
{
    const char *word = argv[optind - 1];

    return optarg == word ? argv[optind - 2] : word;
}

// If the word is the full name of an option that only other subcommands take, returns this name,
// otherwise NULL. getopt_long could take the word for an abbreviation of a longer option.
static const char *foreign_name(const char *word, unsigned scope)
{
    const char *name = NULL;

    if (strncmp(word, "--", 2) != 0)
        return NULL;
    for (size_t i = 0; i < OPTIONS; i++) {
        size_t len = strlen(table[i].name);
        if (strncmp(word + 2, table[i].name, len) != 0 || (word[2 + len] && word[2 + len] != '='))
            continue;
        if (table[i].scope & scope)
            return NULL;
        name = table[i].name;
    }
    return name;
}

unsigned options_scope(const char *name)
{
    unsigned scope = 0;

    for (size_t i = 0; i < OPTIONS; i++) {
        if (strcmp(table[i].name, name) == 0)
            scope |= table[i].scope;
    }
    return scope;
}

bool options_parse(struct options *o, enum option_scope scope, int argc, char **argv, struct err *e)
{
    struct option longs[OPTIONS + 1];
    char instead[GONE_TEXT_MAX];
    int id;

    // The default of field's and of tune's --repeat depends on what is run, so 0 says that it was
    // not given.
    *o = (struct options){.out = "results",
        .repeat = scope == SCOPE_FIELD || scope == SCOPE_TUNE ? 0 : 1,
        .compare = {.seeds = 1, .min_effect = 0.1},
        .tune = {.precision = 0.1}};
    // Three more, for provider, promises and seed, which options_overrides appends.
    o->sets = memory_zeroed((size_t)argc + 3, sizeof *o->sets);
    fill_long_options(longs, scope);
    opterr = 0;
    optind = 1;
    while ((id = getopt_long(argc, argv, ":hq", longs, NULL)) != -1) {
        if (id == 'h')
            id = (int)(FIRST_ROW + option_row("help", scope));
        else if (id == 'q' && option_row("quiet", scope) < OPTIONS)
            id = (int)(FIRST_ROW + option_row("quiet", scope));
        const char *word = word_read(argv);
        // This comes before everything else, because an option of an older version is often the
        // beginning of an option of this version.
        if (*gone_text(argv[0], word, instead))
            return err_set(e, ERR_USAGE, "%s has no option '%s'%s", argv[0], word, instead);
        if ((o->foreign = foreign_name(word, scope)) != NULL)
            return err_set(e, ERR_USAGE, "%s has no option '--%s'", argv[0], o->foreign);
        if (id == ':')
            return refuse_missing_value((size_t)optopt - FIRST_ROW, e);
        if (id == '?' || id == 'q')
            return refuse_option(word, argv[0], scope, e);
        if (!take_option(o, (size_t)id - FIRST_ROW, optarg, e) ||
            !note_option(o, table[id - FIRST_ROW].name, optarg, e))
            return false;
    }
    o->args = argv + optind;
    note_arguments(o);
    if (!choose_out(o, e))
        return false;
    return !(o->trust && o->untrusted) ||
           err_set(e, ERR_USAGE, "--trust and --untrusted do not go together");
}

void options_fini(struct options *o)
{
    for (size_t i = 0; i < o->asked_count; i++)
        free(o->asked[i]);
    free(o->asked);
    free(o->sets);
    *o = (struct options){0};
}

void options_each(enum option_scope scope, void (*tell)(const struct option_text *o, void *context),
    void *context)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        if (table[i].scope & scope)
            tell(&(struct option_text){table[i].name, table[i].argument, table[i].help}, context);
    }
}

static void print_line(const struct option_text *o, void *unused)
{
    (void)unused;
    char left[40];

    snprintf(left, sizeof left, "--%s%s%s", o->name, o->argument ? " " : "",
        o->argument ? o->argument : "");
    printf("  %-24s %s\n", left, o->help);
}

void options_print_help(enum option_scope scope)
{
    puts("\nOptions:");
    options_each(scope, print_line, NULL);
}

bool options_start_servers(const struct options *o)
{
    return !o->provider || strcmp(o->provider, "postgres.provider=local") == 0;
}

struct overrides options_overrides(const struct options *o)
{
    // --trust trusts every scenario, --untrusted none. Without them, the scenario of a result is
    // trusted only if a run of this user has written it (TRUST_OWN).
    struct overrides sets = {.items = o->sets,
        .count = o->set_count,
        .collector = o->collector,
        .scale = o->scale,
        .trust = o->untrusted ? TRUST_PLAIN
                 : o->trust   ? TRUST_ALL
                              : TRUST_OWN};

    // These come after --set, because an option for a single key is clearer than --set and should
    // prevail.
    if (o->provider)
        o->sets[sets.count++] = o->provider;
    if (o->promises[0])
        o->sets[sets.count++] = o->promises;
    if (o->seed[0])
        o->sets[sets.count++] = o->seed;
    return sets;
}
