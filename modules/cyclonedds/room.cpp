#include "room.hpp"

#include <cstddef>
#include <string>

namespace cyclonedds_module {

static_assert(offsetof(Room, bytes) == ROOM_HEAD, "a message is aligned as a plain program's would be");

dds_entity_t make_room_topic(dds_entity_t participant, const char *name, uint64_t payload) {
    const uint32_t octets = static_cast<uint32_t>((payload + 3) / 4 * 4);
    const uint32_t ops[] = {
        DDS_OP_ADR | DDS_OP_TYPE_4BY, offsetof(Room, len),
        DDS_OP_ADR | DDS_OP_TYPE_4BY, offsetof(Room, sender),
        DDS_OP_ADR | DDS_OP_TYPE_ARR | DDS_OP_SUBTYPE_1BY, ROOM_HEAD, octets,
        DDS_OP_RTS,
    };
    // Types that differ have different names.
    const std::string type = "ipcmark::Room" + std::to_string(octets);
    const dds_topic_descriptor_t descriptor = {
        ROOM_HEAD + octets, alignof(Room), DDS_TOPIC_FIXED_SIZE, 0, type.c_str(), nullptr, 4, ops, "", {}, {}, 0,
    };
    // The library keeps copies of all that.
    return dds_create_topic(participant, &descriptor, name, nullptr, nullptr);
}

} // namespace cyclonedds_module
