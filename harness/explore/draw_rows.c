// The table of a scenario's keys with the values that explore draws for them.
#include "explore/draw.h"

#define ELSEWHERE "draw.c writes it"
#define CRASHABLE_DISK "storage: crashable"
#define SAME_SERVER "the server is the same for many draws"

// The values make small runs: about two seconds of load, at rates that a shared machine can
// sustain.
const struct draw_row draw_rows[] = {
    {"name", NULL, 0, ELSEWHERE},
    {"summary", NULL, 0, ELSEWHERE},
    {"tags", NULL, 0, "says nothing about a run"},
    {"needs", NULL, 0, "follows from the other keys"},
    {"seed", NULL, 0, ELSEWHERE},
    {"drain", NULL, 0, ELSEWHERE},
    {"rest", "2s", 0.05, NULL},
    {"recovery_limit", NULL, 0, ELSEWHERE},
    {"slack", NULL, 0, "the run measures it"},
    {"allow", NULL, 0, ELSEWHERE},
    {"judged", NULL, 0, "a draw that is judged little shows little, and is no failure"},
    {"expect", NULL, 0, ELSEWHERE},
    {"counterparts", NULL, 0, "says nothing about a run"},
    {"counterparts.N.collector", NULL, 0, "says nothing about a run"},
    {"counterparts.N.set", NULL, 0, "says nothing about a run"},
    {"counterparts.N.breaks", NULL, 0, "says nothing about a run"},

    {"postgres.provider", NULL, 0, SAME_SERVER},
    {"postgres.image", NULL, 0, SAME_SERVER},
    {"postgres.schema", NULL, 0, "the collector needs the latest"},
    {"postgres.announce", "bell", 0.2, NULL},
    {"postgres.settings", NULL, 0, SAME_SERVER},
    {"postgres.storage", NULL, 0, "comes with the verbs that need it"},
    {"postgres.disk", NULL, 0, "comes with the verbs that need it"},
    {"postgres.filesystem", NULL, 0, "comes with the verbs that need it"},
    {"postgres.checksums", NULL, 0, SAME_SERVER},
    {"postgres.durability", NULL, 0, "always proved"},
    {"postgres.standby", NULL, 0, "comes with the verbs that need it"},
    {"postgres.route", NULL, 0, "comes with a cluster"},
    {"postgres.rest", NULL, 0, "needs a cluster that is there already"},

    {"collector.command", NULL, 0, "what is tested"},
    {"collector.subject", NULL, 0, "what is tested"},
    {"collector.layout", NULL, 0, "a property of what is tested"},
    {"collector.instances", "2|2|3", 0.35, NULL},
    {"collector.batch_limit", "1|2|3|5|10|10|20|20|50", 1, NULL},
    {"collector.batch_timeout", "20ms|50ms|100ms|100ms|200ms|200ms|400ms", 1, NULL},
    {"collector.adaptive_from", NULL, 0, "broken collectors of the zoo know fixed windows only"},
    {"collector.env", NULL, 0, "its variables have rows of their own"},
    {"collector.restart", NULL, 0, "a collector that stays away ends the run"},
    {"collector.promises", NULL, 0, "a property of what is tested"},
    {"collector.memory", NULL, 0, "a property of what is tested"},
    {"collector.writes", NULL, 0, "a property of what is tested"},
    {"collector.capacity", NULL, 0, ELSEWHERE},
    {"collector.returns_within", NULL, 0, "a property of what is tested"},
    {"collector.starts_within", NULL, 0, "a property of what is tested"},
    {"collector.dequeue", NULL, 0, ELSEWHERE},
    {"collector.sender", NULL, 0, ELSEWHERE},
    {"collector.sender.", NULL, 0, "drawn together, as collector.sender"},
    {"collector.env.MAILROOM_HEALTHCHECK_INTERVAL", "500|1000|3000", 0.4, NULL},

    // These values are small, so that retries and timeouts end within a short run.
    {"leased.env.MAILROOM_RETRY_BASE", "20|20|200|1000", 1, NULL},
    {"leased.env.MAILROOM_RETRY_MAX", "1000", 1, NULL},
    {"leased.env.MAILROOM_ATTEMPTS", "2|5|20|20", 1, NULL},
    {"leased.env.MAILROOM_GRACE", "300", 1, NULL},
    {"leased.env.MAILROOM_ANSWER_TIMEOUT", "1000", 1, NULL},
    {"leased.env.MAILROOM_IN_FLIGHT", "2|16|64", 0.5, NULL},

    {"ours.env.MAILROOM_LANES", "password_recovery,activation", 0.25, NULL},
    {"ours.env.MAILROOM_AGEING", "0|1000", 0.5, NULL},
    {"ours.env.MAILROOM_BUDGET", "50/s|100/s", 0.25, NULL},
    {"ours.env.MAILROOM_BURST", "10|50", 0.5, NULL},

    {"load.N.name", NULL, 0, ELSEWHERE},
    {"load.N.for", "300ms|700ms|1s|1500ms|2s", 1, NULL},
    {"load.N.rate", "20/s|40/s|40/s|60/s|100/s|100/s|200/s|400/s|10/s..300/s|200/s..20/s", 1, NULL},
    {"load.N.arrivals", "constant|constant|poisson", 1, NULL},
    {"load.N.file", NULL, 0, "needs a file"},
    {"load.N.connections", "1|2|4|8|16", 0.7, NULL},
    {"load.N.rows_per_transaction", "1..3|5|10|25|1..25", 0.3, NULL},
    {"load.N.recovery", "0.1|0.3|0.5", 0.5, NULL},
    {"load.N.rollback", "0.05|0.2", 0.25, NULL},
    {"load.N.hold_open",
        "{share: 0.1, for: 50ms}|{share: 0.3, for: 20ms}|{share: 0.5, for: 150ms}|"
        "{share: 1, for: 100ms}",
        0.35, NULL},
    {"load.N.hold_open.", NULL, 0, "drawn together, as load.N.hold_open"},
    {"load.N.ineligible", "0.05|0.25", 0.4, NULL},
    {"load.N.unsendable", "0.02|0.1", 0.35, NULL},
    {"load.N.names", "hostile", 0.2, NULL},
    {"load.N.insert", "savepoint|copy|upsert", 0.3, NULL},
    {"load.N.backlog", "30|300", 0.1, NULL},
    {"load.N.ids_from", "2147483600", 0.1, NULL}, // so that ids pass 2^31
    {"load.N.tokens_per_account", "2|5", 0.2, NULL},
    {"load.N.changes",
        "{consume: 0.1}|{suspend: 0.2}|{reactivate: 0.2}|{expire: 0.1}|{delete: 0.2}|"
        "{email: 0.2}|{login: 0.2}|"
        "{consume: 0.1, suspend: 0.1, reactivate: 0.1, expire: 0.1, delete: 0.1, email: 0.1, "
        "login: 0.1}",
        0.2, NULL},
    {"load.N.changes.", NULL, 0, "drawn together, as load.N.changes"},

    {"faults.N.do", NULL, 0, ELSEWHERE},
    {"faults.N.at", NULL, 0, ELSEWHERE},
    {"faults.N.until", NULL, 0, ELSEWHERE},
    {"faults.N.every", "150ms|300ms|500ms|900ms", 0.35, NULL},
    {"faults.N.target", "collector|collector|collector|all|load", 0.7, NULL},
    {"faults.N.for", "10ms|50ms|100ms|200ms|400ms|700ms|1s|1500ms", 0.7, NULL},
    {"faults.N.instance", "0|1|2", 0.6, NULL},
    {"faults.N.through", NULL, 0, "the kernel's timers take longer than a draw"},
    {"faults.N.direction", "to-server|to-collector", 1, NULL},
    {"faults.N.by", "2ms|10ms|50ms", 1, NULL},
    {"faults.N.jitter", "5ms|20ms|100ms", 0.5, NULL},
    {"faults.N.rate", "500B/s|2kB/s|10kB/s|50kB/s", 1, NULL},
    {"faults.N.reset", "true", 0.5, NULL},
    {"faults.N.message",
        "client Bind|client Execute|client Sync|server BindComplete|server CommandComplete|"
        "server DataRow|server ReadyForQuery|server any|client any",
        1, NULL},
    {"faults.N.n", "1|1|2|3|5|8", 0.8, NULL},
    {"faults.N.side", "before|after", 1, NULL},
    {"faults.N.prepared", "true", 0.4, NULL},
    {"faults.N.database", "other", 0.3, NULL},
    {"faults.N.to", "0.01%|0.03%", 1, NULL},
    {"faults.N.bytes", "1|20|100|1000|5000", 1, NULL},
    {"faults.N.gap", "100us|500us|2ms", 0.7, NULL},
};

