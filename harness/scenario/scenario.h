// A scenario: what the user wants to happen, with all defaults filled in and validated.
//
// Times are nanoseconds, rates are per second, shares lie between 0 and 1. A scenario owns its
// strings and arrays; scenario_fini frees them and accepts a zeroed or half-loaded struct.
// Everything in it has been validated: later folders do not check again.
#pragma once

#include "scenario/promises.h"
#include "scenario/verbs.h"

enum arrivals { ARRIVALS_CONSTANT, ARRIVALS_POISSON, ARRIVALS_TRACE };
enum durability { DURABILITY_PROVE, DURABILITY_WAIVE };
// Whether producers announce each token, or announce only while a collector sleeps.
enum announce { ANNOUNCE_EACH, ANNOUNCE_BELL };
enum standby_mode { STANDBY_NONE, STANDBY_ASYNC, STANDBY_SYNC };
// How clients find the leader of a cluster: by its members' addresses, or through HAProxy.
enum route { ROUTE_HOSTS, ROUTE_PROXY };
enum storage { STORAGE_PLAIN, STORAGE_CRASHABLE };

// How a crashable disk treats a flush.
enum disk_manner {
    DISK_HONEST,
    DISK_LYING,  // a flush is answered, and nothing is flushed
    DISK_UNASKED // the file system asks for no flushes, because it is mounted without barriers
};

// The file system of a crashable disk.
enum disk_files {
    FILES_EXT4,
    FILES_WRITEBACK, // ext4 with data=writeback: after a crash a file may be longer than its data
    FILES_XFS
};

// Whether a subject frees its memory itself, or a garbage collector does now and then.
enum memory { MEMORY_PLAIN, MEMORY_COLLECTED };

enum load_names { NAMES_PLAIN, NAMES_HOSTILE };
enum load_insert { INSERT_ROW, INSERT_SAVEPOINT, INSERT_COPY, INSERT_UPSERT };
// How collectors share a queue. Cursor: one collector works, in commit order. Shared: any number of
// collectors work, and each token goes to one of them. Leased: as shared, and the reader of the
// lines answers for each token.
enum dequeue { DEQUEUE_CURSOR, DEQUEUE_SHARED, DEQUEUE_LEASED };
// Whose tables hold what the subject remembers: the reference collector's, or tables of its own,
// which the harness does not look into. LAYOUT_AUTO occurs only in a file; needs_resolve replaces
// it.
enum layout { LAYOUT_REFERENCE, LAYOUT_FOREIGN, LAYOUT_AUTO };

// One name = value pair: a server setting or an environment variable.
struct setting {
    char *name;
    char *value;
};

// A server gets its settings on its command line, so their number and length have a limit.
#define SERVER_SETTINGS_MAX 64
#define SERVER_SETTING_SIZE 512 // of NAME=VALUE, with the final 0

struct settings {
    struct setting *items;
    size_t count;
};

// Returns the value of the setting with this name; NULL: there is none.
const char *settings_value(const struct settings *settings, const char *name);

struct scenario_postgres {
    char *provider; // name of the provider, such as "local"
    char *image;    // the container's image
    int schema;     // the last migration to apply; SCHEMA_LATEST: all of them
    enum announce announce;
    struct settings settings;
    enum durability durability;
    enum storage storage;
    enum disk_manner disk;
    enum disk_files files;
    bool checksums; // whether data pages have checksums
    enum standby_mode standby;
    enum route route;
    char *rest; // addresses of the REST interface of the user's own cluster; NULL: there is none
};

#define SCHEMA_LATEST 0
#define SCHEMA_NONE (-1) // for a database that a subject fills itself
#define SCENARIO_IMAGE "postgres:18"
#define SUBJECT_MAILROOM "mailroom"
#define INSTANCES_MAX 64 // the most collectors that a scenario may have; one bit stands for each

// The answers of the harness in the role of the sender. The seed decides the answer for each token
// and attempt.
struct scenario_sender {
    double error, permanent, hang, twice, wrong, dies; // the share of each kind of answer
    int64_t delay_from_ns, delay_to_ns;
};

struct scenario_collector {
    char **command; // NULL-terminated argv; NULL: run the reference collector
    char *subject;  // SUBJECT_MAILROOM, or the name of the queue that is judged instead
    enum layout layout;
    enum dequeue dequeue; // older scenarios set it by MAILROOM_DEQUEUE in env
    int instances;
    int batch_limit;
    int64_t batch_timeout_ns;
    int64_t adaptive_from_ns; // lower bound of the adaptive window; 0: the window is fixed
    struct settings env;
    bool restart;
    int promises; // bits of enum promise
    struct scenario_sender sender;
    enum memory memory;
    char **writes;   // columns, as table.column, that the subject itself changes; NULL-terminated
    double capacity; // tokens per second that the subject can sustain; 0: not known
    int64_t returns_within_ns; // 0: not given; see scenario_returns_ns
    int64_t starts_within_ns;  // 0: not given; see scenario_starts_ns
};

