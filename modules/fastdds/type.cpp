// The bytes of a message in the library's own framing.
#include "type.hpp"

#include <cstddef>
#include <cstring>

namespace fastdds_module {

namespace {

using eprosima::fastrtps::rtps::SerializedPayload_t;

constexpr uint32_t HEADER = SerializedPayload_t::representation_header_size;
constexpr uint32_t BEFORE = HEADER + offsetof(Wire, bytes);

// The library's own sizes end on four bytes.
uint32_t whole(uint64_t payload) {
    return static_cast<uint32_t>((BEFORE + payload + 3) / 4 * 4);
}

} // namespace

Bytes::Bytes(uint64_t payload) {
    setName("ipcmark-bytes");
    m_typeSize = whole(payload);
    m_isGetKeyDefined = false;
    // Both ends are this very program: they need not tell each other what a byte is.
    auto_fill_type_object(false);
    auto_fill_type_information(false);
}

bool Bytes::serialize(void *data, SerializedPayload_t *payload) {
    const auto &sample = *static_cast<const Sample *>(data);
    if (payload->max_size < BEFORE + sample.len)
        return false;
    payload->encapsulation = DEFAULT_ENCAPSULATION;
    const uint8_t header[HEADER] = {0, DEFAULT_ENCAPSULATION, 0, 0};
    std::memcpy(payload->data, header, HEADER);
    std::memcpy(payload->data + HEADER, &sample.len, sizeof sample.len);
    std::memcpy(payload->data + BEFORE, sample.bytes, sample.len);
    payload->length = BEFORE + sample.len;
    return true;
}

bool Bytes::deserialize(SerializedPayload_t *payload, void *data) {
    auto &sample = *static_cast<Sample *>(data);
    uint32_t len;
    if (payload->length < BEFORE)
        return false;
    std::memcpy(&len, payload->data + HEADER, sizeof len);
    if (len > payload->length - BEFORE || len > m_typeSize - BEFORE)
        return false;
    std::memcpy(sample.bytes, payload->data + BEFORE, len);
    sample.len = len;
    return true;
}

std::function<uint32_t()> Bytes::getSerializedSizeProvider(void *data) {
    const uint32_t size = BEFORE + static_cast<const Sample *>(data)->len;
    return [size] { return size; };
}

void *Bytes::createData() {
    return new uint8_t[m_typeSize];
}

void Bytes::deleteData(void *data) {
    delete[] static_cast<uint8_t *>(data);
}

} // namespace fastdds_module
