// The fields of the records that an event's words fill: one table for reading and for writing.
#include "story/inside.h"

#include <string.h>

enum field_type {
    AS_TIME,   // ns on the run's clock; 0: never
    AS_END,    // the same; CLOCK_NEVER: never
    AS_NS,     // int64_t, a length, or a time since the load began
    AS_NUMBER, // int, uint32_t or an enum
    AS_BYTE,   // uint8_t
    AS_BOOL,
};

struct field_of {
    enum record record;
    enum slot slot;
    enum field_type type;
    size_t offset;
};

#define FIELD(kind, slot, type, record, name)                                                      \
    {                                                                                              \
        kind, slot, type, offsetof(struct record, name)                                            \
    }

static const struct field_of fields[] = {
    FIELD(RECORD_PROCESS, SLOT_INSTANCE, AS_NUMBER, process_record, instance),
    FIELD(RECORD_PROCESS, SLOT_FROM, AS_TIME, process_record, started_ns),
    FIELD(RECORD_PROCESS, SLOT_UNTIL, AS_END, process_record, ended_ns),
    FIELD(RECORD_PROCESS, SLOT_ASKED, AS_BOOL, process_record, asked),
    FIELD(RECORD_TXN, SLOT_AT, AS_TIME, txn_record, sent_ns),
    FIELD(RECORD_TXN, SLOT_COMMIT, AS_TIME, txn_record, commit_ns),
    FIELD(RECORD_TXN, SLOT_ACK, AS_TIME, txn_record, ended_ns),
    FIELD(RECORD_TXN, SLOT_OUTCOME, AS_NUMBER, txn_record, outcome),
    FIELD(RECORD_CHANGE, SLOT_AT, AS_TIME, change_record, sent_ns),
    FIELD(RECORD_CHANGE, SLOT_ACK, AS_TIME, change_record, ended_ns),
    FIELD(RECORD_CHANGE, SLOT_BACK, AS_TIME, change_record, back_sent_ns),
    FIELD(RECORD_CHANGE, SLOT_BACK_ACK, AS_TIME, change_record, back_ended_ns),
    FIELD(RECORD_CHANGE, SLOT_OUTCOME, AS_NUMBER, change_record, outcome),
    FIELD(RECORD_LINE, SLOT_AT, AS_TIME, line_record, read_ns),
    FIELD(RECORD_LINE, SLOT_EMPTY, AS_TIME, line_record, empty_ns),
    FIELD(RECORD_LINE, SLOT_SEEN, AS_TIME, line_record, seen_ns),
    FIELD(RECORD_LINE, SLOT_BY, AS_NUMBER, line_record, process),
    FIELD(RECORD_LINE, SLOT_STATE, AS_NUMBER, line_record, state),
    FIELD(RECORD_FAULT, SLOT_PLANNED, AS_TIME, fault_record, planned_ns),
    FIELD(RECORD_FAULT, SLOT_SOUGHT, AS_TIME, fault_record, sought_ns),
    FIELD(RECORD_FAULT, SLOT_STRUCK, AS_TIME, fault_record, began_ns),
    FIELD(RECORD_FAULT, SLOT_UNDONE, AS_TIME, fault_record, ended_ns),
    FIELD(RECORD_FAULT, SLOT_SERVED, AS_TIME, fault_record, served_ns),
    FIELD(RECORD_FAULT, SLOT_LEFT, AS_TIME, fault_record, left_ns),
    FIELD(RECORD_FAULT, SLOT_OK, AS_BOOL, fault_record, ok),
    FIELD(RECORD_FAULT, SLOT_LEFT_OUT, AS_NUMBER, fault_record, left_out),
    FIELD(RECORD_DELIVERY, SLOT_REPLY, AS_BYTE, delivery, reply),
    FIELD(RECORD_DELIVERY, SLOT_REPLIED, AS_TIME, delivery, replied_ns),
    FIELD(RECORD_PROBE, SLOT_AT, AS_TIME, probe_sample, due_ns),
    FIELD(RECORD_PROBE, SLOT_STALLED, AS_NS, probe_sample, stall_ns),
    FIELD(RECORD_PROBE, SLOT_TOOK, AS_NS, probe_sample, took_ns),
    FIELD(RECORD_STALL, SLOT_FROM, AS_TIME, stall, from_ns),
    FIELD(RECORD_STALL, SLOT_UNTIL, AS_TIME, stall, until_ns),
};

#define FIELDS (sizeof fields / sizeof *fields)

static void put(const struct field_of *f, void *record, int64_t value)
{
    char *to = (char *)record + f->offset;
    int64_t never = f->type == AS_END ? CLOCK_NEVER : 0;

    switch (f->type) {
    case AS_TIME:
    case AS_END:
        *(int64_t *)(void *)to = value == CLOCK_NEVER ? never : STORY_START_NS + value;
        break;
    case AS_NS:
        *(int64_t *)(void *)to = value;
        break;
    case AS_NUMBER:
        *(int *)(void *)to = (int)value;
        break;
    case AS_BYTE:
        *(uint8_t *)to = (uint8_t)value;
        break;
    case AS_BOOL:
        *(bool *)to = value != 0;
        break;
    }
}

static int64_t get(const struct field_of *f, const void *record, int64_t start_ns)
{
    const char *from = (const char *)record + f->offset;
    int64_t ns;

    switch (f->type) {
    case AS_TIME:
    case AS_END:
        memcpy(&ns, from, sizeof ns);
        return ns == 0 || ns == CLOCK_NEVER ? CLOCK_NEVER : ns - start_ns;
    case AS_NS:
        memcpy(&ns, from, sizeof ns);
        return ns;
    case AS_NUMBER:
        return *(const int *)(const void *)from;
    case AS_BYTE:
        return *(const uint8_t *)from;
    case AS_BOOL:
        return *(const bool *)from;
    }
    return 0;
}

void record_fill(enum record kind, void *record, const struct event *event)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].record == kind && event_has(event, fields[i].slot))
            put(&fields[i], record, event->value[fields[i].slot]);
}

void record_tell(enum record kind, const void *record, struct event *event, int64_t start_ns)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].record == kind)
            event_set(event, fields[i].slot, get(&fields[i], record, start_ns));
}