const size_t draw_row_count = sizeof draw_rows / sizeof *draw_rows;

#define USUAL_WEIGHT 4 // weight of a verb that names none

// True when a row with the path `row` is about the key `path`. A row whose path ends in a dot is
// about all keys below it.
static bool is_about(const char *row, const char *path)
{
    size_t len = strlen(row);

    return strcmp(row, path) == 0 || (row[len - 1] == '.' && strncmp(row, path, len) == 0);
}

const struct draw_row *draw_row(const char *path)
{
    for (size_t i = 0; i < draw_row_count; i++) {
        if (is_about(draw_rows[i].path, path))
            return &draw_rows[i];
    }
    return NULL;
}

// Some verbs are never drawn. Failovers of a cluster take longer than a draw's run. Verbs that set
// the clock need a library that is loaded into each program, which would change what the other
// faults of the run test.
unsigned draw_weight(const struct verb *verb)
{
    if (verb->needs_cluster || verb->hits == HITS_CLOCK)
        return 0;
    return verb->weight ? verb->weight : USUAL_WEIGHT;
}

const char *draw_needs(const struct verb *verb)
{
    if (verb->needs_standby)
        return "standby: sync";
    // The death of a host tests more if its disk loses power at the same time, which needs a
    // crashable disk.
    return verb->needs_disk || verb->hits == HITS_HOST ? CRASHABLE_DISK : NULL;
}

void draw_option(struct rng *rng, const char *options, char *value, size_t size)
{
    size_t count = 1; // number of options: one more than the bars between them

    for (const char *p = options; *p; p++)
        count += *p == '|';
    for (size_t skip = rng_below(rng, count); skip > 0; skip--)
        options = strchr(options, '|') + 1;
    snprintf(value, size, "%.*s", (int)strcspn(options, "|"), options);
}
