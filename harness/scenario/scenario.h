// A scenario: what the user wants to happen, with all defaults filled in and validated.
//
// Times are nanoseconds, rates are per second, shares lie between 0 and 1.
// A scenario owns its strings and arrays; scenario_fini frees them and accepts
// a zeroed or half-loaded struct. Everything in it has been validated: later
// folders do not check again.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "scenario/promises.h"
#include "scenario/verbs.h"

enum arrivals { ARRIVALS_CONSTANT, ARRIVALS_POISSON, ARRIVALS_TRACE };
enum durability { DURABILITY_PROVE, DURABILITY_WAIVE };
// Whether producers announce each token, or only while a collector sleeps.
enum announce { ANNOUNCE_EACH, ANNOUNCE_BELL };
enum standby_mode { STANDBY_NONE, STANDBY_ASYNC, STANDBY_SYNC };
// How clients find the leader of a cluster: by its members' addresses, or through HAProxy.
enum route { ROUTE_HOSTS, ROUTE_PROXY };
enum storage { STORAGE_PLAIN, STORAGE_CRASHABLE };

// How a crashable disk treats a flush.
enum disk_manner {
    DISK_HONEST,
    DISK_LYING,  // it is answered, and nothing is flushed
    DISK_UNASKED // the file system asks for none: mounted without barriers
};

// The file system of a crashable disk.
enum disk_files {
    FILES_EXT4,
    FILES_WRITEBACK, // ext4 with data=writeback: a file may be longer before its data is there
    FILES_XFS
};

enum load_names { NAMES_PLAIN, NAMES_HOSTILE };
enum load_insert { INSERT_ROW, INSERT_SAVEPOINT, INSERT_COPY, INSERT_UPSERT };
// How collectors share a queue. Cursor: one collector works, in commit order. Shared: any
// number work, and each token goes to one of them. Leased: the same, and the reader of the
// lines answers.
enum dequeue { DEQUEUE_CURSOR, DEQUEUE_SHARED, DEQUEUE_LEASED };
enum layout { LAYOUT_REFERENCE, LAYOUT_FOREIGN };

// One name = value pair: a server setting or an environment variable.
struct setting {
    char *name;
    char *value;
};

struct settings {
    struct setting *items;
    size_t count;
};

struct scenario_postgres {
    char *provider; // "local"
    char *image;    // of a container
    int schema;     // the migration to stop at; SCHEMA_LATEST for all
    enum announce announce;
    struct settings settings;
    enum durability durability;
    enum storage storage;
    enum disk_manner disk;
    enum disk_files files;
    bool checksums; // of data pages
    enum standby_mode standby;
    enum route route;
    char *rest; // addresses of a cluster that is there already; NULL: none
};

#define SCHEMA_LATEST 0
#define SCHEMA_NONE (-1) // of a database that a subject fills
#define SUBJECT_MAILROOM "mailroom"

// The harness in the role of the sender: the share of each answer. The seed decides the answer
// for each token and attempt.
struct scenario_sender {
    double error, permanent, hang, twice, wrong, dies; // shares of its answers
    int64_t delay_from_ns, delay_to_ns;
};

struct scenario_collector {
    char **command; // NULL-terminated argv; NULL: the reference collector
    char *subject;  // SUBJECT_MAILROOM, or the queue that is judged instead
    enum layout layout;
    enum dequeue dequeue; // older scenarios set it by MAILROOM_DEQUEUE in env
    int instances;
    int batch_limit;
    int64_t batch_timeout_ns;
    int64_t adaptive_from_ns; // the adaptive window's lower bound; 0: it is fixed
    struct settings env;
    bool restart;
    int promises; // of enum promise
    struct scenario_sender sender;
    double capacity; // tokens per second that it can sustain; 0: not known
};

struct load_phase {
    char *name;
    int64_t for_ns;
    double rate_from; // intended tokens per second at the phase's start
    double rate_to;   // the same at its end, with a linear ramp between them
    bool closed;      // rate: max: each connection inserts as soon as it can
    enum arrivals arrivals;
    char *file;        // the file of a trace's recorded times; NULL: no trace
    int64_t *trace_ns; // owned; read from it, counted from the phase's start
    size_t trace_count;
    int connections;
    int rows_from, rows_to; // tokens in one transaction, any number between them
    double recovery;        // share of tokens that are password_recovery
    double rollback;        // share of transactions rolled back
    double hold_share;      // share of transactions kept open for hold_for_ns
    int64_t hold_for_ns;
    double ineligible; // share of tokens made expired, consumed or suspended
    double unsendable; // share of tokens that the wire cannot carry
    enum load_names names;
    enum load_insert insert;
    int backlog; // tokens committed before the collector starts; first phase only
    // Shares of tokens whose account or token changes while they wait.
    double consume, suspend, reactivate, expire, delete;
};

