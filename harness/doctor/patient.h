// The patient is the server that is examined, with the sessions and findings that all examinations
// share. Internal to this folder.
#pragma once

#include "doctor/doctor.h"

struct patient {
    struct diagnosis *diagnosis;
    const char *about;    // name of the present examination
    enum concern concern; // whom its findings concern
    PQconninfoOption *options;
    PGconn *first, *second; // two sessions; `second` is NULL if it got no answer
};

struct examination {
    const char *name;
    void (*examine)(struct patient *p);
    enum concern concern;
};

extern const struct examination doctor_session_examinations[]; // ends with a NULL name
extern const struct examination doctor_server_examinations[];  // ends with a NULL name
extern const struct examination doctor_rights_examinations[];  // ends with a NULL name

// Each adds a finding, of the weight in its name. `advice` is a sentence that says what to do.
void patient_good(struct patient *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
void patient_note(struct patient *p, const char *advice, const char *fmt, ...) PRINTF_LIKE(3, 4);
void patient_breaks(struct patient *p, const char *advice, const char *fmt, ...) PRINTF_LIKE(3, 4);

// Runs a query and stores the first column of its first row in `out`; "" for a null or without a
// row. If the query fails, adds a finding and returns false.
MUST_USE bool patient_ask(struct patient *p, PGconn *conn, const char *sql, char *out, size_t size);

// Runs a query in the first session, as patient_ask does, and stores the answer as a number.
MUST_USE bool patient_number(struct patient *p, const char *sql, double *out);
