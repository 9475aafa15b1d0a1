// The examinations share this. Internal to this folder.
#pragma once

#include "doctor/doctor.h"

struct patient {
    struct diagnosis *diagnosis;
    const char *about; // the examination that runs now
    PQconninfoOption *options;
    PGconn *first, *second; // `second` is NULL where a second session gets no answer
};

struct examination {
    const char *name;
    void (*examine)(struct patient *p);
};

extern const struct examination doctor_session_examinations[]; // end with a NULL name
extern const struct examination doctor_server_examinations[];  // likewise
extern const struct examination doctor_rights_examinations[];  // likewise

void patient_good(struct patient *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
// `advice` is a sentence that says what to do.
void patient_note(struct patient *p, const char *advice, const char *fmt, ...) PRINTF_LIKE(3, 4);
void patient_breaks(struct patient *p, const char *advice, const char *fmt, ...) PRINTF_LIKE(3, 4);

// Reads the first column of the first row, "" for null or without a row. A failure adds a finding
// of its own.
MUST_USE bool patient_ask(struct patient *p, PGconn *conn, const char *sql, char *out, size_t size);

// Asks in the same way, and reads the answer as a number.
MUST_USE bool patient_number(struct patient *p, const char *sql, double *out);
