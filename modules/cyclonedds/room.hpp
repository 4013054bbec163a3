// The type of the row cyclonedds-iceoryx: of fixed size, because the library lends shared memory for no
// other.
#pragma once

#include <cstdint>

#include <dds/dds.h>

namespace cyclonedds_module {

// A message as it lies in shared memory. Its type has `payload` bytes; a shorter message fills some.
struct Room {
    uint32_t len;
    uint32_t sender; // A follower's number; the leader's is 0.
    uint8_t bytes[1];
};

constexpr uint32_t ROOM_HEAD = 8;

// Makes a topic of the type for that payload. What the IDL compiler writes for a struct of two numbers
// and an array of octets is written here, for it cannot know how long the array is to be.
dds_entity_t make_room_topic(dds_entity_t participant, const char *name, uint64_t payload);

} // namespace cyclonedds_module
