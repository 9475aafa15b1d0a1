// The collector's settings: environment variables, checked once at the start.
//
// One table in config.c names them all; it drives parsing, --help and --settings (the table in
// SETTINGS.md). A bad value is an ERR_USAGE that names the variable, the value and what is allowed,
// never a silent default. No message shows the value of a secret.
#pragma once

#include "base/variables.h"
#include "settings/policy.h"
#include "wire/sign.h"

struct config {
    char *database_url; // libpq conninfo or URI
    char *channel_name;
    char *queue_name;
    char *dequeue;
    const struct policy *policy; // the policy that `dequeue` names
    int64_t healthcheck_interval_ms;
    int64_t batch_timeout_ms; // of an adaptive window: the upper bound
    int64_t batch_least_ms;   // of an adaptive window: the lower bound; 0: it is not adaptive
    int64_t batch_limit;
    int64_t grace_ms;
    int64_t lease_ms;
    struct {
        int64_t in_flight;
        int64_t answer_timeout_ms;
        int64_t attempts;
        int64_t retry_base_ms;
        int64_t retry_max_ms;
    } leased;    // settings of leased mode only
    char *lanes; // the lanes that the queue must have; NULL: any
    int64_t ageing_ms;
    struct budget_config {
        char *rate;   // as given; NULL: there is no budget
        double per_s; // tokens a second that `rate` allows; 0: there is no budget
        int64_t burst;
        int64_t daily; // most tokens a day; 0: as many as the budget allows
    } budget;
    char *metrics; // where the figures are shown; NULL: nowhere
    char *sandbox; // as given
    bool sandboxed;
    char *secret_key;      // as given; wiped by config_load
    char *secret_key_file; // the file that holds the key instead
    uint8_t key[SIGN_KEY_LEN];
};

extern const struct variables config_variables;

// Reads and checks all settings. env holds NAME=value strings, as environ(7). The caller calls
// config_fini also on failure.
bool config_load(struct config *c, char *const env[], struct err *e) MUST_USE;

// Wipes the key and frees the strings; accepts a zeroed struct.
void config_fini(struct config *c);

void config_help(FILE *out);     // prints the settings for --help
void config_markdown(FILE *out); // prints the table of SETTINGS.md