struct load_phase {
    char *name;
    int64_t for_ns;
    double rate_from; // intended tokens per second at the phase's start
    double rate_to;   // the same at the phase's end; in between the rate changes linearly
    bool closed;      // "rate: max": each connection inserts as soon as it can
    enum arrivals arrivals;
    char *file;        // the file of a trace's recorded times; NULL: no trace
    int64_t *trace_ns; // owned; the recorded times, counted from the phase's start
    size_t trace_count;
    int connections;
    int rows_from, rows_to; // tokens in one transaction: a random number between these two
    double recovery;        // share of the tokens that are password_recovery
    double rollback;        // share of the transactions that are rolled back
    double hold_share;      // share of the transactions that stay open for hold_for_ns
    int64_t hold_for_ns;
    double ineligible; // share of the tokens that no collector may send
    double unsendable; // share of the tokens that the wire format cannot carry
    enum load_names names;
    enum load_insert insert;
    int backlog;  // number of tokens that are committed before the collector starts; first phase
                  // only
    int ids_from; // the first id of accounts and tokens; first phase only
    // Shares of the tokens to which this happens while they wait: to the token itself, or to its
    // account.
    double consume, suspend, reactivate, expire, delete, email, login;
    int tokens_per_account; // number of recovery tokens that an account has on average
};

struct fault_spec {
    const struct verb *verb; // a row of the table in verbs.h; not owned
    int64_t at_ns;           // counted from the start of the load
    int64_t every_ns;        // period of a repeated fault; 0: the fault comes once
    int64_t until_ns;        // no repetition of the fault starts later than this
    int64_t for_ns;          // how long the fault lasts; 0: it takes an instant; FOR_REST: the rest
                             // of the run
    enum fault_target target;
    int instance; // index of the collector that is hit; -1: all of them
    enum fault_direction direction;
    enum fault_through through;
    int64_t by_ns;     // delay: how much later each byte arrives; slow-disk: least time of a flush;
                       // step-clock: the step
    int64_t jitter_ns; // delay: each byte is up to this much later still; other verbs: each
                       // repetition starts up to this much later
    double rate;       // throttle and slow-reader: bytes per second
    int bytes; // limit-data: how many a connection passes before it ends; slice: the most in one
               // piece
    int64_t gap_ns; // slice: pause after each piece
    bool reset;     // partition, half-open: withheld bytes are dropped with the connections, not
                    // delivered late
    char *message;  // cut-at: as message_kind_parse reads it; NULL for other verbs
    int n;          // cut-at, fail-flush: which message of its kind, or which flush, from 1
    enum cut_side side;
    bool prepared; // hold-horizon: the transaction that stays open is a prepared one
    enum fault_database database;
    double to; // fill-notify-queue: share of the queue to fill
};

// for_ns of a fault that lasts for the rest of the run: the collector is not started again.
#define FOR_REST INT64_C(-1)

struct allowance {
    char *invariant;
    int64_t most; // largest count that is tolerated; INT64_MAX for `any`
};

// The share of an invariant that must be judged. With a smaller share the run is inconclusive.
struct judged_least {
    char *invariant;
    double share;
};

struct expectation {
    char *metric;
    char comparison[3]; // "=", "<", "<=", ">", ">=", "!="
    double value;       // limit in the metric's unit, such as ms or 1/s
    char *want;         // the wanted value as the file has it: "< 500ms"
};

// A variation of the scenario that must fail: another collector, other settings, or both.
struct counterpart {
    char *collector; // a command, as --collector takes it; NULL: the scenario's own
    char **sets;     // key.path=value, as --set takes them; NULL-terminated
    char **breaks;   // metrics: the invariants that it breaks and the objectives that it misses;
                     // NULL-terminated
};

struct scenario {
    char *name;
    char *summary;
    char **tags; // NULL-terminated, never NULL
    int needs;   // bits of enum promise: those that the file lists and those that its keys imply
    uint64_t seed;
    struct scenario_postgres postgres;
    struct scenario_collector collector;
    struct load_phase *load;
    size_t load_count;
    struct fault_spec *faults;
    size_t fault_count;
    int64_t drain_ns;
    int64_t rest_ns; // how long the run still watches once its last token has come
    int64_t recovery_limit_ns;
    int64_t slack_ns; // SLACK_AUTO: the slack is measured during the run
    struct allowance *allow;
    size_t allow_count;
    struct judged_least *judged;
    size_t judged_count;
    struct expectation *expect;
    size_t expect_count;
    struct counterpart *counterparts;
    size_t counterpart_count;
    char **sets;  // the items of the overrides; NULL-terminated, or NULL: none
    double scale; // --scale as it was given; 0: none
};

