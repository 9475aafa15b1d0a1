#include "scenario/grammar.h"

#include "scenario/scenario.h"

#define AT(field) .offset = offsetof(struct scenario, field)
#define PHASE(field) .offset = offsetof(struct load_phase, field)
#define FAULT(field) .offset = offsetof(struct fault_spec, field)
#define COUNTERPART(field) .offset = offsetof(struct counterpart, field)
#define TABLE(fields, type)                                                                        \
    {                                                                                              \
        fields, sizeof(fields) / sizeof *(fields), sizeof(type)                                    \
    }

#define MINUTE (60 * NS_PER_S)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define LOAD_MAX (100 * PHASE_NS_MAX) // 100 phases

// FIELD_RATE, FIELD_ITEMS and similar types fill two or three members, which must stand right after
// each other.
#define NEIGHBOURS(type, a, b, a_type)                                                             \
    static_assert(offsetof(type, b) == offsetof(type, a) + sizeof(a_type), #b)
NEIGHBOURS(struct load_phase, rate_from, rate_to, double);
NEIGHBOURS(struct load_phase, rate_to, closed, double);
NEIGHBOURS(struct scenario_sender, delay_from_ns, delay_to_ns, int64_t);
NEIGHBOURS(struct load_phase, rows_from, rows_to, int);
NEIGHBOURS(struct scenario, load, load_count, void *);
NEIGHBOURS(struct scenario, faults, fault_count, void *);
NEIGHBOURS(struct scenario, allow, allow_count, void *);
NEIGHBOURS(struct scenario, judged, judged_count, void *);
NEIGHBOURS(struct scenario, expect, expect_count, void *);
NEIGHBOURS(struct scenario, counterparts, counterpart_count, void *);

// A FIELD_STRING keeps the word itself, so these values are not used.
static const struct word providers[] = {
    {"local", 0},
    {"container", 1},
    {"url", 2},
    {"patroni", 3},
    {0},
};

static const struct word routes[] = {
    {"hosts", ROUTE_HOSTS},
    {"proxy", ROUTE_PROXY},
    {0},
};

static const struct word schemas[] = {{"latest", SCHEMA_LATEST}, {0}};

static const struct word storages[] = {
    {"plain", STORAGE_PLAIN},
    {"crashable", STORAGE_CRASHABLE},
    {0},
};

static const struct word disks[] = {
    {"honest", DISK_HONEST},
    {"lying", DISK_LYING},
    {"no-barriers", DISK_UNASKED},
    {0},
};

static const struct word files[] = {
    {"ext4", FILES_EXT4},
    {"ext4-writeback", FILES_WRITEBACK},
    {"xfs", FILES_XFS},
    {0},
};

static const struct word durabilities[] = {
    {"prove", DURABILITY_PROVE},
    {"waive", DURABILITY_WAIVE},
    {0},
};

static const struct word standbys[] = {
    {"none", STANDBY_NONE},
    {"async", STANDBY_ASYNC},
    {"sync", STANDBY_SYNC},
    {0},
};

static const struct word announces[] = {
    {"each", ANNOUNCE_EACH},
    {"bell", ANNOUNCE_BELL},
    {0},
};

static const struct word layouts[] = {
    {"auto", LAYOUT_AUTO},
    {"reference", LAYOUT_REFERENCE},
    {"foreign", LAYOUT_FOREIGN},
    {0},
};

const struct word promise_words[] = {
    {"no_loss", PROMISE_NO_LOSS},
    {"once", PROMISE_ONCE},
    {"limit", PROMISE_LIMIT},
    {"timeout", PROMISE_TIMEOUT},
    {"order", PROMISE_ORDER},
    {"reconnect", PROMISE_RECONNECT},
    {"backpressure", PROMISE_BACKPRESSURE},
    {"stop", PROMISE_STOP},
    {"small", PROMISE_SMALL},
    {"standby", PROMISE_STANDBY},
    {"sharing", PROMISE_SHARING},
    {"outcome", PROMISE_OUTCOME},
    {"budget", PROMISE_BUDGET},
    {"lanes", PROMISE_LANES},
    {"dead_letters", PROMISE_DEAD_LETTERS},
    {"fills", PROMISE_FILLS},
    {"releases", PROMISE_RELEASES},
    {"lease", PROMISE_LEASE},
    {"retries", PROMISE_RETRIES},
    {"waits_for_writers", PROMISE_WAITS_FOR_WRITERS},
    {0},
};

const struct word dequeue_words[] = {
    {"cursor", DEQUEUE_CURSOR},
    {"shared", DEQUEUE_SHARED},
    {"leased", DEQUEUE_LEASED},
    {0},
};

static const struct word arrivals[] = {
    {"constant", ARRIVALS_CONSTANT},
    {"poisson", ARRIVALS_POISSON},
    {"trace", ARRIVALS_TRACE},
    {0},
};

static const struct word memories[] = {
    {"plain", MEMORY_PLAIN},
    {"collected", MEMORY_COLLECTED},
    {0},
};

static const struct word names[] = {
    {"plain", NAMES_PLAIN},
    {"hostile", NAMES_HOSTILE},
    {0},
};

static const struct word inserts[] = {
    {"row", INSERT_ROW},
    {"savepoint", INSERT_SAVEPOINT},
    {"copy", INSERT_COPY},
    {"upsert", INSERT_UPSERT},
    {0},
};

static const struct word rates[] = {{"max", 1}, {0}};

static const struct word targets[] = {
    {"collector", TARGET_COLLECTOR},
    {"load", TARGET_LOAD},
    {"all", TARGET_ALL},
    {"listener", TARGET_LISTENER},
    {"server", TARGET_SERVER},
    {0},
};

static const struct word directions[] = {
    {"to-server", TO_SERVER},
    {"to-collector", TO_COLLECTOR},
    {0},
};

static const struct word throughs[] = {
    {"proxy", THROUGH_PROXY},
    {"kernel", THROUGH_KERNEL},
    {0},
};

static const struct word sides[] = {{"before", CUT_BEFORE}, {"after", CUT_AFTER}, {0}};

static const struct word databases[] = {
    {"run", DATABASE_RUN},
    {"other", DATABASE_OTHER},
    {0},
};

static const struct word instances[] = {{"all", -1}, {0}};
static const struct word rests[] = {{"rest", FOR_REST}, {0}};
static const struct word slacks[] = {{"auto", SLACK_AUTO}, {0}};

static const struct field postgres_fields[] = {
    {"provider", FIELD_STRING, AT(postgres.provider), .default_text = "local", .words = providers,
        .help = "where the server comes from: local, container, url or patroni"},
    {"image", FIELD_STRING, AT(postgres.image), .default_text = SCENARIO_IMAGE,
        .help = "the image of provider: container"},
    {"schema", FIELD_INT, AT(postgres.schema), .default_text = "latest", .min = 1, .max = 999999,
        .words = schemas, .help = "latest, or the number of the migration to stop at"},
    {"announce", FIELD_WORD, AT(postgres.announce), .default_text = "each", .words = announces,
        .help = "each: every token is announced; bell: only while a collector asks for it "
                "(mailroom_announce)"},
    {"settings", FIELD_SETTINGS, AT(postgres.settings), .default_text = "{}",
        .help = "server settings, as postgresql.conf would have them"},
    {"storage", FIELD_WORD, AT(postgres.storage), .default_text = "plain", .words = storages,
        .help = "plain, or crashable: a file system of its own whose power can be cut"},
    {"disk", FIELD_WORD, AT(postgres.disk), .default_text = "honest", .words = disks,
        .help = "with storage: crashable: honest, lying (flushes are answered, not done) or "
                "no-barriers (the file system asks for no flush)"},
    {"filesystem", FIELD_WORD, AT(postgres.files), .default_text = "ext4", .words = files,
        .help = "with storage: crashable: ext4, ext4-writeback (data=writeback) or xfs"},
    {"checksums", FIELD_BOOL, AT(postgres.checksums), .default_text = "false",
        .help = "data pages carry checksums; provider: local"},
    {"durability", FIELD_WORD, AT(postgres.durability), .default_text = "prove",
        .words = durabilities, .help = "prove that commits reach the disk, or waive it"},
    {"standby", FIELD_WORD, AT(postgres.standby), .default_text = "none", .words = standbys,
        .help = "none, async or sync"},
    {"route", FIELD_WORD, AT(postgres.route), .default_text = "hosts", .words = routes,
        .help = "how clients find a cluster's leader: hosts (a list of its members) or proxy"},
    {"rest", FIELD_STRING, AT(postgres.rest), .optional = true,
        .help = "with provider: url, when the conninfo leads to a Patroni cluster of yours: "
                "HOST:PORT,… of its REST interfaces"},
};

static const struct table postgres_table = TABLE(postgres_fields, struct scenario);

static const struct field sender_fields[] = {
    {"error", FIELD_SHARE, AT(collector.sender.error), .default_text = "0",
        .help = "share of attempts answered with a transient error"},
    {"permanent", FIELD_SHARE, AT(collector.sender.permanent), .default_text = "0",
        .help = "share answered with a permanent error"},
    {"hang", FIELD_SHARE, AT(collector.sender.hang), .default_text = "0",
        .help = "share that is never answered"},
    {"twice", FIELD_SHARE, AT(collector.sender.twice), .default_text = "0",
        .help = "share of answers that are given twice"},
    {"wrong", FIELD_SHARE, AT(collector.sender.wrong), .default_text = "0",
        .help = "share of answers with a line before them that is not an answer"},
    {"dies", FIELD_SHARE, AT(collector.sender.dies), .default_text = "0",
        .help = "share of attempts at which the sender dies instead of answering: the collector's "
                "standard input is closed, as by kill-sender"},
    {"delay", FIELD_SPAN, AT(collector.sender.delay_from_ns), .default_text = "0s", .min = 0,
        .max = HOUR, .help = "how long an answer takes: 20ms, or anything between 20ms..80ms"},
};

static const struct table sender_table = TABLE(sender_fields, struct scenario);

static const struct field collector_fields[] = {
    {"command", FIELD_STRINGS, AT(collector.command), .default_text = "[]",
        .help = "program and arguments; empty for the reference collector"},
    {"subject", FIELD_STRING, AT(collector.subject), .default_text = "mailroom",
        .help = "mailroom: a collector of mail lines; else a queue of subjects/, see --subject"},
    {"layout", FIELD_WORD, AT(collector.layout), .default_text = "auto", .words = layouts,
        .help = "whose tables hold its place: reference, or foreign: they are not looked into, and "
                "its role may create tables; auto: reference for mailroom-collector, else foreign"},
    {"dequeue", FIELD_WORD, AT(collector.dequeue), .default_text = "cursor", .words = dequeue_words,
        .help = "how tokens are dequeued: cursor, by one collector, in commit order; shared, by "
                "any number; or leased, by any number, with answers"},
    {"instances", FIELD_INT, AT(collector.instances), .default_text = "1", .min = 1,
        .max = INSTANCES_MAX, .help = "how many collectors run at once"},
    {"batch_limit", FIELD_INT, AT(collector.batch_limit), .default_text = "10", .min = 1,
        .max = 1000000,
        .help = "most tokens in one line; the reference collector takes up to 100000"},
    {"batch_timeout", FIELD_DURATION, AT(collector.batch_timeout_ns), .default_text = "5s",
        .min = 0, .max = HOUR, .help = "longest wait for a full batch, in whole ms"},
    {"adaptive_from", FIELD_DURATION, AT(collector.adaptive_from_ns), .default_text = "0s",
        .min = 0, .max = HOUR,
        .help = "0s: a batch waits for batch_timeout; else the collector chooses the wait between "
                "this and batch_timeout (MAILROOM_BATCH_TIMEOUT=auto:FROM..TO), and early is not "
                "judged"},
    {"env", FIELD_SETTINGS, AT(collector.env), .default_text = "{}",
        .help = "further environment variables"},
    {"restart", FIELD_BOOL, AT(collector.restart), .default_text = "true",
        .help = "start it again 100 ms after it exits; false: the end of the last one ends the "
                "run"},
    {"sender", FIELD_MAP, .default_text = "{}", .table = &sender_table,
        .help = "with dequeue: leased: how the harness answers for the tokens that it reads"},
    {"promises", FIELD_FLAGS, AT(collector.promises), .optional = true, .words = promise_words,
        .help = "what it promises, and what alone is judged, such as [no_loss, once]; without the "
                "key mailroom-collector promises all, another one no_loss, once, limit, timeout, "
                "order, reconnect, backpressure, stop and dead_letters"},
    {"memory", FIELD_WORD, AT(collector.memory), .default_text = "plain", .words = memories,
        .help = "plain, or collected: a garbage collector frees it now and then, and leak is not "
                "judged"},
    {"writes", FIELD_STRINGS, AT(collector.writes), .default_text = "[]",
        .help = "columns, as table.column, that it changes itself, though others own them"},
    {"capacity", FIELD_PER_S, AT(collector.capacity), .optional = true, .min = 1, .max = 1000000,
        .help = "the rate that it can sustain, such as 2000/s; a backlog that grows at a lower "
                "rate is then judged"},
    {"returns_within", FIELD_DURATION, AT(collector.returns_within_ns), .optional = true,
        .min = NS_PER_MS, .max = HOUR,
        .help = "how soon it works again after the end of its session (default 1s), at most "
                "recovery_limit; twice as long where the server refused it"},
    {"starts_within", FIELD_DURATION, AT(collector.starts_within_ns), .optional = true,
        .min = NS_PER_MS, .max = HOUR,
        .help = "how soon it works after the start of its process (default 500ms), at most "
                "recovery_limit"},
};

static const struct table collector_table = TABLE(collector_fields, struct scenario);

static const struct field hold_fields[] = {
    {"share", FIELD_SHARE, PHASE(hold_share), .help = "share of transactions that stay open"},
    {"for", FIELD_DURATION, PHASE(hold_for_ns), .min = 0, .max = HOUR,
        .help = "how long they stay open after their insert"},
};

static const struct table hold_table = TABLE(hold_fields, struct load_phase);

static const struct field changes_fields[] = {
    {"consume", FIELD_SHARE, PHASE(consume), .default_text = "0", .help = "share that is consumed"},
    {"suspend", FIELD_SHARE, PHASE(suspend), .default_text = "0",
        .help = "share whose account is suspended"},
    {"reactivate", FIELD_SHARE, PHASE(reactivate), .default_text = "0",
        .help = "share whose account is suspended and, a moment later, active again"},
    {"expire", FIELD_SHARE, PHASE(expire), .default_text = "0", .help = "share that expires"},
    {"delete", FIELD_SHARE, PHASE(delete), .default_text = "0",
        .help = "share whose account is deleted, and the token with it"},
    {"email", FIELD_SHARE, PHASE(email), .default_text = "0",
        .help = "share whose account gets another address; the token goes out to the one that its "
                "account has when the line is taken"},
    {"login", FIELD_SHARE, PHASE(login), .default_text = "0",
        .help = "share whose account gets another login"},
};

static const struct table changes_table = TABLE(changes_fields, struct load_phase);

static bool has_rate(const void *phase)
{
    return ((const struct load_phase *)phase)->arrivals != ARRIVALS_TRACE;
}

static bool has_arrivals(const void *phase)
{
    return !((const struct load_phase *)phase)->closed;
}

static const struct field load_fields[] = {
    {"name", FIELD_STRING, PHASE(name), .optional = true, .help = "the phase's name"},
    {"for", FIELD_DURATION, PHASE(for_ns), .min = NS_PER_MS, .max = PHASE_NS_MAX,
        .help = "how long it lasts"},
    {"rate", FIELD_RATE, PHASE(rate_from), .optional = true, .min = 0, .max = 1000000,
        .words = rates, .written = has_rate,
        .help = "intended tokens per second: 200/s, a ramp 100/s..2000/s, or max (closed loop); "
                "must be given, but not with a trace"},
    {"arrivals", FIELD_WORD, PHASE(arrivals), .default_text = "poisson", .words = arrivals,
        .written = has_arrivals, .help = "how transactions are spaced: constant, poisson or trace"},
    {"file", FIELD_STRING, PHASE(file), .optional = true,
        .help = "with arrivals: trace: its file, seconds from the phase's start, one per line"},
    {"connections", FIELD_INT, PHASE(connections), .default_text = "8", .min = 1, .max = 500,
        .help = "how many connections insert"},
    {"rows_per_transaction", FIELD_RANGE, PHASE(rows_from), .default_text = "1", .min = 1,
        .max = 1000, .help = "tokens in one transaction: 10, or anything between 1..100"},
    {"recovery", FIELD_SHARE, PHASE(recovery), .default_text = "0",
        .help = "share of tokens that are password_recovery"},
    {"rollback", FIELD_SHARE, PHASE(rollback), .default_text = "0",
        .help = "share of transactions that are rolled back"},
    {"hold_open", FIELD_MAP, .default_text = "{share: 0, for: 0s}", .table = &hold_table,
        .help = "transactions kept open, so that ids commit out of order"},
    {"ineligible", FIELD_SHARE, PHASE(ineligible), .default_text = "0",
        .help = "share of tokens made expired or consumed, or whose account has a status that does "
                "not fit: suspended, active though they activate, provisioned though they recover"},
    {"unsendable", FIELD_SHARE, PHASE(unsendable), .default_text = "0",
        .help = "share of tokens that the wire cannot carry"},
    {"names", FIELD_WORD, PHASE(names), .default_text = "plain", .words = names,
        .help = "plain, or hostile: half of the unsendable ones have commas, quotes, control "
                "characters or whole records in their names, many others UTF-8 and 254 characters"},
    {"insert", FIELD_WORD, PHASE(insert), .default_text = "row", .words = inserts,
        .help =
            "how accounts are inserted: row; savepoint (one per row, some rolled back to and tried "
            "again); copy; or upsert (ON CONFLICT DO NOTHING, a fifth of them conflicts)"},
    {"backlog", FIELD_INT, PHASE(backlog), .default_text = "0", .min = 0, .max = BACKLOG_MAX,
        .help = "tokens committed before the collector starts; only in the first phase"},
    {"ids_from", FIELD_INT, PHASE(ids_from), .default_text = "1", .min = 1, .max = 2147483647,
        .help = "the first id of accounts and tokens; only in the first phase"},
    {"tokens_per_account", FIELD_INT, PHASE(tokens_per_account), .default_text = "1", .min = 1,
        .max = 1000, .help = "recovery tokens of one account, on average: its owner asks again"},
    {"changes", FIELD_MAP, .default_text = "{}", .table = &changes_table,
        .help = "tokens whose account or token changes while they wait, so that they may go out "
                "or be passed over, or must go out under another name"},
};

static const struct table load_table = TABLE(load_fields, struct load_phase);

static const struct field fault_fields[] = {
    {"at", FIELD_DURATION, FAULT(at_ns), .min = 0, .max = LOAD_MAX,
        .help = "when it starts, counted from the start of the load"},
    {"every", FIELD_DURATION, FAULT(every_ns), .optional = true, .min = NS_PER_MS, .max = DAY,
        .help = "the time from one start to the next"},
    {"until", FIELD_DURATION, FAULT(until_ns), .optional = true, .min = NS_PER_MS, .max = LOAD_MAX,
        .help = "the last time it may start; without it, the end of the load"},
    {"do", FIELD_VERB, FAULT(verb), .help = "what happens: a fault verb"},
    {"target", FIELD_WORD, FAULT(target), .default_text = "collector", .words = targets,
        .param = PARAM_TARGET,
        .help = "whose backends: collector, load or all; listener: the collector's that last sent "
                "LISTEN; step-clock: whose clock: collector or server"},
    {"for", FIELD_DURATION, FAULT(for_ns), .optional = true, .min = NS_PER_MS, .max = HOUR,
        .words = rests, .param = PARAM_FOR,
        .help = "how long it lasts; with kill-collector and stop-collector, how long the collector "
                "stays away, where rest is for the rest of the run"},
    {"instance", FIELD_INT, FAULT(instance), .default_text = "all", .min = 0,
        .max = INSTANCES_MAX - 1, .words = instances, .param = PARAM_INSTANCE,
        .help = "which collector, from 0; or all"},
    {"through", FIELD_WORD, FAULT(through), .default_text = "proxy", .words = throughs,
        .param = PARAM_THROUGH,
        .help = "proxy: mailproof's own; kernel: network namespaces (root), so that TCP's timers "
                "are tested"},
    {"direction", FIELD_WORD, FAULT(direction), .default_text = "to-collector", .words = directions,
        .param = PARAM_DIRECTION,
        .help = "the direction in which nothing passes: to-server or to-collector"},
    {"by", FIELD_DURATION, FAULT(by_ns), .optional = true, .min = -DAY, .max = DAY,
        .param = PARAM_BY | PARAM_STEP, .needed = true,
        .help = "how much later every byte arrives; with slow-disk: how long a flush takes at "
                "least; with step-clock: how far, such as 1h or -1h"},
    {"jitter", FIELD_DURATION, FAULT(jitter_ns), .optional = true, .min = NS_PER_US, .max = MINUTE,
        .param = PARAM_JITTER, .any_verb = true,
        .help = "with every: each time is up to this much later, drawn by the seed; with delay: "
                "each byte is up to this much later than by"},
    {"rate", FIELD_BYTE_RATE, FAULT(rate), .optional = true, .min = 1, .max = 1000000000,
        .param = PARAM_RATE, .needed = true, .help = "bytes per second, such as 20kB/s"},
    {"reset", FIELD_BOOL, FAULT(reset), .default_text = "false", .param = PARAM_RESET,
        .help = "drop what was withheld, with its connection, instead of delivering it late"},
    {"message", FIELD_STRING, FAULT(message), .optional = true, .param = PARAM_MESSAGE,
        .needed = true,
        .help = "sender and name, such as server CommandComplete UPDATE or client Bind"},
    {"n", FIELD_INT, FAULT(n), .default_text = "1", .min = 1, .max = 1000000, .param = PARAM_N,
        .help = "which of these messages or flushes, counted from the fault's time"},
    {"side", FIELD_WORD, FAULT(side), .default_text = "before", .words = sides, .param = PARAM_SIDE,
        .help = "before the message is passed on, or after it"},
    {"prepared", FIELD_BOOL, FAULT(prepared), .default_text = "false", .param = PARAM_PREPARED,
        .help = "a prepared transaction, which belongs to no connection"},
    {"database", FIELD_WORD, FAULT(database), .default_text = "run", .words = databases,
        .param = PARAM_DATABASE,
        .help = "run: the collector's database; other: another one of the same server"},
    {"to", FIELD_SHARE, FAULT(to), .default_text = "5%", .param = PARAM_TO,
        .help = "how full the notification queue gets"},
    {"bytes", FIELD_INT, FAULT(bytes), .optional = true, .min = 1, .max = 1000000000,
        .param = PARAM_BYTES, .needed = true,
        .help = "with limit-data: after how many bytes a connection ends; with slice: the size "
                "of a piece"},
    {"gap", FIELD_DURATION, FAULT(gap_ns), .default_text = "1ms", .min = 0, .max = MINUTE,
        .param = PARAM_GAP, .help = "the pause after each piece"},
};

const struct table fault_table = TABLE(fault_fields, struct fault_spec);

static const struct field counterpart_fields[] = {
    {"collector", FIELD_STRING, COUNTERPART(collector), .optional = true,
        .help = "a collector's command, as --collector takes it"},
    {"set", FIELD_STRINGS, COUNTERPART(sets), .default_text = "[]",
        .help = "other settings, as --set takes them: [key.path=value]"},
    {"breaks", FIELD_STRINGS, COUNTERPART(breaks),
        .help = "metrics: the invariants that it breaks and the objectives that it misses"},
};

static const struct table counterpart_table = TABLE(counterpart_fields, struct counterpart);

static const struct field scenario_fields[] = {
    {"name", FIELD_STRING, AT(name), .help = "the file's name without .yaml"},
    {"summary", FIELD_STRING, AT(summary), .help = "one line: which promise this proves"},
    {"tags", FIELD_STRINGS, AT(tags), .default_text = "[]", .help = "words for `run --tag`"},
    {"needs", FIELD_FLAGS, AT(needs), .default_text = "[]", .words = promise_words,
        .help = "promises without which a subject is not run here; several instances, the modes, "
                "a budget and lanes are needs even if they are not listed"},
    {"seed", FIELD_SEED, AT(seed), .default_text = "1", .min = 0, .max = SEED_MAX,
        .help = "the same seed gives the same plan"},
    {"postgres", FIELD_MAP, .default_text = "{}", .table = &postgres_table, .help = "the server"},
    {"collector", FIELD_MAP, .default_text = "{}", .table = &collector_table,
        .help = "the collector under test"},
    {"load", FIELD_ITEMS, AT(load), .table = &load_table, .help = "phases, one after another"},
    {"faults", FIELD_ITEMS, AT(faults), .default_text = "[]", .table = &fault_table,
        .help = "what is broken, and when"},
    {"drain", FIELD_DURATION, AT(drain_ns), .default_text = "10s", .min = 0, .max = HOUR,
        .help = "longest time to finish after load and faults"},
    {"rest", FIELD_DURATION, AT(rest_ns), .default_text = "300ms", .min = 0, .max = HOUR,
        .help = "how long the run looks on after its last token, for what comes out of silence"},
    {"recovery_limit", FIELD_DURATION, AT(recovery_limit_ns), .default_text = "5s",
        .min = NS_PER_MS, .max = HOUR,
        .help = "longest time from a fault's end until fresh tokens come out"},
    {"slack", FIELD_DURATION, AT(slack_ns), .default_text = "auto", .min = NS_PER_MS, .max = MINUTE,
        .words = slacks,
        .help = "how late a token may be before it counts as 'late'; auto measures it during the "
                "run. A value also limits how late the generator may be"},
    {"allow", FIELD_ALLOW, AT(allow), .default_text = "{}",
        .help = "invariants that may be broken: any, or how often"},
    {"judged", FIELD_JUDGED, AT(judged), .default_text = "{}",
        .help = "share of an invariant that must be judged, else the run is inconclusive; 50% for "
                "those that expect names"},
    {"expect", FIELD_EXPECT, AT(expect), .default_text = "{}",
        .help = "metrics and their objectives"},
    {"counterparts", FIELD_ITEMS, AT(counterparts), .default_text = "[]",
        .table = &counterpart_table,
        .help = "what must fail here, so that a pass means something; `mailproof plan` prints the "
                "commands, and no run looks at it"},
};

const struct table scenario_table = TABLE(scenario_fields, struct scenario);

const struct word *word_find(const struct word *words, const char *name)
{
    for (const struct word *w = words; w && w->name; w++)
        if (strcmp(w->name, name) == 0)
            return w;
    return NULL;
}

const char *word_name(const struct word *words, int64_t value)
{
    for (const struct word *w = words; w && w->name; w++)
        if (w->value == value)
            return w->name;
    return NULL;
}

void words_print(const struct word *words, int flags, struct buf *out)
{
    const char *before = "";

    for (const struct word *w = words; w->name; w++) {
        if (!(flags & (int)w->value))
            continue;
        buf_printf(out, "%s%s", before, w->name);
        before = ", ";
    }
}

const char *fault_target_name(enum fault_target target)
{
    return word_name(targets, target);
}

const char *fault_through_name(enum fault_through through)
{
    return word_name(throughs, through);
}
