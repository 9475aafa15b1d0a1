#include "scenario/messages.h"

#include "scenario/suggest.h"

static const struct {
    enum message_sender sender;
    unsigned char type;
    const char *name;
} table[] = {
    {MESSAGE_CLIENT, MESSAGE_ANY, "any"},
    {MESSAGE_CLIENT, MESSAGE_STARTUP, "Startup"},
    {MESSAGE_CLIENT, MESSAGE_SSL_REQUEST, "SSLRequest"},
    {MESSAGE_CLIENT, MESSAGE_GSS_REQUEST, "GSSENCRequest"},
    {MESSAGE_CLIENT, MESSAGE_CANCEL_REQUEST, "CancelRequest"},
    {MESSAGE_CLIENT, 'B', "Bind"},
    {MESSAGE_CLIENT, 'C', "Close"},
    {MESSAGE_CLIENT, 'd', "CopyData"},
    {MESSAGE_CLIENT, 'c', "CopyDone"},
    {MESSAGE_CLIENT, 'f', "CopyFail"},
    {MESSAGE_CLIENT, 'D', "Describe"},
    {MESSAGE_CLIENT, 'E', "Execute"},
    {MESSAGE_CLIENT, 'H', "Flush"},
    {MESSAGE_CLIENT, 'F', "FunctionCall"},
    {MESSAGE_CLIENT, 'P', "Parse"},
    {MESSAGE_CLIENT, 'p', "PasswordMessage"},
    {MESSAGE_CLIENT, 'Q', "Query"},
    {MESSAGE_CLIENT, 'S', "Sync"},
    {MESSAGE_CLIENT, 'X', "Terminate"},
    {MESSAGE_SERVER, MESSAGE_ANY, "any"},
    {MESSAGE_SERVER, MESSAGE_ENCRYPTION_ANSWER, "EncryptionAnswer"},
    {MESSAGE_SERVER, 'R', "Authentication"},
    {MESSAGE_SERVER, 'K', "BackendKeyData"},
    {MESSAGE_SERVER, '2', "BindComplete"},
    {MESSAGE_SERVER, '3', "CloseComplete"},
    {MESSAGE_SERVER, 'C', "CommandComplete"},
    {MESSAGE_SERVER, 'W', "CopyBothResponse"},
    {MESSAGE_SERVER, 'd', "CopyData"},
    {MESSAGE_SERVER, 'c', "CopyDone"},
    {MESSAGE_SERVER, 'G', "CopyInResponse"},
    {MESSAGE_SERVER, 'H', "CopyOutResponse"},
    {MESSAGE_SERVER, 'D', "DataRow"},
    {MESSAGE_SERVER, 'I', "EmptyQueryResponse"},
    {MESSAGE_SERVER, 'E', "ErrorResponse"},
    {MESSAGE_SERVER, 'V', "FunctionCallResponse"},
    {MESSAGE_SERVER, 'v', "NegotiateProtocolVersion"},
    {MESSAGE_SERVER, 'n', "NoData"},
    {MESSAGE_SERVER, 'N', "NoticeResponse"},
    {MESSAGE_SERVER, 'A', "NotificationResponse"},
    {MESSAGE_SERVER, 't', "ParameterDescription"},
    {MESSAGE_SERVER, 'S', "ParameterStatus"},
    {MESSAGE_SERVER, '1', "ParseComplete"},
    {MESSAGE_SERVER, 's', "PortalSuspended"},
    {MESSAGE_SERVER, 'Z', "ReadyForQuery"},
    {MESSAGE_SERVER, 'T', "RowDescription"},
};

#define MESSAGES (sizeof table / sizeof *table)

const char *message_sender_name(enum message_sender sender)
{
    return sender == MESSAGE_CLIENT ? "client" : "server";
}

const char *message_name(enum message_sender sender, unsigned char type)
{
    for (size_t i = 0; i < MESSAGES; i++)
        if (table[i].sender == sender && table[i].type == type)
            return table[i].name;
    return "unknown";
}

// Sets the kind's type to that of the message with this name, which the kind's sender must send.
static bool find_message(struct message_kind *kind, const char *name, struct err *e)
{
    struct suggestion near;

    suggest_init(&near, name);
    for (size_t i = 0; i < MESSAGES; i++) {
        if (table[i].sender != kind->sender)
            continue;
        if (strcmp(table[i].name, name) == 0) {
            kind->type = table[i].type;
            return true;
        }
        suggest_offer(&near, table[i].name);
    }
    return err_set(e, ERR_USAGE, "'%s' is not a message that a %s sends%s", name,
        message_sender_name(kind->sender), near.text);
}

bool message_kind_parse(const char *text, struct message_kind *kind, struct err *e)
{
    char sender[8], name[32];

    *kind = (struct message_kind){0};
    if (sscanf(text, "%7s %31s %47[^\n]", sender, name, kind->tag) < 2)
        return err_set(e, ERR_USAGE,
            "'%s' names no message; write its sender and its name, such as client Bind or "
            "server CommandComplete UPDATE",
            text);
    if (strcmp(sender, "client") != 0 && strcmp(sender, "server") != 0)
        return err_set(e, ERR_USAGE, "'%s' should be client or server", sender);
    kind->sender = strcmp(sender, "client") == 0 ? MESSAGE_CLIENT : MESSAGE_SERVER;
    if (!find_message(kind, name, e))
        return false;
    return !*kind->tag || (kind->sender == MESSAGE_SERVER && kind->type == 'C') ||
           err_set(e, ERR_USAGE, "'%s': only server CommandComplete takes a command's tag", text);
}

bool message_tag_fits(const struct message_kind *kind, const char *text, unsigned long len)
{
    size_t need = strlen(kind->tag);

    // Compares whole words, because the tag SELECT 1 does not fit SELECT 10.
    return len >= need && memcmp(text, kind->tag, need) == 0 &&
           (len == need || need == 0 || text[need] == ' ' || text[need] == '\0');
}