#define SLACK_AUTO INT64_C(-1)

// How far the author of a scenario is trusted. This decides what the scenario may name.
enum trust {
    TRUST_ALL,    // the user's own file, trusted like a program
    TRUST_OWN,    // TRUST_PLAIN for a scenario.yaml without the user's mark (mark.h), TRUST_ALL for
                  // any other file
    TRUST_PLAIN,  // it may name no program, no address, and no file but those in its folder
    TRUST_BESIDE, // it may name no file but those in its folder
};

// The changes that the command line makes; a zeroed struct makes none. The strings are not owned.
struct overrides {
    const char *const *items; // the arguments of `--set key.path=value`, and `--seed N` as "seed=N"
    size_t count;
    const char *collector; // --collector, which decides what a layout of `auto` and absent promises
                           // mean; NULL: the scenario's own
    double scale;          // --scale: factor for the length of load and faults; 0: no --scale
    enum trust trust;
};

// Reads the file, applies the overrides, fills in defaults and validates. An error (ERR_USAGE)
// names file:line:column and what is allowed there, or the --set that is wrong.
//
// The scenario's name must be the file's name without .yaml. Only in a file called scenario.yaml,
// as a result folder has it, may the scenario have any name.
MUST_USE bool scenario_load(
    struct scenario *s, const char *path, const struct overrides *sets, struct err *e);

// Decodes and validates a tree that does not come from a scenario's file; the caller keeps the
// tree. The scenario may have any name. A layout of `auto` and absent promises are left to
// needs_resolve.
struct node;
MUST_USE bool scenario_make(struct scenario *s, const struct node *root, struct err *e);

void scenario_fini(struct scenario *s);

// Frees what a phase owns, but not the struct.
void phase_fini(struct load_phase *phase);

// Replaces one of the scenario's strings by a copy of `fresh`.
void scenario_replace(char **text, const char *fresh);

// Appends the resolved scenario as YAML: every key that this version knows, defaults included.
// scenario_load makes the same struct of that text, but for `sets` and `scale`. A NUL follows the
// text, as after buf_str. ERR_INTERNAL when `out` is full.
MUST_USE bool scenario_write(const struct scenario *s, struct buf *out, struct err *e);

// Appends a fault as one line, {do: reset, …}, without the keys that say when it comes and without
// those that have their default. False when `out` has failed.
bool scenario_write_fault(const struct fault_spec *f, struct buf *out);

// True when the scenario has the tag, and also when `tag` is NULL.
bool scenario_has_tag(const struct scenario *s, const char *tag);

// True when the subject is a queue and not a collector of mail lines.
bool scenario_is_queue(const struct scenario *s);

// Returns how many cases of this invariant `allow` tolerates.
uint64_t scenario_tolerates(const struct scenario *s, const char *invariant);

// True when the sender does anything but answer each token at once with a success.
bool scenario_sender_deviates(const struct scenario_sender *s);

// True when a fault of the scenario steps the clock of the server (whose: TARGET_SERVER) or of the
// collectors (TARGET_COLLECTOR).
bool scenario_steps_clock(const struct scenario *s, enum fault_target whose);

// True when any number of collectors can work on the queue at once: in the modes shared and leased.
bool scenario_shares(const struct scenario *s);

// True when a token that the wire cannot carry must become a dead letter: always with the reference
// tables, which have a place for dead letters; otherwise when the subject promises it.
bool scenario_keeps_dead_letters(const struct scenario *s);

// Returns the health-check interval of a collector whose environment sets none: the collector's
// default, or the batch timeout if that is longer, because a collector refuses an interval below
// its batch timeout.
#define SCENARIO_HEALTHCHECK_MS 270000
int64_t scenario_healthcheck_ms(const struct scenario *s);

// Return the longest time that the subject may take to work again: scenario_returns_ns after the
// end of its session, scenario_starts_ns after the start of its process. Without a value in the
// scenario these are 1 s and 0.5 s. Neither exceeds recovery_limit.
int64_t scenario_returns_ns(const struct scenario *s);
int64_t scenario_starts_ns(const struct scenario *s);

// Returns the length of all phases together, in ns.
int64_t scenario_load_ns(const struct scenario *s);

// True when a phase is a closed loop, which may send fewer tokens than the plan has for it.
bool scenario_has_closed_loop(const struct scenario *s);

// Calls `tell` for each key, in the order of the format. `path` is such as "load.N.rate"; `text`
// says what the key means, its default and its limits.
void keys_each(void (*tell)(const char *path, const char *text));
