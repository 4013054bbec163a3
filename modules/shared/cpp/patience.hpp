// How long an end polls in vain before it sleeps, which follows from its wait.
#pragma once

#include <ipcmark/transport.h>

#include <cstdint>

namespace ipcmark {

class Patience {
  public:
    // `wait` is one bit of enum ipcmark_wait.
    explicit Patience(uint32_t wait = IPCMARK_SPIN) : wait(wait) {}

    bool may_sleep() const { return wait != IPCMARK_SPIN; }

    // Counts a poll in vain; true if the end is to sleep now. After that a hybrid end polls as often again.
    bool is_over() {
        if (wait != IPCMARK_HYBRID)
            return wait == IPCMARK_BLOCK;
        polls = (polls + 1) % POLLS;
        return polls == 0;
    }

    // Must be called after success.
    void renew() { polls = 0; }

  private:
    // As often as ipcmark polls `take` of a hybrid end before it calls `wait`.
    static constexpr uint32_t POLLS = 2000;

    uint32_t wait;
    uint32_t polls = 0;
};

} // namespace ipcmark
