/* Correct, and notes the time in which the ends must find each other. */
#include <ipcmark/transport.h>

static void note_limit(struct ipcmark_session *session, const struct ipcmark_settings *settings) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)settings->connect_ns);
    session->note(session, "connect_ns", text);
}

#define OPENED(session, settings) note_limit((session), (settings))
#include "base.h"