struct fault_spec {
    const struct verb *verb; // from the table in verbs.h, not owned
    int64_t at_ns;           // counted from the start of the load
    int64_t every_ns;        // 0: once
    int64_t until_ns;        // the last time it may start, when every_ns > 0
    int64_t for_ns;          // how long it lasts; 0 for a fault in an instant; FOR_REST
    enum fault_target target;
    int instance; // which collector; -1: all of them
    enum fault_direction direction;
    enum fault_through through;
    int64_t by_ns;     // delay
    int64_t jitter_ns; // delay: of each byte; other verbs: of each time it starts
    double rate;       // bytes per second, of throttle and slow-reader
    bool reset;        // withheld bytes are dropped, not delivered late
    char *message;     // cut-at: as message_kind_parse reads it; NULL for other verbs
    int n;             // which of them, from 1
    enum cut_side side;
    bool prepared; // hold-horizon: a prepared transaction
    enum fault_database database;
    double to; // fill-notify-queue: share of the queue
};

// A fault that lasts for the rest of the run: the collector is not started again.
#define FOR_REST INT64_C(-1)

struct allowance {
    char *invariant;
    int64_t most; // INT64_MAX for `any`
};

// The share of an invariant that must be judged; with less the run is inconclusive.
struct judged_least {
    char *invariant;
    double share;
};

struct expectation {
    char *metric;
    char comparison[3]; // "=", "<", "<=", ">", ">=", "!="
    double value;       // in the metric's unit: ms for times, 1/s for rates
    char *want;         // as written in the file: "< 500ms"
};

struct scenario {
    char *name;
    char *summary;
    char **tags; // NULL-terminated, never NULL
    uint64_t seed;
    struct scenario_postgres postgres;
    struct scenario_collector collector;
    struct load_phase *load;
    size_t load_count;
    struct fault_spec *faults;
    size_t fault_count;
    int64_t drain_ns;
    int64_t recovery_limit_ns;
    int64_t slack_ns; // SLACK_AUTO: measured during the run
    struct allowance *allow;
    size_t allow_count;
    struct judged_least *judged;
    size_t judged_count;
    struct expectation *expect;
    size_t expect_count;
    char **sets; // the values of --set, as written; NULL-terminated, or NULL: none
};

#define SLACK_AUTO INT64_C(-1)

// One `--set key.path=value`, and `--seed N` as "seed=N"; not owned.
struct overrides {
    const char *const *items;
    size_t count;
};

// Reads, overrides, fills in defaults and validates. An error (ERR_USAGE) names
// file:line:column and what is allowed there, or the --set that is wrong.
// `path` is the file; the scenario's name must be its file name without .yaml,
// but a result folder's scenario.yaml keeps the name it had.
MUST_USE bool scenario_load(
    struct scenario *s, const char *path, const struct overrides *sets, struct err *e);

void scenario_fini(struct scenario *s);

// Puts a copy of `fresh` in the place of one of the scenario's strings.
MUST_USE bool scenario_replace(char **text, const char *fresh, struct err *e);

// Appends the resolved scenario as YAML that scenario_load accepts and that
// yields the same struct: every key that this version knows, defaults included.
MUST_USE bool scenario_write(const struct scenario *s, struct buf *out);

// Also true when `tag` is NULL.
bool scenario_has_tag(const struct scenario *s, const char *tag);

// True when the subject is a queue and not a collector of mail lines.
bool scenario_is_queue(const struct scenario *s);

// Returns the collector's health-check interval if its environment does not set it: the collector's
// default, or the batch timeout if that is longer, because a collector refuses less than that.
#define SCENARIO_HEALTHCHECK_MS 270000
int64_t scenario_healthcheck_ms(const struct scenario *s);

// Returns the length of all phases together, in ns.
int64_t scenario_load_ns(const struct scenario *s);
