/* The options that the user set for a transport. */
#ifndef IPCMARK_MODULES_OPTIONS_H
#define IPCMARK_MODULES_OPTIONS_H

#include <ipcmark/transport.h>

#include <stdlib.h>
#include <string.h>

/* The value of an option, or NULL if the user did not set it. */
static inline const char *ipcmark_option_value(const struct ipcmark_settings *settings, const char *key) {
    for (uint32_t n = 0; n < settings->option_count; n++)
        if (strcmp(settings->options[n].key, key) == 0)
            return settings->options[n].value;
    return NULL;
}

/* The number that the user set, or the default. */
static inline int ipcmark_number(const struct ipcmark_settings *settings, const char *key, int otherwise) {
    const char *text = ipcmark_option_value(settings, key);
    return text ? (int)strtol(text, NULL, 10) : otherwise;
}

#endif
